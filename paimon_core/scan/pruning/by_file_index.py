"""The rows of a file that its indexes keep. If they keep no row, the file need not be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import FILE_INDEX_READ
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.schema import TableSchema
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.indexes.file_index.column_index import ColumnIndex
    from paimon_core.indexes.file_index.cursor import Rows
    from paimon_core.indexes.file_index.options import indexed_names, indexed_values, value_name
    from paimon_core.indexes.file_index.registry import decode_index, index_types
    from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
    from paimon_core.store.indexes.file_indexes import has_file_index, read_file_index
else:
    indexed_names = ImportedOnCall("paimon_core.indexes.file_index.options", "indexed_names")
    indexed_values = ImportedOnCall("paimon_core.indexes.file_index.options", "indexed_values")
    value_name = ImportedOnCall("paimon_core.indexes.file_index.options", "value_name")
    decode_index = ImportedOnCall("paimon_core.indexes.file_index.registry", "decode_index")
    index_types = ImportedOnCall("paimon_core.indexes.file_index.registry", "index_types")
    read_file_index = ImportedOnCall("paimon_core.store.indexes.file_indexes", "read_file_index")
    IndexedColumn = ImportedOnCall("paimon_core.indexes.matching_rows", "IndexedColumn")
    matching_rows = ImportedOnCall("paimon_core.indexes.matching_rows", "matching_rows")
    has_file_index = ImportedOnCall("paimon_core.store.indexes.file_indexes", "has_file_index")

_MOST_ROWS = 2**31 - 1


def is_worth_reading(store: TableStore, file: DataFileMeta, predicate: Predicate) -> bool:
    """Return whether it pays to read a file's index for a predicate.

    A `.index` file is opened only for columns that the options name."""
    if file.embedded_file_index is None and not file.extra_files:
        return False  # as most files: other modules need not be imported
    if not store.options[FILE_INDEX_READ] or not has_file_index(file) or file.row_count > _MOST_ROWS:
        return False
    return file.embedded_file_index is not None or bool(columns(predicate) & indexed_names(store.options))


def rows_by_index(
    store: TableStore,
    bucket_dir: str,
    file: DataFileMeta,
    predicate: Predicate,
    then: tuple[TableSchema, Mapping[str, str | None]],
    *,
    positional: bool,
) -> Rows | None:
    """Return the positions of a file's rows that may satisfy the predicate, by indexes (of `positional` types only).

    Return None if all rows may. `then` is the schema that the file was written with, and the names in this schema of
    the predicate's columns with unchanged type. Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`.
    """
    types = index_types(positional=positional)
    schema, names = then[0], dict(then[1])
    fields = {f.name: f.type for f in schema.fields}
    for name, value in indexed_values(store.options, store.schema).items():
        whole = names.get(value.field.name)
        if whole is not None and value.key is not None:
            names[name] = value_name(whole, value.key)
            fields.setdefault(value_name(whole, value.key), value.type)
    wanted = {names.get(c) for c in columns(predicate)}
    index = read_file_index(store, bucket_dir, file, lambda p: p.column in wanted and p.index_type in types)
    if index is None or not index.bodies:
        return None
    path = index.path or data_file_path(bucket_dir, file)
    found: dict[str, list[ColumnIndex[Rows]]] = defaultdict(list)
    for location, body in index.bodies:
        decoded = decode_index(path, location.index_type, fields[location.column], body, file.row_count)
        if decoded is not None:
            found[location.column].append(decoded)

    def indexed(name: str) -> IndexedColumn[Rows] | None:
        stored = names.get(name)
        return IndexedColumn(fields[stored], found[stored]) if stored is not None and stored in found else None

    return matching_rows(predicate, indexed)
