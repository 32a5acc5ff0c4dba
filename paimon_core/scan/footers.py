"""A check of Parquet files by their footers: an engine's own reader must give the same rows as this library.

The schema id of a file names the columns that its writer intended, but not how it stored them. So each footer is read,
once: files never change, and the results are cached with the metadata. Files that cannot be checked are left to this
library's reader: its errors name the file and the cause. Every reader notices a missing file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from paimon_core.errors import PaimonError
from paimon_core.formats.parquet.plain_columns import has_plain_chunks, has_plain_columns
from paimon_core.formats.parquet.shapes import FileLook, Shape, look
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import DataField
from paimon_core.store.external.other_folders import is_elsewhere
from paimon_core.store.table_store import TableStore

_THREADS = 16  # remote storages have a long latency
_AT_ONCE = 1024  # files that are read before the first of them is judged
Located = tuple[str, DataFileMeta]


def engines_read_alike(store: TableStore, splits: Iterable[DataSplit], fields: Sequence[DataField]) -> bool:
    """Return whether every file of the splits has the columns `fields` as an engine expects them. The files must be
    Parquet files.
    """
    files = [(data_file_path(s.bucket_dir, f), f) for s in splits for f in s.files]
    judged: dict[int, tuple[Shape, bool]] = {}  # keeps the shape alive, so that its id stays unique

    def is_alike(file: DataFileMeta, found: FileLook | None) -> bool:
        if found is None:
            return True  # missing
        if found.row_count != file.row_count or not has_plain_chunks(found):
            return False
        shape = found.shape
        if id(shape) not in judged:
            judged[id(shape)] = shape, has_plain_columns(shape.columns, fields)
        return judged[id(shape)][1]

    with ExitStack() as stack:
        pool = None if store.io.is_near else stack.enter_context(ThreadPoolExecutor(_THREADS))
        looked = partial(_look, store)
        for start in range(0, len(files), _AT_ONCE):
            part = files[start : start + _AT_ONCE]
            looks = map(looked, part) if pool is None else pool.map(looked, part)
            try:
                if not all(is_alike(file, found) for (_, file), found in zip(part, looks, strict=True)):
                    return False
            except (PaimonError, OSError, ValueError):
                return False
    return True


def _look(store: TableStore, located: Located) -> FileLook | None:
    """Return the footer of a file, or None if the file is missing or has another size. In this case no engine's reader
    may start.

    Raises `ValueError`, `OSError`, `StorageError`."""
    path, file = located

    def load() -> FileLook:
        with store.io.open_input(path, file.file_size) as source:
            if source.size() != file.file_size:
                raise FileNotFoundError
            return look(source, file.file_size, store.cache.shapes)

    try:
        return store.cache.footers.get(path, load)
    except FileNotFoundError:
        if is_elsewhere(store, path):
            raise ValueError("it is in a folder that an engine does not know") from None
        return None
