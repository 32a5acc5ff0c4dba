"""Errors about files name the table and the commit that wrote the file, in every reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from paimon_core.errors import (
    CorruptFileError,
    MetadataMissingError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedVersionError,
)
from paimon_core.expressions.predicate import Compare
from paimon_core.formats.avro.records import write_records
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.scan.read import read_split
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.file_indexes import index_file_of
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files, read_manifest, read_manifest_list
from paimon_core.store.named_files import commit_of, files_of
from paimon_core.store.statistics import read_statistics
from paimon_core.table import Table
from paimon_core.write.deletion import delete_rows
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import T, commit, compact, create_table, insert, open_table, read

_ALL = Retention(least=1, most=1, older_than=2**62, limit=1000)
_OTHER = write_records(
    {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}, iter([{"x": 1}]), "null"
)


@pytest.mark.parametrize("kind", [CorruptFileError, UnsupportedVersionError, UnfamiliarFormError])
def test_a_name_gets_its_table(kind: type[UnreadableFileError], tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    with (
        pytest.raises(
            kind, match=r"^File data-1\.orc of table default\.t .*: it is odd \(written by orc\).*; mend it\.$"
        ),
        files_of(table.store),
    ):
        raise kind("data-1.orc", "it is odd", "mend it", "orc")


def test_a_path_says_enough(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    with pytest.raises(CorruptFileError, match=r"^File /w/db\.db/t/x is corrupt: it is odd; "), files_of(table.store):
        raise CorruptFileError("/w/db.db/t/x", "it is odd")


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A table with commits of alpha, of beta, which marks a row as deleted, and of gamma."""
    where = str(tmp_path)
    table = create_table(
        where, bucket="1", bucket_key="k", deletion_vectors__enabled="true", file__format="avro", **_INDEXED
    )
    insert(table, [(1, "a"), (2, "b")], "alpha")
    table = open_table(where)
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    marked = {(entry.partition, entry.bucket): {entry.file.file_name: np.array([0])}}
    commit(table, delete_rows(table.store, table.latest_snapshot(), marked), "beta")
    insert(open_table(where), [(3, "c")], "gamma")
    return where


_INDEXED = {"file_index__bloom_filter__columns": "v", "file_index__in_manifest_threshold": "1 B"}


def _snapshot(table: Table, number: int) -> Snapshot:
    found = table.snapshot(str(number))
    assert found is not None
    return found


def _list(table: Table, number: int) -> str:
    return table.store.paths.manifest(_snapshot(table, number).delta_manifest_list)


def _manifest(table: Table, number: int) -> str:
    (manifest,) = read_manifest_list(table.store, _snapshot(table, number).delta_manifest_list)
    return table.store.paths.manifest(manifest.file_name)


def _index_manifest(table: Table, number: int) -> str:
    return table.store.paths.manifest(str(_snapshot(table, number).index_manifest))


def _vectors(table: Table, number: int) -> str:
    ((entry),) = index_entries(table.store, _snapshot(table, number))
    return index_path(table.store, entry.partition, entry.bucket, entry.file)


def _data(table: Table, number: int) -> str:
    (entry,) = read_manifest(table.store, _manifest(table, number).rpartition("/")[2])
    return data_file_path(table.store.bucket_dir(entry.partition, entry.bucket), entry.file)


def _file_index(table: Table, number: int) -> str:
    (entry,) = read_manifest(table.store, _manifest(table, number).rpartition("/")[2])
    return f"{table.store.bucket_dir(entry.partition, entry.bucket)}/{index_file_of(entry.file)}"


def _orphans(table: Table) -> object:
    return remove_orphans(table.store, 2**62)


def _files(table: Table) -> object:
    return table.system_table("files", UTC)


def _manifests(table: Table) -> object:
    return table.system_table("manifests", UTC)


def _filtered(table: Table) -> object:
    plan = table.plan(table.latest_snapshot(), Compare("v", "=", "aa"))
    return [list(read_split(table.store, s, ["k"], Compare("v", "=", "aa"))) for s in plan.splits]


_READERS: list[tuple[Callable[[Table, int], str], int, str, list[Callable[[Table], object]]]] = [
    (_list, 3, "gamma", [read, _files, _manifests, _orphans, compact]),
    (_manifest, 1, "alpha", [read, _files, _orphans, compact]),
    (_manifest, 3, "gamma", [read, _files, compact]),
    (_index_manifest, 2, "beta", [read, _orphans, compact]),
    (_vectors, 2, "beta", [read, compact]),
    (_data, 1, "alpha", [read, compact]),
    (_data, 3, "gamma", [read, compact]),
    (_file_index, 1, "alpha", [_filtered]),
]


@pytest.mark.parametrize(
    ("file", "number", "user", "reader"),
    [
        pytest.param(file, number, user, reader, id=f"{file.__name__}-{number}-{reader.__name__}")
        for file, number, user, readers in _READERS
        for reader in readers
    ],
)
def test_errors_name_the_commit_that_wrote_the_file(
    warehouse: str, file: Callable[[Table, int], str], number: int, user: str, reader: Callable[[Table], object]
) -> None:
    path = Path(file(open_table(warehouse), number))
    path.write_bytes(_OTHER if path.parent.name == "manifest" else b"junk" * 20)
    with pytest.raises(UnreadableFileError) as caught:
        reader(open_table(warehouse))
    check_words(str(caught.value), path, number, user)


def check_words(text: str, path: Path, number: int, user: str) -> None:
    words = f"written by the commit of snapshot {number}, writerVersion 'paimon-sql', commit user '{user}')"
    assert path.name in text and words in text, text


def test_expiry_that_goes_on_logs_the_commit_that_wrote_the_file(
    warehouse: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(_list(open_table(warehouse), 3))
    path.write_bytes(_OTHER)
    assert expire_snapshots(open_table(warehouse).store, _ALL, 0) == 2
    check_words(caplog.text, path, 3, "gamma")


def test_errors_of_schemas_and_statistics_name_the_latest_commit(warehouse: str) -> None:
    store = open_table(warehouse).store
    words = r"an unknown commit; the latest is the commit of snapshot 3, .*commit user 'gamma'\)"
    Path(store.paths.schema(0)).write_text('{"fields": 5}')
    with pytest.raises(UnfamiliarFormError, match=words):
        load_catalog({"warehouse": warehouse}).load_table(T)


def test_statistics_name_the_commit_of_their_snapshot(warehouse: str) -> None:
    store = open_table(warehouse).store
    path = Path(store.paths.snapshot(3))
    path.write_text(json.dumps({**json.loads(path.read_text()), "statistics": "stat-1"}))
    Path(store.paths.statistics_dir).mkdir()
    Path(store.paths.statistics("stat-1")).write_text('{"colStats": []}')
    with pytest.raises(UnfamiliarFormError, match=r"stat-1 .*snapshot 3, .*commit user 'gamma'\)"):
        read_statistics(store, _snapshot(open_table(warehouse), 3))


def test_a_file_older_than_all_snapshots_is_not_attributed_to_one(warehouse: str) -> None:
    table = open_table(warehouse)
    path, data = Path(_manifest(table, 1)), Path(_data(table, 1))
    assert expire_snapshots(table.store, _ALL, 0) == 2
    store = open_table(warehouse).store
    assert commit_of(store.io, store.paths, path.name).endswith("commit user 'gamma', or an older commit")
    assert commit_of(store.io, store.paths, data.name).startswith("an unknown commit; the latest is ")


def test_a_missing_file_and_a_table_without_snapshots_keep_their_words(warehouse: str) -> None:
    table = open_table(warehouse)
    Path(_manifest(table, 1)).unlink()
    with pytest.raises(MetadataMissingError) as caught:
        read(open_table(warehouse))
    assert "written by" not in str(caught.value)
    for path in Path(table.store.paths.snapshot_dir).iterdir():
        path.unlink()
    assert commit_of(table.store.io, table.store.paths, "manifest-1") == ""


def test_the_software_stays_beside_the_commit(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")], "alpha")
    words = r"\(written by parquet-mr, an unknown commit; .*'alpha'\)"
    with pytest.raises(CorruptFileError, match=words), files_of(table.store):
        raise CorruptFileError("/w/data-1", "it is odd", writer="parquet-mr")
