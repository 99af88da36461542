"""Events to JSON and back, for every class and any content its types allow."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.json_types import JsonObject
from skillopt.records.events import EVENTS, Event, Notice, StageEnd, StageStart, read_event, stamped
from skillopt.records.vocabulary import Stage
from tests.examples import many

FINITE = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, FINITE)


@pytest.mark.parametrize("name", EVENTS)
@settings(max_examples=many(25))
@given(data=st.data())
def test_every_event_survives_its_line(name, data):
    kind = EVENTS[name]
    known = {f.name for f in dataclasses.fields(kind)} & {"summary", "record", "gate", "edit"}
    if known or any("Json" in str(f.type) for f in dataclasses.fields(kind)):
        needed = [f for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING
                  and f.default_factory is dataclasses.MISSING]  # fmt: skip
        if any(f.name in known for f in needed):
            pytest.skip("holds a record; those are tested on real runs")
        event = kind(**{f.name: {"stage": Stage.TEST}.get(f.name, "x") for f in needed if f.name != "step"},
                     **({"step": 1} if any(f.name == "step" for f in needed) else {}))  # fmt: skip
    else:
        event = data.draw(st.builds(kind))
    assert isinstance(event, Event)
    line = json.dumps(event.to_json())
    assert read_event(json.loads(line)) == event


def test_a_stamp_says_when_and_changes_nothing_that_was_told():
    event = StageStart(stage=Stage.ROLLOUT, step=1, total=8)
    one = stamped(event, seq=7, time=12.5, run_id="abc", replayed=True)
    assert (one.seq, one.time, one.run_id, one.replayed) == (7, 12.5, "abc", True)
    assert one.told() == event.told() and one.stage is Stage.ROLLOUT
    assert list(one.to_json())[:5] == ["event", "seq", "time", "run_id", "replayed"]


def test_a_name_that_this_version_does_not_know_is_passed_over():
    later: JsonObject = {"event": "weather.changed", "to": "rain"}
    assert read_event(later) is None
    assert read_event({"event": "notice", "text": "x", "tone": "grave"}) == Notice(text="x")


def test_every_start_has_an_end_class():
    names = set(EVENTS)
    assert {n.replace(".start", ".end") for n in names if n.endswith(".start")} <= names
    assert StageEnd(stage=Stage.TEST).outcome == "done"
