"""The global indexes of a version: the rows that they cover, and their files.

An index of a column may have several files, each for the rows `row_range_start` to `row_range_end`. Several files for
one range have different keys. Files of unknown types are ignored.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from paimon_core.errors import DataFileMissingError, InvalidOptionError
from paimon_core.indexes.global_index.blocks import ADVICE
from paimon_core.indexes.global_index.reader import GLOBAL_INDEX_FILES
from paimon_core.io.file_io import storage_errors
from paimon_core.lazy import cached_property
from paimon_core.options import GLOBAL_INDEX_EXTERNAL_PATH
from paimon_core.spec.index_manifest import IndexFileMeta, IndexManifestEntry
from paimon_core.spec.types import DataField, Kind
from paimon_core.store.external.files import check_location
from paimon_core.store.file_fields import stored_fields
from paimon_core.store.schemas import schema_ids
from paimon_core.store.table_store import TableStore

RowSpan = tuple[int, int]  # from the first row to before the end


def of_column(
    entries: Iterable[IndexManifestEntry], field_id: int, types: Container[str] = GLOBAL_INDEX_FILES
) -> list[IndexManifestEntry]:
    """Return the index files of some types of only this column."""
    return [
        e
        for e in entries
        if e.file.index_type in types
        and e.file.global_index is not None
        and e.file.global_index.field_ids == (field_id,)
        and e.file.global_index.source_meta is None
    ]


def covered(files: Iterable[IndexFileMeta]) -> list[RowSpan]:
    """Return the rows that index files cover, as ordered spans without overlap."""
    metas = [f.global_index for f in files if f.global_index is not None]
    return joined((m.row_range_start, m.row_range_end + 1) for m in metas)


def joined(spans: Iterable[RowSpan]) -> list[RowSpan]:
    """Join spans of rows into as few spans as possible, in order."""
    result: list[RowSpan] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        elif start < end:
            result.append((start, end))
    return result


def without(spans: Sequence[RowSpan], excluded: Sequence[RowSpan]) -> list[RowSpan]:
    """Return the rows of `spans` that are not in `excluded`. Both are ordered and without overlap."""
    result: list[RowSpan] = []
    first = 0
    for start, end in spans:
        while first < len(excluded) and excluded[first][1] <= start:
            first += 1
        for low, high in islice(excluded, first, None):
            if low >= end:
                break
            if start < low:
                result.append((start, low))
            start = max(start, high)
        if start < end:
            result.append((start, end))
    return result


def kept_its_type(store: TableStore, field: DataField) -> bool:
    """Return whether a column never had another type.

    If it had, an index may have keys of the old type, and nothing in the index shows the type.
    """
    versions = schema_ids(store.io, store.paths.version_root) if store.schema.id else ()
    then = (f.type for v in versions for f in stored_fields(store, v) if f.id == field.id)
    now = field.type
    return all(t.with_nullable(True) == now.with_nullable(True) or t.kind is now.kind is Kind.VARCHAR for t in then)


def new_index_file(store: TableStore, index_type: str, prefix: str = "") -> IndexFileMeta:
    """Return the metadata of a new index file, with its name and path. Its name begins with `prefix`.

    Raises `InvalidOptionError`, `NotAllowedError`.
    """
    name = f"{prefix}{index_type}-global-index-{uuid.uuid4()}.index"
    file = IndexFileMeta(index_type=index_type, file_name=name, file_size=0, row_count=0)
    folder = store.options[GLOBAL_INDEX_EXTERNAL_PATH]
    if not folder:
        return file
    if not urlsplit(folder).scheme:
        raise InvalidOptionError(
            f"Option '{GLOBAL_INDEX_EXTERNAL_PATH.key}' cannot be {folder!r}: scheme should not be null; write it as "
            "s3://bucket/path or file:///path."
        )
    check_location(store, folder.rstrip("/"), None)
    return replace(file, external_path=f"{folder.rstrip('/')}/{file.file_name}")


class IndexInput:
    """A function that reads a range of bytes of an index file of `size` bytes, or fewer bytes at its end.

    Raises `DataFileMissingError`, `StorageError`."""

    def __init__(self, store: TableStore, path: str, size: int) -> None:
        self._store, self._path, self._size = store, path, size

    def __call__(self, start: int, size: int) -> bytes:
        try:
            with storage_errors("read", self._path):
                there = self._file.size() - start
                return bytes(self._file.read_at(min(size, there), start)) if there > 0 else b""
        except FileNotFoundError as e:
            raise DataFileMissingError(
                f"Global index file {self._path} is missing: it was deleted, or its snapshot expired meanwhile. "
                f"Run the query again; if the error remains, {ADVICE}."
            ) from e

    @cached_property
    def _file(self) -> Any:
        io = self._store.io
        return io.open_input(self._path, self._size)
