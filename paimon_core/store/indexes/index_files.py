"""Read and write the index manifest of a version and its index files, through the store's cache.

TABLE/manifest/index-manifest-UUID-N   all index files of a version
TABLE/index/index-UUID-N               one index file; in the bucket's folder by `index-file-in-data-file-dir`
TABLE/index/TYPE-global-index-UUID.index   one file of a global index; elsewhere by `global-index.external-path`
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from paimon_core.errors import DataFileMissingError
from paimon_core.io.file_io import MOST_METADATA, storage_errors
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import INDEX_FILE_IN_DATA_DIR
from paimon_core.spec.index_manifest import (
    DELETION_VECTORS_INDEX,
    ENTRY_VERSION,
    INDEX_MANIFEST_ENTRY,
    DeletionVectorMeta,
    IndexFileMeta,
    IndexManifestEntry,
)
from paimon_core.spec.manifest import BucketKey
from paimon_core.spec.paths import index_file_path, plain_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DeletionFile
from paimon_core.store.external.files import check_index_files
from paimon_core.store.named_files import files_of
from paimon_core.store.record_files import MetadataFile, read_records, record_bytes
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.indexes.deletion_vector import Positions, byte_range, decode_vector, decode_vectors
    from paimon_core.spec.message import CommitMessage
else:
    byte_range = ImportedOnCall("paimon_core.indexes.deletion_vector", "byte_range")
    decode_vector = ImportedOnCall("paimon_core.indexes.deletion_vector", "decode_vector")
    decode_vectors = ImportedOnCall("paimon_core.indexes.deletion_vector", "decode_vectors")


def index_entries(store: TableStore, snapshot: Snapshot | None) -> tuple[IndexManifestEntry, ...]:
    """Return the index files of a version. Raises `CorruptFileError`, `NotAllowedError`."""
    if snapshot is None or snapshot.index_manifest is None:
        return ()
    path = store.paths.manifest(snapshot.index_manifest)

    def load() -> tuple[IndexManifestEntry, ...]:
        entries = read_records(store, INDEX_MANIFEST_ENTRY, ENTRY_VERSION, path)
        check_index_files(store, path, entries)
        return entries

    return store.cache.get(path, load)


def index_manifest_file(store: TableStore, entries: Sequence[IndexManifestEntry]) -> MetadataFile:
    """Return the index manifest of a version, as a file that is not yet written."""
    return MetadataFile(
        f"index-manifest-{uuid.uuid4()}-0", record_bytes(store, INDEX_MANIFEST_ENTRY, ENTRY_VERSION, entries)
    )


def index_path(store: TableStore, partition: bytes, bucket: int, file: IndexFileMeta) -> str:
    """Return the path of an index file. A global index does not belong to a bucket."""
    if file.external_path:
        return plain_path(file.external_path)
    if store.options[INDEX_FILE_IN_DATA_DIR] and file.global_index is None:
        return index_file_path(store.bucket_dir(partition, bucket), file.file_name)
    return store.paths.index_file(file.file_name)


def new_index_name() -> str:
    """A new name for an index file."""
    return f"index-{uuid.uuid4()}-0"


def write_index_file(store: TableStore, bucket: BucketKey, file: IndexFileMeta, data: bytes) -> IndexFileMeta:
    """Write the bytes of an index file. Return its metadata. Raises `StorageError`."""
    store.io.write_bytes(index_path(store, *bucket, file), data)
    return file


def read_index_file(store: TableStore, path: str) -> bytes:
    """Return the bytes of an index file. Raises `DataFileMissingError`, `StorageError`."""
    try:
        return store.io.read_bytes(path, MOST_METADATA)
    except FileNotFoundError as e:
        raise _missing(path) from e


def delete_index_files(store: TableStore, partition: bytes, bucket: int, files: Iterable[IndexFileMeta]) -> None:
    """Delete index files that are not in any snapshot. A file that cannot be deleted remains as an orphan."""
    for file in files:
        with suppress(OSError):
            store.io.delete(index_path(store, partition, bucket, file))


def delete_new_indexes(store: TableStore, messages: Iterable[CommitMessage]) -> None:
    """Delete the new index files of messages, like `delete_index_files`."""
    for message in messages:
        delete_index_files(store, message.partition, message.bucket, message.new_index_files)


def deletion_files(store: TableStore, snapshot: Snapshot | None) -> defaultdict[BucketKey, dict[str, DeletionFile]]:
    """Return the deletion vectors of each bucket, by the names of their data files."""
    found: defaultdict[BucketKey, dict[str, DeletionFile]] = defaultdict(dict)
    for entry in index_entries(store, snapshot):
        if entry.file.index_type == DELETION_VECTORS_INDEX:
            bucket = entry.partition, entry.bucket
            found[bucket].update(vectors_by_file(store, bucket, [entry.file]))
    return found


def vectors_by_file(store: TableStore, bucket: BucketKey, files: Iterable[IndexFileMeta]) -> dict[str, DeletionFile]:
    """Return the deletion vectors in index files of a bucket, by the names of the data files."""
    paths = [(index_path(store, *bucket, f), f) for f in files]
    return {v.data_file: DeletionFile(path, v) for path, f in paths for v in f.dv_ranges or ()}


def read_vectors(store: TableStore, path: str, wanted: Iterable[DeletionVectorMeta]) -> dict[str, Positions]:
    """Return the wanted deletion vectors of an index file, by the names of the data files.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`.
    """
    data = read_index_file(store, path)
    with files_of(store):
        return decode_vectors(path, data, wanted)


def read_deletions(store: TableStore, deletion: DeletionFile, row_count: int) -> Positions:
    """Return the ascending positions of the deleted rows of a data file with `row_count` rows.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`.
    """
    with files_of(store):
        start, end = byte_range(deletion.path, deletion.vector)
        try:
            with (
                storage_errors("read", deletion.path),
                store.io.open_input(deletion.path) as file,
            ):
                data = file.read_at(min(end, file.size()) - start, start) if start < file.size() else b""
        except FileNotFoundError as e:
            raise _missing(deletion.path) from e
        return decode_vector(deletion.path, data, deletion.vector, row_count)


def _missing(path: str) -> DataFileMissingError:
    return DataFileMissingError(
        f"Index file {path} is missing: it was deleted, or its snapshot expired while it was read. Run the query "
        "again, or roll back to a snapshot that still has its files."
    )
