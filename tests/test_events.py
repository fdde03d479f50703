"""The log's lines: what is written is what is read, and nothing else is ever raised."""

from enum import EnumType
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec import inspect as types
from records import record
from watched import failed

from crawler import events
from crawler.events import Event, EventUnreadable, FetchRecord, Outcome, RunFinished, Stage

KINDS: tuple[type[Struct], ...] = get_args(Event)
WHOLE = st.integers(-(2**63), 2**63 - 1)


def of(kind: type[Struct]) -> st.SearchStrategy[Struct]:
    """Any value of a struct; fields with defaults are there or not."""
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    needed = {f.name: valued(f.type) for f in info.fields if f.required}
    free = {f.name: valued(f.type) for f in info.fields if not f.required}
    return st.builds(
        lambda always, sometimes: kind(**always, **sometimes),
        st.fixed_dictionaries(needed),
        st.fixed_dictionaries({}, optional=free),
    )


def valued(type_: types.Type) -> st.SearchStrategy[object]:
    """Any value of a field's type, within the bounds that reading checks."""
    match type_:
        case types.StrType():
            return st.text()
        case types.BoolType():
            return st.booleans()
        case types.NoneType():
            return st.none()
        case types.IntType():
            return WHOLE if type_.ge is None else st.integers(type_.ge, 2**63 - 1)
        case types.FloatType():
            least = type_.ge if type_.ge is not None else type_.gt
            return st.floats(
                min_value=least,
                exclude_min=type_.gt is not None,
                allow_nan=False,
                allow_infinity=False,
            )
        case types.EnumType(cls=EnumType() as enum):
            return st.sampled_from(list(enum))
        case types.UnionType():
            return st.one_of(*(valued(one) for one in type_.types))
        case types.VarTupleType():
            items = valued(type_.item_type)
            return st.lists(items, min_size=type_.min_length or 0, max_size=4).map(tuple)
        case types.DictType():
            return st.dictionaries(valued(type_.key_type), valued(type_.value_type), max_size=4)
        case types.StructType():
            return of(type_.cls)
        case _:
            raise AssertionError(f"no strategy for {type_}")


EVENTS = st.one_of(*(of(kind) for kind in KINDS))


@given(EVENTS)
def test_what_is_written_is_what_is_read(event: Event) -> None:
    line = events.encode(event)

    assert events.decode(line) == event
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


@given(EVENTS, st.text().filter(lambda name: name.isidentifier()), st.integers() | st.text())
def test_a_field_of_a_later_version_is_ignored(event: Event, name: str, value: object) -> None:
    later = msgspec.json.decode(events.encode(event))
    later.setdefault(f"later_{name}", value)

    assert events.decode(msgspec.json.encode(later)) == event


@given(EVENTS, st.data())
def test_a_torn_line_is_unreadable(event: Event, data: st.DataObject) -> None:
    line = events.encode(event)
    length = data.draw(st.integers(0, len(line) - 2))

    with pytest.raises(EventUnreadable):
        events.decode(line[:length])


@given(st.binary())
def test_bytes_that_we_did_not_write_are_unreadable(line: bytes) -> None:
    with pytest.raises(EventUnreadable):
        events.decode(line)


@given(EVENTS, st.data())
def test_a_damaged_line_is_an_event_or_unreadable(event: Event, data: st.DataObject) -> None:
    line = bytearray(events.encode(event))
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))

    try:
        read = events.decode(bytes(line))
    except EventUnreadable:
        return
    assert isinstance(read, KINDS)


FOREIGN = {
    "an empty line": b"\n",
    "no object": b"[1, 2]",
    "an object of nobody's": b'{"level": "info", "msg": "started"}',
    "an event that nobody knows": b'{"event": "verdict", "at": 1.0, "origin": "example"}',
    "an event of a number": b'{"event": 7, "at": 1.0}',
    "no moment": b'{"event": "degraded", "run": "r1", "reason": "none"}',
    "a moment that is text": b'{"event": "degraded", "at": "now", "run": "r1", "reason": "none"}',
    "an unknown reason": b'{"event": "deferred", "at": 1, "run": "", "origin": "", "why": "bored"}',
    "not a number": b'{"event": "degraded", "at": NaN, "run": "r1", "reason": "none"}',
    "a number beyond all": b'{"event": "degraded", "at": 1e999, "run": "r1", "reason": "none"}',
    "half a surrogate pair": rb'{"event": "degraded", "at": 1, "run": "\ud800", "reason": "x"}',
    "bytes that are no UTF-8": b'{"event": "degraded", "at": 1, "run": "\xff", "reason": "x"}',
    "two lines in one": b'{"event": "degraded", "at": 1, "run": "r", "reason": "x"}{"event": "ke',
    "a nesting without end": b'{"event": "degraded", "x": ' + b"[" * 100_000,
    "a closed nesting": b'{"event": "degraded", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("line", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_line_is_unreadable(line: bytes) -> None:
    with pytest.raises(EventUnreadable):
        events.decode(line)


def test_an_unknown_event_is_named() -> None:
    with pytest.raises(EventUnreadable, match="verdict"):
        events.decode(FOREIGN["an event that nobody knows"])


def test_what_is_as_usual_is_not_written() -> None:
    event = RunFinished(at=1.5, run="r1", requests=3, elapsed=2.0, cpu=0.5)

    assert events.encode(event) == (
        b'{"event":"run-finished","at":1.5,"run":"r1","requests":3,"elapsed":2.0,"cpu":0.5}\n'
    )


@pytest.mark.parametrize(
    ("one", "left"),
    [
        pytest.param(record(), True, id="answered"),
        pytest.param(failed(stage=Stage.STALE_CONNECTION), True, id="into a dead connection"),
        pytest.param(failed(stage=Stage.DNS, labels=()), False, id="no such name"),
        pytest.param(failed(outcome=Outcome.CANCELLED, labels=()), False, id="ended before"),
    ],
)
def test_what_left_carried_a_signature(one: FetchRecord, left: bool) -> None:
    assert one.left is left


def test_a_record_of_the_first_version_reads_with_defaults() -> None:
    line = (
        b'{"event":"fetch","at":1.0,"id":"r1-0-1","origin":"o","scope":"o.example",'
        b'"url":"https://o.example/","outcome":"answered"}'
    )

    assert events.decode(line) == FetchRecord(
        at=1.0,
        id="r1-0-1",
        origin="o",
        scope="o.example",
        url="https://o.example/",
        outcome=Outcome.ANSWERED,
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__struct_config__.tag)
def test_every_event_is_a_frozen_value_with_a_moment(kind: type[Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__struct_fields__[0] == "at"
