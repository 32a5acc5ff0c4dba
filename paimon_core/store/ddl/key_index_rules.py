"""Rules for indexes of the columns of keyed tables: `pk-btree.index.columns` and its like."""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.options import (
    BUCKET,
    DELETION_VECTOR_MERGE_ON_READ,
    DELETION_VECTORS,
    KEY_INDEXES,
    PK_CLUSTERING_OVERRIDE,
    PK_MULTIVALUE_INDEX_COLUMNS,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import NESTED_KINDS, DataType, Kind, VectorType


def check_key_indexes(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidOptionError` if the options require indexes that no engine could make."""
    owners: dict[str, str] = {}
    for option in KEY_INDEXES:
        for name in options[option]:
            if name in owners:
                raise InvalidOptionError(
                    f"Option '{option.key}' cannot name {name!r}: '{owners[name]}' names it, too, and a column has "
                    "one index. Remove it from one of them."
                )
            owners[name] = option.key
            of_elements = option is PK_MULTIVALUE_INDEX_COLUMNS
            field = schema.field_by_name.get(name)
            if field is None or not (_is_array(field.type) if of_elements else field.type.kind not in NESTED_KINDS):
                needed = "an ARRAY column" if of_elements else "a column of single values"
                raise InvalidOptionError(f"Option '{option.key}' cannot name {name!r}: name {needed} of the table.")
    if owners:
        _check_table(schema, options, next(iter(owners.values())))


def _is_array(data_type: DataType) -> bool:
    return data_type.kind is Kind.ARRAY and not isinstance(data_type, VectorType)


def check_not_indexed(schema: TableSchema, column: str, verb: str) -> None:
    """Raise `InvalidSchemaError` if a column with such an index would be changed."""
    options = TableOptions(schema.options)
    for option in KEY_INDEXES:
        if column in options[option]:
            raise InvalidSchemaError(
                f"Column {column!r} cannot be {verb}: '{option.key}' names it. Remove it from the option first."
            )


def _check_table(schema: TableSchema, options: TableOptions, key: str) -> None:
    if not schema.primary_keys:
        need = "a primary key: define one"
    elif not options[DELETION_VECTORS]:
        need = f"'{DELETION_VECTORS.key}' = 'true': set it"
    elif options[BUCKET] < 1 and options[BUCKET] != -2:
        need = "'bucket' = '-2', or a number greater than 0: set it"
    elif options[DELETION_VECTOR_MERGE_ON_READ] or options[PK_CLUSTERING_OVERRIDE]:
        other = DELETION_VECTOR_MERGE_ON_READ if options[DELETION_VECTOR_MERGE_ON_READ] else PK_CLUSTERING_OVERRIDE
        need = f"'{other.key}' = 'false': set it"
    else:
        return
    raise InvalidOptionError(f"Option '{key}' needs {need}, or remove '{key}'.")
