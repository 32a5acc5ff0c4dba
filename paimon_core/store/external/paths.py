"""External paths: folders outside of a table for its new data files, `PATH/[PARTITION/]bucket-N`.

With `entropy-inject`, files are in subfolders such as `0110/1010/0001/11001011`: the 20 lowest bits of a hash of the
file's name. So object stores distribute the files. Metadata keeps the full path of such a file, in `_EXTERNAL_PATH`.
Source: configuration page, options of that name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import cycle, islice

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options import (
    DATA_FILE_EXTERNAL_PATHS,
    DATA_FILE_EXTERNAL_STRATEGY,
    DATA_FILE_EXTERNAL_WEIGHTS,
)
from paimon_core.options.external_paths import scheme_of_path, used_external_paths
from paimon_core.spec.hashing.murmur import murmur3_bytes
from paimon_core.spec.paths import plain_path
from paimon_core.store.external.files import check_location
from paimon_core.store.table_store import TableStore

ENTROPY = "entropy-inject"
_LOCAL = "file"


def new_file_paths(store: TableStore, bucket_dir: str) -> Callable[[str], str]:
    """Return a function from the name of a new file of a bucket to the file's path.

    Raises `InvalidOptionError`, and `UnsupportedFeatureError` if an external path cannot have files of the table.
    """
    roots = external_roots(store)
    if not roots:
        return lambda name: f"{bucket_dir}/{name}"
    inside, hashed = bucket_dir.removeprefix(store.root), store.options[DATA_FILE_EXTERNAL_STRATEGY] == ENTROPY
    choose = _choice(store, roots)
    return lambda name: f"{choose()}{inside}/{entropy_folders(name) if hashed else ''}{name}"


def entropy_folders(name: str) -> str:
    """Return the subfolders for a file: bits of the hash of its name."""
    bits = f"{murmur3_bytes(name.encode(), 0) & 0xFFFFF:020b}"
    return f"{bits[:4]}/{bits[4:8]}/{bits[8:12]}/{bits[12:]}/"


def _choice(store: TableStore, roots: Sequence[str]) -> Callable[[], str]:
    weights = store.options[DATA_FILE_EXTERNAL_WEIGHTS]
    if store.options[DATA_FILE_EXTERNAL_STRATEGY] == "weight-robin" and weights is not None and len(roots) > 1:
        if len(weights) != len(roots):
            raise InvalidOptionError(
                f"The number of external paths and weights should be the same: '{DATA_FILE_EXTERNAL_PATHS.key}' has "
                f"{len(roots)}, '{DATA_FILE_EXTERNAL_WEIGHTS.key}' {len(weights)}."
            )
        return lambda: random.choices(roots, weights)[0]
    start = random.randrange(len(roots))  # tasks with one file each must not all choose the same path
    order = islice(cycle(roots), start, None)
    return lambda: next(order)


def external_roots(store: TableStore) -> list[str]:
    """Return the external paths that a table uses for new files. Raises the same errors as `new_file_paths`."""
    paths = used_external_paths(store.options)
    own = scheme_of_path(store.root) or _LOCAL
    for path in paths:
        if scheme_of_path(path) != own:
            raise UnsupportedFeatureError(
                f"Table {store.name} cannot be written: '{DATA_FILE_EXTERNAL_PATHS.key}' names {path}, which is "
                f"on another storage than the table ({own}); this version writes only to external paths on the "
                "table's storage."
            )
    for path in paths:
        check_location(store, path, DATA_FILE_EXTERNAL_PATHS.key)
    return [plain_path(p).rstrip("/") for p in paths]


def external_path(store: TableStore, path: str) -> str | None:
    """Return the path of a file for its metadata, or None if the file is in the table's folder."""
    if path.startswith(f"{store.root}/"):
        return None
    return path if scheme_of_path(path) else f"{_LOCAL}:{path}"
