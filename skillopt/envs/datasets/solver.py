"""A model without a model for the samples: `scripted_script: skillopt.envs.datasets.solver:respond`.

It knows the samples' answers and gives one where the skill holds the rule of the question's kind (`RULE 3`), and by
luck for a fifth of the questions; as the optimizer it is the toy of `skillopt.testing.toy`, which proposes such rules;
as a judge it compares texts. So a sample's run accepts and rejects, in seconds and without a key. It says nothing about
any model or skill.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from skillopt.core.hashing import text_digest
from skillopt.envs.alfworld import sample as alfworld
from skillopt.envs.datasets.catalogue import datasets
from skillopt.envs.scorers.extract import boxed, tagged
from skillopt.model.types import ChatRequest
from skillopt.testing import toy

_RULE = re.compile(r"\bRULE (\d+)\b")
_AVOID = re.compile(r"\bAVOID (\d+)\b")
_FENCE = re.compile(r"^`+(answer|reference)\n(.*?)\n`+$", re.MULTILINE | re.DOTALL)
_JUDGE = re.compile(r"^You judge one answer")
_WORDS = re.compile(r"\bReply with (\S+) .*?\bor (\S+)\b")


def respond(request: ChatRequest) -> str:
    """The reply to any request of a run on a sample."""
    system, user = _said(request, "system"), _said(request, "user")
    if _JUDGE.match(system):
        return _verdict(system, user)
    if request.schema is None:
        played = alfworld.next_action(user)
        if played is not None:
            return f"<action>{played[1] if _knows(system + user, played[0]) else 'look'}</action>"
        for question, reply in _solutions().items():
            if question in user:
                return reply if _knows(system + user, question) else _wrong(reply)
    return toy.respond(request)


@lru_cache(maxsize=1)
def _solutions() -> dict[str, str]:
    found: dict[str, str] = {}
    for dataset in datasets():
        found |= getattr(dataset, "solutions", dict[str, str])()
    return found


def _knows(skill: str, question: str) -> bool:
    number = int(text_digest(question)[:8], 16)
    kind = str(number % toy.KINDS)
    return kind not in _AVOID.findall(skill) and (kind in _RULE.findall(skill) or number % 5 == 0)


def _wrong(reply: str) -> str:
    """A wrong reply in the same form."""
    return "\\boxed{unknown}" if boxed(reply) is not None and tagged(reply) is None else "<answer>unknown</answer>"


def _verdict(system: str, user: str) -> str:
    """The first of the judge's words where answer and reference agree, else the second."""
    parts = {name: " ".join(text.lower().split()) for name, text in _FENCE.findall(user)}
    words = _WORDS.search(system)
    yes, no = words.groups() if words else ("True", "False")
    return yes if parts.get("answer") == parts.get("reference") else no


def _said(request: ChatRequest, role: str) -> str:
    contents = (m.content for m in request.messages if m.role == role)
    return "\n".join(c if isinstance(c, str) else _text(c) for c in contents)


def _text(parts: object) -> str:
    """The texts of a message with images."""
    return "".join(p["text"] for p in json.loads(json.dumps(parts)) if p.get("type") == "text")
