"""A program like `codex exec --json` that chooses among the skills it finds by the words of their descriptions.

It loads the skill whose description shares the most words of five letters and more with the request, if any; asked for
`$name` it loads that one, unless it is told to be deaf.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PROGRAM = r"""#!{python}
import json, pathlib, re, sys
if "--version" in sys.argv:
    print("codex-cli 9.9.9")
    sys.exit(0)
prompt = sys.stdin.read()
def words(text):
    return set(re.findall(r"[a-z]{{5,}}", text.lower()))
def item(**item):
    print(json.dumps({{"type": "item.completed", "item": item}}), flush=True)
best, found = 0, None
for path in sorted(pathlib.Path(".agents/skills").glob("*/SKILL.md")) if not {deaf} else ():
    text = path.read_text()
    description = text.split("description: ", 1)[1].split("\n", 1)[0]
    score = 99 if prompt.startswith("$" + path.parent.name) else len(words(prompt) & words(description))
    if score > best:
        best, found = score, path
if found:
    item(type="command_execution", command="cat %s" % found, aggregated_output=found.read_text(), exit_code=0,
         status="completed")
item(type="agent_message", text="loaded" if found else "done")
print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 9, "cached_input_tokens": 0,
                  "output_tokens": 2, "reasoning_output_tokens": 0}}}}))
"""

SKILL = "---\nname: boxes\ndescription: Use for boxes.\n---\n# Boxes\n\nThe body is long and says crates often.\n"
RIVAL = "---\nname: letters\ndescription: Writes letters and invoices.\n---\n# Letters\n"
SHOULD = ["What is in these boxes?", "Count the crates please", "Two crates are missing", "Open the boxes",
          "List crates by weight", "Which boxes are heavy?", "Stack the crates", "Label every crates pile"]  # fmt: skip
SHOULD_NOT = ["Write letters to Ann", "Pay the invoices", "A boxing match tonight?", "Sum these invoices",
              "Draft some letters", "What time is it?", "Send letters about boxes", "Is it raining?"]  # fmt: skip


def write(place: Path, *, deaf: bool = False) -> dict[str, object]:
    """Program, skill, rival and queries; returns the overrides that name the program."""
    place.mkdir(parents=True, exist_ok=True)
    program = place / "codex"
    program.write_text(PROGRAM.format(python=sys.executable, deaf=deaf))
    program.chmod(0o755)
    for name, text in (("boxes", SKILL), ("letters", RIVAL)):
        (place / name).mkdir()
        (place / name / "SKILL.md").write_text(text)
    rows = [{"query": q, "should_trigger": True} for q in SHOULD]
    rows += [{"query": q, "should_trigger": False} for q in SHOULD_NOT]
    rows.append({"query": "Nobody has looked at this", "should_trigger": True, "reviewed": False})
    (place / "queries.json").write_text(json.dumps(rows))
    return {
        "model.target_backend": "codex_exec", "model.target": "scripted-model", "model.codex_exec_path": str(program),
        "model.exec_base_url": "http://127.0.0.1:9/v1", "model.exec_api_key": "sk-test-0123456789",
        "model.optimizer_backend": "scripted", "evaluation.gate_rule": "strict",
    }  # fmt: skip


def respond(request: object) -> str:
    """The optimizer: the description learns of crates; asked for queries it gives two, one of them known."""
    from skillopt.model.types import ChatRequest
    from skillopt.testing import toy

    assert isinstance(request, ChatRequest)
    if request.stage == "queries":
        rows = [{"query": "open the  BOXES", "should_trigger": True, "why": "known"},
                {"query": "Box this text with borders", "should_trigger": False, "why": "near to boxes"}]  # fmt: skip
        return json.dumps({"queries": rows})
    if not request.stage.startswith("analyst"):
        return toy.respond(request)
    edits = [{"op": "replace", "target": "Use for boxes.", "content": "Use for boxes and\ncrates: contents, weight."}]
    return json.dumps({"batch_size": 1, "failure_summary": [], "success_patterns": [],
                       "patch": {"reasoning": "crates are boxes", "edits": edits}})  # fmt: skip
