"""The SpreadsheetBench environment: a program that edits a workbook, judged on the workbooks of its test cases.

Modes (`env.mode`): *single*, one call; *multi*, errors of the program on the first case go back until it runs or
`env.max_turns` is reached; *react*, a tool agent in a directory with the workbook. Agents as targets get the workbook
as a file and answer in one go in every mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import ConfigError, ItemFault
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_text
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.episodes import Episode, Played, Reset, conversation
from skillopt.envs.fences import fenced
from skillopt.envs.spreadsheetbench import rollout
from skillopt.envs.spreadsheetbench.dataloader import cases_of, check_root, source
from skillopt.envs.spreadsheetbench.episode import Bounds, SheetEpisode, first_case
from skillopt.envs.spreadsheetbench.preview import preview
from skillopt.envs.spreadsheetbench.react import TOOLS, ReactEpisode
from skillopt.envs.spreadsheetbench.solution import INPUT, code_of
from skillopt.envs.spreadsheetbench.work import office
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message
from skillopt.work.confinement.sandbox import weakness
from skillopt.work.unit import Needs


class SpreadsheetSettings(BaseModel):
    """Keys of section `env` that only SpreadsheetBench reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_root: str = Field(
        default="data/spreadsheetbench", description="Directory that the items' spreadsheet_path is relative to."
    )
    mode: Literal["single", "multi", "react"] = Field(
        default="multi", description="One call, errors sent back, or a tool agent."
    )
    code_seconds: float = Field(default=120.0, gt=0, description="Seconds that one run of a program may take.")
    code_memory_mb: int = Field(default=2048, ge=256, description="Memory of one run of a program, in MB.")
    recalculate: bool = Field(
        default=False,
        description="Evaluate formulas with LibreOffice before cells are compared; another protocol than the published"
        " one, where a formula without a stored value is an empty cell.",
    )
    train_eval_feedback: bool = Field(
        default=False,
        description="In mode multi, tell the target on training items which cells are wrong; never what is right.",
    )


class SpreadsheetBenchEnv:
    """See the module's contract."""

    Settings = SpreadsheetSettings
    name = "spreadsheetbench"
    pass_threshold = 1.0
    takes_agents = True
    episode_needs = Needs(cpu=0.5, memory_mb=256)

    def __init__(self, config: EnvConfig, settings: SpreadsheetSettings) -> None:
        self._config, self._settings = config, settings
        mode = "react" if settings.mode == "react" else "rollout"
        self._system = Template.beside(__file__, f"prompts/{mode}_system.md")
        self._user = Template.beside(__file__, f"prompts/{mode}_user.md")
        self._bounds = Bounds(settings.data_root, settings.code_seconds, settings.code_memory_mb, settings.recalculate)

    @property
    def version(self) -> str:
        keys = self._settings.model_dump(exclude={"data_root"})
        return digest([rollout.VERSION, self._system.digest, self._user.digest, keys, self.max_turns])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def max_turns(self) -> int:
        return 1 if self._settings.mode == "single" else self._config.max_turns

    @property
    def step_seconds(self) -> float:
        """A step of an episode runs a program and compares its workbook."""
        return self._settings.code_seconds + 180.0

    def load(self) -> Splits:
        check_root(self._settings.data_root)
        if self._settings.recalculate and office() is None:
            raise ConfigError(
                "env.recalculate=true needs LibreOffice, and neither soffice nor libreoffice is on PATH",
                hint="install LibreOffice, or leave env.recalculate at false",
            )
        splits = load_splits(self._config, source(self._settings.data_root))
        if not self._settings.train_eval_feedback:
            return splits
        return replace(splits, train=tuple(replace(i, data={**i.data, "feedback": True}) for i in splits.train))

    def cautions(self) -> tuple[str, ...]:
        """See `Cautious`."""
        return (weakness(),) if weakness() else ()

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        try:
            seen = preview(Path(self._settings.data_root) / first_case(item).given)
        except OSError as error:
            raise ItemFault(f"item {item.id!r}: {error}") from error
        return conversation(self._asked(item, skill_text), Reset(seen), ())

    def turn_messages(self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
        return conversation(self._asked(item, skill_text), start, played)

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    def open_episode(self, item: Item) -> Episode:
        if self._settings.mode == "react":
            return ReactEpisode(item, self._bounds)
        return SheetEpisode(item, self._bounds, feedback=bool(item.data.get("feedback")))

    def tools(self, item: Item) -> tuple[JsonObject, ...]:
        return TOOLS if self._settings.mode == "react" else ()

    def parse_action(self, item: Item, reply: str) -> str:
        return code_of(reply) if self._settings.mode == "single" else fenced(reply) or ""

    def given_files(self, item: Item) -> Mapping[str, bytes]:
        try:
            return {INPUT: (Path(self._settings.data_root) / first_case(item).given).read_bytes()}
        except OSError as error:
            raise ItemFault(f"item {item.id!r}: {error}") from error

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return await rollout.score(item, attempt, self._bounds, ctx.executor)

    def score_rests_on(self, item: Item, attempt: Attempt) -> JsonValue:
        first = rollout.first_of(attempt)
        return [text_digest(rollout.solution_of(attempt)), digest(first) if first is not None else ""]

    def task_text(self, item: Item) -> str:
        position, cases = as_text(item.data.get("position")), len(cases_of(item))
        return f"{item.data['instruction']}\n\nAnswer position: {position} ({cases} test cases)"

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)

    def _asked(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        shown = {
            "instruction": as_text(item.data.get("instruction")),
            "kind": as_text(item.data.get("instruction_type")),
            "position": as_text(item.data.get("position")),
        }
        system = self._system.render({"skill": skill_text if skill_text.strip() else ""})
        user = self._user.render(shown, where=f"item {item.id!r}")
        return (Message("system", system), Message("user", user))
