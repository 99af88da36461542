"""The skill as the package that an agent program finds: under its own name and description where it has them.

A skill whose header holds a valid name and description is laid out as it will be shipped: its header byte for byte, one
line with its hash, its body, and the files of its package. What the environment has to say besides then goes into the
prompt. Any other skill is wrapped: a package `skillopt-target` holds the environment's instructions and the skill.
The line with the hash proves that an agent read this very candidate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt.agents.skill_files import File, SkillFiles
from skillopt.config.skill_header import read_header
from skillopt.core.lint.header import DESCRIPTION_CHARS, NAME_CHARS
from skillopt.core.package import skill_part
from skillopt.core.skill import Skill

NAME = "skillopt-target"
SKILL_FOLDERS = (".agents/skills", ".claude/skills")

_DESCRIPTION = "How to solve the task in task.md. Read it before starting on that task."
_VALID_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class SkillPackage:
    """`text` is the SKILL.md; `preamble` what the prompt says in its stead. `files` lie beside it."""

    name: str
    text: str
    body: str
    """The SKILL.md without its header."""
    preamble: str
    files: SkillFiles


def mark_of(skill: Skill) -> str:
    """What stands in the package and proves that this candidate was read."""
    return f"Revision {skill.hash}"


def own_name(skill: Skill) -> tuple[str, str] | None:
    """Name and description of a skill, where agents would load it under them."""
    header = read_header(Skill(skill_part(skill.text)))
    if header is None or header.problem:
        return None
    name, description = header.values.get("name"), header.values.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description.strip():
        return None
    valid = _VALID_NAME.fullmatch(name) and len(name) <= NAME_CHARS and len(description) <= DESCRIPTION_CHARS
    return (name, description) if valid else None


def package_of(preamble: str, skill: Skill, beside: SkillFiles) -> SkillPackage:
    """The package. `beside` are the files of the skill's directory; those under training replace theirs.

    >>> package_of("", Skill("---\\nname: a\\ndescription: b\\n---\\nBe brief.\\n"), SkillFiles()).name
    'a'
    """
    text, own = skill_part(skill.text), own_name(skill)
    trained = {file.path: File(file.content.encode(), file.executable) for file in skill.files}
    files = SkillFiles({**beside.files, **trained}, beside.left_out) if trained else beside
    found = Skill(text).header
    if own is None or found is None:
        body = _wrapped(preamble, skill, text)
        return SkillPackage(NAME, f"---\nname: {NAME}\ndescription: {_DESCRIPTION}\n---\n{body}", body, "", files)
    header = text[: found.end].lstrip("\ufeff")
    body = f"{mark_of(skill)}\n\n{text[found.end :].lstrip()}"
    return SkillPackage(own[0], f"{header}{body}", body, preamble, files)


def _wrapped(preamble: str, skill: Skill, text: str) -> str:
    guidance = text.strip("\n") if text.strip() else "There is no guidance for this task yet."
    return f"# Solving the task in task.md\n\n{mark_of(skill)}\n\n{preamble}\n\n## Dynamic Guidance\n\n{guidance}\n"
