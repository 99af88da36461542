"""Many session files read in, and read in again: `python benchmarks/sleep_ingest.py [--files 20000]`.

Sessions of three agents in equal parts, five turns each; prints seconds, CPU seconds, files opened and peak memory.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from random import Random

from benchmarks.sleep_corpus.formats import Planned, Said, write
from benchmarks.sleep_corpus.month import AGENTS, START
from benchmarks.sleep_corpus.words import ONCE
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.survey import survey

_ANSWER = 4 * "I looked at the module and changed the parser so that an empty line is skipped; all tests pass. "


def main() -> None:
    """Make the files, read them in twice, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    args = parser.parse_args()
    draw = Random(0)
    with tempfile.TemporaryDirectory(prefix="skillopt-ingest-") as place:
        project, home = Path(place) / "shop", Path(place) / "home"
        project.mkdir()
        total = 0
        for n in range(args.files):
            turns = tuple(Said(draw.choice(ONCE), _ANSWER, output=_ANSWER) for _ in range(5))
            planned = Planned(AGENTS[n % 3], f"s{n}", str(project), START + n, turns)
            total += write(home, planned).stat().st_size
        print(f"{args.files:,} files, {total / 1e6:.0f} MB")
        homes = {f"{agent}_home": str(home / agent) for agent in AGENTS}
        settings = Settings(**homes, ingest_days=10_000, opencode_db=":memory:")  # type: ignore[arg-type]
        for name in ("first", "second"):
            wall, cpu = time.perf_counter(), time.process_time()
            with StateDatabase(StatePaths.of(Path(place) / "state", project).digests) as database:
                seen = survey(database, project, settings, now=START + 30 * 86_400)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name}: {time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} s CPU, "
                f"{seen.report.opened} opened, {len(seen.clusters)} clusters, peak {peak:.0f} MB"
            )
            del seen  # a night looks once: the peak of the second look must not hold the first one


if __name__ == "__main__":
    main()
