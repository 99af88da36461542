"""Several endpoints for one role: shares, sticky prefixes, failover, a limiter each, one journal key."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillopt.core.errors import CircuitOpen, FatalModelError, TransientModelError
from skillopt.core.json_types import JsonObject
from skillopt.model.client import Client, Member
from skillopt.model.prices import load_prices
from skillopt.model.traffic.lanes import Lanes
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.types import ChatReply, ChatRequest, Usage
from skillopt.store.journal import Journal
from tests.model.model_support import QuickBackoff, WatchfulMeter, ask


@dataclass
class Place:
    """An endpoint that counts; `fault` is what it says to a call, if anything."""

    endpoint: str
    model: str = "m"
    fault: Callable[[], Exception | None] = lambda: None
    hold: asyncio.Event | None = None
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most: int = 0

    def identity(self) -> JsonObject:
        return {"kind": "fake", "model": self.model}

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(str(request.messages[0].content))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await (self.hold.wait() if self.hold is not None else asyncio.sleep(0))
            if (fault := self.fault()) is not None:
                raise fault
            return ChatReply(f"by {self.model}", usage=Usage(10, 2))
        finally:
            self.at_once -= 1

    async def aclose(self) -> None:
        """Nothing is open."""


class Pool:
    """A client over several places."""

    def __init__(self, path: Path, *places: Place, width: int = 4, weights: tuple[float, ...] = ()) -> None:
        self.journal, self.told = Journal.open(path), list[str]()
        self.places = places
        weights = weights or (1.0,) * len(places)
        members = [Member(p, Limits(width=width), w) for p, w in zip(places, weights, strict=True)]
        self.pool = LimiterPool(identical_failures=5)
        self.client = Client(
            role="target", backend=members[0].backend, journal=self.journal, meter=WatchfulMeter(), pool=self.pool,
            prices=load_prices(), limits=members[0].limits, weight=members[0].weight, others=members[1:],
            backoff=QuickBackoff(), notify=self.told.append,
        )  # fmt: skip

    @property
    def lanes(self) -> Lanes:
        return self.client.lanes

    async def many(self, prefixes: int, each: int = 1) -> None:
        calls = [ask(f"item {k}", system=f"skill {n}") for n in range(prefixes) for k in range(each)]
        await asyncio.gather(*(self.client.chat(call) for call in calls))

    def counts(self) -> list[int]:
        return [len(place.asked) for place in self.places]


def places(count: int) -> list[Place]:
    return [Place(f"http://e{n}.example/v1") for n in range(count)]


async def test_a_prefix_stays_with_its_endpoint_while_that_has_room(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "j", *places(4))
    for n in range(40):
        await pool.client.chat(ask(f"item {n}", system="one skill"))
    assert sorted(pool.counts()) == [0, 0, 0, 40]


async def test_different_prefixes_are_shared_out_by_weight(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "j", *places(3), weights=(1, 1, 2))
    first = Counter(pool.lanes.order(f"prefix {n}")[0].name for n in range(4000))
    shares = [first[place.endpoint] / 4000 for place in pool.places]
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.03)


async def test_an_endpoint_more_moves_only_its_own_share(tmp_path: Path) -> None:
    three, four = Pool(tmp_path / "a", *places(3)), Pool(tmp_path / "b", *places(4))
    moved = 0
    for n in range(2000):
        before, after = (pool.lanes.order(f"p{n}")[0].name for pool in (three, four))
        moved += before != after
        assert after in (before, "http://e3.example/v1")
    assert moved / 2000 == pytest.approx(0.25, abs=0.04)


async def test_what_is_full_spills_over_in_the_same_order_and_no_limiter_is_passed(tmp_path: Path) -> None:
    gate = asyncio.Event()
    spots = places(3)
    for spot in spots:
        spot.hold = gate
    pool = Pool(tmp_path / "j", *spots, width=4)
    work = asyncio.ensure_future(pool.many(1, 12))
    while sum(spot.at_once for spot in spots) < 12:
        await asyncio.sleep(0.001)
    assert [spot.at_once for spot in spots] == [4, 4, 4]
    gate.set()
    await work
    order = [lane.name for lane in pool.lanes.order(pool_prefix("skill 0"))]
    few = Pool(tmp_path / "k", *(Place(spot.endpoint, hold=asyncio.Event()) for spot in spots), width=4)
    later = asyncio.ensure_future(few.many(1, 6))
    while sum(spot.at_once for spot in few.places) < 6:
        await asyncio.sleep(0.001)
    at = {spot.endpoint: spot.at_once for spot in few.places}
    assert [at[name] for name in order] == [4, 2, 0]
    later.cancel()
    await asyncio.gather(later, return_exceptions=True)


def pool_prefix(system: str) -> str:
    from skillopt.model.traffic.lanes import prefix_of

    return prefix_of([system])


async def test_the_key_does_not_say_who_answered(tmp_path: Path) -> None:
    spots = places(3)
    pool, alone = Pool(tmp_path / "j", *spots), Pool(tmp_path / "k", Place("http://other.example/v1"))
    request = ask("x")
    assert pool.client.key(request) == alone.client.key(request)
    await pool.client.chat(request)
    entry = pool.journal.get(pool.client.key(request))
    assert entry is not None and entry.value["endpoint"] == next(s.endpoint for s in spots if s.asked)
    await alone.client.chat(request)
    found = alone.journal.get(alone.client.key(request))
    assert found is not None and "endpoint" not in found.value


async def test_different_models_are_one_model_to_the_journal(tmp_path: Path) -> None:
    def key(*models: str) -> str:
        spots = [Place(f"http://e{n}.example/v1", model) for n, model in enumerate(models)]
        return Pool(tmp_path / "-".join(models), *spots).client.key(ask("x"))

    assert key("a", "b") == key("b", "a") == key("b", "a", "b")
    assert len({key("a", "b"), key("a", "a"), key("b", "b"), key("a", "c")}) == 4


def gone() -> Exception:
    return TransientModelError("nobody there", unreachable=True)


async def test_a_dead_endpoint_costs_no_answer_and_is_left_alone(tmp_path: Path) -> None:
    spots = places(3)
    pool = Pool(tmp_path / "j", *spots)
    home = pool.lanes.order(pool_prefix("skill 0"))[0]
    dead = next(spot for spot in spots if spot.endpoint == home.name)
    dead.fault = gone
    for n in range(30):
        await pool.client.chat(ask(f"item {n}", system="skill 0"))
    assert pool.journal.count("chat") == 30
    assert len(dead.asked) <= 3, "after a failure it rests"
    dead.fault = lambda: None
    home.well()
    await pool.client.chat(ask("after", system="skill 0"))
    assert dead.asked.count("skill 0") >= 2, "its own prompts come back to it"


@pytest.mark.parametrize("cause", ["key", "credit", "model"])
async def test_what_is_wrong_with_one_endpoint_closes_that_one(tmp_path: Path, cause: str) -> None:
    spots = places(2)
    for spot in spots:
        if spot.endpoint == Pool(tmp_path / "o", *places(2)).lanes.order(pool_prefix("skill 0"))[0].name:
            spot.fault = lambda: FatalModelError("it says no", cause=cause)  # type: ignore[arg-type]
    pool = Pool(tmp_path / "j", *spots)
    for n in range(10):
        await pool.client.chat(ask(f"item {n}", system="skill 0"))
    assert sorted(pool.counts()) == [1, 10]
    assert [line for line in pool.told if "is asked no more: it says no; 1 of 2 go on" in line]


async def test_the_last_endpoint_ends_the_run(tmp_path: Path) -> None:
    spots = places(2)
    for spot in spots:
        spot.fault = lambda: FatalModelError("it says no", cause="key")
    with pytest.raises(FatalModelError, match="it says no"):
        await Pool(tmp_path / "j", *spots).client.chat(ask("x"))


async def test_a_request_that_is_wrong_is_wrong_everywhere(tmp_path: Path) -> None:
    spots = places(2)
    for spot in spots:
        spot.fault = lambda: FatalModelError("bad parameter", cause="request")
    pool = Pool(tmp_path / "j", *spots)
    with pytest.raises(FatalModelError, match="bad parameter"):
        await pool.client.chat(ask("x"))
    assert sum(pool.counts()) == 1 and not pool.told


async def test_all_dead_is_a_lost_call_and_then_an_open_circuit(tmp_path: Path) -> None:
    spots = places(2)
    for spot in spots:
        spot.fault = gone
    pool = Pool(tmp_path / "j", *spots)
    lost = 0
    with pytest.raises(CircuitOpen):
        for n in range(40):
            try:
                await pool.client.chat(ask(f"item {n}", attempts=2))
            except TransientModelError:
                lost += 1
    assert 5 <= lost <= 20
    assert sum("is asked no more" in line for line in pool.told) == 1


async def test_a_refusal_halves_that_endpoint_only(tmp_path: Path) -> None:
    spots = places(2)
    pool = Pool(tmp_path / "j", *spots, width=8)
    home = pool.lanes.order(pool_prefix("skill 0"))[0]
    busy = next(spot for spot in spots if spot.endpoint == home.name)
    refusals = iter([TransientModelError("slow down", overloaded=True, retry_after=0.0)])
    busy.fault = lambda: next(refusals, None)
    await pool.many(1, 8)
    other = next(lane for lane in pool.lanes.every if lane is not home)
    assert home.limiter.width < 8 and other.limiter.width == 8
    assert pool.journal.count("chat") == 8


class _SlowBackoff(QuickBackoff):
    def wait(self, attempt: int, error: BaseException | None) -> float:
        del attempt, error
        return 0.05


@pytest.mark.parametrize("width", [4, 64])
async def test_calls_that_find_all_endpoints_dead_wait_for_those_that_were_sent(tmp_path: Path, width: int) -> None:
    """More failures in a row than either breaker takes, while the calls that met them have attempts left."""
    spots = places(2)
    for spot in spots:
        spot.fault = lambda: TransientModelError("nobody is there", unreachable=True)
    pool = Pool(tmp_path / "j", *spots, width=width)
    pool.client.backoff = _SlowBackoff()

    async def later(n: int) -> ChatReply:
        while n >= 12 and sum(pool.counts()) < 12:
            await asyncio.sleep(0)
        return await pool.client.chat(ask(f"item {n}"))

    found = await asyncio.gather(*(later(n) for n in range(40)), return_exceptions=True)
    assert {type(each) for each in found} <= {CircuitOpen, TransientModelError}
    assert any(isinstance(each, CircuitOpen) for each in found)
    assert any("is asked no more" in line for line in pool.told)


def test_a_rest_doubles_up_to_half_a_minute_however_often_it_fails(tmp_path: Path) -> None:
    lane = Pool(tmp_path / "j", *places(1)).lanes.every[0]
    lane.clock = lambda: 100.0
    rests: list[float] = []
    for _ in range(2000):
        lane.rest()
        rests.append(lane._rests_until - 100.0)
    assert rests[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30] and rests[-1] == 30
    lane.well()
    lane.rest()
    assert lane._rests_until == 100.5
