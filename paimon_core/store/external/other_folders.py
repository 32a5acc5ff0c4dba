"""Other folders in which writers may have put the files of a partition.

Java names the folder of DATE '2024-01-01' `d=19723` (`partition.legacy-name`, the default). pypaimon writes the same
partition into `d=2024-01-01`. pypaimon 1.3 writes a partition of NULL into `pt=None`. Java finds neither of these
folders. These folders are searched only if a file is missing in the folder that the table's options name, so this costs
other tables nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import product, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.kinds import INTEGERS
from paimon_core.spec.paths import escape_path_name
from paimon_core.spec.types import DataField, Kind
from paimon_core.spec.value_texts import cast_text, internal_text
from paimon_core.store.partitions import partition_value
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.arrow.binary_rows import scalar_value
else:
    scalar_value = ImportedOnCall("paimon_core.arrow.binary_rows", "scalar_value")

_NULL_OF_PYTHON = "None"
_ALIKE = INTEGERS | {Kind.VARCHAR}  # one text by all rules


def other_places(store: TableStore, path: str) -> Iterator[str]:
    """Yield the other paths at which a data file of a partition may be, if it is missing at `path`."""
    folder, _, name = path.rpartition("/")
    for other in _other_folders(store, folder):
        yield f"{other}/{name}"


def is_elsewhere(store: TableStore, path: str) -> bool:
    """Return whether a data file that is missing at `path` is in another folder of its partition."""
    return any(store.io.exists(other) for other in other_places(store, path))


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """Finds the actual paths of a table's data files.

    The existence of a folder is checked once per partition and bucket. With `of_many`, the folders above are listed
    instead, because most partitions will be needed.
    """

    store: TableStore
    of_many: bool = False
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """Return the actual path of the data file that belongs at `path`, or `path` itself if the file is not
        elsewhere.
        """
        if self._known.get(path.rpartition("/")[0]) == ():  # most folders, and called for each file
            return path
        others = self._elsewhere(path)
        if not others or self.store.io.exists(path):
            return path
        return next((other for other in others if self.store.io.exists(other)), path)

    def every(self, path: str) -> tuple[str, ...]:
        """Return all paths at which the data file may be, `path` first."""
        return path, *self._elsewhere(path)

    def _elsewhere(self, path: str) -> list[str]:
        folder, _, name = path.rpartition("/")
        if folder not in self._known:
            is_there = self._is_listed if self.of_many else self.store.io.exists
            self._known[folder] = tuple(f for f in _other_folders(self.store, folder) if is_there(f))
        return [f"{other}/{name}" for other in self._known[folder]]

    def _is_listed(self, folder: str) -> bool:
        """Return whether a folder of the table exists, by listings of the folders above it."""
        above, _, name = folder.rpartition("/")
        if above != self.store.paths.data_root and not self._is_listed(above):
            return False
        if above not in self._listed:
            self._listed[above] = frozenset(f.name for f in self.store.io.list(above) if f.is_dir)
        return name in self._listed[above]


def _other_folders(store: TableStore, bucket_dir: str) -> Iterator[str]:
    keys, default = store.schema.partition_fields, store.options[PARTITION_DEFAULT_NAME]
    parts = bucket_dir.rsplit("/", len(keys) + 1)
    if not keys or len(parts) != len(keys) + 2 or not bucket_dir.startswith(f"{store.paths.data_root}/"):
        return  # outside of the table, writers do not choose the folder's name
    if all(map(_is_spelled_alike, keys, parts[1:-1], repeat(default))):
        return
    try:
        values = [partition_value(keys, bucket_dir, default, f.name) for f in keys]
    except InvalidDataError:
        return
    if any(v is None for v in values):
        return
    root, bucket, seen = parts[0], parts[-1], {bucket_dir}
    spellings = zip(*(_spellings(f, v, default) for f, v in zip(keys, values, strict=True)), strict=True)
    for texts, escape in product(spellings, (escape_path_name, _plain)):
        folders = [f"{escape(f.name)}={escape(t)}" for f, t in zip(keys, texts, strict=True)]
        other = "/".join((root, *folders, bucket))
        if other not in seen and not any("/" in folder or "\0" in folder for folder in folders):
            seen.add(other)
            yield other


def _is_spelled_alike(field: DataField, folder: str, default: str) -> bool:
    """Return whether all writers give a partition this folder. Reading values costs much for many partitions."""
    return field.type.kind in _ALIKE and "%" not in folder and not folder.endswith(f"={default}")


def _spellings(field: DataField, value: pa.Scalar, default: str) -> tuple[str, str, str, str]:
    """Return the texts of a value by Java's two rules and by Python's rule, with both names of NULL."""
    known = value.as_py()
    if known is None:
        return default, default, default, _NULL_OF_PYTHON
    stored: Any = scalar_value(value, field.type)
    by_python = str(known)
    return internal_text(field.type, stored), cast_text(field.type, stored), by_python, by_python


def _plain(text: str) -> str:
    return text
