"""The scripted backend, its scripts, the toy and the registry."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

from skillopt.core.errors import ConfigError, TransientModelError
from skillopt.model.registry import backend_names, create_backend
from skillopt.model.types import ChatReply
from skillopt.optimizer.schemas import edits as schemas
from skillopt.testing import toy
from skillopt.testing.scripted import ScriptedBackend, create, load_script
from tests.model.model_support import ask

SCRIPT = r"""
rules:
  - stage: analyst
    replies: ["not JSON", '{"edits": []}']
  - system: polite
    user: 'capital of (?P<country>\w+)\?'
    reply: "The capital of $country, please."
default: "no idea"
"""


async def text(backend, request):
    return (await backend.complete(request)).text


async def test_a_script_answers_by_stage_turn_and_pattern(tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text(SCRIPT)
    backend = load_script(file)
    assert await text(backend, ask("capital of France?", system="be polite")) == "The capital of France, please."
    assert await text(backend, ask("capital of France?")) == "no idea"
    assert await text(backend, ask(stage="analyst")) == "not JSON"
    assert backend.identity() != ScriptedBackend().identity()
    file.write_text(SCRIPT + "# another\n")
    assert load_script(file).identity() != backend.identity(), "another script is another model"


async def test_a_python_script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("def respond(request):\n    return request.messages[-1].content.upper()\n")
    assert await text(create({"scripted_script": str(file)}), ask("loud")) == "LOUD"
    file.write_text("x = 1\n")
    with pytest.raises(ConfigError, match="respond"):
        load_script(file)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("rules: 3", "`rules`"),
        ("rules: [{stage: x}]", "rule 1.*reply"),
        ("rules: [{user: '(', reply: x}]", "regular expression"),
        ("rules: [{usr: x, reply: y}]", "'usr'"),
        ("[]", "mapping"),
        ("{", "YAML"),
    ],
)
def test_a_bad_script_says_where(tmp_path, script, says):
    file = tmp_path / "s.yaml"
    file.write_text(script)
    with pytest.raises(ConfigError, match=says):
        load_script(file)


async def test_usage_is_counted_and_the_cap_is_kept():
    backend = ScriptedBackend(lambda q: "word " * 100)
    reply = await backend.complete(ask())
    assert (reply.finish, reply.usage.completion_tokens) == ("stop", 125)
    cut = await backend.complete(ask(max_completion_tokens=10))
    assert (cut.finish, cut.usage.completion_tokens, len(cut.text)) == ("length", 10, 40)


async def test_exceptions_and_whole_replies_pass():
    with pytest.raises(TransientModelError):
        await ScriptedBackend(lambda q: TransientModelError("no")).complete(ask())
    assert await ScriptedBackend(lambda q: ChatReply("x", "refusal")).complete(ask()) == ChatReply("x", "refusal")


def score(skill, items=range(160)):
    right = 0
    for number in items:
        item = toy.toy_item(number)
        right += toy.respond(ask(item["question"], system=skill)) == item["answer"]
    return right / len(items)


def test_toy_accuracy_depends_on_the_rules_of_the_skill():
    empty, three = score("# Skill"), score("RULE 1: x\nRULE 2: x\nRULE 5: x")
    assert 0.1 < empty < 0.3
    assert three > empty + 0.2
    assert score("\n".join(f"RULE {k}" for k in range(toy.KINDS))) == 1.0
    assert score("AVOID 1\nRULE 1") < empty + 0.01
    assert toy.respond(ask(toy.toy_item(1)["question"] + " Use <answer> tags.", system="RULE 1")).startswith("<answer>")


def test_toy_optimizer_speaks_every_schema():
    seen = [f"attempt: {toy.toy_item(n)['question']}" for n in range(5)]
    prompts = ["\n".join(seen) + f"\nAt most 4 edits. Sample {i}." for i in range(30)]
    contents = set()
    for prompt in prompts:
        raw = json.loads(toy.respond(ask(prompt, stage="analyst", schema=schemas.FAILURE_REPLY)))
        reply = schemas.read_analyst(raw, source_type="failure", group_size=5)
        assert 1 <= len(reply.patch.edits) <= 4 and not any(e.invalid for e in reply.patch.edits)
        contents |= {e.content for e in reply.patch.edits}
        raw = json.loads(toy.respond(ask(prompt, stage="analyst", schema=schemas.COMPACT_REPLY)))
        assert schemas.read_compact(raw, source_type="failure", group_size=5, budget=3).patch.edits
    assert any(c.startswith("RULE") for c in contents) and any(c.startswith("AVOID") for c in contents)
    assert toy.respond(ask(prompts[0], stage="analyst")) == toy.respond(ask(prompts[0], stage="analyst"))


def test_toy_merges_and_ranks():
    edit = {"op": "append", "content": "RULE 1", "support_count": 2, "source_type": "failure"}
    other = {"op": "append", "content": "RULE 2", "support_count": 1, "source_type": "failure"}
    prompt = f"proposals: {json.dumps([{'edits': [edit, other]}, {'patch': {'edits': [edit]}}], indent=1)}"
    patch = schemas.read_patch(
        json.loads(toy.respond(ask(prompt, stage="merge", schema=schemas.MERGE_REPLY))), source_type="mixed", support=1
    )
    assert [(e.content, e.support_count) for e in patch.edits] == [("RULE 1", 4), ("RULE 2", 1)]
    listed = "Choose at most 2.\n" + "\n".join(f"[{i}] append: RULE {i}" for i in range(6))
    raw = json.loads(toy.respond(ask(listed, stage="ranking", schema=schemas.RANKING_REPLY)))
    assert len(schemas.read_ranking(raw, count=6, budget=2)) == 2
    other_schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": ["string", "null"]}}}
    assert json.loads(toy.respond(ask(stage="another", schema=other_schema))) == {"n": 0, "t": "nothing to add"}


def plugin(name, value):
    return EntryPoint(name, value, "skillopt.backends")


def test_registry_makes_what_is_asked_and_names_what_there_is():
    plugins = [plugin("scripted", "skillopt.testing.scripted:create"), plugin("broken", "no.such.module:create")]
    assert create_backend("scripted", {"model": "toy"}, plugins=plugins).model == "toy"
    with pytest.raises(ConfigError, match=r"did you mean 'scripted'.*available: broken, scripted"):
        create_backend("scriptd", {}, plugins=plugins)
    with pytest.raises(ConfigError, match=r"'broken': no\.such\.module:create cannot be loaded: ModuleNotFoundError"):
        create_backend("broken", {}, plugins=plugins)
    assert {"local", "openai_compatible", "scripted"} <= set(backend_names())


def test_a_function_by_its_place() -> None:
    backend = create({"scripted_script": "skillopt.testing.rooms:respond", "model": "player"})
    other = create({"scripted_script": "skillopt.testing.toy:respond", "model": "player"})
    assert backend.identity()["version"] and backend.identity() != other.identity()
    with pytest.raises(ConfigError, match="no function 'answer'"):
        create({"scripted_script": "skillopt.testing.rooms:answer"})
