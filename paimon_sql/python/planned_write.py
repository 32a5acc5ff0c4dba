"""Writes in several processes: each process writes a part of the rows, and one process commits all parts at once."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo, Once
from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    CorruptFileError,
    InvalidDataError,
    UnsupportedFeatureError,
)
from paimon_core.insert import commit_rows, compact_after_write
from paimon_core.io.side_by_side import missing_paths
from paimon_core.spec.message import WRITE_RESULT, CommitMessage, WriteResult
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.snapshot import Operation
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.tracing import span
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.writer import open_writer, written
from paimon_sql.python.arguments import checked_methods
from paimon_sql.python.assignment import AssignedRows, rows_of
from paimon_sql.python.checks import RowChecks
from paimon_sql.python.executor import ThreadExecutor

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class WrittenPart:
    """Files with a part of the rows of a write, and the commit user of the write. No reader sees them before a commit.

    Send it to another process by `pickle`, or as `json`, which `PlannedWrite.part` reads. A commit or an abort of a
    forged part could delete other files. So a `seal` proves that a process with the write made the part.
    """

    location: str
    user: str
    messages: tuple[CommitMessage, ...] = field(repr=False)
    seal: str = field(repr=False)

    @property
    def row_count(self) -> int:
        """The number of rows in the files."""
        return sum(f.row_count for m in self.messages for f in m.new_files)

    @property
    def json(self) -> str:
        """The part as JSON, without secrets."""
        return json.dumps(
            {
                "location": self.location,
                "user": self.user,
                "result": WRITE_RESULT.encode(WriteResult(self.messages)),
                "seal": self.seal,
            }
        )


@checked_methods
@dataclass(frozen=True)
class PlannedWrite:
    """A write to a table, to be made in parts by several threads, processes or machines with the same package.

    Send it to other processes by `pickle`. It contains the settings of the storage and their secrets. Never unpickle
    data that other users may have changed.
    """

    table: Table = field(repr=False)
    store: TableStore = field(repr=False)
    info: CommitInfo = field(repr=False)
    start: int = field(repr=False)
    fixed: Mapping[str, pa.Scalar] = field(repr=False)
    overwrite: Overwrite | None = field(default=None, repr=False)
    base: AssignmentBase | None = field(default=None, repr=False)
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @staticmethod
    def begin(table: Table, overwrite: Overwrite | None, fixed: Mapping[str, pa.Scalar]) -> PlannedWrite:
        """Begin a write that appends or upserts rows, or overwrites others. `fixed` columns have one value in all rows.

        Raises `UnsupportedFeatureError` if rows cannot be committed, `NoPrivilegeError`.
        """
        table.check_writable()
        info = table.commit_info(Operation.WRITE if overwrite is None else Operation.OVERWRITE)
        base, store = table.assignment_base(1, overwrite), table.write_store(overwrites=overwrite is not None)
        planned = table.for_write()
        return PlannedWrite(planned, store, info, planned.max_sequence_number() + 1, fixed, overwrite, base)

    def in_parts(self) -> PlannedWrite:
        """Return the write if several processes may write parts of it.

        Raises `UnsupportedFeatureError` for dynamic buckets: one process must assign all keys to buckets.
        """
        if self.base is not None:
            raise UnsupportedFeatureError(
                f"Table {self.table.name} has dynamic buckets, which one process must assign: call upsert or "
                "overwrite, or make the table with a fixed number of buckets ('bucket' = '4') or 'bucket' = '-2'."
            )
        if self.info.once is not None:
            return self
        return replace(self, info=replace(self.info, once=Once.ALONE, begun_on=self.table.latest_snapshot()))

    def write(self, data: Any) -> WrittenPart:
        """Write rows to files, and return the part to commit. `data` as for `PaimonTable.append`.

        All rows of one key must be in one part: if several parts have the key, any of these rows may win. If the write
        fails, no file is kept. Raises the errors of `PaimonTable.append`, apart from errors of commits.
        """
        given = AssignedRows(self.store, self.fixed).batches(rows_of(data, self.table.schema.fields))
        rows = _by_partition(self.table, RowChecks.of(self.table).passed(given))
        writer = open_writer(self.store, sequence_start=self.start, base=self.base)
        with span("write", table=self.table.name):
            messages = tuple(written(writer, rows))
        return WrittenPart(self.store.root, self.info.user, messages, self._seal(messages))

    def part(self, text: str) -> WrittenPart:
        """Return the part with this JSON. Raises `InvalidDataError` for another text."""
        try:
            found = json.loads(text)
            messages = WRITE_RESULT.decode(found["result"]).messages
            return WrittenPart(str(found["location"]), str(found["user"]), messages, str(found["seal"]))
        except (ValueError, KeyError, TypeError, RecursionError, CorruptFileError) as e:
            raise InvalidDataError(
                f"The text is not a part of a write to {self.table.name} ({e!r}): pass the `json` of a part."
            ) from e

    def commit(self, parts: Iterable[WrittenPart]) -> None:
        """Make the rows of all parts visible, in one commit; then compact the buckets that are due.

        The commit is made once: another call, also by another process, does nothing. If it fails, the files of the
        parts stay: call it again, or call `abort`. Raises `InvalidDataError` for parts of another write and for a part
        that is given twice, `CommitConflictError` also for parts with deleted files, `CommitUnknownError`,
        `StorageError`.
        """
        messages, executor = self._checked(parts), ThreadExecutor()
        try:
            self.table.check_not_made(self.info)
            self._check_files(messages)
            made = commit_rows(self.table, messages, self.info, executor, self.overwrite)
        except AlreadyCommittedError as error:
            _LOG.warning("%s", error, extra=self.table.store.log_fields())
            return
        compact_after_write(self.table, made, executor, overwrites=self.overwrite is not None)

    def abort(self, parts: Iterable[WrittenPart]) -> None:
        """Delete the files of parts that no process will commit, and that no process commits at this moment.

        Raises `InvalidDataError` for the same parts as `commit`. If the write was committed, raises
        `AlreadyCommittedError` and deletes nothing.
        """
        messages = self._checked(parts)
        self.table.check_not_made(self.info)
        self.table.abort(messages)

    def _checked(self, parts: Iterable[WrittenPart]) -> list[CommitMessage]:
        given = list(parts)
        if not all(map(self._is_own, given)):
            raise InvalidDataError(
                f"A part is not of this write to {self.table.name}: commit or abort each part with the write that made "
                "it."
            )
        messages = [m for part in given for m in part.messages]
        names = Counter(f.file_name for m in messages for f in m.new_files)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise InvalidDataError(
                f"A part of the write to {self.table.name} is given twice (file {twice}): commit each part once."
            )
        return messages

    def _is_own(self, part: WrittenPart) -> bool:
        if not isinstance(part, WrittenPart):
            return False
        named = (part.location, part.user) == (self.store.root, self.info.user)
        return named and hmac.compare_digest(part.seal.encode(), self._seal(part.messages).encode())

    def _seal(self, messages: tuple[CommitMessage, ...]) -> str:
        return hmac.new(self.key, WRITE_RESULT.encode(WriteResult(messages)).encode(), hashlib.sha256).hexdigest()

    def _check_files(self, messages: Iterable[CommitMessage]) -> None:
        """Raise an error if files of the parts were deleted: a version with these files could not be read.

        Raises `CommitConflictError`, or `AlreadyCommittedError` if another process has just made the commit.
        """
        pairs = ((self.store.bucket_dir(m.partition, m.bucket), f) for m in messages for f in m.new_files)
        missing = missing_paths(self.store.io, [path for pair in pairs for path in data_file_paths(*pair)])
        if missing:
            self.table.check_not_made(self.info)  # rows without a bucket lose their files when they are committed
            raise CommitConflictError(
                f"Table {self.table.name}: {len(missing)} files of this write no longer exist, the first is "
                f"{missing[0]}. An abort or a clean-up deleted them. Nothing was committed. Write the rows again."
            )


def _by_partition(table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort the rows of each batch by partition, so that the rows of a partition fill whole files. Keep the order if the
    last row of a key wins across partitions.
    """
    names = () if table.schema.cross_partition_update else table.schema.partition_keys
    keys = [(name, "ascending") for name in names]
    for batch in batches:
        yield batch.sort_by(keys) if keys else batch
