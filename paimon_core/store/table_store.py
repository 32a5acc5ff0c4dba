"""TableStore: what everyone who touches a table's files is handed, instead of "the table"."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property
from typing import Any, Protocol

from paimon_core.errors import UnfamiliarFormError
from paimon_core.io.file_io import FileIO
from paimon_core.options import DATA_FILE_DIRECTORY, PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME, TableOptions
from paimon_core.rights import Rights
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.paths import TablePaths
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.value_texts import partition_spec
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache

_LOG = logging.getLogger(__name__)


class Turn(Protocol):
    """The right to remove and replace versions of a table, which one process has at a time (`maintenance/turns.py`)."""

    @property
    def is_alone(self) -> bool:
        """Whether commits of others wait meanwhile."""

    def check(self) -> None:
        """Raises `CommitConflictError` where others may have the turn by now."""


class Watcher(Protocol):
    """Who is told of changes to a table once they are made, and knows where partitions lie: a catalog with partitions
    of its own. Only the driver tells and asks."""

    def committed(self, store: TableStore, snapshot: Snapshot, written: Collection[bytes]) -> None:
        """A snapshot was made, with new files in the partitions `written`."""

    def tagged(self, store: TableStore) -> None:
        """Tags were made, renamed or removed."""

    def files_added(self, store: TableStore, partitions: Collection[tuple[str, ...]]) -> None:
        """Partitions of a format table got files; they are named by their values, as folders spell them."""

    def placed_elsewhere(self, store: TableStore) -> Mapping[tuple[str, ...], str]:
        """The folders of those partitions of a format table that do not lie where their values say. Raises
        `StorageError` where the catalog cannot be asked, and `UnsupportedFeatureError` for one on another storage."""


class IcebergCatalogs(Protocol):
    """Who names the Iceberg metadata of a table in catalogs of Iceberg's, which the table's options ask for. Only the
    driver tells."""

    def check(self, store: TableStore) -> None:
        """Raises `InvalidOptionError`, `NotAllowedError` and `UnsupportedFeatureError` for options by which no catalog
        can be told; none is asked."""

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None:
        """Let the catalogs name a metadata file, unless it `is_latest` no more: who made a later one names that.

        Raises `StorageError`; readers see what was named before then.
        """


@dataclass(frozen=True)
class TableStore:
    """A table's storage, path, schema in force and options (the schema's, overridden for this use). Picklable.

    `identifier` is the table's name in its catalog, its path where it is in none. `branch` names one of its branches,
    whose schemas, snapshots and tags are then meant; "" is the table itself. `loaded` is when this was made (epoch
    seconds by this host's clock): whatever is written through it is younger. `turn` is that of the upkeep that this
    store is for, `watcher` is told of changes, `iceberg_catalogs` of Iceberg metadata; pickled, it tells neither: tasks
    commit nothing. `rights` are those of the catalog's user; None: there are no users. Instants turn local in `zone`,
    the session's, if the type of a column has changed. None: the process's.
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
    iceberg_catalogs: IcebergCatalogs | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "watcher": None, "iceberg_catalogs": None}

    @staticmethod
    def of(
        io: FileIO,
        root: str,
        schema: TableSchema,
        cache: MetadataCache | None = None,
        branch: str = "",
        identifier: Identifier | None = None,
    ) -> TableStore:
        """The table at a path; without an identifier it is named by the path."""
        known = MetadataCache() if cache is None else cache  # an empty one is false, and is to be filled
        named = identifier or PathIdentifier.of_path(root)
        return TableStore(io, root, schema, TableOptions(schema.options), named, known, branch)

    def under(self, schema: TableSchema, branch: str) -> TableStore:
        """The same table, or a branch of it, under another schema and its options."""
        return replace(self, schema=schema, options=TableOptions(schema.options), branch=branch)

    @cached_property
    def paths(self) -> TablePaths:
        return TablePaths(self.root, self.options[DATA_FILE_DIRECTORY], self.branch)

    @property
    def name(self) -> str:
        """What messages call the table: its identifier, with `$branch_NAME` behind it for a branch."""
        return str(replace(self.identifier, branch=self.branch or None))

    @property
    def has_primary_key(self) -> bool:
        return bool(self.schema.primary_keys)

    def partition_spec(self, partition: bytes) -> dict[str, str]:
        """Partition columns and values as folders spell them, not escaped. Raises `CorruptFileError`."""
        default, legacy = self.options[PARTITION_DEFAULT_NAME], self.options[PARTITION_LEGACY_NAME]
        try:
            return partition_spec(self.schema.partition_fields, partition, default, legacy=legacy)
        except ValueError as e:  # metadata, or the schema, is that of another table
            raise UnfamiliarFormError(self.paths.manifest("*"), f"a file is in no partition of the table ({e})") from e

    def bucket_dir(self, partition: bytes, bucket: int) -> str:
        return self.paths.bucket_dir(self.partition_spec(partition), bucket)

    def with_options(self, more: Mapping[str, str]) -> TableStore:
        return replace(self, options=self.options.merged(more))

    def delete(self, path: str) -> None:
        """Delete a file in the table's folder; fine where it does not exist. Never follows a link out of the folder.

        Raises `StorageError`, and `CommitConflictError` where the store's turn is over.
        """
        self.check_turn()
        self.io.delete_below(self.root, path)

    def delete_dir(self, path: str) -> None:
        """As `delete`, of a folder with all below it."""
        self.check_turn()
        self.io.delete_dir_below(self.root, path)

    def tell(self, change: Callable[[Watcher], None]) -> None:
        """Tell the watcher of a change that is made, and does not fail because he does."""
        if self.watcher is None:
            return
        try:
            change(self.watcher)
        except Exception as error:
            _LOG.warning("Table %s is changed, but its catalog could not follow: %s", self.name, error)

    def check_turn(self) -> None:
        """Call this before what is there is replaced. Raises `CommitConflictError` where the store's turn is over."""
        if self.turn is not None:
            self.turn.check()

    def writer_slot(self) -> AbstractContextManager[object]:
        """Queue with the writers of this machine (`FileIO.writer_slot`), unless this store's upkeep has its turn."""
        return self.io.writer_slot(self.root) if self.turn is None else nullcontext()
