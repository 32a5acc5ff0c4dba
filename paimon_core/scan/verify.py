"""Whether the data files of a plan are what metadata says they are, as far as their sizes tell."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_core.errors import CorruptFileError, DataFileMissingError
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit
from paimon_core.store.table_store import TableStore


def check_sizes(store: TableStore, splits: Iterable[DataSplit]) -> None:
    """One look at each file. Raises `DataFileMissingError`, `CorruptFileError`, `StorageError`."""
    for split in splits:
        for file in split.files:
            path = data_file_path(split.bucket_dir, file)
            try:
                size = store.io.status(path).size
            except FileNotFoundError:
                raise DataFileMissingError(
                    f"Data file {path} of table {store.name} is missing: it was deleted, or its snapshot expired. Run "
                    "the query again, or roll back to a snapshot whose files are there."
                ) from None
            if size != file.file_size:
                cause = f"this data file of table {store.name} has {size} bytes, metadata says {file.file_size}"
                raise CorruptFileError(path, cause)
