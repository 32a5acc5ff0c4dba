"""What a commit gives the rows of its files: ids and a version."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.row_ids import grouped, number_rows
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import FileKind, ManifestEntry
from tests.support.examples import examples
from tests.support.tables import data_file, new_store

IDS = ("k", "_ROW_ID", "_SEQUENCE_NUMBER")


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kinds=st.lists(
        st.tuples(st.sampled_from(["new", "rewritten", "partial", "compacted", "deleted"]), st.integers(1, 9))
    ),
    start=st.integers(14, 100),  # above those that the files know
)
def test_new_rows_get_ids_without_gaps(kinds: list[tuple[str, int]], start: int, tmp_path: Path) -> None:
    store = new_store(tmp_path / str(len(list(tmp_path.iterdir()))), **{"row-tracking.enabled": "true"})
    more: dict[str, dict[str, object]] = {
        "new": {"min_sequence_number": 0, "max_sequence_number": 0},
        "rewritten": {"min_sequence_number": 3, "max_sequence_number": 0, "write_cols": IDS},
        "partial": {"min_sequence_number": 0, "max_sequence_number": 0, "write_cols": ("v",), "first_row_id": 5},
        "compacted": {"min_sequence_number": 3, "max_sequence_number": 4, "write_cols": IDS, "file_source": 1},
        "deleted": {"min_sequence_number": 1, "max_sequence_number": 1, "first_row_id": 1},
    }
    entries = [
        ManifestEntry(
            kind=FileKind.DELETE if kind == "deleted" else FileKind.ADD,
            partition=EMPTY_ROW,
            bucket=0,
            total_buckets=-1,
            file=data_file(store, 0, 1, rows=rows, **more[kind]),
        )
        for kind, rows in kinds
    ]
    numbered, end = number_rows(entries, 9, start)
    assert [e.identifier for e in numbered] == [e.identifier for e in entries]
    expected = start
    for (kind, rows), entry in zip(kinds, numbered, strict=True):
        ids = {"new": expected, "partial": 5, "deleted": 1}.get(kind)
        assert entry.file.first_row_id == ids
        versions = {"new": (9, 9), "partial": (9, 9), "rewritten": (3, 9), "compacted": (3, 4), "deleted": (1, 1)}
        assert (entry.file.min_sequence_number, entry.file.max_sequence_number) == versions[kind]
        expected += rows if kind == "new" else 0
    assert end == expected


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(partitions=st.lists(st.sampled_from([b"a", b"b", b"c"])))
def test_ids_of_a_partition_follow_one_another(partitions: list[bytes], tmp_path: Path) -> None:
    store = new_store(tmp_path / str(len(list(tmp_path.iterdir()))), **{"row-tracking.enabled": "true"})
    entries = [
        ManifestEntry(kind=FileKind.ADD, partition=p, bucket=0, total_buckets=-1, file=data_file(store, 0, 1, rows=2))
        for p in partitions
    ]
    numbered, end = number_rows(grouped(entries), 1, 0)
    assert end == 2 * len(partitions) and sorted(e.partition for e in numbered) == sorted(partitions)
    for partition in set(partitions):
        ids = [e.file.first_row_id for e in numbered if e.partition == partition]
        assert ids == list(range(ids[0] or 0, (ids[0] or 0) + 2 * len(ids), 2))
