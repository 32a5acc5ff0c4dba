"""A change put on top of a version: the input of the rules for conflicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paimon_core.commit.changes import CommitChange
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, PaimonError
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.manifest import FileIdentifier, FileKind, ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.table_store import TableStore

Live = Mapping[FileIdentifier, ManifestEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a commit: put `change` on top of the snapshot `latest` (None for an empty table).

    `live` are the data files of `latest` in the partitions that the change touches; `entries` adds and deletes data
    files. `indexes` are all index files of `latest`; `index_entries` adds and deletes index files.
    """

    store: TableStore
    change: CommitChange
    latest: Snapshot | None
    live: Live
    entries: Sequence[ManifestEntry]
    indexes: Sequence[IndexManifestEntry]
    index_entries: Sequence[IndexManifestEntry]

    @property
    def indexes_after(self) -> list[IndexManifestEntry]:
        """The index files of the new version: first the files that stay, then the added files."""
        deleted = {e.file.file_name for e in self.index_entries if e.kind is FileKind.DELETE}
        kept = [e for e in self.indexes if e.file.file_name not in deleted]
        return kept + [e for e in self.index_entries if e.kind is FileKind.ADD]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The reason why an attempt must not be published, as the end of a sentence.

    If the conflict has its own `error` class, `reason` is the whole message."""

    reason: str
    error: type[PaimonError] | None = None

    def as_error(self, attempt: Attempt) -> PaimonError:
        """Return the error to raise for the conflict."""
        if self.error is not None:
            return self.error(self.reason)
        return CommitConflictError(
            f"Commit of kind {attempt.change.kind} to table {attempt.store.name} conflicts with its latest version "
            f"({author(attempt.latest)}): {self.reason}. Nothing was committed; run the statement again."
        )


Rule = Callable[[Attempt], Conflict | None]


def author(latest: Snapshot | None) -> str:
    """Return the name of the latest snapshot and of the commit that made it, for messages."""
    if latest is None:
        return "no snapshot"
    return (
        f"snapshot {latest.id}, a {latest.commit_kind} by user {latest.commit_user}, commit {latest.commit_identifier}"
    )
