"""Lint as a veto (`optimizer.lint_veto`): what would make a sound skill unsound is taken out before it is measured.

Only errors count, and only those that the change itself brings: a broken header, unbalanced markers, a control
character, a secret. What the skill had before is no reason to refuse an edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.config import OptimizerSection
from skillopt.config.skill_header import read_header
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.leakage import VetoedEdit
from skillopt.core.lint import Document, Finding, new_errors
from skillopt.core.skill import Skill


def faults(optimizer: OptimizerSection, before: Skill, after: Skill) -> list[Finding]:
    """Errors that `after` has and `before` has not; none when the veto is off."""
    if optimizer.lint_veto == "off" or after == before:
        return []
    return new_errors(_document(before), _document(after))


def without_faults(optimizer: OptimizerSection, skill: Skill, patch: Patch) -> tuple[Patch, list[VetoedEdit]]:
    """The patch without the edits that would make an error, each tried on the text the edits before it left."""
    kept, vetoed = list[Edit](), list[VetoedEdit]()
    for number, edit in enumerate(patch.edits, start=1):
        changed, _ = apply_patch(skill, Patch((edit,)), insert_after_fallback=optimizer.insert_after_fallback)
        found = faults(optimizer, skill, changed)
        if found:
            vetoed.append(VetoedEdit(number, edit, tuple(found)))
        else:
            skill = changed
            kept.append(edit)
    return (replace(patch, edits=tuple(kept)) if vetoed else patch), vetoed


def lines_without_faults(optimizer: OptimizerSection, skill: Skill, text: str) -> tuple[str, list[VetoedEdit]]:
    """A text that will enter a region, without the lines that would make an error in the skill."""
    lines = [line for line in text.splitlines() if line.strip()]
    _, vetoed = without_faults(optimizer, skill, Patch(tuple(Edit("append", content=line) for line in lines)))
    out = {v.edit.content for v in vetoed}
    return ("\n".join(line for line in text.splitlines() if line not in out).strip() if out else text), vetoed


def in_proposed_order(vetoed: Sequence[VetoedEdit], proposed: Patch) -> list[VetoedEdit]:
    """Vetoed edits numbered by their place in the patch as it was proposed."""
    places = {id(edit): n for n, edit in enumerate(proposed.edits, start=1)}
    return sorted((replace(v, index=places.get(id(v.edit), v.index)) for v in vetoed), key=lambda v: v.index)


def complaints(skill: Skill) -> list[str]:
    """Errors that a skill has already, for whoever starts a run from it: strict agents would not load the result."""
    found = new_errors(Document(""), _document(skill))
    return [f"warning: the initial skill, line {f.line}: {f.message} ({f.rule}; {f.hint})" for f in found]


def _document(skill: Skill) -> Document:
    return Document(skill.text, read_header(skill))
