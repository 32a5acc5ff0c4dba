"""Every storage call of a commit fails once, in every way: the table reads as before or as after, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.cache import MetadataCache
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.tables import data_file, info, message, new_store

Act = Callable[[Table], Snapshot | None]


def append(table: Table) -> Snapshot | None:
    return table.commit([message(table.store, data_file(table.store, 2, 2, file_name="added"))], info())


def overwrite(table: Table) -> Snapshot | None:
    new = data_file(table.store, 2, 2, file_name="added")
    return table.commit([message(table.store, new)], info(), Overwrite())


def compact(table: Table) -> Snapshot | None:
    (old,) = live_files(table.store, latest_snapshot(table.store)).values()
    new = data_file(table.store, 1, 1, level=5, file_name="added")
    return table.commit([message(table.store, compact_before=(old.file,), compact_after=(new,))], info())


def prepared(root: Path) -> TableStore:
    store = new_store(root, primary_key="k", bucket="1", **{"commit.min-retry-wait": "0 ms", "commit.max-retries": "3"})
    Table(store).commit([message(store, data_file(store, 1, 1, file_name="old"))], info())
    return store


def through(io: object, store: TableStore) -> Table:
    """The table as a new process sees it, through `io`."""
    return Table(TableStore(io, store.root, store.schema, store.options, store.identifier, MetadataCache()))  # type: ignore[arg-type]


def read(store: TableStore) -> set[str]:
    fresh = through(LocalFileIO(), store).store
    return {e.file.file_name for e in live_files(fresh, latest_snapshot(fresh)).values()}


@pytest.mark.parametrize("mode", list(Fault))
@pytest.mark.parametrize("act", [append, overwrite, compact])
def test_every_call_of_a_commit(tmp_path: Path, act: Act, mode: Fault) -> None:
    counted = FaultyIO(LocalFileIO())
    store = prepared(tmp_path / "count")
    before = read(store)
    act(through(counted, store))
    after = read(store)
    assert before != after and counted.calls > 8

    for k in counted.moments(mode):
        store = prepared(tmp_path / f"{k}")
        made: Snapshot | None = None
        unknown = crashed = False
        try:
            made = act(through(FaultyIO(LocalFileIO(), k, mode), store))
        except SimulatedCrash:
            crashed = True
        except CommitUnknownError:
            unknown = True
        except PaimonError:
            assert read(store) == before, f"call {k}: a commit that failed is visible"
        seen = read(store)
        assert seen in (before, after), f"call {k}: neither before nor after"
        if made is not None:
            assert seen == after, f"call {k}: an acknowledged commit is lost"
        assert made is not None or crashed or unknown or seen == before
        snapshots = list_snapshots(store)
        assert len(snapshots) == 1 + (seen == after), f"call {k}: committed twice"

        again = data_file(store, 7, 7, file_name="again")
        next_one = through(LocalFileIO(), store).commit([message(store, again)], info("next"))
        assert next_one is not None and next_one.id == len(snapshots) + 1
        assert read(store) == seen | {"again"}


@pytest.mark.parametrize("mode", [Fault.BEFORE, Fault.NO_SPACE])
def test_a_failed_commit_deletes_its_manifests(tmp_path: Path, mode: Fault) -> None:
    for k in range(1, 12):
        store = prepared(tmp_path / f"{k}")
        known = {p.name for p in Path(store.paths.manifest_dir).iterdir()}
        try:
            append(through(FaultyIO(LocalFileIO(), k, mode), store))
        except CommitUnknownError:
            continue
        except PaimonError:
            with suppress(FileNotFoundError):
                assert {p.name for p in Path(store.paths.manifest_dir).iterdir()} == known, f"call {k}"
