"""The names and folders of a bucket's new files."""

from __future__ import annotations

import itertools
import uuid

from paimon_core.options import DATA_FILE_PREFIX
from paimon_core.store.external.paths import new_file_paths
from paimon_core.store.table_store import TableStore


class NewPaths:
    """The paths of one writer's files. A file name can have any ending."""

    def __init__(self, store: TableStore, bucket_dir: str) -> None:
        self._path = new_file_paths(store, bucket_dir)
        prefix = f"{store.options[DATA_FILE_PREFIX]}{uuid.uuid4()}"
        self._names = (f"{prefix}-{i}" for i in itertools.count())

    def next(self, ending: str) -> str:
        return self._path(f"{next(self._names)}{ending}")
