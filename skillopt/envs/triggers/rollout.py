"""What the agent finds: the skill and its rivals, each a name and a description with a body that ends the work.

The bodies are not the skills' own: description and body are measured apart, and an agent that has loaded a skill has
nothing more to do. The body of the skill under test carries the mark of the description under test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from skillopt.agents.base import Listed
from skillopt.agents.skill_files import SKILL_FILE
from skillopt.agents.skill_package import SKILL_FOLDERS, mark_of, own_name
from skillopt.core.errors import ConfigError
from skillopt.core.hashing import text_digest
from skillopt.core.lint.header import DESCRIPTION_CHARS
from skillopt.core.outcome import Scored
from skillopt.core.skill import Skill

_BODY = "This skill is being looked for, not used. Do no work on the request: answer with the single word `loaded`."


@dataclass(frozen=True)
class Described:
    """A skill as an agent lists it."""

    name: str
    description: str


def described(place: str) -> Described:
    """Name and description of a skill, a file or a directory. Raises `ConfigError` where agents would not list it."""
    path = Path(place)
    file = path / SKILL_FILE if path.is_dir() else path
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"skill {place}: {error.strerror}", hint=f"name a directory with a {SKILL_FILE}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"skill {place} is not UTF-8 (byte {error.start})", hint="save it as UTF-8") from error
    own = own_name(Skill(text))
    if own is None:
        raise ConfigError(
            f"skill {place}: its header holds no valid name and description", hint=f"see: skillopt lint {place}"
        )
    return Described(*own)


def one_line(text: str) -> str:
    """A description under training as a header holds it: without line ends."""
    return re.sub(r"\s+", " ", text).strip()


def can_be_listed(description: str) -> bool:
    """Whether agents list a skill with this description at all."""
    return 0 < len(one_line(description)) <= DESCRIPTION_CHARS


def listed(query: str, name: str, description: Skill, rivals: Collection[Described]) -> Listed:
    """What one attempt finds. A description that no agent lists is not found."""
    text = _skill_file(Described(name, one_line(description.text)), mark_of(description))
    folders = SKILL_FOLDERS if can_be_listed(description.text) else ()
    files = {f"{folder}/{name}/{SKILL_FILE}": text for folder in folders}
    for rival in rivals:
        rival_text = _skill_file(rival, _mark(rival))
        files |= {f"{folder}/{rival.name}/{SKILL_FILE}": rival_text for folder in SKILL_FOLDERS}
    marks = {rival.name: _mark(rival) for rival in rivals}
    return Listed(query, name, text, {path: content.encode() for path, content in files.items()}, marks)


def _mark(rival: Described) -> str:
    return f"Revision rival-{text_digest(rival.name + rival.description)[:12]}"


def _skill_file(skill: Described, mark: str) -> str:
    header = f"---\nname: {skill.name}\ndescription: {json.dumps(skill.description, ensure_ascii=False)}\n---\n"
    return f"{header}# {skill.name}\n\n{mark}\n\n{_BODY}\n"


def score(should: bool, fired: bool, others: Iterable[str]) -> Scored:
    """Right when the skill was loaded exactly where it should be; the reason is what analysts read."""
    right = should == fired
    instead = ", ".join(others)
    loaded = f"; loaded instead: {instead}" if instead else ""
    reason = "" if right else (
        f"the agent did not load the skill and should have{loaded}" if should else
        "the agent loaded the skill and should not have"
    )  # fmt: skip
    predicted = "loaded" if fired else f"not loaded{loaded}"
    return Scored(float(right), float(right), fail_reason=reason, predicted=predicted)
