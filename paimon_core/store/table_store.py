"""TableStore: a value with access to the files of one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import side_by_side
from paimon_core.lazy import cached_property, logger
from paimon_core.metrics import PROCESS, Metrics
from paimon_core.options import DATA_FILE_DIRECTORY, PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME, TableOptions
from paimon_core.seen_conflicts import CONFLICTS, SeenConflicts
from paimon_core.seen_filters import FILTERS, SeenFilters
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.paths import TablePaths
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.value_texts import partition_spec
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.store.early_look import EarlyLook

if TYPE_CHECKING:
    from paimon_core.rights import Rights

_LOG = logger(__name__)


class Turn(Protocol):
    """The right to remove and replace versions of a table. One process has it at a time (`maintenance/turns.py`)."""

    @property
    def is_alone(self) -> bool:
        """Return whether other writers' commits must wait meanwhile."""

    def check(self) -> None:
        """Raise `CommitConflictError` if another process may have the turn by now."""


class Watcher(Protocol):
    """A catalog that has its own list of a table's partitions.

    It is notified after each change to a table, and returns locations of partitions. Only the driver calls it."""

    def committed(self, store: TableStore, snapshot: Snapshot, written: Collection[bytes]) -> None:
        """Process a new snapshot, which has new files in the partitions `written`."""

    def tagged(self, store: TableStore) -> None:
        """Process created, renamed or removed tags."""

    def files_added(self, store: TableStore, partitions: Collection[tuple[str, ...]]) -> None:
        """Process new files in partitions of a format table. Values identify a partition, as in its folders."""

    def placed_elsewhere(self, store: TableStore) -> Mapping[tuple[str, ...], str]:
        """Return the folders of those partitions of a format table that are not in the folder of their values.

        Raises `StorageError` if the catalog does not answer, `UnsupportedFeatureError` for a partition on another
        storage."""


class IcebergCatalogs(Protocol):
    """The Iceberg catalogs that the table's options select.

    They register its Iceberg metadata. Only the driver calls this."""

    def check(self, store: TableStore) -> None:
        """Raise an error if the options select no catalog that can be notified. Sends no request.

        Raises `InvalidOptionError`, `NotAllowedError` or `UnsupportedFeatureError`."""

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None:
        """Register a metadata file in the catalogs, if it is still the latest file by `is_latest`.

        The writer of a later file registers that file. Raises `StorageError`; readers then see the file that was
        registered before.
        """


class OtherTables(Protocol):
    """The other tables of a table's catalog, with the rights of the catalog's user. Picklable.

    All reads of one scan use the tables' versions of one `moment` (epoch milliseconds); None stands for the latest
    versions.
    """

    @property
    def moment(self) -> int | None: ...

    def at(self, moment: int) -> OtherTables:
        """Return the tables at a moment, or at their own moment if they have one."""

    def opened(self) -> AbstractContextManager[Callable[[str], TableStore]]:
        """Open the catalog: a function that returns the table `database.table`, in its latest version.

        The function raises the errors of `Catalog.load_table`."""


@dataclass(frozen=True)
class TableStore:
    """A table's storage, path, current schema and options (the schema's options, overridden for this use). Picklable.

    `identifier` is the table's name in its catalog, or its path without a catalog. `branch` names the branch to use,
    with its own schemas, snapshots and tags; "" is the main branch. `loaded` is the time when this value was created
    (epoch seconds by this host's clock): every file written through it is younger.

    `turn` is the turn of the upkeep that uses this store. `watcher` is notified of changes, `iceberg_catalogs` of
    Iceberg metadata; both are lost by pickling, because tasks commit nothing. `rights` are the rights of the catalog's
    user, None if the catalog has no users. `others` opens the tables to which blob views refer, None without a catalog.

    `zone` converts between instants and local times: it is the session's time zone, None for the process's. `metrics`
    counts commits and compactions, `filters` the filters of scans, `conflicts` the failed commits. `threads`
    decode files for the reader of a split. `variant_paths` and `map_keys` are the parts of VARIANTs and MAPs that a
    query needs, see `ReadRequest`. `early_look` is the look at the versions of the table when it was opened.
    """

    io: FileIO
    root: str
    schema: TableSchema
    options: TableOptions
    identifier: Identifier
    cache: MetadataCache = field(default_factory=MetadataCache, compare=False, repr=False)
    branch: str = ""
    allowed: Allowed = field(default_factory=Allowed)
    loaded: float = field(default_factory=time.time, compare=False, repr=False)
    turn: Turn | None = field(default=None, compare=False, repr=False)
    watcher: Watcher | None = field(default=None, compare=False, repr=False)
    rights: Rights | None = None
    zone: tzinfo | None = None
    others: OtherTables | None = field(default=None, compare=False, repr=False)
    iceberg_catalogs: IcebergCatalogs | None = field(default=None, compare=False, repr=False)
    metrics: Metrics = field(default=PROCESS, compare=False, repr=False)
    filters: SeenFilters = field(default=FILTERS, compare=False, repr=False)
    conflicts: SeenConflicts = field(default=CONFLICTS, compare=False, repr=False)
    threads: int = field(default=1, compare=False, repr=False)
    variant_paths: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    map_keys: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    early_look: EarlyLook | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "watcher": None, "iceberg_catalogs": None, "early_look": None}

    @staticmethod
    def of(
        io: FileIO,
        root: str,
        schema: TableSchema,
        cache: MetadataCache | None = None,
        branch: str = "",
        identifier: Identifier | None = None,
    ) -> TableStore:
        """Return the table at a path. Without an identifier, its name is the path."""
        known = MetadataCache() if cache is None else cache  # an empty cache is false, but it must be used
        named = identifier or PathIdentifier.of_path(root)
        return TableStore(io, root, schema, TableOptions(schema.options), named, known, branch)

    def under(self, schema: TableSchema, branch: str) -> TableStore:
        """Return the store of the same table or of a branch, with another schema and its options.

        It reads whole VARIANTs and MAPs, because fields may have other ids in that schema.
        """
        options = TableOptions(schema.options)
        return replace(self, schema=schema, options=options, branch=branch, variant_paths={}, map_keys={})

    @cached_property
    def paths(self) -> TablePaths:
        return TablePaths(self.root, self.options[DATA_FILE_DIRECTORY], self.branch)

    @property
    def name(self) -> str:
        """The table's name in messages: its identifier, with `$branch_NAME` appended for a branch."""
        return str(replace(self.identifier, branch=self.branch or None))

    def log_fields(self, snapshot: Snapshot | None = None) -> dict[str, object]:
        """Return the fields of a log record about the table, or about one of its snapshots."""
        fields: dict[str, object] = {"table": self.name}
        return fields if snapshot is None else {**fields, "snapshot": snapshot.id}

    @property
    def has_primary_key(self) -> bool:
        return bool(self.schema.primary_keys)

    def partition_spec(self, partition: bytes) -> dict[str, str]:
        """Return the partition columns and values, spelled as in folders but not escaped. Raises `CorruptFileError`."""
        default, legacy = self.options[PARTITION_DEFAULT_NAME], self.options[PARTITION_LEGACY_NAME]
        try:
            return partition_spec(self.schema.partition_fields, partition, default, legacy=legacy)
        except ValueError as e:  # the metadata, or the schema, belongs to another table
            raise UnfamiliarFormError(
                self.paths.manifest("*"), f"the partition of a file is not a partition of the table ({e})"
            ) from e

    def bucket_dir(self, partition: bytes, bucket: int) -> str:
        return self.paths.bucket_dir(self.partition_spec(partition), bucket)

    def with_options(self, more: Mapping[str, str]) -> TableStore:
        return replace(self, options=self.options.merged(more))

    def delete(self, path: str) -> None:
        """Delete a file in the table's folder, if it exists. Links out of the folder are not followed.

        Raises `StorageError`, and `CommitConflictError` if the store's turn is over.
        """
        self.check_turn()
        self.io.delete_below(self.root, path)

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete files like `delete`, in any order and with as few requests as the storage needs.

        Pass only as many files as can be deleted before the turn ends.
        """
        if len(paths) == 1:
            self.delete(paths[0])
            return
        self.check_turn()
        for error in self.io.delete_many_below(self.root, paths).values() if paths else ():
            raise error

    def delete_each(self, paths: Iterable[str]) -> None:
        """Delete files like `delete`, in any order, with as many parallel requests as the storage benefits from."""
        given = list(paths)
        for start in range(0, len(given), self.io.requests_at_once):  # the turn is checked before each round
            self.check_turn()
            some = given[start : start + self.io.requests_at_once]
            side_by_side(self.io, partial(self.io.delete_below, self.root), some)

    def delete_dir(self, path: str) -> None:
        """Delete a folder and everything below it, like `delete`."""
        self.check_turn()
        self.io.delete_dir_below(self.root, path)

    def notify(self, change: Callable[[Watcher], None]) -> None:
        """Notify the watcher of a completed change. If the watcher fails, only log a warning."""
        if self.watcher is None:
            return
        try:
            change(self.watcher)
        except Exception as error:
            _LOG.warning(
                "Table %s was changed, but its catalog could not be updated: %s",
                self.name,
                error,
                extra=self.log_fields(),
            )

    def check_turn(self) -> None:
        """Check the store's turn.

        Call this before replacing files. Raises `CommitConflictError` if the turn is over."""
        if self.turn is not None:
            self.turn.check()

    def writer_slot(self) -> AbstractContextManager[object]:
        """Queue with the writers of this machine (`FileIO.writer_slot`), unless the upkeep that uses this store already
        has the turn.
        """
        return self.io.writer_slot(self.root) if self.turn is None else nullcontext()
