"""Units for columns of times with more than 6 digits. Nanoseconds cover only the years 1678 to 2261.

Readers without nanoseconds get microseconds; writers pass on times in Parquet's form. Keys and sequence columns keep
their nanoseconds: two keys may differ by one nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from paimon_core.formats.registry import formats_to_write
from paimon_core.lsm.engines.registry import sequence_group_columns
from paimon_core.lsm.functions.field_options import DEFAULT_FUNCTION
from paimon_core.options import SEQUENCE_FIELD, TableOptions, names
from paimon_core.spec.types import (
    CollectionType,
    DataField,
    DataType,
    MapType,
    RowType,
    StoredTimeType,
    TimeType,
    nested_types,
)
from paimon_core.store.table_store import TableStore

_MICROSECONDS = 6
_GROUP = ".sequence-group"


def in_microseconds(store: TableStore) -> TableStore:
    """Return the store for a reader that gets times in microseconds."""
    return _with_unit(store, _deciding(store), lambda t: replace(t, precision=_MICROSECONDS))


def as_stored_times(store: TableStore) -> TableStore:
    """Return the store for a writer. If it writes only Parquet, times may have any year."""
    if formats_to_write(store.options) != {"parquet"} or DEFAULT_FUNCTION in store.options.values:
        return store
    return _with_unit(store, _deciding(store) | _named(store.options, store.schema.field_by_name), _stored)


def with_stored_times(fields: Iterable[DataField]) -> tuple[DataField, ...]:
    """Return the columns with types for times of any year."""
    return tuple(replace(f, type=_with_times(f.type, _stored)) for f in fields)


def _with_unit(store: TableStore, but: frozenset[str], convert: Callable[[TimeType], TimeType]) -> TableStore:
    fields = tuple(f if f.name in but else replace(f, type=_with_times(f.type, convert)) for f in store.schema.fields)
    if fields == store.schema.fields:
        return store
    return replace(store, schema=replace(store.schema, fields=fields))


def _deciding(store: TableStore) -> frozenset[str]:
    """Return the columns that identify a row, or decide which of two rows is newer."""
    keys = {*store.schema.primary_keys, *store.schema.partition_keys, *store.options[SEQUENCE_FIELD]}
    return frozenset(keys) | sequence_group_columns(store.options)


def _named(options: TableOptions, columns: Iterable[str]) -> frozenset[str]:
    """Return the columns that an option names: their values are processed."""
    values = [n for key, value in options.values.items() if not key.endswith(_GROUP) for n in names(value)]
    keys = [f"{key}." for key in options.values if not key.endswith(_GROUP)]
    return frozenset(c for c in columns if c in values or any(f".{c}." in key for key in keys))


def _stored(data_type: TimeType) -> TimeType:
    return StoredTimeType(data_type.kind, data_type.nullable, data_type.precision)


def _with_times(data_type: DataType, convert: Callable[[TimeType], TimeType]) -> DataType:
    if not any(isinstance(t, TimeType) and t.precision > _MICROSECONDS for t in nested_types(data_type)):
        return data_type
    match data_type:
        case TimeType():
            return convert(data_type)
        case RowType(fields=fields):
            return replace(data_type, fields=tuple(replace(f, type=_with_times(f.type, convert)) for f in fields))
        case MapType(key=key, value=value):
            return replace(data_type, key=_with_times(key, convert), value=_with_times(value, convert))
        case CollectionType(element=element):
            return replace(data_type, element=_with_times(element, convert))
    return data_type
