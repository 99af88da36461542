"""Files of a skill's package after an edit: they parse, their own tests still pass, and they are not too long.

Asked before any rollout. An edit of a file that fails is taken out with the other edits of that file, and is vetoed
with the reason; the rest of the proposal goes on. What was wrong before the edit is nobody's fault. Answers are kept in
the journal, so a replay needs neither the programs nor the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.hashing import digest, text_digest
from skillopt.core.json_types import JsonValue
from skillopt.core.leakage import VetoedEdit
from skillopt.core.lint import Finding
from skillopt.core.package import PackagedFile, skill_part
from skillopt.core.skill import Skill
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.initial_skill import skill_files
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Recorded
from skillopt.work.confinement.script_checks import language, own_test_files, parse_fault, run_own_tests

RULE = "package_file"
_VERSION = 1


async def file_faults(context: RunContext, before: Skill, after: Skill) -> dict[str, str]:
    """What is wrong with the files that differ, by path: nothing where they can be delivered and run."""
    old = {file.path: file for file in before.files}
    changed = [file for file in after.files if old.get(file.path) != file and old[file.path].content != file.content]
    if not changed:
        return {}
    found = await gather_all([_alone(context, old[file.path], file) for file in changed])
    faults = {file.path: fault for file, fault in zip(changed, found, strict=True) if fault}
    return faults or await _failed_tests(context, before, after, changed)


async def without_broken_files(context: RunContext, before: Skill, patch: Patch) -> tuple[Patch, list[VetoedEdit]]:
    """The patch without the edits of files that it would break."""
    vetoed: list[VetoedEdit] = []
    while before.files:
        after, _ = apply_patch(before, patch, insert_after_fallback=context.config.optimizer.insert_after_fallback)
        faults = await file_faults(context, before, after)
        touched = _touched(context, before, patch)
        out = {n: faults[path] for n, path in touched.items() if path in faults}
        if not out:
            break
        edits = list(enumerate(patch.edits))
        vetoed += [VetoedEdit(n + 1, edit, (_finding(touched[n], out[n]),)) for n, edit in edits if n in out]
        patch = replace(patch, edits=tuple(edit for n, edit in edits if n not in out))
    return patch, vetoed


async def broken_at_start(context: RunContext) -> list[str]:
    """What does not parse in the package that training starts from, a warning each."""
    files = [file for file in context.initial.files if language(file.path, file.content)]
    faults = await gather_all([_parsed(context, file) for file in files])
    return [f"warning: {f.path} does not parse: {fault}" for f, fault in zip(files, faults, strict=True) if fault]


def _touched(context: RunContext, skill: Skill, patch: Patch) -> dict[int, str]:
    """The file that each edit changes, by the edit's place; SKILL.md is none."""
    found: dict[int, str] = {}
    for n, edit in enumerate(patch.edits):
        after, _ = _applied(context, skill, edit)
        pairs = zip(skill.files, after.files, strict=False)
        path = next((old.path for old, new in pairs if old.content != new.content), "")
        if path:
            found[n] = path
        skill = after
    return found


def _applied(context: RunContext, skill: Skill, edit: Edit) -> tuple[Skill, object]:
    return apply_patch(skill, Patch((edit,)), insert_after_fallback=context.config.optimizer.insert_after_fallback)


def _finding(path: str, fault: str) -> Finding:
    return Finding(RULE, "error", 0, f"{path}: {fault}", "an edit must leave a file that works, on its own", path)


async def _alone(context: RunContext, before: PackagedFile, after: PackagedFile) -> str:
    """What is wrong with one file by itself."""
    limit = context.config.env.skill_file_chars
    if len(after.content) > max(limit, len(before.content)):
        return f"would grow to {len(after.content)} characters, and env.skill_file_chars is {limit}"
    if not language(after.path, after.content):
        return ""
    fault = await _parsed(context, after)
    return f"would not parse: {fault}" if fault and not await _parsed(context, before) else ""


async def _parsed(context: RunContext, file: PackagedFile) -> str:
    async def thunk() -> Recorded:
        return _recorded(await parse_fault(file.path, file.content))

    key = digest({"kind": "parse", "v": _VERSION, "path": file.path, "content": text_digest(file.content)})
    return str((await context.journal.once(key, thunk, label="the check of a script")).value)


async def _failed_tests(
    context: RunContext, before: Skill, after: Skill, changed: list[PackagedFile]
) -> dict[str, str]:
    """Tests of the package that passed before and do not now. Every changed script is to blame for them."""
    passed, now = await _tests(context, before), await _tests(context, after)
    broken = sorted(name for name, well in passed.items() if well and not now.get(name))
    if not broken:
        return {}
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    return {f.path: f"its own test {broken[0]}{more} would fail" for f in changed if language(f.path, f.content)}


async def _tests(context: RunContext, skill: Skill) -> Mapping[str, bool]:
    beside = skill_files(context.config).files
    files = {name: file.content for name, file in beside.items()}
    files |= {file.path: file.content.encode() for file in skill.files}
    if not own_test_files(files):
        return {}
    files["SKILL.md"] = skill_part(skill.text).encode()

    async def thunk() -> Recorded:
        return _recorded(dict[str, JsonValue](await run_own_tests(files)))

    contents: dict[str, JsonValue] = {name: text_digest(c.decode("latin-1")) for name, c in files.items()}
    key = digest({"kind": "own_tests", "v": _VERSION, "files": contents})
    return (await context.journal.once(key, thunk, label="the tests of a skill's package")).value


def _recorded(value: JsonValue) -> Recorded:
    return Recorded(value=value, kind="tool", stage=Stage.UPDATE, role="target", calls=0, prompt_tokens=0,
                    completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip
