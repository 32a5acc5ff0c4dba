"""The changelog law: applied to the state that readers know it gives that of the table, each change published once."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, DataFileMissingError
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import INT, CollectionType, Kind
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.writer import open_writer
from tests.support.data import Live, files_of, make_batch, make_store, read_rows
from tests.support.examples import examples
from tests.support.faulty_io import FaultyIO

Row = tuple[int, int | None]
Change = tuple[int, int | None, int]
KINDS = ("+I", "-U", "+U", "-D")
changes = st.lists(
    st.tuples(st.integers(0, 12), st.none() | st.integers(0, 3), st.sampled_from([0, 0, 0, 3])), max_size=10
)
steps = st.lists(st.tuples(changes, st.sampled_from(["", *Strategy])), min_size=1, max_size=8)


def table(root: Path, producer: str, **options: str) -> TableStore:
    options = {"changelog_producer": producer, "num_sorted_run__compaction_trigger": "3"} | options
    return make_store(root, {"k": INT, "v": INT}, keys=["k"], bucket="1", **options)


def write(store: TableStore, rows: list[Change], start: int) -> list[CommitMessage]:
    batch = make_batch(store, [r[:2] for r in rows])
    writer = open_writer(store, sequence_start=start)
    writer.write(batch.append_column("_VALUE_KIND", pa.array([r[2] for r in rows], pa.int8())))
    return writer.finish()


def compact(store: TableStore, live: Live, strategy: Strategy) -> list[CommitMessage]:
    found = [compact_bucket(store, BucketState(p, b, 1, tuple(files)), strategy) for (p, b), files in live.items()]
    return [m for m in found if m is not None]


def published(store: TableStore, files: tuple[DataFileMeta, ...]) -> list[tuple[Any, ...]]:
    """The rows of changelog files as $audit_log shows them."""
    split = DataSplit(
        partition=EMPTY_ROW, bucket=0, bucket_dir=store.bucket_dir(EMPTY_ROW, 0), files=files, kind=SplitKind.CHANGES
    )
    batches = read_derived(store, DerivedTable.AUDIT_LOG, split, ["rowkind", "k", "v"])
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def apply(state: dict[int, int | None], log: list[tuple[Any, ...]], *, strictly_news: bool) -> None:
    """Follow a changelog as a reader does who checks every row of it."""
    assert max(Counter((kind, k) for kind, k, _ in log).values(), default=1) == 1
    before: dict[int, int | None] = {}
    for kind, k, v in log:
        if kind in ("-U", "-D"):
            assert state.pop(k) == v
            before[k] = v
        else:
            assert k not in state
            assert (kind == "+U") == (k in before)
            assert not (strictly_news and kind == "+U" and before[k] == v)
            state[k] = v


@pytest.mark.parametrize("deduplicate", ["false", "true"])
@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_the_law(tmp_path: Path, producer: str, deduplicate: str) -> None:
    @settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps, st.sampled_from(["1 b", "128 mb"]))
    def check(history: list[tuple[list[Change], str]], file_size: str) -> None:
        options = {"changelog_producer__row_deduplicate": deduplicate, "target_file_size": file_size}
        store = table(tmp_path, producer, **options)
        model: dict[int, int | None] = {}
        known: dict[int, int | None] = {}
        live: Live = {}
        for number, (rows, strategy) in enumerate(history):
            live = files_of(write(store, rows, 100 * number), live)
            for k, v, kind in rows:
                model.pop(k, None) if kind == 3 else model.update({k: v})
            if strategy:
                compacted = compact(store, live, Strategy(strategy))
                live = files_of(compacted, live)
                for message in compacted:
                    apply(known, published(store, message.compact_changelog), strictly_news=deduplicate == "true")
                files = [f for bucket in live.values() for f in bucket]
                last = {f.level for f in files} <= {3}
                assert known == model or not (last if producer == "full-compaction" else all(f.level for f in files))
            assert sorted(read_rows(store, live)) == sorted(model.items())
        compacted = compact(store, live, Strategy.FULL)
        for message in compacted:
            apply(known, published(store, message.compact_changelog), strictly_news=deduplicate == "true")
        assert known == model

    check()


def test_input_is_told_as_it_came(tmp_path: Path) -> None:
    store = table(tmp_path, "input")
    (message,) = write(store, [(2, 5, 0), (1, 5, 0), (1, 6, 0), (2, 5, 3)], 0)
    assert published(store, message.new_changelog) == [("+I", 1, 5), ("+I", 1, 6), ("+I", 2, 5), ("-D", 2, 5)]
    assert sorted(f.row_count for f in message.new_files) == [2]
    (file,) = message.new_changelog
    assert (file.file_name[:10], file.level, file.row_count, file.delete_row_count) == ("changelog-", 0, 4, 1)


def test_level_0_goes_up_where_readers_wait_for_it(tmp_path: Path) -> None:
    store = table(tmp_path, "lookup")
    live = files_of(write(store, [(k, k, 0) for k in range(1000)], 0))
    live = files_of(compact(store, live, Strategy.WRITE), live)
    live = files_of(write(store, [(7, None, 3), (8, 0, 0), (2000, 1, 0)], 1000), live)
    (message,) = compact(store, live, Strategy.WRITE)
    assert published(store, message.compact_changelog) == [
        ("-D", 7, 7),
        ("-U", 8, 8),
        ("+U", 8, 0),
        ("+I", 2000, 1),
    ]
    assert [f.level for f in message.compact_after] == [2], "the large run of the last level is only looked up"
    assert len(message.compact_before) == 1


def test_nested_values_are_compared(tmp_path: Path) -> None:
    columns = {"k": INT, "v": CollectionType(Kind.ARRAY, element=INT)}
    options = {"changelog_producer": "lookup", "changelog_producer__row_deduplicate": "true"}
    store = make_store(tmp_path, columns, keys=["k"], bucket="1", **options)
    live: Live = {}
    logs = []
    for number, values in enumerate(([1, 2], [1, 2], [1, 3])):
        writer = open_writer(store, sequence_start=number)
        writer.write(make_batch(store, [(1, values)]))
        live = files_of(writer.finish(), live)
        (message,) = compact(store, live, Strategy.WRITE)
        live = files_of([message], live)
        logs.append(published(store, message.compact_changelog))
    assert logs == [[("+I", 1, [1, 2])], [], [("-U", 1, [1, 2]), ("+U", 1, [1, 3])]]


def test_ignored_columns_are_no_reason(tmp_path: Path) -> None:
    options = {
        "changelog_producer": "full-compaction",
        "changelog_producer__row_deduplicate": "true",
        "changelog_producer__row_deduplicate_ignore_fields": "n",
    }
    store = make_store(tmp_path, {"k": INT, "v": INT, "n": INT}, keys=["k"], bucket="1", **options)
    live: Live = {}
    logs = []
    for number, row in enumerate([(1, 1, 1), (1, 1, 2), (1, 2, 2)]):
        writer = open_writer(store, sequence_start=number)
        writer.write(make_batch(store, [row]))
        live = files_of(writer.finish(), live)
        (message,) = compact(store, live, Strategy.FULL)
        live = files_of([message], live)
        logs.append([row[0] for row in published(store, message.compact_changelog)])
    assert logs == [["+I"], [], ["-U", "+U"]]
    assert read_rows(store, live) == [(1, 2, 2)]


def test_a_broken_input_leaves_no_output(tmp_path: Path) -> None:
    store = table(tmp_path, "lookup")
    live = files_of(write(store, [(1, 1, 0)], 0) + write(store, [(1, 2, 0)], 10))
    paths = sorted(tmp_path.rglob("*.parquet"))
    paths[0].write_bytes(b"PAR1")
    with pytest.raises(CorruptFileError):
        compact(store, live, Strategy.FULL)
    assert sorted(tmp_path.rglob("*.parquet")) == paths


def test_changelog_files_have_options_of_their_own(tmp_path: Path) -> None:
    options = {"changelog_file__prefix": "log-", "changelog_file__format": "avro", "file__format__per__level": "0:orc"}
    store = table(tmp_path, "input", **options)
    (message,) = write(store, [(1, 5, 0), (1, 6, 0)], 0)
    (told_file,), (file,) = message.new_changelog, message.new_files
    assert told_file.file_name.startswith("log-") and told_file.file_name.endswith(".avro")
    assert file.file_name.startswith("data-") and file.file_name.endswith(".orc")
    assert published(store, message.new_changelog) == [("+I", 1, 5), ("+I", 1, 6)]


@pytest.mark.parametrize("most", ["1 mb", "0 b"])
def test_rows_of_remote_files_are_looked_up_in_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    """The second lookup does not need the storage."""
    (tmp_path / "local").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "local"))
    store = table(tmp_path, "lookup", lookup__cache_max_disk_size=most)
    store = replace(store, io=FaultyIO(store.io))
    live = files_of(write(store, [(k, k, 0) for k in range(10_000)], 0))
    live = files_of(compact(store, live, Strategy.FULL), live)
    ((base,),) = live.values()
    for turn, k in enumerate((7, 8)):
        live = files_of(write(store, [(k, -1, 0)], 20_000 + turn), live)
        if turn == 1:
            Path(store.bucket_dir(EMPTY_ROW, 0), base.file_name).unlink()
        if turn == 1 and most == "0 b":
            with pytest.raises(DataFileMissingError, match=base.file_name):
                compact(store, live, Strategy.WRITE)
            return
        (message,) = compact(store, live, Strategy.WRITE)
        assert published(store, message.compact_changelog) == [("-U", k, k), ("+U", k, -1)]
        assert base in (live := files_of([message], live))[EMPTY_ROW, 0]
