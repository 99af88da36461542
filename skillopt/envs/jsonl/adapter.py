"""The `jsonl` environment: your own tasks, described in YAML.

System message: the system prompt, how to write the answer, then the skill (left out when blank). User message: the
template filled with the item's fields; gold and reference fields are withheld from it, and a template that asks for one
is refused.
All items are rendered and checked by the scorer at load, so a misspelt variable costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.fields import root_of, shown_value, value_at
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source, given_splits, load_splits
from skillopt.envs.jsonl.dataloader import source
from skillopt.envs.jsonl.settings import ANSWER_INSTRUCTIONS, JsonlSettings
from skillopt.envs.scorers import Gold, extract_answer
from skillopt.envs.scorers.base import Scorer, ScoresAttempts
from skillopt.envs.templates import Template
from skillopt.model.types import Message


class JsonlEnv:
    """See the module's contract."""

    Settings = JsonlSettings

    def __init__(self, config: EnvConfig, settings: JsonlSettings) -> None:
        self._config = config
        self._settings = settings
        self._scorer = settings.scorer.looking_beside(Path(config.data_path))
        self._user = Template(settings.prompt_template, name="env.prompt_template")
        gold = {settings.answer_field, root_of(settings.answer_field)}
        self._withheld = (gold | {settings.reference_field, root_of(settings.reference_field)}) - {""}
        for field in sorted(self._withheld & self._user.variables):
            what = "gold" if field in gold else "reference"
            raise ConfigError(
                f"env.prompt_template shows the {what} field {field!r} to the target",
                hint="remove it from the template",
            )
        self._system = Template.beside(__file__, "prompts/rollout_system.md")
        self._review = Template.beside(__file__, "prompts/rollout_review.md")
        self._system_message = lru_cache(maxsize=8)(self._render_system)

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def version(self) -> str:
        return digest([self._options(), self._scorer.identity(), self._templates()])[:16]

    def version_parts(self) -> Mapping[str, str]:
        """The scorers at the bottom, those with a source of their own as functions; options; prompts."""
        scorers = {_called(each): digest(each.identity())[:16] for each in (*self._scorer.leaves, self._scorer)}
        options, prompts = digest(self._options())[:16], digest(self._templates())[:16]
        return {**scorers, "how a task is shown and its answer read": options, "a prompt of jsonl": prompts}

    def _options(self) -> dict[str, Any]:
        kept = self._settings.model_dump(mode="json", exclude={"scorer", "analyst_note", "reference_field"})
        return kept if kept["answer_after"] else {k: v for k, v in kept.items() if k != "answer_after"}

    def _templates(self) -> list[Any]:
        return [self._system.digest, self._review.digest, self._config.max_turns]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def pass_threshold(self) -> float:
        return self._settings.pass_threshold

    def load(self) -> Splits:
        return load_splits(self._config, self._source())

    def load_given(self, rows: Mapping[str, Sequence[Row]], manifest: Mapping[str, JsonValue]) -> Splits:
        """As `load`, from rows by split that a program holds in its memory."""
        return given_splits(self._config, self._source(), rows, manifest)

    def _source(self) -> Source:
        settings = self._settings
        return source(
            id_field=settings.id_field,
            answer_field=settings.answer_field,
            needs_answer=self._scorer.needs_gold,
            task_type_field=settings.task_type_field,
            check=self._check,
            text=self.task_text,
        )

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return (self._system_message(skill_text), Message("user", self.task_text(item)))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        if len(turns) >= self._config.max_turns:
            return None
        values = {"task": self.task_text(item), "previous": turns[-1].reply}
        return self._review.render(values, where=f"item {item.id!r}")

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        answer, gold, scorer = (
            extract_answer(attempt.text, self._settings.answer_format),
            self._gold(item),
            self._scorer,
        )
        if offers(scorer, ScoresAttempts):
            return await scorer.score_attempt(answer, gold, attempt, replace(ctx, task=self.task_text(item)))
        return scorer.score(answer, item=item, gold=gold)

    def score_rests_on(self, item: Item, attempt: Attempt) -> JsonValue:
        return self._scorer.rests_on(attempt) if offers(self._scorer, ScoresAttempts) else None

    @property
    def reads_workspace(self) -> bool:
        return any(leaf.reads_workspace for leaf in self._scorer.leaves)

    @property
    def needs_workspace(self) -> bool:
        return any(leaf.needs_workspace for leaf in self._scorer.leaves)

    @property
    def scores_at_once(self) -> bool:
        return not offers(self._scorer, ScoresAttempts)

    @property
    def needs_judge(self) -> bool:
        return self._scorer.needs_judge

    @property
    def judge_calls(self) -> int:
        return self._scorer.judge_calls

    def judge_texts(self) -> Sequence[str]:
        return self._scorer.judge_texts()

    def task_text(self, item: Item) -> str:
        shown = {name: value for name, value in item.data.items() if name not in self._withheld}
        values: dict[str, Any] = {"item": shown, **shown}
        return self._user.render(values, where=f"item {item.id!r}")

    def golds(self, item: Item) -> tuple[str, ...]:
        return self._gold(item).texts

    def gold_reply(self, item: Item) -> str | None:
        texts, form = self._scorer.replies(self._gold(item), item), self._settings.answer_format
        if not texts or not texts[0].strip() or not self._scorer.gold_answers:
            return None
        wrapped = {"answer_tag": f"<answer>{texts[0]}</answer>", "boxed": f"\\boxed{{{texts[0]}}}"}
        return wrapped.get(form, texts[0])

    def gold_form(self, item: Item, text: str) -> str | None:
        return self._scorer.form(text, item)

    def hidden_reference(self, item: Item) -> str | None:
        value = value_at(item.data, self._settings.reference_field) if self._settings.reference_field else None
        return None if value is None else shown_value(value)

    @property
    def takes_readout(self) -> bool:
        """Not where the whole reply is the answer: what the target says about its decision would be scored with it."""
        return self._settings.answer_format not in ("whole", "json")

    def prompt(self, name: str) -> str | None:
        note = self._settings.analyst_note
        return note if note.strip() and name in ("analyst_error", "analyst_success", "deep_probe") else None

    def _gold(self, item: Item) -> Gold:
        value, mark = value_at(item.data, self._settings.answer_field), self._settings.answer_after
        if mark and isinstance(value, str):
            value = value.rpartition(mark)[2].strip()
        return Gold.of(value)

    def _check(self, item: Item) -> None:
        self.task_text(item)
        self._scorer.check(item, self._gold(item))

    def _render_system(self, skill_text: str) -> Message:
        settings = self._settings
        asked = settings.answer_instruction
        written = ANSWER_INSTRUCTIONS[settings.answer_format] if asked is None else asked.strip()
        values = {
            "system_prompt": settings.system_prompt.strip(),
            "answer_instruction": " ".join(filter(None, (written, self._scorer.told()))),
            "skill": skill_text if skill_text.strip() else "",
        }
        return Message("system", self._system.render(values))


def _called(scorer: Scorer) -> str:
    function = getattr(scorer, "function", "")
    return f"the scorer function {function}" if function else f"the scorer {getattr(scorer, 'name', '')}"
