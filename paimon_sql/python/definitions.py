"""Definitions of tables in Python, and changes of them, as the core's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from paimon_core.arrow.table_fields import table_fields, table_type
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.constraints import refuse_constraint_option
from paimon_core.store.ddl.generated_columns import refuse_generated_option
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnType,
    UpdateComment,
)


def new_schema(
    schema: pa.Schema,
    primary_key: str | Sequence[str],
    partitioned_by: str | Sequence[str],
    options: Mapping[str, str],
    comment: str | None,
) -> TableSchema:
    """Return the first schema of a table. Raises the errors of `new_table_schema` and `table_fields`."""
    return new_table_schema(
        table_fields(schema),
        partition_keys=_names(partitioned_by),
        options={key: _text(value) for key, value in options.items()},
        comment=comment,
        primary_keys=_names(primary_key),
    )


def column_changes(
    rename: Mapping[str, str], drop: str | Sequence[str], types: Mapping[str, pa.DataType], add: Mapping[str, object]
) -> Iterator[SchemaChange]:
    """Return the changes of columns; dots in names lead to fields of a ROW. Raises the errors of `table_type`."""
    for name, new_name in rename.items():
        yield RenameColumn(_path(name), new_name)
    for name in _names(drop):
        yield DropColumn(_path(name))
    for name, arrow in types.items():
        yield UpdateColumnType(_path(name), table_type(arrow, name))
    for name, added in add.items():
        yield AddColumn(_path(name), table_type(added, name))


def option_changes(options: Mapping[str, str | None]) -> Iterator[SchemaChange]:
    """Return the changes of options; None removes an option. Raises `InvalidOptionError` for a constraint."""
    refuse_constraint_option(options)
    refuse_generated_option(key for key, value in options.items() if value is not None)
    for key, value in options.items():
        yield RemoveOption(key) if value is None else SetOption(key, _text(value))


def comment_changes(comment: str | None) -> Iterator[SchemaChange]:
    """Return the change of a table's comment; None changes nothing, an empty text removes the comment."""
    if comment is not None:
        yield UpdateComment(comment or None)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _text(value: object) -> str:
    """Return the value of an option as Paimon spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
