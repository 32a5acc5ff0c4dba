"""The file indexes of data files: in their metadata, or in a `.index` file beside them, which is read in parts."""

from __future__ import annotations

from collections.abc import Callable

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, DataFileMissingError, UnfamiliarFormError
from paimon_core.indexes.file_index.container import (
    INDEX_SUFFIX,
    PREFIX_SIZE,
    BodyLocation,
    body_of,
    decode_head,
    head_size,
)
from paimon_core.indexes.file_index.cursor import ADVICE, WITHOUT
from paimon_core.io.file_io import storage_errors
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path, index_file_path
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.table_store import TableStore

_FIRST_BYTES = 4096  # most heads are smaller
_ReadAt = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class FileIndex:
    """The index of a data file.

    `path` is the path of the `.index` file, None for an index in metadata; `size` is in bytes. `bodies` are the
    requested bodies by column; the body of a column without rows is empty (None).
    """

    path: str | None
    size: int
    locations: tuple[BodyLocation, ...]
    bodies: tuple[tuple[BodyLocation, bytes | None], ...] = ()


def index_file_of(file: DataFileMeta) -> str | None:
    """Return the name of the `.index` file of a data file, or None. Raises `CorruptFileError` if it has several."""
    names = [n for n in file.extra_files if n.endswith(INDEX_SUFFIX)]
    if len(names) > 1:
        raise UnfamiliarFormError(
            file.file_name, f"metadata gives it several file indexes: {' and '.join(names)}", WITHOUT
        )
    return names[0] if names else None


def has_file_index(file: DataFileMeta) -> bool:
    return file.embedded_file_index is not None or any(n.endswith(INDEX_SUFFIX) for n in file.extra_files)


def read_file_index(
    store: TableStore, bucket_dir: str, file: DataFileMeta, wanted: Callable[[BodyLocation], bool]
) -> FileIndex | None:
    """Return the index of a data file with the wanted bodies, or None if the file does not have an index.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`.
    """
    embedded = file.embedded_file_index
    data_path = data_file_path(bucket_dir, file)
    if embedded is not None:
        label = f"{data_path} (file index in its manifest)"
        locations = decode_head(label, embedded)
        bodies = tuple((p, body_of(label, embedded, p)) for p in locations if wanted(p))
        return FileIndex(None, len(embedded), locations, bodies)
    name = index_file_of(file)
    if name is None:
        return None
    path = index_file_path(data_path.rpartition("/")[0], name)
    try:
        return _read(store, path, wanted)
    except DataFileMissingError:
        place = FilePlaces(store).of(path)
        if place == path:
            raise
    return _read(store, place, wanted)


def _read(store: TableStore, path: str, wanted: Callable[[BodyLocation], bool]) -> FileIndex:
    try:
        with storage_errors("read", path), store.io.open_input(path) as file:
            size = file.size()

            def read_at(start: int, count: int) -> bytes:
                return bytes(file.read_at(min(count, size - start), start)) if start < size else b""

            head = _head(path, read_at)
            locations = decode_head(path, head)
            return FileIndex(path, size, locations, tuple((p, _body(path, read_at, p)) for p in locations if wanted(p)))
    except FileNotFoundError as e:
        raise DataFileMissingError(
            f"File index {path} is missing: it was deleted, or its snapshot expired while it was read. Run the "
            "query again; if the error remains, rebuild it by CALL sys.rewrite_file_index."
        ) from e


def _head(path: str, read_at: _ReadAt) -> bytes:
    first = read_at(0, _FIRST_BYTES)
    size = head_size(path, first[:PREFIX_SIZE])
    return first if size <= len(first) else first + read_at(len(first), size - len(first))


def _body(path: str, read_at: _ReadAt, location: BodyLocation) -> bytes | None:
    if location.start is None:
        return None
    body = read_at(location.start, location.length)
    if len(body) < location.length:
        raise CorruptFileError(
            path, f"it ends inside the {location.index_type} index of column {location.column!r}", ADVICE
        )
    return body
