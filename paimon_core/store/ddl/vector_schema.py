"""VECTOR columns in definitions of tables: arrays that a comment or an option makes VECTOR, and invalid definitions.

A comment is `__VECTOR_FIELD;LENGTH`, alone or before `; the real comment`. The option `vector-field` names columns,
each with its length in `field.NAME.vector-dim`. Source: documentation, "Vector".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.options import DATA_EVOLUTION, VECTOR_FIELD, VECTOR_FILE_FORMAT, TableOptions, names
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import VECTOR_ELEMENTS, CollectionType, DataField, Kind, VectorType

DIRECTIVE = "__VECTOR_FIELD"
_DIRECTIVES = "__VECTOR"  # reserved: a comment that begins so must be a directive


def with_vectors(
    columns: Sequence[DataField], options: Mapping[str, str]
) -> tuple[tuple[DataField, ...], dict[str, str]]:
    """Return the columns and options of a new table, with VECTOR columns.

    Raises `InvalidSchemaError`, `InvalidOptionError`.
    """
    kept = dict(options)
    fields = []
    for column in columns:
        field, kept = with_vector_directive(column, kept)
        if field.name in names(kept.get(VECTOR_FIELD.key, "")) and not isinstance(field.type, VectorType):
            field = _as_vector(field, _length(field.name, kept))
        fields.append(field)
    return tuple(fields), kept


def with_vector_directive(column: DataField, options: Mapping[str, str]) -> tuple[DataField, dict[str, str]]:
    """Apply the directive in a new column's comment.

    Return the column and the options, which then name the column. Raises the same errors as `with_vectors`."""
    comment = (column.description or "").strip()
    if not comment.startswith(_DIRECTIVES):
        return column, dict(options)
    directive, _, rest = comment.partition(";")
    if directive != DIRECTIVE:
        raise InvalidSchemaError(
            f"Unsupported VECTOR directive in column comment: {comment!r}. The supported directive is {DIRECTIVE}: "
            f"write '{DIRECTIVE};128' for vectors of 128 elements."
        )
    length, _, text = rest.partition(";")
    if not _is_length(length):
        raise InvalidSchemaError(
            f"Column {column.name!r} cannot have the comment {comment!r}: the directive needs the length of the "
            f"vectors. Write '{DIRECTIVE};128' for vectors of 128 elements."
        )
    named = names(options.get(VECTOR_FIELD.key, ""))
    listed = ",".join(named if column.name in named else (*named, column.name))
    field = _as_vector(replace(column, description=text.strip() or None), int(length))
    return field, {**options, VECTOR_FIELD.key: listed}


def length_option(column: str) -> str:
    """Return the key of the option with the length of a column's vectors."""
    return f"field.{column}.vector-dim"


def without_vector(column: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options after a VECTOR column was dropped."""
    kept = {key: value for key, value in options.items() if key != length_option(column)}
    listed = names(kept.pop(VECTOR_FIELD.key, ""))
    left = ",".join(n for n in listed if n != column)
    return {**kept, VECTOR_FIELD.key: left} if left else kept


def renamed_vector(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """Return the options after a column was renamed."""
    if old not in names(options.get(VECTOR_FIELD.key, "")):
        return dict(options)
    listed = ",".join(new if n == old else n for n in names(options[VECTOR_FIELD.key]))
    moved = {length_option(new) if key == length_option(old) else key: value for key, value in options.items()}
    return {**moved, VECTOR_FIELD.key: listed}


def check_vectors(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidSchemaError` or `InvalidOptionError` for invalid VECTOR columns and their options."""
    vectors = {f.name: f.type for f in schema.fields if isinstance(f.type, VectorType)}
    for name in options[VECTOR_FIELD]:
        if name not in vectors:
            raise InvalidOptionError(
                f"Option '{VECTOR_FIELD.key}' cannot name {name!r}: it is not a VECTOR column of the table. Name "
                "columns when you create the table, or add a VECTOR column with the comment "
                f"'{DIRECTIVE};<length>'."
            )
        key = length_option(name)
        if key in options.values and options.values[key].strip() != str(vectors[name].length):
            raise InvalidOptionError(
                f"Option {key!r} cannot be {options.values[key]!r}: the vectors of the column have "
                f"{vectors[name].length} elements, and their length cannot change. Add another column."
            )
    if not vectors or VECTOR_FILE_FORMAT not in options:
        return
    if not options[DATA_EVOLUTION]:
        raise InvalidOptionError(
            f"Option '{VECTOR_FILE_FORMAT.key}' needs '{DATA_EVOLUTION.key}' = 'true' and 'row-tracking.enabled' = "
            "'true': set them, or remove the option to store vectors together with the other columns."
        )
    if len(vectors) == len(schema.fields):
        raise InvalidSchemaError(
            f"A table with '{VECTOR_FILE_FORMAT.key}' must have a column that is not a VECTOR: add one."
        )


def _length(name: str, options: Mapping[str, str]) -> int:
    key = length_option(name)
    if key not in options:
        raise InvalidOptionError(
            f"Option '{VECTOR_FIELD.key}' names {name!r}, but {key!r} is not set: set it to the length of the vectors."
        )
    if not _is_length(options[key]):
        raise InvalidOptionError(f"Option {key!r} cannot be {options[key]!r}: set it to the length of the vectors.")
    return int(options[key])


def _is_length(text: str) -> bool:
    digits = text.strip()
    return digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(digits) > 0


def _as_vector(field: DataField, length: int) -> DataField:
    found = field.type
    if not isinstance(found, CollectionType) or found.kind is not Kind.ARRAY:
        raise InvalidSchemaError(
            f"Column {field.name!r} of type {found.sql()} cannot be a VECTOR: declare it as an ARRAY, such as "
            "ARRAY<FLOAT>."
        )
    if found.element.kind not in VECTOR_ELEMENTS:
        known = ", ".join(kind.value for kind in Kind if kind in VECTOR_ELEMENTS)
        raise InvalidSchemaError(
            f"Column {field.name!r} of type {found.sql()} cannot be a VECTOR: its elements must be one of {known}."
        )
    return replace(field, type=VectorType(Kind.ARRAY, found.nullable, found.element, length))
