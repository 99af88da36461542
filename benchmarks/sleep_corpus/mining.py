"""Precision and recall of mined tasks over synthetic months: `python -m benchmarks.sleep_corpus.mining [--months 20]`.

A draft is right if its session asked for a recurring kind with exactly that request, and its cluster is mostly of that
kind. Recall is over every (session, kind) asked in a month by two sessions or more. Intervals are 95 % bootstrap ones
over months. No model is asked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.sleep_corpus.month import Month, make_month
from skillopt.sleep.mining.tasks import Draft
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.survey import Survey, survey


@dataclass(frozen=True)
class Counts:
    """One month: (right, found) and (found, there), for tasks and for labelled pairs; what should be none."""

    precision: tuple[int, int]
    recall: tuple[int, int]
    pair_precision: tuple[int, int]
    pair_recall: tuple[int, int]
    clusters: int
    kinds: int
    leaked: int
    poisoned: int


def counted(month: Month, seen: Survey, stored: bytes) -> Counts:
    """What mining made of one month."""
    truth = month.truth
    by_kind = Counter(kind for _, kind in truth.asked)
    wanted = {pair for pair in truth.asked if by_kind[pair[1]] > 1}
    right: dict[tuple[str, str], Draft] = {}
    false_pairs = 0
    for cluster in seen.selection.clusters:
        members = [draft for draft in seen.selection.drafts if draft.task.cluster_id == cluster.id]
        kinds = [_kind_of(draft, month) for draft in members]
        known = Counter(kind for kind in kinds if kind)
        main = known.most_common(1)[0][0] if known else ""
        for draft, kind in zip(members, kinds, strict=True):
            place = (draft.request.session.key, kind)
            if kind and kind == main and place in wanted:
                right[place] = draft
            elif draft.is_pair:
                false_pairs += 1
    pairs = {place for place, draft in right.items() if draft.is_pair}
    found = len(seen.selection.drafts)
    return Counts(
        precision=(len(right), found),
        recall=(len(right), len(wanted)),
        pair_precision=(len(pairs & truth.corrected), len(pairs) + false_pairs),
        pair_recall=(len(pairs & truth.corrected), len(truth.corrected & wanted)),
        clusters=len(seen.selection.clusters),
        kinds=len({kind for _, kind in wanted}),
        leaked=sum(secret.encode() in stored for secret in truth.secrets),
        poisoned=sum(draft.request.session.key in truth.poisoned for draft in seen.selection.drafts),
    )


def measure(seed: int) -> Counts:
    """Make a month, survey it, count."""
    with tempfile.TemporaryDirectory(prefix="skillopt-month-") as place:
        month = make_month(Path(place), seed)
        homes = {f"{agent}_home": str(month.home / agent) for agent in ("claude", "codex", "copilot")}
        homes["opencode_db"] = ":memory:"
        settings = Settings(**homes, lookback_hours=0, ingest_days=10_000, max_tasks_per_night=400)  # type: ignore[arg-type]
        paths = StatePaths.of(Path(place) / "state", month.project)
        with StateDatabase(paths.digests) as database:
            seen = survey(database, month.project, settings, now=month.now)
            text = "".join(t.prompt + t.answer for c in seen.clusters for m in c.members for t in m.session.turns)
        raw = b"".join(path.read_bytes() for path in paths.root.rglob("*") if path.is_file())
        return counted(month, seen, raw + text.encode())


def share(counts: Sequence[tuple[int, int]], draws: int = 2_000) -> tuple[float, float, float]:
    """The pooled share and its 95 % interval over months."""
    draw = Random(0)

    def pooled(some: Sequence[tuple[int, int]]) -> float:
        return sum(a for a, _ in some) / max(1, sum(b for _, b in some))

    drawn = sorted(pooled(draw.choices(counts, k=len(counts))) for _ in range(draws))
    return pooled(counts), drawn[int(0.025 * draws)], drawn[int(0.975 * draws)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    months = [measure(args.first_seed + n) for n in range(args.months)]
    for name in ("precision", "recall", "pair_precision", "pair_recall"):
        value, low, high = share([getattr(month, name) for month in months])
        total = sum(getattr(month, name)[1] for month in months)
        print(f"{name:15} {value:.3f}  [{low:.3f}, {high:.3f}]  n = {total}")
    print(f"clusters {sum(m.clusters for m in months)} for {sum(m.kinds for m in months)} kinds")
    print(f"secrets in the state {sum(m.leaked for m in months)}, poisoned drafts {sum(m.poisoned for m in months)}")


def _kind_of(draft: Draft, month: Month) -> str:
    asked = {kind: text for (key, kind), text in month.truth.asked.items() if key == draft.request.session.key}
    return next((kind for kind, text in asked.items() if draft.request.opening == text), "")


if __name__ == "__main__":
    main()
