"""Two users of one process with credentials of their own: what one may read, the other gets from no cache.

The storage is fsspec's, as an object store is: it knows who asks by the options of the client.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from paimon_core.errors import StorageError
from paimon_core.io.load import load_file_io
from paimon_core.io.local_copies import LocalCopies
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog, open_catalog
from paimon_sql.catalog.paths import PathCatalog, path_identifier
from tests.support import stored
from tests.support.tables import fields

WAREHOUSE = "vault://wh"
ALICE, MALLORY = {"fsspec.key": "alice"}, {"fsspec.key": "mallory"}


class Vault(MemoryFileSystem):
    """A store that answers one key only."""

    protocol = "vault"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    def __init__(self, key: str = "", **more: Any):
        super().__init__(**more)
        self.key = key

    def _check(self, path: str) -> str:
        if self.key != "alice":
            raise PermissionError(f"{self.key} may not touch {path}")
        return path

    def info(self, path: str, **more: Any) -> Any:
        return super().info(self._check(path), **more)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        return super().ls(self._check(path), detail, **more)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **more: Any) -> Any:
        return super().cat_file(self._check(path), start, end, **more)

    def _open(self, path: str, mode: str = "rb", *more: Any, **named: Any) -> Any:
        return super()._open(self._check(path), mode, *more, **named)


@pytest.fixture
def table() -> Iterator[Table]:
    """A table with rows that Alice has just read: every cache is warm."""
    fsspec.register_implementation("vault", Vault, clobber=True)
    catalog = load_catalog({"warehouse": WAREHOUSE, **ALICE})
    catalog.create_table(stored.T, new_table_schema(fields(k=INT, v=STRING), options={"commit.unsafe-storage": "true"}))
    stored.insert(catalog.load_table(stored.T), [(1, "a")])
    found = catalog.load_table(stored.T)
    assert stored.read(found) == [(1, "a")]
    yield found
    Vault.store.clear()


def test_catalogs_share_nothing(table: Table) -> None:
    with pytest.raises(StorageError, match="may not touch"):  # nobody knows whether there are users
        load_catalog({"warehouse": WAREHOUSE, **MALLORY})
    other = open_catalog({"warehouse": WAREHOUSE, **MALLORY})
    for ask in (
        lambda: other.load_table(stored.T),
        lambda: other.list_tables("default"),
        lambda: other.table_exists(stored.T),
        lambda: other.drop_table(stored.T),
        lambda: stored.read(Table(TableStore.of(other.io, table.store.root, table.schema))),
    ):
        with pytest.raises(StorageError, match="may not touch") as caught:
            ask()
        assert "mallory" not in str(caught.value), "a client's key is no text for errors"
    assert stored.read(load_catalog({"warehouse": WAREHOUSE, **ALICE}).load_table(stored.T)) == [(1, "a")]


def test_options_of_a_statement_have_their_own_cache(table: Table) -> None:
    """A path is read with options that a statement gives: its metadata is not what another's options brought."""
    paths, identifier = PathCatalog(dict), path_identifier(table.store.root)
    alice = paths.with_options(ALICE)
    assert stored.read(alice.load_table(identifier)) == [(1, "a")]
    assert alice.load_table(identifier).store.cache is paths.with_options(ALICE).load_table(identifier).store.cache
    with pytest.raises(StorageError, match="may not touch"):
        paths.with_options(MALLORY).load_table(identifier)
    everyone = paths.with_options({"fsspec.key": "alice", "fsspec.skip_instance_cache": "true"})
    assert everyone.load_table(identifier).store.cache is not table.store.cache
    assert len(everyone.load_table(identifier).store.cache) < len(table.store.cache)


def test_local_copies_are_of_one_client(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = f"{WAREHOUSE}/default.db/t/schema/schema-0"
    size = table.store.io.status(path).size
    copies = [LocalCopies(load_file_io(path, who), 2**20, 1000).copy_of(path, size) for who in (ALICE, MALLORY, ALICE)]
    assert copies[0] is not None and copies[1] is None and copies[2] == copies[0]
