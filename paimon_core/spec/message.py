"""What a writer hands to the commit: the files it wrote for one bucket. Travels as JSON, never as code."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass

from paimon_core.errors import CorruptFileError
from paimon_core.spec.json_object import member
from paimon_core.spec.manifest import DATA_FILE_META, DataFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """Changes of one bucket: files added by a write, and files a compaction replaced."""

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()


_FILES = ("new_files", "compact_before", "compact_after")


def encode_message(message: CommitMessage) -> str:
    """The message as one JSON text."""
    node = {"partition": b64encode(message.partition).decode(), "bucket": message.bucket, "of": message.total_buckets}
    return json.dumps(node | {n: [DATA_FILE_META.to_json(f) for f in getattr(message, n)] for n in _FILES})


def decode_message(text: str) -> CommitMessage:
    """The reverse of `encode_message`. Raises `CorruptFileError`."""
    try:
        node = json.loads(text)
        files = {n: tuple(DATA_FILE_META.from_json(f) for f in member(node, n, list)) for n in _FILES}
        partition = b64decode(member(node, "partition", str), validate=True)
        bucket, total_buckets = member(node, "bucket", int), member(node, "of", int)
        return CommitMessage(partition=partition, bucket=bucket, total_buckets=total_buckets, **files)
    except (ValueError, TypeError, OverflowError, RecursionError) as e:
        raise CorruptFileError("<commit message>", f"it does not decode ({e})", "run the statement again") from e
