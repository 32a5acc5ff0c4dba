"""Tables of every merge engine: writing, compacting and reading in any order shows what one merge of all rows shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidDataError, MergeRefusedError
from paimon_core.expressions.predicate import Compare
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.message import BucketState
from paimon_core.spec.types import INT, STRING
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.writer import open_writer
from tests.support import merge_models as models
from tests.support.data import Live, files_of, make_batch, make_store, read_rows
from tests.support.examples import examples
from tests.support.merge_models import FUNCTIONS, PartialUpdate, Row

COLUMNS = {"k": INT, "g": INT, "a": INT, "b": INT, "t": STRING}
NAMES = tuple(COLUMNS)[1:]
small = st.none() | st.integers(0, 9)
keyed_rows = st.lists(
    st.tuples(st.integers(0, 5), st.tuples(small, small, small, st.none() | st.sampled_from(["", "x", "y"]))),
    max_size=8,
)
steps = st.lists(st.tuples(keyed_rows, st.sampled_from(["", "", "minor", "full"])), max_size=6)


def function_options(**functions: str) -> dict[str, str]:
    return {f"fields.{c}.aggregate-function": f for c, f in functions.items()}


def aggregated(rows: Sequence[Row]) -> Row:
    names = {"g": "sum", "a": "max", "b": "first_non_null_value", "t": "listagg"}
    return models.aggregate(rows, {c: FUNCTIONS[f]() for c, f in names.items()})


def grouped(rows: Sequence[Row]) -> Row:
    return PartialUpdate(NAMES, [(("g",), ("a", "b"))], {"b": FUNCTIONS["sum"]()}).merge(rows)


def counted(rows: Sequence[Row]) -> Row:
    """As `aggregated`, with the values of a and b counted."""
    kind, values = aggregated(rows)
    return kind, values | {c: models.counted(rows, c) for c in "ab"}


def counted_in_group(rows: Sequence[Row]) -> Row:
    """As `grouped`, with the values of b counted that come with one of g; none yet: as many as the only row has."""
    kind, values = grouped(rows)
    known = rows if len(rows) == 1 else [r for r in rows if r[1]["g"] is not None]
    return kind, values | {"b": models.counted(known, "b") if known else None}


def newest_by_sequence(rows: Sequence[Row]) -> Row:
    """`sequence.field` = a, b in descending order, NULL the oldest."""
    indices = range(len(rows))
    ranks = [[(v is not None, -(v or 0)) for v in (r[1]["a"], r[1]["b"])] for r in rows]
    return rows[max(indices, key=lambda i: (ranks[i], i))]


ENGINES: Mapping[str, tuple[Mapping[str, str], Callable[[Sequence[Row]], Row | None]]] = {
    "first-row": ({"merge-engine": "first-row"}, models.first_row),
    "aggregation": (
        {"merge-engine": "aggregation"} | function_options(g="sum", a="max", b="first_non_null_value", t="listagg"),
        aggregated,
    ),
    "partial-update": ({"merge-engine": "partial-update"}, lambda rows: PartialUpdate(NAMES).merge(rows)),
    "sequence-group": (
        {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"} | function_options(b="sum"),
        grouped,
    ),
    "count": (
        {"merge-engine": "aggregation"} | function_options(g="sum", a="count", b="count", t="listagg"),
        counted,
    ),
    "count in a sequence group": (
        {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"} | function_options(b="count"),
        counted_in_group,
    ),
    "sequence": ({"sequence.field": "a,b", "sequence.field.sort-order": "descending"}, newest_by_sequence),
}


def store_of(root: Path, options: Mapping[str, str], **more: str) -> TableStore:
    store = make_store(root, COLUMNS, keys=["k"], bucket="1", num_sorted_run__compaction_trigger="3", **more)
    return TableStore.of(store.io, store.root, replaced(store, options))


def replaced(store: TableStore, options: Mapping[str, str]) -> Any:
    store.schema.options.update(options)
    return store.schema


def write(store: TableStore, rows: Sequence[tuple[Any, ...]], start: int, kinds: Sequence[int] = ()) -> Any:
    batch = make_batch(store, rows)
    if kinds:
        batch = batch.append_column("_VALUE_KIND", pa.array(kinds, pa.int8()))
    writer = open_writer(store, sequence_start=start)
    for offset in range(0, len(rows), 4):  # a buffer of a byte spills each of them
        writer.write(batch.slice(offset, 4))
    return writer.finish()


def compacted(store: TableStore, live: Live, full: bool) -> Live:
    for (partition, bucket), files in list(live.items()):
        message = compact_bucket(
            store, BucketState(partition, bucket, 1, tuple(files)), Strategy.FULL if full else Strategy.MINOR
        )
        live = live if message is None else files_of([message], live)
    return live


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.sampled_from(["1 b", "1 mb"]))
def test_reads_are_one_merge_of_all_rows(tmp_path: Path, engine: str, steps: list[Any], buffer: str) -> None:
    options, model = ENGINES[engine]
    store = store_of(tmp_path, options, write_buffer_size=buffer)
    live: Live = {}
    history: dict[int, list[Row]] = {}
    for number, (rows, compaction) in enumerate(steps):
        live = files_of(write(store, [(k, *v) for k, v in rows], 100 * number), live)
        for key, values in rows:
            history.setdefault(key, []).append((0, dict(zip(NAMES, values, strict=True))))
        if compaction:
            live = compacted(store, live, compaction == "full")
        expected = [(k, *(r[1][n] for n in NAMES)) for k in sorted(history) if (r := model(history[k])) is not None]
        assert read_rows(store, live) == expected
        for column in NAMES:
            assert read_rows(store, live, [column]) == [(e[1 + NAMES.index(column)],) for e in expected]


def test_deletes_take_back_remove_and_are_ignored(tmp_path: Path) -> None:
    rows = [(1, 5, 5, 5, "x"), (2, 5, 5, 5, "y")]
    deleted = [(1, 3, 3, 3, "x")]

    def remaining(**options: str) -> list[Any]:
        store = make_store(tmp_path, COLUMNS, keys=["k"], bucket="1", **options)
        live = files_of(write(store, rows, 0))
        live = files_of(write(store, deleted, 10, [3]), live)
        before = read_rows(store, live)
        assert read_rows(store, compacted(store, live, full=True)) == before
        return before

    sums = {
        "merge_engine": "aggregation",
        "fields__default_aggregate_function": "sum",
        "fields__t__ignore_retract": "true",
    }
    assert remaining(**sums, fields__t__aggregate_function="max") == [(1, 2, 2, 2, "x"), rows[1]]
    assert remaining(merge_engine="aggregation", aggregation__remove_record_on_delete="true") == rows[1:]
    assert remaining(merge_engine="partial-update", partial_update__remove_record_on_delete="true") == rows[1:]
    assert remaining(merge_engine="partial-update", fields__g__sequence_group="a") == rows
    assert remaining(merge_engine="partial-update", ignore_delete="true") == rows
    assert remaining(merge_engine="first-row", first_row__ignore_delete="true") == rows
    assert remaining(deduplicate__ignore_delete="true") == rows
    assert remaining() == rows[1:]


counted_rows = st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 0, 2, 1, 3]), small)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(counted_rows, max_size=6), max_size=5), st.booleans(), st.booleans())
def test_counts_take_back_what_deletes_say(tmp_path: Path, files: list[Any], removes: bool, full: bool) -> None:
    """In any order and files; with `remove-record-on-delete` a delete ends the row, and one of a later file is new.

    Rows of the same file are added to what the delete holds, and that it was one is forgotten, as by Java's writers.
    """
    options = {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": str(removes)}
    store = store_of(tmp_path, options | function_options(a="count"))
    live: Live = {}
    history: dict[int, list[Row]] = {}
    for number, rows in enumerate(files):
        written = []
        ended: set[int] = set()
        for key, kind, value in rows:
            if key not in ended and (not models.retracts(kind) or key in history):  # there is something to take back
                written.append((key, kind, value))
                history.setdefault(key, []).append((kind, {"a": value}))
                if removes and kind == 3:
                    del history[key]
                    ended.add(key)
        given = [(k, None, v, None, None) for k, _, v in written]
        live = files_of(write(store, given, 100 * number, [kind for _, kind, _ in written]), live)
        if number % 2:
            live = compacted(store, live, full)
    expected = [(k, models.counted(r, "a")) for k, r in sorted(history.items())]
    assert read_rows(store, live, ["k", "a"]) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"merge_engine": "first-row"}, "ignore-delete"),
        ({"merge_engine": "partial-update"}, "remove-record-on-delete"),
        ({"merge_engine": "aggregation", "fields__a__aggregate_function": "max"}, "fields.a.ignore-retract"),
    ],
)
def test_deletes_that_cannot_be_merged_are_refused_at_write(tmp_path: Path, options: Any, says: str) -> None:
    store = make_store(tmp_path, COLUMNS, keys=["k"], bucket="1", **options)
    with pytest.raises(MergeRefusedError, match=says):
        write(store, [(1, 1, 1, 1, "x")], 0, [3])
    assert not list(tmp_path.rglob("*.parquet"))


def test_what_a_function_of_a_group_cannot_take_back_is_refused_at_write(tmp_path: Path) -> None:
    """Unless the row says nothing about the group, or goes as a whole."""
    groups = {"fields.g.sequence-group": "a", "fields.b.sequence-group": "t"} | function_options(a="max")
    store = store_of(tmp_path, {"merge-engine": "partial-update", **groups})
    removing = store.with_options({"partial-update.remove-record-on-sequence-group": "b"})
    ignoring = store.with_options({"fields.a.ignore-retract": "true"})
    known, unknown, neither = (1, 1, 2, 1, "x"), (1, None, 2, 1, "x"), (1, 1, 2, None, "x")
    for kind in (1, 3):
        write(store, [unknown], 0, [kind])
        write(ignoring, [known], 0, [kind])
        for refusing, row in ((store, known), (removing, neither)):
            with pytest.raises(MergeRefusedError, match="'a' is aggregated by 'max'"):
                write(refusing, [row], 0, [kind])
    write(removing, [known], 0, [3])


def test_the_kind_of_a_row_is_what_its_column_says(tmp_path: Path) -> None:
    columns = {"k": INT, "v": INT, "kind": STRING}
    store = make_store(tmp_path, columns, keys=["k"], bucket="1", rowkind__field="kind")
    live = files_of(write(store, [(1, 1, "+I"), (2, 2, "+U"), (3, 3, "+I"), (4, 4, "+I")], 0))
    live = files_of(write(store, [(1, 1, "-D"), (2, 2, "-U"), (3, 9, "+U")], 10), live)
    live = files_of(write(store, [(4, 4, "+I")], 20, [3]), live)
    assert read_rows(store, live) == [(3, 9, "+U")]
    ignoring = make_store(tmp_path, columns, keys=["k"], bucket="1", rowkind__field="kind", ignore_update_before="true")
    assert read_rows(ignoring, files_of(write(ignoring, [(5, 5, "+I"), (5, 6, "-U")], 0))) == [(5, 5, "+I")]
    for wrong in (None, "insert", "+i"):
        with pytest.raises(InvalidDataError, match="'kind'"):
            write(store, [(1, 1, wrong)], 30)


def test_filters_on_values_wait_for_the_merge(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS, keys=["k"], bucket="1", merge_engine="partial-update")
    live = files_of(write(store, [(1, None, 1, None, None), (2, None, 2, None, None)], 0))
    live = files_of(write(store, [(1, None, None, 7, None)], 10), live)
    assert read_rows(store, live, ["k", "a", "b"], Compare("a", "=", 1)) == [(1, 1, 7)]
    assert read_rows(store, live, ["k", "a", "b"], Compare("b", "=", 7)) == [(1, 1, 7)]
    assert read_rows(store, live, ["k", "a", "b"], Compare("k", "=", 2)) == [(2, 2, None)]
