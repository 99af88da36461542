"""Every key of the companion's configuration, with its default and a sentence.

A value is checked when it is read (`settings.values`); code takes it from the frozen `Settings`. Zero means zero, and
an unset cap is None. `key` stands for `dataclasses.field`: it adds the sentence, the bounds and the names allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TypeVar, cast

T = TypeVar("T")

SOURCES = ("auto", "claude", "codex", "copilot", "opencode")
SANDBOXES = ("auto", "codex", "bubblewrap", "container", "off")
BACKENDS = ("", "claude", "codex", "copilot", "handoff", "openai_compatible", "demo")


@dataclass(frozen=True)
class KeyFacts:
    """What is said about a key beside its type and default."""

    about: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    path: bool = False
    """A path: `~` stands for the home directory."""
    variable: str = ""
    """The environment variable that sets it."""
    unbuilt: str = ""
    """What it would switch on and is not built: any value but the default is refused with these words."""


def key(
    default: T,
    about: str,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
    path: bool = False,
    variable: str = "",
    unbuilt: str = "",
) -> T:
    """A field of `Settings` with its sentence."""
    facts = KeyFacts(about, choices, low, high, path, variable, unbuilt)
    return field(default=default, metadata={"facts": facts})


@dataclass(frozen=True)
class Settings:
    """One night's settings, frozen before anything runs."""

    claude_home: str = key(
        "~/.claude", "Where Claude Code keeps its sessions.", path=True, variable="CLAUDE_CONFIG_DIR"
    )
    codex_home: str = key("~/.codex", "Where Codex keeps its sessions.", path=True, variable="CODEX_HOME")
    copilot_home: str = key("~/.copilot", "Where Copilot CLI keeps its sessions.", path=True, variable="COPILOT_HOME")
    opencode_db: str = key("", "OpenCode's database; blank looks in its data directory.", path=True)
    claude_path: str = key("", "The claude executable; blank looks on PATH.", path=True)
    codex_path: str = key(
        "", "The codex executable; blank looks on PATH.", path=True, variable="SKILLOPT_SLEEP_CODEX_PATH"
    )
    copilot_path: str = key(
        "", "The copilot executable; blank looks on PATH.", path=True, variable="SKILLOPT_SLEEP_COPILOT_PATH"
    )
    transcript_source: tuple[str, ...] = key(
        ("auto",), "Whose sessions are read; auto takes every source that has some of this project.", choices=SOURCES
    )
    projects: tuple[str, ...] = key(
        ("invoked",), "invoked for the project given, all for every known one, or absolute paths.", path=True
    )
    invoked_project: str = key("", "The project to learn for; blank is the working directory.", path=True)
    lookback_hours: float = key(72.0, "A cluster is looked at when it has a session this young; 0 is all.", low=0)
    ingest_days: float = key(30.0, "Sessions older than this are not read in.", low=0)
    digest_days: float = key(180.0, "How long digests are kept.", low=0)
    max_tasks_per_night: int = key(40, "Tasks of one night; the rest waits for the next one.", low=0)
    max_sessions_per_night: int | None = key(None, "Sessions mined in one night; unset is 3 × tasks.", low=0)
    max_tokens_per_night: int = key(400_000, "Cap on tokens.", low=0)
    max_calls_per_night: int = key(400, "Cap on model calls.", low=0)
    max_minutes_per_night: float = key(60.0, "Cap on minutes.", low=0)
    max_cost_per_night: float | None = key(None, "Cap on US dollars; unset is none.", low=0)
    val_fraction: float = key(0.34, "Share of a cluster's instances that is held out.", low=0, high=1)
    test_fraction: float = key(0.0, "Share that is scored once, after the verdict.", low=0, high=1)
    min_support: int = key(2, "Distinct sessions a cluster needs.", low=2)
    backend: str = key("", "Who answers; blank takes the program of the source with most sessions.", choices=BACKENDS)
    model: str = key("", "Model; blank is the backend's own choice.")
    optimizer_backend: str = key("", "Who mines, judges and reflects; blank is `backend`.", choices=BACKENDS)
    optimizer_model: str = key("", "Model of the optimizer.")
    target_backend: str = key("", "Who replays; blank is `backend`.", choices=BACKENDS)
    target_model: str = key("", "Model of the target.")
    gate_mode: str = key("on", "off stages everything as an unproven suggestion.", choices=("on", "off"))
    gate_metric: str = key("mixed", "What a sample's score is.", choices=("hard", "soft", "mixed"))
    gate_mixed_weight: float = key(0.5, "Weight of the soft part in a mixed score.", low=0, high=1)
    gate_alpha: float = key(0.05, "Chance of accepting an edit without effect, over one night.", low=0, high=1)
    gate_min_effect: float = key(0.0, "Smallest gain worth a rule.", low=0, high=1)
    gate_repeats: int = key(3, "Samples a side and held-out task.", low=1)
    gate_max_repeats: int = key(6, "Samples a side at most.", low=1)
    gate_coverage_floor: float = key(0.95, "Share of pairs that must be measured.", low=0, high=1)
    gate_regression_budget: int = key(0, "Held-out tasks an accepted edit may break.", low=0)
    edit_budget: int = key(4, "Edits per target document and night.", low=0)
    max_rule_chars: int = key(240, "Characters of one rule.", low=1)
    max_block_chars: int = key(6_000, "Characters of the learned block.", low=1)
    max_rules: int = key(40, "Rules of the learned block.", low=0)
    rule_expiry_nights: int = key(60, "Nights after which a rule without a win is proposed for deletion.", low=0)
    preferences: str = key("", "House rules handed to reflection.")
    replay_tiers: tuple[str, ...] = key(
        ("text",), "What a replay may do; text is a reply without tools.", choices=("text", "worktree", "tools"),
        unbuilt="replays with files or tools",
    )  # fmt: skip
    test_command: str = key("", "The project's tests, for the worktree tier.", unbuilt="the worktree tier")
    sandbox: str = key("auto", "What holds a worktree run.", choices=SANDBOXES, unbuilt="the worktree tier")
    dream_rollouts: int = key(3, "Samples per train task.", low=0)
    dream_factor: int = key(0, "Reworded copies of each train task.", low=0)
    recall_k: int = key(0, "Archived train tasks, those most like tonight's, that join them.", low=0)
    evolve_memory: bool = key(True, "Whether memory files may get rules.")
    evolve_skill: bool = key(True, "Whether the managed skill may get rules.")
    llm_mine: bool = key(True, "Whether a model labels follow-ups and writes rubrics.")
    target_skill_path: str = key("", "A skill to learn for instead of the managed one.", path=True)
    skill_roots: tuple[str, ...] = key((), "Further directories in which skills lie.", path=True)
    targets: tuple[str, ...] = key(("auto",), "Target documents; auto is those of the hosts whose sessions were seen.")
    target_task_filter: bool = key(True, "With one named skill, keep the tasks that share a word with its headings.")
    multi_skill_fanout: bool = key(
        False, "Whether each skill used gets a night of its own.", unbuilt="learning for several skills in one night"
    )
    managed_skill_name: str = key("skillopt-sleep-learned", "Name of the skill the companion keeps.")
    auto_adopt: bool = key(False, "A standing order to adopt what was accepted, confirmed and unscreened.")
    progress: bool = key(False, "Phases on stderr.")
    seed: int = key(42, "Of splits and samples.")
    state_dir: str = key("~/.skillopt-sleep", "Where the state lies.", path=True, variable="SKILLOPT_SLEEP_HOME")
    evidence_log: bool = key(True, "Whether a night writes evidence.jsonl.")
    evidence_max_chars: int = key(4_000, "Characters of one field in it.", low=0)
    workers: int = key(4, "Calls at a time.", low=1, variable="SKILLOPT_SLEEP_WORKERS")
    neg_feedback: tuple[str, ...] = key((), "More phrases of refusal.", variable="SKILLOPT_SLEEP_NEG_FEEDBACK")
    pos_feedback: tuple[str, ...] = key((), "More phrases of approval.", variable="SKILLOPT_SLEEP_POS_FEEDBACK")
    agent_markers: tuple[str, ...] = key(
        (), "More openings that only a program types.", variable="SKILLOPT_SLEEP_AGENT_MARKERS"
    )
    prompts_path: str = key(
        "", "Prompt overrides; blank is prompts/ in the state.", path=True, variable="SKILLOPT_SLEEP_PROMPTS_PATH"
    )
    handoff_dir: str = key(
        "", "Handoff files; blank is inside the project.", path=True, variable="SKILLOPT_SLEEP_HANDOFF_DIR"
    )

    @property
    def sessions_limit(self) -> int:
        """Sessions mined in one night."""
        set_to = self.max_sessions_per_night
        return 3 * self.max_tasks_per_night if set_to is None else set_to


def facts_of(name: str) -> KeyFacts:
    """What is said about one key."""
    return FACTS[name]


FACTS: Mapping[str, KeyFacts] = MappingProxyType(
    {f.name: cast("KeyFacts", f.metadata["facts"]) for f in fields(Settings)}
)
DEFAULTS = Settings()
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "holdout_fraction": "val_fraction",
        "rollouts": "dream_rollouts",
        "gate_no_regression": "gate_regression_budget",
        "multi_skill_report": "multi_skill_fanout",
    }
)
"""Names of earlier programs that mean the same."""
