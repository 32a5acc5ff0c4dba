"""External paths: folders outside of a table that its new data files go to, `PATH/[PARTITION/]bucket-N`.

Metadata keeps the whole path of such a file, in `_EXTERNAL_PATH`. Source: configuration page, options of that name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle, islice, repeat

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options import DATA_FILE_EXTERNAL_FS, DATA_FILE_EXTERNAL_PATHS, DATA_FILE_EXTERNAL_STRATEGY
from paimon_core.spec.paths import plain_path
from paimon_core.store.table_store import TableStore

_LOCAL = "file"


def folders_of_new_files(store: TableStore, bucket_dir: str) -> Iterator[str]:
    """The folder of each new file of a bucket, one after the other, without end.

    Raises `InvalidOptionError`, `UnsupportedFeatureError` for paths that no file of the table can go to.
    """
    roots = external_roots(store)
    if not roots:
        return repeat(bucket_dir)
    inside = bucket_dir.removeprefix(store.root)
    start = random.randrange(len(roots))  # so that tasks of one file each do not all choose the same
    return islice(cycle(f"{root}{inside}" for root in roots), start, None)


def external_roots(store: TableStore) -> list[str]:
    """The external paths of a table that are in use. Raises as `folders_of_new_files` does."""
    strategy = store.options[DATA_FILE_EXTERNAL_STRATEGY]
    paths = store.options[DATA_FILE_EXTERNAL_PATHS]
    if strategy == "none" or not paths:
        return []
    for path in paths:
        if not _scheme(path):
            raise InvalidOptionError(
                f"Option '{DATA_FILE_EXTERNAL_PATHS.key}' cannot be {path!r}: scheme should not be null; write it as "
                "s3://bucket/path or file:///path."
            )
    if strategy == "specific-fs":
        wanted = store.options[DATA_FILE_EXTERNAL_FS]
        paths = tuple(p for p in paths if _scheme(p) == wanted)
        if not paths:
            raise InvalidOptionError(
                f"External paths should not be empty: none of '{DATA_FILE_EXTERNAL_PATHS.key}' has the scheme "
                f"'{DATA_FILE_EXTERNAL_FS.key}' = {wanted!r}."
            )
    own = _scheme(store.root) or _LOCAL
    for path in paths:
        if _scheme(path) != own:
            raise UnsupportedFeatureError(
                f"Table {store.name} cannot be written: '{DATA_FILE_EXTERNAL_PATHS.key}' names {path}, which is on "
                f"another storage than the table ({own}); this version writes to external paths of the same one."
            )
    return [plain_path(p).rstrip("/") for p in paths]


def external_path(store: TableStore, path: str) -> str | None:
    """What metadata says of the place of a file, None where it lies in the table."""
    if path.startswith(f"{store.root}/"):
        return None
    return path if _scheme(path) else f"{_LOCAL}:{path}"


def _scheme(path: str) -> str:
    scheme, found, _ = path.partition(":/")
    return scheme.lower() if found else ""
