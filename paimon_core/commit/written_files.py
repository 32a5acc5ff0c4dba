"""A check that the files of a long write still exist when it is committed.

A clean-up deletes files that no snapshot references once they are old enough by its clock, because it takes them for
files of a dead writer. A deleted file must not become part of a version: that version could not be read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from paimon_core.commit.changes import CommitChange
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError
from paimon_core.io.load import normalize
from paimon_core.io.side_by_side import missing_paths
from paimon_core.spec.manifest import FileKind
from paimon_core.spec.paths import data_file_paths
from paimon_core.store.blob.references import REFERENCES, read_references
from paimon_core.store.indexes.index_files import index_path
from paimon_core.store.table_store import TableStore

# seconds: clean-ups usually keep younger files, and few writes take so long that they need the look-ups
LONG_WRITE = 600.0


@dataclass(slots=True)
class WrittenFiles:
    """The files that a change adds. `known` is the latest time (epoch seconds by this host's clock) at which each of
    them existed, or was not yet written.
    """

    store: TableStore
    change: CommitChange
    known: float

    def check(self) -> None:
        """Check that the files exist, if `known` is long ago. Each file costs a request.

        Raises `CommitConflictError` if a file was deleted, also a pack of BLOBs that rows name, `StorageError`.
        """
        age = time.time() - self.known
        if 0 <= age < LONG_WRITE:
            return
        now, paths = time.time(), list(self._paths())
        missing = missing_paths(self.store.io, paths)
        if not missing:
            packs = list(self._packs(paths))
            missing, paths = missing_paths(self.store.io, packs), paths + packs
        if missing:
            raise CommitConflictError(
                f"Table {self.store.name}: {len(missing)} of {len(paths)} files of this write no longer exist, the "
                f"first is {missing[0]}. A clean-up deleted them before they were committed: by this host's clock the "
                f"write took {age:.0f} seconds, so the clean-up uses a smaller age or a wrong clock. Nothing was "
                "committed. Run the statement again, and run clean-ups with an age above the longest write."
            )
        self.known = now

    def _packs(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield the packs that the rows of these files name."""
        named = (p for p in paths if p.endswith(REFERENCES))
        yield from sorted({normalize(pack) for p in named for pack in read_references(self.store.io, p)})

    def _paths(self) -> Iterator[str]:
        store = self.store
        for entry in (*self.change.entries, *self.change.changelog):
            if entry.kind is FileKind.ADD:
                yield from data_file_paths(store.bucket_dir(entry.partition, entry.bucket), entry.file)
        for index in self.change.index:
            if index.kind is FileKind.ADD:
                yield index_path(store, index.partition, index.bucket, index.file)
