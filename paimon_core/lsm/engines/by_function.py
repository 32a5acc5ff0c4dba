"""The engines that merge column by column, by aggregate functions: their construction for a table.

Most tables have other engines, so `registry` imports this module and its functions on use.
Source: Paimon's pages "Partial Update", "Aggregation".
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array
from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.engines.aggregation import Aggregation
from paimon_core.lsm.engines.partial_update import PartialUpdate
from paimon_core.lsm.engines.sequence_groups import SequenceGroup
from paimon_core.lsm.functions.field_options import (
    DEFAULT_FUNCTION,
    FUNCTION_SUFFIX,
    GROUP_SUFFIX,
    FieldOptions,
    group_columns,
)
from paimon_core.lsm.functions.registry import (
    ADDING,
    COUNT,
    LAST_NON_NULL_VALUE,
    LAST_VALUE,
    PRIMARY_KEY,
    FieldFunction,
    counted,
    field_function,
)
from paimon_core.lsm.rows import ROW_DELETE, is_retract
from paimon_core.options import (
    AGGREGATION_REMOVE_ON_DELETE,
    IGNORE_DELETE,
    PARTIAL_UPDATE_REMOVE_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_ON_GROUP,
    SEQUENCE_FIELD,
    TableOptions,
    names,
)
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import NESTED_KINDS, DataField


def aggregation(schema: TableSchema, options: TableOptions) -> Aggregation:
    """Return the engine. Raises `InvalidOptionError` for options that conflict or do not fit the columns."""
    removes = options[AGGREGATION_REMOVE_ON_DELETE]
    functions = {f.name: _aggregated(schema, options, f) for f in schema.fields}
    for name, function in functions.items():
        if removes and function.ignore_retract:
            raise InvalidOptionError(
                f"Options '{AGGREGATION_REMOVE_ON_DELETE.key}' and 'fields.{name}.ignore-retract' conflict: remove one."
            )
    return Aggregation(functions, removes)


def _aggregated(schema: TableSchema, options: TableOptions, field: DataField) -> FieldFunction:
    own = FieldOptions(field.name, options)
    if field.name in options[SEQUENCE_FIELD]:
        name = LAST_VALUE
    elif field.name in schema.primary_keys + schema.partition_keys:  # merged rows are of one partition
        name = PRIMARY_KEY
    else:
        name = own.text(FUNCTION_SUFFIX) or options.values.get(DEFAULT_FUNCTION) or LAST_NON_NULL_VALUE
    return field_function(field, name, own)


def partial_update(schema: TableSchema, options: TableOptions) -> PartialUpdate:
    """Return the engine. Raises `InvalidOptionError` for options that conflict or do not fit the columns."""
    groups = _sequence_groups(schema, options)
    engine = PartialUpdate(
        functions={f.name: _updated(schema, options, f, groups) for f in schema.fields},
        groups=groups,
        ignore_delete=options[IGNORE_DELETE],
        remove_on_delete=options[PARTIAL_UPDATE_REMOVE_ON_DELETE],
    )
    counts = any(f.name == COUNT for f in engine.functions.values())
    conflicts = (
        # only a merge can see which deletes remove the row, but writers must store counts before
        (counts and any(g.removes for g in groups), COUNT, PARTIAL_UPDATE_REMOVE_ON_GROUP.key),
        (engine.ignore_delete and engine.remove_on_delete, IGNORE_DELETE.key, PARTIAL_UPDATE_REMOVE_ON_DELETE.key),
        (
            engine.ignore_delete and bool(options[PARTIAL_UPDATE_REMOVE_ON_GROUP]),
            IGNORE_DELETE.key,
            PARTIAL_UPDATE_REMOVE_ON_GROUP.key,
        ),
        (bool(groups) and engine.remove_on_delete, "sequence-group", PARTIAL_UPDATE_REMOVE_ON_DELETE.key),
    )
    for conflict, one, other in conflicts:
        if conflict:
            raise InvalidOptionError(f"Options '{one}' and '{other}' conflict: remove one.")
    return engine


def _updated(
    schema: TableSchema, options: TableOptions, field: DataField, groups: tuple[SequenceGroup, ...]
) -> FieldFunction:
    own = FieldOptions(field.name, options)
    name = _own_function(schema, options, field.name, groups) or LAST_NON_NULL_VALUE
    if any(field.name in g.sequence + g.protected for g in groups):
        name = LAST_VALUE
    return field_function(field, name, own)


def _own_function(
    schema: TableSchema, options: TableOptions, column: str, groups: tuple[SequenceGroup, ...]
) -> str | None:
    """Return the name of a column's aggregate function. Every function except `last_non_null_value` needs a sequence
    group.
    """
    if column in schema.primary_keys + schema.partition_keys or any(column in g.sequence for g in groups):
        return None
    name = FieldOptions(column, options).text(FUNCTION_SUFFIX) or options.values.get(DEFAULT_FUNCTION)
    if name not in (None, LAST_NON_NULL_VALUE) and not any(column in g.columns for g in groups):
        raise InvalidOptionError(
            f"Option 'fields.{column}.{FUNCTION_SUFFIX}' = {name!r} needs a sequence group with column {column!r}: "
            f"define 'fields.<column>{GROUP_SUFFIX}'."
        )
    return name


def _sequence_groups(schema: TableSchema, options: TableOptions) -> tuple[SequenceGroup, ...]:
    """Return the groups that the options define. Raises `InvalidOptionError` naming the option."""
    removing = options[PARTIAL_UPDATE_REMOVE_ON_GROUP]
    groups: list[SequenceGroup] = []
    taken: set[str] = set()
    for key, sequence in group_columns(options).items():
        value = options.values[key]
        if not names(value):
            raise InvalidOptionError(f"Option {key!r} is empty: name the columns that the group orders.")
        protected = tuple(n for n in dict.fromkeys(names(value)) if n not in sequence)
        for name in sequence + protected:
            _check_group_column(schema, key, name, taken, orders=name in sequence)
        taken |= {*sequence, *protected}
        bare = SequenceGroup(sequence, protected)
        aggregated = tuple(n for n in protected if _own_function(schema, options, n, (bare,)))
        plain = tuple(n for n in protected if n not in aggregated)
        groups.append(SequenceGroup(sequence, plain, aggregated, removes=not set(sequence).isdisjoint(removing)))
    unknown = [n for n in removing if not any(n in g.sequence for g in groups)]
    if unknown:
        raise InvalidOptionError(
            f"Option '{PARTIAL_UPDATE_REMOVE_ON_GROUP.key}' cannot name {unknown[0]!r}: no sequence group is "
            "ordered by this column. "
            "Name a column of 'fields.….sequence-group'."
        )
    return tuple(groups)


def _check_group_column(schema: TableSchema, option: str, name: str, taken: set[str], *, orders: bool) -> None:
    problem = None
    if name not in schema.field_by_name:
        problem = f"there is no such column; the columns are {', '.join(schema.field_by_name)}"
    elif name in schema.primary_keys:
        problem = "a sequence group cannot contain primary key columns"
    elif name in taken:
        problem = "it is already in another sequence group"
    elif orders and (kind := schema.field_by_name[name].type).kind in NESTED_KINDS:
        problem = f"a column of type {kind.sql()} cannot order rows"
    if problem is not None:
        raise InvalidOptionError(f"Option {option!r} cannot name {name!r}: {problem}.")


def check_kinds_of(engine: object, rows: pa.RecordBatch, kinds: NDArray[np.int8]) -> None:
    """Raise `MergeRefusedError` if the engine cannot merge a delete among `rows`, as `check_kinds`."""
    if isinstance(engine, PartialUpdate):
        engine.check_rows(rows, kinds)
    elif isinstance(engine, Aggregation):
        engine.check_retract(delete_only=bool((kinds[is_retract(kinds)] == ROW_DELETE).all()))


def with_counts_of(engine: object, rows: pa.RecordBatch, kinds: NDArray[np.int8]) -> pa.RecordBatch:
    """Return new rows with 1 or 0 in the columns that the engine counts, as `with_counts` requires."""
    if not isinstance(engine, Aggregation | PartialUpdate):
        return rows
    removes = isinstance(engine, Aggregation) and engine.remove_on_delete
    removed = fixed_array((kinds == ROW_DELETE) & removes, pa.bool_())  # later rows count from 0
    for name in (n for n, f in engine.functions.items() if f.name == COUNT):
        index = rows.schema.get_field_index(name)
        rows = rows.set_column(index, rows.schema.field(index), counted(rows.column(index), removed))
    return rows


def adds_values(engine: PartialUpdate) -> bool:
    """Return whether the engine adds the values of old and new rows in some column."""
    return any(f.name in ADDING for f in engine.functions.values())
