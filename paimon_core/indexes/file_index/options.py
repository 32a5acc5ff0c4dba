"""The columns with file indexes, by the options of a table.

    file-index.TYPE.columns = a, m[key]      a column, the value of a key in a MAP with string keys
    file-index.TYPE.COLUMN.SETTING = value   for one of these columns; of `m` for all keys of it

Source: specification, "File Index".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.file_index.bitmap import BLOCK_SIZE, VERSIONS
from paimon_core.indexes.file_index.range_bitmap import CHUNK_SIZE
from paimon_core.indexes.file_index.registry import INDEX_TYPES
from paimon_core.options import FILE_INDEXES, Option, TableOptions, decimal_number, integer, memory_size
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, DataType, MapType

PREFIX = FILE_INDEXES
_COLUMNS = ".columns"
_PARTS = 3  # of TYPE.COLUMN.SETTING
BITMAP_BLOCK_SIZE = Option("index-block-size", memory_size, BLOCK_SIZE, "Bytes of a block of values.")
BITMAP_VERSION = Option("version", integer, VERSIONS[-1], "Version of the format: 1 or 2.")
BLOOM_FPP = Option("fpp", decimal_number, 0.1, "Share of absent values that seem to be present.")
BLOOM_ITEMS = Option("items", integer, 1_000_000, "Expected number of distinct values in a file.")
RANGE_CHUNK_SIZE = Option("chunk-size", memory_size, CHUNK_SIZE, "Bytes of a chunk of values.")
_SETTINGS: tuple[Option[Any], ...] = (BITMAP_BLOCK_SIZE, BITMAP_VERSION, BLOOM_FPP, BLOOM_ITEMS, RANGE_CHUNK_SIZE)


@dataclass(frozen=True, slots=True)
class WantedIndex:
    """An index to build, of `field` or of the values of `key` in its maps. `name` is its name in the index."""

    field: DataField
    key: str | None
    index_type: str
    settings: TableOptions = dataclasses.field(default_factory=lambda: TableOptions({}))

    @property
    def name(self) -> str:
        return self.field.name if self.key is None else value_name(self.field.name, self.key)

    @property
    def type(self) -> DataType:
        """The type of the indexed values."""
        data_type = self.field.type
        return data_type.value if self.key is not None and isinstance(data_type, MapType) else data_type


def value_name(column: str, key: str) -> str:
    """Return the name in indexes of the value of a key in a MAP."""
    return f"{column}[{key}]"


def indexed_columns(options: TableOptions, schema: TableSchema) -> tuple[WantedIndex, ...]:
    """Return the indexes that files of the table get. Raises `InvalidOptionError`."""
    given = {k.removeprefix(PREFIX): v for k, v in options.values.items() if k.startswith(PREFIX)}
    settings: dict[tuple[str, str], dict[str, str]] = {}
    for key, value in given.items():
        parts = key.split(".")
        if len(parts) == _PARTS and not key.endswith(_COLUMNS):
            settings.setdefault((parts[0], parts[1]), {})[parts[2]] = value
    found = {(c.index_type, c.name): c for c in _declared(given, settings, schema)}
    declared = found.keys() | {(c.index_type, c.field.name) for c in found.values()}
    for index_type, column in settings.keys() - declared:
        raise InvalidOptionError(
            f"Options '{PREFIX}{index_type}.{column}.…' have no effect: column {column!r} has no such index. Add it to "
            f"'{PREFIX}{index_type}{_COLUMNS}', or remove the options."
        )
    return tuple(found.values())


def indexed_values(options: TableOptions, schema: TableSchema) -> dict[str, WantedIndex]:
    """Return the indexed values of MAP keys, by name. Predicates may name them like columns.

    A column of the same name wins. Raises `InvalidOptionError`."""
    if not any("[" in name for name in indexed_names(options)):
        return {}
    found = indexed_columns(options, schema)
    return {c.name: c for c in found if c.key is not None and c.name not in schema.field_by_name}


def indexed_names(options: TableOptions) -> frozenset[str]:
    """Return the columns that the options name, valid or not."""
    given = (v for k, v in options.values.items() if k.startswith(PREFIX) and k.endswith(_COLUMNS))
    return frozenset(name.strip() for text in given for name in text.split(","))


def without_file_indexes(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options for files without indexes."""
    return {k: v for k, v in options.items() if not k.startswith(PREFIX)}


def _declared(
    given: Mapping[str, str], settings: Mapping[tuple[str, str], Mapping[str, str]], schema: TableSchema
) -> Iterator[WantedIndex]:
    for key, value in given.items():
        if not key.endswith(_COLUMNS):
            continue
        index_type = key.removesuffix(_COLUMNS)
        for name in value.split(","):
            column, bracket, rest = name.strip().partition("[")
            nested = bracket and rest.endswith("]")
            found = _field(f"{PREFIX}{key}", column if nested else name.strip(), schema)
            own = dict(settings.get((index_type, found.name), {}))
            if nested:
                own |= settings.get((index_type, name.strip()), {})
            indexed = WantedIndex(found, rest[:-1] if nested else None, index_type, TableOptions(own))
            _check(f"{PREFIX}{key}", indexed)
            yield indexed


def _field(option: str, name: str, schema: TableSchema) -> DataField:
    known = schema.field_by_name
    if name not in known:
        raise InvalidOptionError(
            f"Option '{option}' cannot name {name!r}: there is no such column. Columns are {', '.join(known)}."
        )
    return known[name]


def _check(option: str, column: WantedIndex) -> None:
    whole = column.field.type
    if column.key is not None and not isinstance(whole, MapType):
        raise InvalidOptionError(f"Option '{option}' cannot name {column.name!r}: {column.field.name!r} is not a MAP.")
    if isinstance(whole, MapType) and column.key is not None and whole.key.kind not in TEXTS:
        raise InvalidOptionError(
            f"Option '{option}' cannot name {column.name!r}: its keys are not strings. "
            "Choose a MAP with keys of type STRING."
        )
    known = INDEX_TYPES.get(column.index_type)
    if known is None:
        raise InvalidOptionError(f"Option '{option}' has an unknown index type: use one of {', '.join(INDEX_TYPES)}.")
    if not known.admits(column.type):
        raise InvalidOptionError(
            f"Option '{option}' cannot name {column.name!r}: {column.index_type} indexes do not support "
            f"{column.type.sql()}. "
            "Choose another type of index, or another column."
        )
    for setting in _SETTINGS:
        column.settings[setting]  # raises if the value does not parse
    if column.settings[BITMAP_VERSION] not in VERSIONS:
        raise InvalidOptionError(f"Option '{option}': the version of {column.name!r} must be one of {VERSIONS}.")
