"""A real night by the embedded model, end to end: `python benchmarks/sleep_embedded.py --transcripts DIR [--copies 3]`.

`DIR` holds interactive session files of Claude Code, Codex and Copilot CLI (`*interactive*.jsonl`). Each is laid into a
throw-away home `--copies` times under session names of its own, its directory rewritten to a throw-away project; then
`skillopt-sleep run` is held with the embedded model's own endpoint as the only backend, and its answer printed. What a
model of 1.5 billion parameters makes of it is the result, whatever it is. Needs `skillopt model pull`. One call at a
time and short replies, because on two cores four long ones at once each pass the call's 240 s and are asked again; a
night that its caps stopped is said to be none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
import uuid
from pathlib import Path

from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.modelfile import cache_directory, find_present
from skillopt.model.local.server import running
from skillopt.model.local.settings import EngineSettings
from skillopt.sleep.calls import spent_of
from skillopt.store.journal import Journal

_PLACES = {
    "claude": ".claude/projects/{slug}/{id}.jsonl",
    "codex": ".codex/sessions/2026/11/29/rollout-2026-11-29T00-00-00-{id}.jsonl",
    "copilot": ".copilot/session-state/{id}/events.jsonl",
}
_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIRECTORY = re.compile(r'"cwd":\s*"([^"]+)"')


def lay_out(source: Path, home: Path, project: Path, copies: int) -> int:
    """Copy the sessions; how many."""
    n = 0
    for file in sorted(source.glob("*interactive*.jsonl")):
        place = next((place for agent, place in _PLACES.items() if file.name.startswith(agent)), "")
        text = file.read_text(encoding="utf-8")
        own, directory = _NAME.search(text), _DIRECTORY.search(text)
        if not place or own is None or directory is None:
            continue
        for _ in range(copies):
            name = str(uuid.uuid4())
            path = home / place.format(slug=re.sub(r"[/.]", "-", str(project)), id=name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(own[0], name).replace(directory[1], str(project)), encoding="utf-8")
            n += 1
    return n


async def night(url: str, model: str, root: Path, options: list[str]) -> int:
    """Hold the night as a process of its own; its exit code."""
    homes = {"CLAUDE_CONFIG_DIR": ".claude", "CODEX_HOME": ".codex", "COPILOT_HOME": ".copilot"}
    slow = {"SKILLOPT_SLEEP_WORKERS": "1", "SKILLOPT_SLEEP_COMPAT_MAX_TOKENS": "400"}
    environ = {**slow, **os.environ, **{name: str(root / "home" / folder) for name, folder in homes.items()},
               "SKILLOPT_SLEEP_HOME": str(root / "state"), "OPENAI_BASE_URL": url,
               "OPENAI_API_KEY": "unused"}  # fmt: skip
    command = [sys.executable, "-m", "skillopt.sleep", "run", "--project", str(root / "shop"), "--yes", "--json",
               "--backend", "openai_compatible", "--model", model, "--lookback-hours", "0", "--progress",
               *options]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdin=asyncio.subprocess.DEVNULL)
    return await process.wait()


async def main(transcripts: Path, copies: int, context: int, options: list[str]) -> int:
    """Lay out, serve, hold, say how long it took."""
    entry = load_catalogue().find("")
    file = find_present(entry, cache_directory())
    if file is None:
        print("not run: the model file is missing (skillopt model pull)")
        return 0
    with tempfile.TemporaryDirectory(prefix="skillopt-sleep-embedded-") as folder:
        root = Path(folder).resolve()
        (root / "shop").mkdir()
        (root / "shop/CLAUDE.md").write_text("# Shop\n")
        laid = lay_out(transcripts, root / "home", root / "shop", copies)
        print(json.dumps({"sessions": laid, "model": entry.name}), flush=True)
        began = time.monotonic()
        async with running(file, EngineSettings(n_ctx=context, private=False)) as engine:
            code = await night(engine.base_url, entry.name, root, options)
        print(json.dumps({"exit": code, "minutes": round((time.monotonic() - began) / 60, 1)}))
        reports = list(root.glob("shop/.skillopt-sleep/staging/*/report.md"))
        for report in reports:
            print(report.read_text(encoding="utf-8"))
        if not reports:
            paid = [spent_of(Journal.open(path, replay=True), workers=1).calls
                    for path in root.glob("state/projects/*/nights/*/journal.sqlite")]  # fmt: skip
            print(f"no whole night: it was stopped after {sum(paid)} calls and staged nothing")
    return 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--transcripts", type=Path, required=True)
    arguments.add_argument("--copies", type=int, default=3)
    arguments.add_argument("--context", type=int, default=8_192)
    given, rest = arguments.parse_known_args()
    sys.exit(asyncio.run(main(given.transcripts, given.copies, given.context, rest)))
