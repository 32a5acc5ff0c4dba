"""Defaults of columns: constant expressions in statements, and the texts in schemas.

A schema stores a default as the text of a value (`arrow/default_values.py`). A statement may give it as any constant
expression, such as `DATE'2026-01-01'`, `1 + 1` or `CAST('5' AS INT)`: Spark computes the value once, when the default
is set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from paimon_core.errors import InvalidSchemaError
from paimon_core.spec.kinds import BINARIES, TEXTS
from paimon_core.spec.types import CollectionType, DataField, MapType, RowType
from paimon_core.store.ddl.schema_changes import SchemaChange, UpdateColumnDefault
from paimon_sql.spark.jvm.frames import tables_read
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct

# texts with the same meaning in Spark and other engines of Paimon: a number, a string without escapes, NULL
_PLAIN = re.compile(r"""[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|'[^'\\]*'|"[^"\\]*"|null|true|false""", re.IGNORECASE)


def with_constants(session: SessionBridge, fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Return the columns of a statement with their defaults as schemas store them. Raises `InvalidSchemaError` for a
    default that depends on the time, on the user or on chance.
    """
    return tuple(replace(f, default=_constant(session, f, f.default)) if f.default else f for f in fields)


def with_constant(session: SessionBridge, fields: Sequence[DataField], change: SchemaChange) -> SchemaChange:
    """Return a change of a column's default with the text that a schema stores; any other change unchanged."""
    if not isinstance(change, UpdateColumnDefault) or not change.default or len(change.path) > 1:
        return change
    known_as = session.known_as  # this calls the JVM
    named = [f for f in fields if known_as(f.name) == known_as(change.path[0])]
    return replace(change, default=_constant(session, named[0], change.default)) if named else change


def _constant(session: SessionBridge, field: DataField, text: str) -> str:
    if _PLAIN.fullmatch(text.strip()) or isinstance(field.type, CollectionType | MapType | RowType):
        return text
    type_ = string_types(to_struct([replace(field, default=None)])).fields[0].dataType
    value = F.expr(text).cast(type_)
    try:
        frame = session.python_session.sql("SELECT 1").select(
            F.hex(value) if _is_binary(field) else value.cast("string")
        )
        if tables_read(session.jvm, frame) != []:
            raise InvalidSchemaError(
                f"Column {field.name!r} of type {field.type.sql()} cannot have the default value {text}, which depends "
                "on the time, on the user or on chance: use a constant, such as 1, 'text' or DATE'2026-01-31'."
            )
        ((found,),) = frame.collect()
    except PySparkException as e:
        raise InvalidSchemaError(
            f"Column {field.name!r} of type {field.type.sql()} cannot have the default value {text}: use a constant, "
            f"such as 1, 'text' or ARRAY(1, 2) ({e})."
        ) from e
    if found is None:
        return "null"
    if _is_binary(field):
        return f"'{_text_of_bytes(field, text, found)}'"
    return str(found) if _PLAIN.fullmatch(found) and field.type.kind not in TEXTS else f"'{found}'"


def _is_binary(field: DataField) -> bool:
    return field.type.kind in BINARIES


def _text_of_bytes(field: DataField, text: str, digits: str) -> str:
    try:
        return bytes.fromhex(digits).decode()
    except UnicodeDecodeError as e:
        raise InvalidSchemaError(
            f"Column {field.name!r} of type {field.type.sql()} cannot have the default value {text}: Paimon keeps "
            "defaults as texts in UTF-8, which these bytes are not. "
            "Leave the default out."
        ) from e
