"""Options of streams, and the options that apply only to streams or only to batch queries.

`read.stream.*` are Paimon's options of Spark readers, not options of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options import (
    CONSUMER_ID,
    CONSUMER_IGNORE_PROGRESS,
    SCAN_BOUNDED_WATERMARK,
    SCAN_MODE,
    Option,
    TableOptions,
    at_least,
    duration,
    integer,
    long_integer,
    optional,
)
from paimon_core.scan.changes.increment import BETWEEN, BETWEEN_TIMESTAMP, TO_AUTO_TAG

_T = TypeVar("_T")


def _limit(name: str, parse: Callable[[str], _T], doc: str) -> Option[_T | None]:
    """Return an option of readers. For some readers, Spark passes options in small letters."""
    key = f"read.stream.{name}"
    return Option(key, optional(parse), None, doc, aliases=(key.lower(),))


_FILES = _limit("maxFilesPerTrigger", at_least(integer, 1, "a number of files"), "Files of a batch.")
_BYTES = _limit("maxBytesPerTrigger", at_least(long_integer, 1, "a number of bytes"), "Bytes of a batch.")
_ROWS = _limit("maxRowsPerTrigger", at_least(long_integer, 1, "a number of rows"), "Rows of a batch.")
_LEAST_ROWS = _limit("minRowsPerTrigger", at_least(long_integer, 1, "a number of rows"), "Rows to wait for.")
_DELAY = _limit("maxTriggerDelayMs", duration, "How long to wait for them, ms.")
_LIMITS = (_FILES, _BYTES, _ROWS, _LEAST_ROWS, _DELAY)
_OF_STREAMS = frozenset(
    o.key.lower() for o in (*_LIMITS, CONSUMER_ID, CONSUMER_IGNORE_PROGRESS, SCAN_BOUNDED_WATERMARK)
)
_OF_BATCHES = (BETWEEN, BETWEEN_TIMESTAMP, TO_AUTO_TAG, "scan.watermark", "scan.version")
_MODES_OF_BATCHES = ("incremental", "latest-delta")


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of a batch (None for no limit), the number of rows that a batch waits for, and the longest wait in
    milliseconds.

    A single split is read completely, whatever the limits.
    """

    files: int | None = None
    size: int | None = None
    rows: int | None = None
    least_rows: int | None = None
    delay: int | None = None

    @property
    def has_bound(self) -> bool:
        """Return whether a limit may leave splits for the next batch."""
        return any(v is not None for v in (self.files, self.size, self.rows))


def read_limits(options: TableOptions) -> ReadLimits:
    """The limits that a reader's options set. Raises `InvalidOptionError`."""
    found = ReadLimits(*(options[o] for o in _LIMITS))
    if (found.least_rows is None) != (found.delay is None):
        raise InvalidOptionError(
            f"Options '{_LEAST_ROWS.key}' and '{_DELAY.key}' go together: a stream waits for that many rows, for "
            "that long at most."
        )
    return found


def check_stream_options(name: str, options: TableOptions) -> None:
    """Raise `InvalidOptionError` if options of table `name` are for batch queries only."""
    mode, asked = options[SCAN_MODE], [k for k in _OF_BATCHES if k in options.values]
    if mode in _MODES_OF_BATCHES:
        asked.insert(0, f"scan.mode' = '{mode}")
    if asked:
        raise InvalidOptionError(
            f"Option '{asked[0]}' is for batch queries, but table {name} is read as a stream: use spark.read, or start "
            "the stream by 'scan.snapshot-id', 'scan.timestamp-millis' or 'scan.tag-name'."
        )


def check_batch_options(name: str, given: Iterable[str]) -> None:
    """Raise `InvalidOptionError` if the options `given` to a batch query are for streams only."""
    asked = [k for k in given if k.lower() in _OF_STREAMS]
    if asked:
        raise InvalidOptionError(
            f"Option {asked[0]!r} is for streams, but table {name} is read by a batch query: use spark.readStream, or "
            "leave the option out."
        )
