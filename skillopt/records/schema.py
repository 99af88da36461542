"""The record classes of a run, in one place to import from. Each is frozen and stands beside its parts: `step`, `gate`,
`epoch`, `summary`, `rows`. `RECORD_VERSION` is what this program writes; readers take every version up to it."""

from skillopt.records.codec import RECORD_VERSION
from skillopt.records.epoch import RESULT_FILES, ComparisonRecord, EpochRecord
from skillopt.records.factorial import EffectRecord, FactorialRecord
from skillopt.records.gate import DensityRecord, GateRecord, TrialRecord, VetoRecord
from skillopt.records.rows import Clock, Ledger, RolloutRow, RunState, SpentRow
from skillopt.records.step import (
    ApplySummary,
    BatchRecord,
    CreditRecord,
    DeepRecord,
    LrDecisionRecord,
    NotesRecord,
    StepRecord,
    TokenCount,
    Tokens,
    token_counts,
)
from skillopt.records.summary import (
    Attrition,
    CostSummary,
    Difference,
    EpochEnd,
    EpochStats,
    PairedSummary,
    PointCost,
    RoleCost,
    ScoreSummary,
    Summary,
    TokenTotal,
    TypeScore,
)

__all__ = [
    "RECORD_VERSION",
    "RESULT_FILES",
    "ApplySummary",
    "Attrition",
    "BatchRecord",
    "Clock",
    "ComparisonRecord",
    "CostSummary",
    "CreditRecord",
    "DeepRecord",
    "DensityRecord",
    "Difference",
    "EffectRecord",
    "EpochEnd",
    "EpochRecord",
    "EpochStats",
    "FactorialRecord",
    "GateRecord",
    "Ledger",
    "LrDecisionRecord",
    "NotesRecord",
    "PairedSummary",
    "PointCost",
    "RoleCost",
    "RolloutRow",
    "RunState",
    "ScoreSummary",
    "SpentRow",
    "StepRecord",
    "Summary",
    "TokenCount",
    "TokenTotal",
    "Tokens",
    "TrialRecord",
    "TypeScore",
    "VetoRecord",
    "token_counts",
]  # fmt: skip
