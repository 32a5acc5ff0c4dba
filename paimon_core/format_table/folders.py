"""The folders of a format table: its partitions, and the files in them.

    TABLE/[KEY=VALUE/…]FILE                    any names and depth below; names with `_` or `.` in front are not data
    TABLE/[VALUE/…]FILE                        with `format-table.partition-path-only-value`
    TABLE/schema/schema-N                      its definition

Values are escaped as in partition folders; the default partition name is NULL. Like Spark's reader, readers accept
folders with another case of KEY. A catalog with its own list of partitions may have a partition in another folder: it
then replaces the folder below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.io.file_io import FileStatus
from paimon_core.options import FORMAT_TABLE_ONLY_VALUES, PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from paimon_core.spec.paths import escape_path_name, unescape_path_name
from paimon_core.spec.types import DataField
from paimon_core.spec.value_texts import shown_partition
from paimon_core.store.partitions import PartitionFilter, typed_texts
from paimon_core.store.table_store import TableStore

_SCHEMAS = "schema"


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a partition, or of all partitions with these first values. Values are not escaped."""

    path: str
    values: tuple[str, ...] = ()


def folder_values(store: TableStore, partition: bytes) -> dict[str, str]:
    """Return the values of a partition in the spelling of a format table's folders.

    With 'partition.legacy-name' = 'false', this is SQL's spelling, in the session's zone.
    """
    if store.options[PARTITION_LEGACY_NAME]:
        return store.partition_spec(partition)
    return shown_partition(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME], store.zone)


def partition_folder(store: TableStore, spec: Mapping[str, str]) -> str:
    """Return the folder of a partition, or of all partitions with these first values.

    Raises `InvalidDataError` for a value that cannot be the name of a folder.
    """
    only_values, parts = store.options[FORMAT_TABLE_ONLY_VALUES], []
    for i, (key, value) in enumerate(spec.items()):
        if only_values and not _can_be_folder(store, value, is_first=i == 0):
            raise InvalidDataError(
                f"Table {store.name}: the value {value!r} of {key} cannot be a folder's name, but the option "
                f"'{FORMAT_TABLE_ONLY_VALUES.key}' requires it."
            )
        parts.append(escape_path_name(value) if only_values else f"{escape_path_name(key)}={escape_path_name(value)}")
    return "/".join([store.root, *parts])


def partition_folders(
    store: TableStore, predicate: Predicate | None = None, *, case_sensitive: bool = False
) -> list[Folder]:
    """Return the partitions that may satisfy a predicate; see `found_folders`."""
    return found_folders(store, predicate, case_sensitive=case_sensitive).folders


@dataclass(frozen=True, slots=True)
class FoundFolders:
    """The folders that a scan reads, and the number of folders that a predicate left out. Their subfolders are not
    listed, and so not counted.
    """

    folders: list[Folder]
    skipped: int


def found_folders(
    store: TableStore, predicate: Predicate | None = None, *, case_sensitive: bool = False
) -> FoundFolders:
    """Return the partitions that may satisfy a predicate, ordered by their values, or the table's folder without
    partition columns.

    Unless names are `case_sensitive`, folders may spell the names of columns in another case. So one partition may have
    several folders, for example for two spellings of a value.
    """
    found, fields = [Folder(store.root)], store.schema.partition_fields
    known_as, skipped = str if case_sensitive else str.lower, 0
    for level in range(1, len(fields) + 1):
        is_key = partial(_has_name, known_as(fields[level - 1].name), known_as)
        deeper = [f for folder in found for f in _children(store, folder, is_key)]
        found = _matching(store, fields[:level], deeper, predicate)
        skipped += len(deeper) - len(found)
    if elsewhere := placed_elsewhere(store):
        others = [Folder(path, values) for values, path in elsewhere.items()]
        matching = _matching(store, fields, others, predicate)
        skipped += len(others) - len(matching)
        found = [f for f in found if f.values not in elsewhere] + matching
    return FoundFolders(sorted(found, key=lambda f: f.values), skipped)


def placed_elsewhere(store: TableStore) -> Mapping[tuple[str, ...], str]:
    """Return the folders of partitions that the table's catalog stores outside of the table's folder, each by the
    partition's values.
    """
    if store.watcher is None or not store.schema.partition_keys:
        return {}
    return store.watcher.placed_elsewhere(store)


def partition_batch(store: TableStore, folders: Sequence[Folder], fields: Sequence[DataField]) -> pa.RecordBatch:
    """Return the values of folders, one row per folder.

    Raises `InvalidDataError` naming a column with an invalid value.
    """
    default, columns = store.options[PARTITION_DEFAULT_NAME], []
    for i, field in enumerate(fields):
        texts = [None if f.values[i] == default else f.values[i] for f in folders]
        try:
            columns.append(typed_texts(texts, field.type, store.zone))
        except InvalidDataError as e:
            raise InvalidDataError(
                f"Table {store.name}: a partition folder's {field.name} is not a valid {field.type.sql()}: {e}."
            ) from e
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))


def data_files(store: TableStore, folder: Folder) -> list[FileStatus]:
    """Return the files of a partition, including files in subfolders, by path."""
    return sorted(_files(store, folder.path), key=lambda f: f.path)


def _files(store: TableStore, path: str) -> Iterator[FileStatus]:
    for child in store.io.list(path):
        if _is_hidden(child.name) or (child.is_dir and path == store.root and child.name == _SCHEMAS):
            continue
        if child.is_dir:
            yield from _files(store, child.path)
        else:
            yield child


def _has_name(name: str, known_as: Callable[[str], str], escaped: str) -> bool:
    return known_as(unescape_path_name(escaped)) == name


def _children(store: TableStore, folder: Folder, is_key: Callable[[str], bool]) -> Iterator[Folder]:
    only_values, default = store.options[FORMAT_TABLE_ONLY_VALUES], store.options[PARTITION_DEFAULT_NAME]
    for child in store.io.list(folder.path):
        name, value = "", child.name
        if not only_values:
            name, equals, value = child.name.partition("=")
            if not equals or not value or not is_key(name):
                continue
        elif (_is_hidden(value) and value != default) or (folder.path == store.root and value == _SCHEMAS):
            continue
        if child.is_dir:
            yield Folder(child.path, (*folder.values, unescape_path_name(value)))


def _matching(
    store: TableStore, fields: Sequence[DataField], folders: Sequence[Folder], predicate: Predicate | None
) -> list[Folder]:
    usable = only_on(predicate, [f.name for f in fields]) if predicate is not None and folders else None
    if usable is None:
        return list(folders)
    batch, wanted = partition_batch(store, folders, fields), PartitionFilter(tuple(fields), usable)
    return [f for i, f in enumerate(folders) if wanted.holds(row_bytes(batch, i, fields))]


def _can_be_folder(store: TableStore, value: str, *, is_first: bool) -> bool:
    """Return whether a value can be the name of a folder that `_children` finds."""
    if value == store.options[PARTITION_DEFAULT_NAME]:
        return True
    return value != "" and not _is_hidden(value) and not (is_first and value == _SCHEMAS)


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))
