"""The workspace of one attempt: the task as files, the skill as a package where agents look for one.

    work/task.md                                 the environment's message for the item
    work/attachments/NN_name, ATTACHMENTS.md     its images, if it has any
    work/…                                       the item's own files, where the environment gives any
    work/.agents/skills/NAME/SKILL.md            the skill package (`skill_package`)
    work/.claude/skills/NAME/SKILL.md            the same, for the program that reads only that folder
    beside each SKILL.md                         the other files of the skill's directory, where training began from one

No gold value and no file besides is in it, and it lies outside every repository, so that instruction files of a parent
directory cannot reach the agent. This is what goes in; what comes out for a scorer is `left_files`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skillopt.agents.base import text_of
from skillopt.agents.skill_files import NO_FILES, SkillFiles
from skillopt.agents.skill_package import NAME, SKILL_FOLDERS, SkillPackage, package_of
from skillopt.core.skill import Skill
from skillopt.model.types import Message

Delivery = Literal["native", "prompt"]

_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
_DATA_URL = re.compile(r"data:(image/[a-z+.-]+);base64,(.*)", re.DOTALL)


@dataclass(frozen=True)
class Workspace:
    """What an agent finds. `files` are relative paths; `prompt` is what it is asked."""

    prompt: str
    package: str
    """The SKILL.md; blank where there is none."""
    task: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    executable: frozenset[str] = frozenset()
    """Those of the files that may be run."""
    name: str = NAME
    """The skill's, as agents list it."""

    @property
    def place(self) -> str:
        """Where the SKILL.md lies, as a prompt names it."""
        return f"{SKILL_FOLDERS[0]}/{self.name}/SKILL.md"

    def write(self, place: Path) -> tuple[Path, ...]:
        """Make the directory; returns the paths of the images, in order."""
        place.mkdir(parents=True, exist_ok=True)
        images: list[Path] = []
        for name, content in self.files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if name in self.executable:
                path.chmod(0o755)
            if path.parent.name == "attachments":
                images.append(path)
        return tuple(images)


def build_workspace(
    messages: Sequence[Message],
    skill: Skill,
    delivery: Delivery,
    *,
    given: Mapping[str, bytes] | None = None,
    beside: SkillFiles = NO_FILES,
) -> Workspace:
    """Lay out the first request of a task, rendered without the skill.

    `native` leaves the package to the agent's own discovery and names it in the prompt; `prompt` puts it into the
    prompt as well, so that nothing has to be read. `beside` are the other files of the skill's directory.
    """
    preamble = "\n\n".join(text_of(m) for m in messages if m.role == "system").strip()
    users = [m for m in messages if m.role != "system"]
    images = [part for m in users if not isinstance(m.content, str) for part in m.content if part.get("type") != "text"]
    task = "\n\n".join(_plain(m) for m in users).strip() + "\n"
    package = package_of(preamble, skill, beside)
    files: dict[str, bytes] = {**(given or {}), "task.md": _utf8(task)}
    files |= {f"{folder}/{package.name}/SKILL.md": _utf8(package.text) for folder in SKILL_FOLDERS}
    files |= _attachments(images)
    named = {
        f"{folder}/{package.name}/{path}": file
        for folder in SKILL_FOLDERS
        for path, file in package.files.files.items()
    }
    files |= {path: file.content for path, file in named.items()}
    runnable = frozenset(path for path, file in named.items() if file.executable)
    return Workspace(_prompt(package, delivery), package.text, task, files, runnable, package.name)


def _prompt(package: SkillPackage, delivery: Delivery) -> str:
    parts = [package.preamble] if package.preamble else []
    if delivery == "prompt":
        parts.append(package.body.strip())
        parts.append("The above says how to work. Now solve the task in the file `task.md` of the current directory.")
    else:
        parts.append(
            f"Solve the task in the file `task.md` of the current directory. First load the skill `{package.name}`"
            f" (`{SKILL_FOLDERS[0]}/{package.name}/SKILL.md`) and follow it."
        )
    parts.append(
        "Do not ask for permission or for clarification: nobody is there to answer. Only your last message is read. It"
        " must hold the final answer in the form that the instructions ask for; where they ask for <answer> tags, keep"
        " the tags."
    )
    return "\n\n".join(parts)


def _plain(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(p["text"]) for p in message.content if p.get("type") == "text")


def _attachments(parts: Sequence[Mapping[str, object]]) -> dict[str, bytes]:
    """Images that came inline become files; an address stays an address, named in the list."""
    files: dict[str, bytes] = {}
    rows: list[str] = []
    for number, part in enumerate(parts, start=1):
        image = part.get("image_url")
        url = str(image.get("url", "")) if isinstance(image, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        match = _DATA_URL.match(url)
        try:
            content = base64.b64decode(match.group(2), validate=False) if match else None
        except binascii.Error:
            content = None
        if match is None or content is None:
            rows.append(f"{number}. {url[:500] or part.get('type')}")
            continue
        name = f"{number:02d}_image.{_EXTENSIONS.get(match.group(1), 'bin')}"
        files[f"attachments/{name}"] = content
        rows.append(f"{number}. attachments/{name}")
    if rows:
        files["ATTACHMENTS.md"] = _utf8("The task refers to these images, in order:\n\n" + "\n".join(rows) + "\n")
    return files


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
