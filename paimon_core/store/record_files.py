"""Read and write files of metadata records: Avro, or a columnar format that `manifest.format` names.

The first bytes of a file show its format; the option is for new files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import MetadataMissingError
from paimon_core.io.file_io import MOST_METADATA
from paimon_core.manifests.record_files import decode_file, encode_avro, encode_columns, record_format
from paimon_core.spec.records import Record
from paimon_core.store.named_files import files_of
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A file of the table's folder `manifest` that is not yet written."""

    name: str
    data: bytes


def write_metadata(store: TableStore, file: MetadataFile) -> None:
    """Write a file of metadata. Raises `StorageError`."""
    store.io.write_bytes(store.paths.manifest(file.name), file.data)


def read_records(store: TableStore, record: Record[Any], version: int, path: str) -> tuple[Any, ...]:
    """Return the records of a file. Raises `CorruptFileError`, `MetadataMissingError`."""
    data = read_named(store, path)
    with files_of(store):
        return tuple(decode_file(record, version, path, data))


def read_named(store: TableStore, path: str) -> bytes:
    """Return the bytes of a metadata file that a snapshot names. Raises `MetadataMissingError`."""
    try:
        return store.io.read_bytes(path, MOST_METADATA)
    except FileNotFoundError:
        cause = "a snapshot names it; it may have expired since the table was opened"
        raise MetadataMissingError(path, cause) from None


def record_bytes(store: TableStore, record: Record[Any], version: int, values: Iterable[Any]) -> bytes:
    """Encode records as a file, in the format and codec of the table. Raises `InvalidOptionError`."""
    name, codec = record_format(store.options)
    if name == "avro":
        return encode_avro(record, version, values, codec)
    return encode_columns(record, version, values, name, codec)
