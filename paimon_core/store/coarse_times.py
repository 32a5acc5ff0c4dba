"""Times in microseconds, for readers that have no more: these reach all years, nanoseconds only 1678 to 2261.

Columns that decide between rows stay as they are: two keys may differ by a nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_core.lsm.engines.registry import sequence_group_columns
from paimon_core.options import SEQUENCE_FIELD
from paimon_core.spec.types import CollectionType, DataField, DataType, MapType, RowType, TimeType, nested_types
from paimon_core.store.table_store import TableStore

_MICROSECONDS = 6


def in_microseconds(store: TableStore) -> TableStore:
    """The table for a reader of microseconds."""
    schema = store.schema
    decide = {*schema.primary_keys, *schema.partition_keys, *store.options[SEQUENCE_FIELD]}
    decide |= sequence_group_columns(store.options)
    fine = (f for f in schema.fields if f.name not in decide and any(map(_is_finer, nested_types(f.type))))
    coarse = frozenset(f.id for f in fine)
    if not coarse:
        return store
    return replace(store, schema=replace(schema, fields=with_coarse(schema.fields, coarse)), coarse=coarse)


def with_coarse(fields: Iterable[DataField], coarse: frozenset[int]) -> tuple[DataField, ...]:
    """Columns of which those with some ids have times in microseconds."""
    return tuple(replace(f, type=_coarse(f.type)) if f.id in coarse else f for f in fields)


def _is_finer(data_type: DataType) -> bool:
    return isinstance(data_type, TimeType) and data_type.precision > _MICROSECONDS


def _coarse(data_type: DataType) -> DataType:
    match data_type:
        case TimeType() if _is_finer(data_type):
            return replace(data_type, precision=_MICROSECONDS)
        case RowType(fields=fields):
            return replace(data_type, fields=tuple(replace(f, type=_coarse(f.type)) for f in fields))
        case MapType(key=key, value=value):
            return replace(data_type, key=_coarse(key), value=_coarse(value))
        case CollectionType(element=element):
            return replace(data_type, element=_coarse(element))
    return data_type
