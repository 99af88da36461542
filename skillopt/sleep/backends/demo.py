"""A rule table in the place of a model: what it answers follows from the words before it, and from nothing else.

Only the demo and tests use it. It reads a prompt as a model would: the documents decide how a request is answered, the
failures what is proposed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from skillopt.sleep.backends.base import Answer, Question

_REQUEST = re.compile(r"The request:\n(.*)\Z", re.DOTALL)
_DOCUMENTS = re.compile(r"apply to the request\..*?\n\n(.*?)\n\nWhat was said before", re.DOTALL)


@dataclass(frozen=True)
class Proposed:
    """A rule that reflection proposes when `when` stands among the failures and the rule is not in the document."""

    when: str
    rule: str
    kind: str = ""


@dataclass(frozen=True)
class RuleTable:
    """A `Backend`. `answer` maps (documents, request) to a reply."""

    answer: Callable[[str, str], str]
    proposals: Sequence[Proposed] = ()
    name: str = "demo"
    model: str = "rule-table"
    overhead: int = 0
    asked: list[str] = field(default_factory=list[str])

    async def ask(self, question: Question) -> Answer:
        prompt = question.prompt
        self.asked.append(prompt)
        text = self._reflection(prompt) if '{"edits"' in prompt else self._reply(prompt)
        return Answer(text, len(prompt) // 4, len(text) // 4, 0.0)

    def _reply(self, prompt: str) -> str:
        request, documents = _REQUEST.search(prompt), _DOCUMENTS.search(prompt)
        return self.answer(documents[1] if documents else "", request[1].strip() if request else "")

    def _reflection(self, prompt: str) -> str:
        failures = prompt.partition("Failures:")[2].partition("Pairs in which")[0]
        document = prompt.partition("The whole current document")[2].partition("Failures:")[0]
        tasks = re.findall(r"Task ([\w.-]+) \(", failures)
        edits = [
            {
                "op": "add",
                "rule_id": "",
                "text": entry.rule,
                "evidence": tasks,
                "why": f"several failures: {entry.when}",
            }
            for entry in self.proposals
            if entry.when in failures and entry.rule not in document and f"({entry.kind}" in document[:20]
        ]
        return json.dumps({"edits": edits})
