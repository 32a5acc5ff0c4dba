"""Partitions in the metastore, for Hive and other readers that list them there: the partitions of a table with
`metastore.partitioned-table`, or one for each tag, with `metastore.tag-to-partition`.

A commit adds the partitions that it wrote. A commit that replaces rows, and a change of tags, compares the lists of the
table and of the metastore. The manifests of the table decide which partitions exist: the next comparison, or
`sys.repair`, adds missing ones here. Only partitions of the main branch are added, but a partition stays while another
branch has files in it.

Partitions of a format table are its folders. Written partitions are added, too. If Hive stores a partition outside the
table's folder, it is read there, provided that it is on the table's storage.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from pymetastore.hive_metastore import ttypes

from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.format_table.folders import partition_folder
from paimon_core.format_table.kind import is_format_table
from paimon_core.scan.fallback import partition_files
from paimon_core.spec.paths import escape_path_name
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names
from paimon_sql.catalog.hive.entries import LOCATION_KEY, is_partitioned, location_of, storage_of, tag_column
from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.metastore import Metastore

_BATCH = 500
_ALL = -1
Values = tuple[str, ...]


class PartitionSync:
    """The watcher that copies the partitions of a catalog's tables to the metastore."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore

    def committed(self, store: TableStore, snapshot: Snapshot, written: Collection[bytes]) -> None:
        if store.branch or not is_partitioned(store.schema):
            return
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            self._compare(store, _live(store))
        elif snapshot.commit_kind is CommitKind.APPEND and written:
            self._add(store, dict(_specs(store, written)))

    def tagged(self, store: TableStore) -> None:
        if not store.branch and tag_column(store.schema):
            self._compare(store, _tags(store))

    def files_added(self, store: TableStore, partitions: Collection[Values]) -> None:
        keys = store.schema.partition_keys
        self._add(store, {values: dict(zip(keys, values, strict=True)) for values in sorted(partitions)})

    def placed_elsewhere(self, store: TableStore) -> Mapping[Values, str]:
        name, keys, found = store.identifier, store.schema.partition_keys, {}
        for group in self._metastore.read("get_partitions_pspec", name.database, name.table, _ALL):
            for values, location in _places(group, f"A partition of table {name}"):
                if len(values) != len(keys):
                    raise InvalidDataError(
                        f"A partition of table {name} has the values {values}, which do not fit its partition "
                        f"columns {keys}. Drop it in Hive."
                    )
                if location != _location(store, dict(zip(keys, values, strict=True))):
                    found[values] = location
        for values, location in found.items():
            if storage_of(location) != storage_of(store.root):
                raise UnsupportedFeatureError(
                    f"The partition {'/'.join(values)} of table {name} is on another storage than the table, "
                    f"{location}: move it, or drop it in Hive."
                )
        return found

    def bring_in_line(self, store: TableStore) -> None:
        """Give the metastore the table's partitions, and their locations."""
        if is_partitioned(store.schema):
            self._compare(store, _live(store), moves=True)
        elif tag_column(store.schema):
            self._compare(store, _tags(store), moves=True)

    def _compare(self, store: TableStore, live: Mapping[Values, Mapping[str, str]], *, moves: bool = False) -> None:
        name = store.identifier
        found = self._metastore.read("get_partition_names", name.database, name.table, _ALL)
        known = {tuple(unquote(part.partition("=")[2]) for part in path.split("/")) for path in found}
        self._add(store, {values: spec for values, spec in live.items() if values not in known})
        for values in sorted(known - live.keys()):
            try:
                self._metastore.change("drop_partition", name.database, name.table, list(values), False)
            except MetastoreError as error:
                if error.answer is not Answer.MISSING:
                    raise
        if moves:
            self._move(store, live)

    def _add(self, store: TableStore, specs: Mapping[Values, Mapping[str, str]]) -> None:
        """Add the partitions that the metastore does not have."""
        if not specs:
            return
        name, now = store.identifier, int(time.time())
        table = self._metastore.table(name.database, name.table)
        if table is None:
            return  # dropped meanwhile
        for batch in _batches(specs.items()):
            made = []
            for values, spec in batch:
                part = ttypes.Partition(
                    values=list(values),
                    dbName=name.database,
                    tableName=name.table,
                    createTime=now,
                    lastAccessTime=now,
                    sd=copy.deepcopy(table.sd),
                    parameters={},
                )
                self._place(part, _location(store, spec))
                made.append(part)
            request = ttypes.AddPartitionsRequest(
                dbName=name.database, tblName=name.table, parts=made, ifNotExists=True, needResult=False
            )
            self._metastore.change("add_partitions_req", request)

    def _move(self, store: TableStore, live: Mapping[Values, Mapping[str, str]]) -> None:
        """Correct the locations of partitions after a move of their table."""
        name = store.identifier
        found = self._metastore.read("get_partitions", name.database, name.table, _ALL)
        moved = []
        for part in found:
            spec = live.get(tuple(part.values))
            before = copy.deepcopy(part)
            if spec is not None:
                self._place(part, _location(store, spec))
                is_local = (before.sd.location or "").removeprefix("file:") == part.sd.location
                if part != before and not is_local:
                    moved.append(part)
        for batch in _batches(moved):
            self._metastore.change("alter_partitions", name.database, name.table, batch)

    def _place(self, part: Any, location: str) -> None:
        if self._metastore.settings.location_in_properties:
            part.parameters = {**(part.parameters or {}), LOCATION_KEY: location}
        else:
            part.sd.location = location


def _live(store: TableStore) -> dict[Values, Mapping[str, str]]:
    """Return the partitions in which the latest snapshot of the main branch or of another branch has files."""
    found = {e.partition for e in partition_files(store, latest_snapshot(store))}
    for branch in (open_branch(store, name) for name in branch_names(store)):
        if branch.schema.partition_keys == store.schema.partition_keys:
            found |= {e.partition for e in partition_files(branch, latest_snapshot(branch))}
    return dict(_specs(store, found))


def _tags(store: TableStore) -> dict[Values, Mapping[str, str]]:
    column = tag_column(store.schema) or ""
    return {(name,): {column: name} for name in tag_names(store)}


def _specs(store: TableStore, partitions: Iterable[bytes]) -> Iterable[tuple[Values, Mapping[str, str]]]:
    for partition in sorted(partitions):
        spec = store.partition_spec(partition)
        yield tuple(spec.values()), spec


def _places(group: Any, what: str) -> Iterator[tuple[Values, str]]:
    """Yield the values and locations of a group of partitions.

    For partitions below the table, Hive sends only the ends of the paths.
    """
    if (near := group.sharedSDPartitionSpec) is not None:
        for part in near.partitions or ():
            yield tuple(part.values), location_of(part.parameters or {}, f"{group.rootPath}{part.relativePath}", what)
    if (others := group.partitionList) is not None:
        for part in others.partitions or ():
            yield tuple(part.values), location_of(part.parameters or {}, part.sd.location, what)


def _location(store: TableStore, spec: Mapping[str, str]) -> str:
    if is_format_table(store.schema.options):
        return partition_folder(store, spec)
    folder = "/".join(f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items())
    return f"{store.paths.data_root}/{folder}"


def _batches(items: Iterable[Any]) -> Iterable[list[Any]]:
    every = list(items)
    return (every[n : n + _BATCH] for n in range(0, len(every), _BATCH))
