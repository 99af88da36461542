"""Kill −9 at random moments, start again, compare: final bytes and calls paid twice (invariant I3).

    python benchmarks/kill_resume.py --trials 200 --kills 1

Each trial is a run in its own process group against a server on loopback. It is killed `--kills` times: at a moment
drawn uniformly over an undisturbed run's duration, or, for a share of the trials, by its own hand just before or after
the rename of a file or the commit of an answer. Then it is started again until it ends. Checked for every trial: the
tree equals the undisturbed one byte for byte (`records.directory.VOLATILE` apart); no request whose answer was in the
journal at a restart was sent again; what was sent again is no more than was in flight at the kills.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from skillopt.core.json_types import JsonObject
from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.toy_task import answer, write_config, write_data
from skillopt.testing.trees import asked_key, differences, journal_keys, tree
from skillopt.testing.zygote import Ended, Zygote, kill_group

OWN_HAND = ("replace", "replaced", "insert", "inserted")


@dataclass
class Outcome:
    """What the trials came to. Everything but `kills` and `sent_again` should be empty or zero."""

    trials: int = 0
    kills: int = 0
    too_late: int = 0
    """Moments that fell behind the end of the run: nothing was killed."""
    sent_again: int = 0
    in_flight: int = 0
    paid_twice: int = 0
    """Requests sent although their answer was in the journal when the process started."""
    different: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.kills} kills (and {self.too_late} that came after the end): "
            f"{self.trials - len(self.different) - len(self.failed)} identical final trees; "
            f"{self.paid_twice} journalled answers asked again; "
            f"{self.sent_again} requests sent again of {self.in_flight} in flight at a kill"
        )


class Bench:
    """One server, one zygote, one reference run; `trial` adds to `outcome`."""

    def __init__(self, zygote: Zygote, server: LatencyServer, scratch: Path, config: Path, *, seed: int) -> None:
        self._zygote, self._server, self._scratch, self._config = zygote, server, scratch, config
        self._random = random.Random(seed)
        self.outcome = Outcome()

    async def reference(self) -> None:
        """The undisturbed run: its tree, how long it takes, how many files it renames and answers it commits."""
        began = time.monotonic()
        ended = await self._run("reference")
        if ended.code != 0:
            raise RuntimeError(f"the undisturbed run failed: {ended.err or ended.out}")
        self._seconds = time.monotonic() - began
        self._tree = tree(self._scratch / "reference")
        self._renames = len(self._tree)
        self._commits = len(journal_keys(self._scratch / "reference"))

    def _arguments(self, name: str) -> list[str]:
        return ["train", "--config", str(self._config), f"env.out_root={self._scratch / name}"]

    async def _run(self, name: str, *, die: str = "", kill_after: float | None = None) -> Ended:
        pid = self._zygote.start(self._arguments(name), die=die)
        if kill_after is not None:
            await asyncio.sleep(kill_after)
            kill_group(pid)
        return await asyncio.to_thread(self._zygote.wait)

    async def trial(self, name: str, *, kills: int, own_hand: bool) -> None:
        """One run that is killed and started again until it ends."""
        o, root = self.outcome, self._scratch / name
        o.trials += 1
        first = len(self._server.headers)
        in_flight: set[str] = set()
        for _ in range(kills):
            before = journal_keys(root)
            start = len(self._server.headers)
            ended = await self._killed_run(name, own_hand=own_hand, share=1.0 if kills == 1 else 0.6)
            await self._arrived()
            o.paid_twice += self._asked_in(start, before)
            if ended.code >= 0:
                o.too_late += 1
            else:
                o.kills += 1
                in_flight |= self._asked_since(first) - journal_keys(root)
        before, start = journal_keys(root), len(self._server.headers)
        ended = await self._run(name)
        o.paid_twice += self._asked_in(start, before)
        counts = Counter(map(asked_key, self._server.headers[first:]))
        again = {key for key, n in counts.items() if n > 1}
        o.sent_again += len(again)
        o.in_flight += len(in_flight)
        if again - in_flight:
            o.failed.append(f"{name}: {len(again - in_flight)} requests sent again that were not in flight at a kill")
        elif ended.code != 0:
            o.failed.append(f"{name}: exit code {ended.code}: {ended.err.strip() or ended.out.strip()[-300:]}")
        elif changed := differences(self._tree, tree(root)):
            o.different.append(f"{name}: {', '.join(changed[:5])}")

    async def _killed_run(self, name: str, *, own_hand: bool, share: float) -> Ended:
        """Kill within the first `share` of a run; the work that earlier processes finished takes no time again."""
        root = self._scratch / name
        if not own_hand:
            return await self._run(name, kill_after=self._random.uniform(0, share * self._seconds))
        what = self._random.choice(OWN_HAND)
        if what.startswith("replace"):
            left = self._renames - len(tree(root))
        else:
            left = self._commits - len(journal_keys(root))
        return await self._run(name, die=f"{what}:{self._random.randint(1, max(1, int(share * left)))}")

    async def _arrived(self) -> None:
        """Wait until the server has read what a killed process had already sent: it was in flight too."""
        seen = -1
        while seen != len(self._server.headers):
            seen = len(self._server.headers)
            await asyncio.sleep(0.05)

    def _asked_since(self, start: int) -> set[str]:
        return set(map(asked_key, self._server.headers[start:]))

    def _asked_in(self, start: int, known: set[str]) -> int:
        return sum(asked_key(h) in known for h in self._server.headers[start:])


def toy_config(scratch: Path, url: str, **changes: Any) -> Path:
    """The toy's configuration and data."""
    return write_config(scratch / "config.yaml", write_data(scratch / "data"), url, **changes)


async def campaign(
    *,
    trials: int,
    kills: int,
    seed: int,
    own_hand_share: float,
    scratch: Path,
    answering: Callable[[JsonObject], tuple[str, JsonObject]] = answer,
    configured: Callable[..., Path] = toy_config,
    **changes: Any,
) -> Outcome:
    """Run all trials one after the other. `changes` are settings of the run, `section__key`; `answering` is the model
    and `configured(scratch, url, **changes)` writes the configuration."""
    server = LatencyServer(Behaviour(median_s=0.004), answering, keep_bodies=True)
    async with server:
        with Zygote(scratch) as zygote:
            bench = Bench(zygote, server, scratch, configured(scratch, server.url, **changes), seed=seed)
            await bench.reference()
            for n in range(trials):
                await bench.trial(f"trial{n:03d}", kills=kills, own_hand=(n * own_hand_share) % 1 < own_hand_share)
    return bench.outcome


def main() -> int:
    """Command line; exit code 1 when a trial went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--kills", type=int, default=1, help="kills in each trial before it may end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--own-hand", type=float, default=0.4, help="share of trials killed between write and rename")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        outcome = asyncio.run(
            campaign(
                trials=options.trials,
                kills=options.kills,
                seed=options.seed,
                own_hand_share=options.own_hand,
                scratch=Path(scratch),
            )
        )
        print(outcome)
        print(f"{time.monotonic() - began:.0f} s")
        for problem in (*outcome.different, *outcome.failed):
            print(problem)
    return 1 if outcome.different or outcome.failed or outcome.paid_twice else 0


if __name__ == "__main__":
    sys.exit(main())
