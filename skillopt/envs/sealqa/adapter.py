"""The SealQA environment: a question with its search results, graded A, B or C by a judge.

A reply without answer tags gets two of the item's pages and another turn, once by default. `env.grader: equality` needs
no judge and compares normal forms: a lower bound, for runs without a judge. Every row says which gave its score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from skillopt.core.fencing import fenced
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.base import Attempt, EnvConfig, ScoreContext, Splits, Turn
from skillopt.envs.data.loading import Row
from skillopt.envs.judge_word import JUDGED, JudgeSettings, compared, instructions
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scorers.extract import tagged
from skillopt.envs.scorers.verdicts import OneWordJudge, letter
from skillopt.envs.sealqa import rollout
from skillopt.envs.sealqa.dataloader import Reader
from skillopt.envs.single_answer import PlainSettings, SingleAnswerEnv

_PAGES = "## Fetched pages"
_GRADES = {"A": "correct", "B": "incorrect", "C": "not attempted"}


class SealQASettings(PlainSettings, JudgeSettings):
    """Keys of section `env` that only SealQA reads."""

    grader: Literal["judge", "equality"] = Field(
        default="judge", description="Who says whether an answer is right: model.judge, or equality of normal forms."
    )
    lenient: bool = Field(
        default=False, description="Grader equality: an answer that contains the gold one, or the reverse, is right."
    )
    max_tool_turns: int = Field(
        default=1,
        ge=0,
        description="Rounds in which two pages of the item are fetched after a reply without answer.",
    )
    evidence_chars: int = Field(default=12_000, ge=0, description="Most characters of the given search results.")


class SealQAEnv(SingleAnswerEnv[SealQASettings]):
    """See the module's contract."""

    Settings = SealQASettings
    name: ClassVar[str] = "sealqa"
    module_file: ClassVar[str] = __file__

    def __init__(self, config: EnvConfig, settings: SealQASettings) -> None:
        super().__init__(config, settings)
        system = instructions(__file__)
        self._judge = OneWordJudge(system, letter, settings.judge_attempts, settings.judge_max_tokens)
        self._reader = Reader()

    @property
    def needs_judge(self) -> bool:
        return self._settings.grader == "judge"

    def judge_texts(self) -> Sequence[str]:
        return (self._judge.system,) if self.needs_judge else ()

    def version_extra(self) -> JsonValue:
        return self._judge.system

    def load(self) -> Splits:
        self._reader = Reader()
        return super().load()

    def to_item(self, row: Row) -> Item:
        return self._reader.read(row)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        evidence = str(item.data.get("search_results") or "")
        limit = self._settings.evidence_chars
        cut = evidence if len(evidence) <= limit else evidence[:limit].rstrip() + " … [cut]"
        fields = ("urls", "freshness", "question_types")
        return {"question": item.data["question"], "evidence": cut if limit else "",
                **{name: item.data.get(name, []) for name in fields}}  # fmt: skip

    def same_text(self, item: Item) -> str:
        return str(item.data["question"])

    def pages_wanted(self, item: Item, turns: Sequence[Turn]) -> Sequence[str]:
        """Two pages a round, after a reply without an answer."""
        rounds = sum(turn.user.startswith(_PAGES) for turn in turns)
        if rounds >= self._settings.max_tool_turns or tagged(turns[-1].reply) is not None:
            return ()
        return [str(url) for url in item.data["urls"]][2 * rounds : 2 * rounds + 2]

    def with_pages(self, item: Item, turns: Sequence[Turn], pages: Mapping[str, str]) -> str:
        """The pages, fenced, and the request to answer."""
        del item, turns
        texts = "\n\n".join(f"{url}\n\n{fenced(text, 'page')}" for url, text in pages.items())
        return f"{_PAGES}\n\n{texts}\n\nAnswer the question now, with the answer in <answer> tags."

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        answer, gold = rollout.answer_in(attempt.text), str(item.data["answer"])
        if not self.needs_judge:
            return compared(rollout.equal(answer, gold, lenient=self._settings.lenient), answer, [gold])
        if not answer.strip():
            return Scored(0.0, 0.0, "the reply holds no answer", "", {"scorer": JUDGED, "grade": "C"})
        grade = await self._judge.verdict(ctx, task=str(item.data["question"]), reference=gold, answer=answer)
        if isinstance(grade, Missing):
            return grade
        hit = float(grade == "A")
        said = f"graded {grade} ({_GRADES[grade]}): answered {shorten(answer)!r}, expected {shorten(gold)!r}"
        return Scored(hit, hit, "" if hit else said, answer, {"scorer": JUDGED, "grade": grade})

    def golds(self, item: Item) -> tuple[str, ...]:
        return (str(item.data["answer"]),)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{item.data['answer']}</answer>"
