"""What an optimizer stage may touch: the optimizer model, the prompts, the observers, its settings. Nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.model.types import ChatModel, ChatRequest, Message, Usage
from skillopt.optimizer.modes import UpdateMode, update_mode
from skillopt.optimizer.prompting import PromptBook
from skillopt.records.events import Emit, silent
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True)
class OptimizerSettings:
    """The optimizer's share of the configuration (`spec/configuration.md` sections gradient and optimizer)."""

    learning_rate: int = 4
    minibatch_size: int = 8
    merge_batch_size: int = 8
    analyst_workers: int = 16
    failure_only: bool = False
    profile: str = "full"
    proposals: int = 1
    reminders: tuple[str, ...] = ()
    """Analysts (`failure`, `success`) that may write appendix notes; none means reflection is not skill-aware."""
    update_mode: str = "patch"
    rewrite_reasoning_effort: str = ""
    rewrite_max_completion_tokens: int = 64_000
    """Of every reply that holds a whole skill."""
    temperature: float | None = None
    max_completion_tokens: int = 16_384
    prompt_token_budget: int = 100_000
    deadline_s: float = 600.0


@dataclass
class Tally:
    """Counts what the optimizer calls of one stage line used: `{stage: {calls, prompt_tokens, completion_tokens}}`.

    Unknown usage makes the sum unknown (None), never smaller.
    """

    stages: dict[str, dict[str, int | None]] = field(default_factory=dict[str, "dict[str, int | None]"])
    reasks: int = 0
    dropped: int = 0

    def add(self, stage: str, usage: Usage, calls: int = 1) -> None:
        """Count calls under a stage tag."""
        row = self.stages.setdefault(stage, {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0})
        row["calls"] = (row["calls"] or 0) + calls
        for name in ("prompt_tokens", "completion_tokens"):
            now, more = row[name], getattr(usage, name)
            row[name] = None if now is None or more is None else now + more


@dataclass(frozen=True)
class StageContext:
    """Handed to every optimizer stage."""

    model: ChatModel
    settings: OptimizerSettings
    prompts: PromptBook
    tally: Tally
    emit: Emit = silent
    priority: int = 0
    """Of all calls of the stage; work ahead goes behind what a decision waits for."""
    meta_skill: str = ""
    """The memory from earlier epochs, for analysts, merges, ranking and the autonomous budget; blank when there is
    none."""

    @property
    def mode(self) -> UpdateMode:
        """How the skill is changed."""
        return update_mode(self.settings.update_mode)

    @property
    def reminders(self) -> tuple[str, ...]:
        """Kinds of analysts that may write notes: none where whole documents are asked for."""
        return self.settings.reminders if self.mode.budgeted else ()

    @property
    def aware(self) -> bool:
        """Whether reflection tells defects of the skill from lapses of the target."""
        return bool(self.reminders)

    @property
    def item_cap(self) -> int:
        """Completion tokens of a reply that holds items of the mode: whole documents need more."""
        s = self.settings
        return s.max_completion_tokens if self.mode.budgeted else s.rewrite_max_completion_tokens

    def request(self, system: str, user: str, *, stage: Stage, repeat: int = 0, cap: int | None = None) -> ChatRequest:
        """An optimizer call: shared instructions in the system message, what is particular to the call last.

        `cap` replaces the configured completion tokens.
        """
        s = self.settings
        return ChatRequest(
            messages=(Message("system", system), Message("user", user)),
            stage=stage,
            max_completion_tokens=s.max_completion_tokens if cap is None else cap,
            temperature=s.temperature,
            repeat=repeat,
            deadline_s=s.deadline_s,
            priority=self.priority,
            attempts=5,
        )
