"""Comparing two states of the same keys, against dictionaries."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.diff import changelog, difference
from paimon_core.lsm.merge import key_windows

KEYS = st.tuples(st.sampled_from(["", "a", "a\0", "b", "longer than eight"]), st.integers(-2, 2))
STATES = st.dictionaries(KEYS, st.none() | st.integers(0, 2), max_size=8)
State = dict[tuple[str, int], int | None]
SCHEMA = pa.schema([("a", pa.string()), ("b", pa.int32()), ("_VALUE_KIND", pa.int8()), ("v", pa.int64())])
KINDS = ("+I", "-U", "+U", "-D")


def batch(state: State, kinds: dict[tuple[str, int], int] | None = None) -> pa.RecordBatch:
    ordered = sorted(state, key=lambda k: (k[0].encode(), k[1]))
    rows = [{"a": a, "b": b, "_VALUE_KIND": (kinds or {}).get((a, b), 0), "v": state[a, b]} for a, b in ordered]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def log(rows: pa.RecordBatch) -> list[tuple[str, tuple[str, int], int | None]]:
    return [(KINDS[r["_VALUE_KIND"]], (r["a"], r["b"]), r["v"]) for r in rows.to_pylist()]


@given(STATES, STATES, st.booleans())
def test_a_changelog_turns_one_state_into_the_other(before: State, after: State, deduplicate: bool) -> None:
    found = log(changelog(batch(before), batch(after), ("a", "b"), ("v",) if deduplicate else None))
    expected = []
    for key in sorted(before.keys() | after.keys(), key=lambda k: (k[0].encode(), k[1])):
        if key not in after:
            expected.append(("-D", key, before[key]))
        elif key not in before:
            expected.append(("+I", key, after[key]))
        elif not deduplicate or before[key] != after[key]:
            expected += [("-U", key, before[key]), ("+U", key, after[key])]
    assert found == expected


@given(STATES, STATES, st.sets(KEYS))
def test_a_difference_is_what_is_new(before: State, after: State, deleted: set[tuple[str, int]]) -> None:
    kinds = dict.fromkeys(deleted & after.keys(), 3)
    found = log(difference(batch(before), batch(after, kinds), ("a", "b"), ("v",)))
    expected = {(KINDS[kinds.get(k, 0)], k, v) for k, v in after.items() if k in kinds or before.get(k, "no") != v}
    expected |= {("-D", k, v) for k, v in before.items() if k not in after}
    assert len(found) == len(expected) and set(found) == expected


@given(st.lists(st.lists(STATES, max_size=3), max_size=3))
def test_windows_hold_each_key_once_per_run(runs: list[list[State]]) -> None:
    merged: list[State] = [{k: v for state in run for k, v in state.items()} for run in runs]
    streams = []
    for state in merged:
        whole = batch(state)
        streams.append(iter([whole.slice(i, 3) for i in range(0, whole.num_rows, 3)]))
    seen: dict[int, list[tuple[str, int]]] = {i: [] for i in range(len(runs))}
    last: tuple[bytes, int] | None = None
    for window in key_windows(streams, ("a", "b")):
        keys = [(a.encode(), b) for _, part in window for _, (a, b), _ in log(part)]
        assert last is None or min(keys) > last
        last = max(keys)
        for run, part in window:
            seen[run] += [key for _, key, _ in log(part)]
    assert [sorted(keys) for keys in seen.values()] == [sorted(state) for state in merged]


def test_maps_in_another_order_of_keys_are_no_change() -> None:
    maps = pa.map_(pa.binary(), pa.int32())
    schema = pa.schema([("a", pa.string()), ("_VALUE_KIND", pa.int8()), ("m", maps), ("l", pa.list_(maps))])
    entries = [(b"x", 1), (b"y", None)]

    def state(first: list[tuple[bytes, int | None]]) -> pa.RecordBatch:
        return pa.record_batch([["k"], pa.array([0], pa.int8()), [first], [[first]]], schema=schema)

    compared = ("m", "l")
    assert changelog(state(entries), state(entries[::-1]), ("a",), compared).num_rows == 0
    assert difference(state(entries), state(entries[::-1]), ("a",), compared).num_rows == 0
    assert changelog(state(entries), state(entries[:1]), ("a",), compared).num_rows == 2
