"""What a writer hands to the commit: the files it wrote for one bucket. Travels as JSON, never as code."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_core.errors import CorruptFileError
from paimon_core.spec.index_manifest import INDEX_FILE_META, IndexFileMeta
from paimon_core.spec.json_object import member
from paimon_core.spec.manifest import DATA_FILE_META, DataFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """Changes of one bucket: files a write added or replaced, files a compaction replaced, the index files of both, and
    the changelog of both, which tells readers what changed.

    `index_base` is the snapshot (0: none) whose hash indexes a writer gave buckets by: no other may follow it.
    `rows_base` is the one in which a writer read the rows whose columns it wrote: nobody may have written these since.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    deleted_files: tuple[DataFileMeta, ...] = ()
    new_changelog: tuple[DataFileMeta, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog: tuple[DataFileMeta, ...] = ()
    new_index_files: tuple[IndexFileMeta, ...] = ()
    deleted_index_files: tuple[IndexFileMeta, ...] = ()
    compact_new_index_files: tuple[IndexFileMeta, ...] = ()
    compact_deleted_index_files: tuple[IndexFileMeta, ...] = ()
    index_base: int | None = None
    rows_base: int | None = None


_NO_BASE = -1
_BASES = ("index_base", "rows_base")
_FILES = ("new_files", "deleted_files", "new_changelog", "compact_before", "compact_after", "compact_changelog")
_INDEX_FILES = (
    "new_index_files",
    "deleted_index_files",
    "compact_new_index_files",
    "compact_deleted_index_files",
)


def index_base_of(messages: Iterable[CommitMessage]) -> int | None:
    """The oldest snapshot that writers of the messages gave buckets by, None where none did."""
    return min((m.index_base for m in messages if m.index_base is not None), default=None)


def rows_base_of(messages: Iterable[CommitMessage]) -> int | None:
    """The oldest snapshot that writers of the messages read rows in whose columns they wrote, None where none did."""
    return min((m.rows_base for m in messages if m.rows_base is not None), default=None)


def encode_message(message: CommitMessage) -> str:
    """The message as one JSON text."""
    node = {"partition": b64encode(message.partition).decode(), "bucket": message.bucket, "of": message.total_buckets}
    files = {n: [DATA_FILE_META.to_json(f) for f in getattr(message, n)] for n in _FILES}
    index_files = {n: [INDEX_FILE_META.to_json(f) for f in getattr(message, n)] for n in _INDEX_FILES}
    bases = {n: _NO_BASE if (base := getattr(message, n)) is None else base for n in _BASES}
    return json.dumps(node | files | index_files | bases)


def encode_messages(messages: Iterable[CommitMessage]) -> str:
    """The messages of one task as one JSON text."""
    return json.dumps([encode_message(m) for m in messages])


def decode_messages(texts: Iterable[str | bytes]) -> list[CommitMessage]:
    """The messages in the texts of tasks. Raises `CorruptFileError`."""
    return [decode_message(message) for text in texts for message in json.loads(text)]


def decode_message(text: str) -> CommitMessage:
    """The reverse of `encode_message`. Raises `CorruptFileError`."""
    try:
        node = json.loads(text)
        files = {n: tuple(DATA_FILE_META.from_json(f) for f in member(node, n, list)) for n in _FILES}
        index_files = {n: tuple(INDEX_FILE_META.from_json(f) for f in member(node, n, list)) for n in _INDEX_FILES}
        partition = b64decode(member(node, "partition", str), validate=True)
        bucket, total_buckets = member(node, "bucket", int), member(node, "of", int)
        index_base, rows_base = (None if (n := member(node, b, int)) == _NO_BASE else n for b in _BASES)
        return CommitMessage(
            partition=partition,
            bucket=bucket,
            total_buckets=total_buckets,
            index_base=index_base,
            rows_base=rows_base,
            **files,
            **index_files,
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as e:
        raise CorruptFileError("<commit message>", f"it does not decode ({e})", "run the statement again") from e
