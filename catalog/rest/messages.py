"""The JSON of Paimon's REST API for schemas of tables and their changes, used by server and client. No I/O.

Decoders raise `InvalidSchemaError`, `UnsupportedFeatureError` or `TypeError` for JSON of another form.

Source: the schemas `Schema`, `SchemaChange` and `Identifier` of `rest-catalog-open-api.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member, text_list, text_map
from paimon_core.spec.schema import TableSchema, highest_field_id
from paimon_core.spec.types import DataField, DataType, parse_field, parse_type
from paimon_core.store.ddl.nested_columns import ColumnPosition, Path
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)

Node = dict[str, Any]
MOST_RESULTS = 1000  # entries of a page


@dataclass(frozen=True, slots=True)
class SchemaBody:
    """A table's definition in messages, without the parts that a server adds: version and time."""

    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None

    def as_version(self, schema_id: int) -> TableSchema:
        """Return the schema version with this number. Its time is unknown, so it is 0."""
        return TableSchema(
            id=schema_id,
            fields=self.fields,
            highest_field_id=highest_field_id(self.fields),
            partition_keys=self.partition_keys,
            primary_keys=self.primary_keys,
            options=dict(self.options),
            comment=self.comment,
        )


def encode_schema_body(schema: TableSchema) -> Node:
    """Return the JSON of a table's definition."""
    node: Node = {
        "fields": [f.json() for f in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
    }
    return node if schema.comment is None else {**node, "comment": schema.comment}


def decode_schema_body(node: Any) -> SchemaBody:
    """Return a table's definition from its JSON."""
    return SchemaBody(
        fields=tuple(parse_field(f) for f in member(node, "fields", list)),
        partition_keys=tuple(text_list(node, "partitionKeys")),
        primary_keys=tuple(text_list(node, "primaryKeys")),
        options=text_map(node, "options"),
        comment=member(node, "comment", str | None, None),
    )


def encode_identifier(identifier: Identifier) -> Node:
    """Return the JSON of the name of a table or view."""
    return {"database": identifier.database, "object": identifier.name}


def decode_identifier(node: Any) -> Identifier:
    """Return the name of a table or view from its JSON. Raises `InvalidNameError`."""
    return Identifier.of(member(node, "database", str), member(node, "object", str))


def encode_change(change: SchemaChange) -> Node:
    """Return the JSON of one change of a schema."""
    match change:
        case SetOption(key, value):
            return {"action": "setOption", "key": key, "value": value}
        case RemoveOption(key):
            return {"action": "removeOption", "key": key}
        case UpdateComment(comment):
            return {"action": "updateComment", "comment": comment}
        case AddColumn(path, kind, comment, position):
            node: Node = {"action": "addColumn", "fieldNames": list(path), "dataType": kind.json()}
            more: Node = {} if comment is None else {"comment": comment}
            return node | more | ({} if position is None else {"move": _encode_move(path, position)})
        case RenameColumn(path, new_name):
            return {"action": "renameColumn", "fieldNames": list(path), "newName": new_name}
        case DropColumn(path):
            return {"action": "dropColumn", "fieldNames": list(path)}
        case UpdateColumnType(path, kind):
            made = {"fieldNames": list(path), "newDataType": kind.json(), "keepNullability": True}
            return {"action": "updateColumnType", **made}
        case UpdateColumnNullability(path, nullable):
            return {"action": "updateColumnNullability", "fieldNames": list(path), "newNullability": nullable}
        case UpdateColumnComment(path, text):
            return {"action": "updateColumnComment", "fieldNames": list(path), **_given("newComment", text)}
        case UpdateColumnDefault(path, text):
            return {"action": "updateColumnDefaultValue", "fieldNames": list(path), **_given("newDefaultValue", text)}
        case UpdateColumnPosition(path, position):
            return {"action": "updateColumnPosition", "move": _encode_move(path, position)}


def _given(key: str, text: str | None) -> Node:
    return {} if text is None else {key: text}


def _encode_move(path: Path, position: ColumnPosition) -> Node:
    if len(path) > 1:
        raise UnsupportedFeatureError("The REST API cannot move a field within a column: move top-level columns only.")
    reference = {} if position.reference is None else {"referenceFieldName": position.reference}
    return {"fieldName": path[-1], **reference, "type": position.side.upper()}


_SIDES = {"FIRST": "first", "LAST": "last", "BEFORE": "before", "AFTER": "after"}


def decode_changes(node: Any) -> list[SchemaChange]:
    """Return the changes in the JSON of a request, in their order."""
    changes: list[SchemaChange] = []
    for change in member(node, "changes", list):
        action = member(change, "action", str)
        decode = _DECODERS.get(action)
        if decode is None:
            raise UnsupportedFeatureError(f"The change {action!r} of a schema is not supported; there are {_KNOWN}.")
        changes += decode(change)
    return changes


def _path(node: Any) -> Path:
    path = tuple(text_list(node, "fieldNames"))
    if not path:
        raise TypeError("'fieldNames' is empty")
    return path


def _move(node: Any) -> tuple[str, ColumnPosition]:
    side = _SIDES.get(member(node, "type", str).upper())
    if side is None:
        raise TypeError("'type' must be FIRST, LAST, BEFORE or AFTER")
    reference = member(node, "referenceFieldName", str | None, None)
    return member(node, "fieldName", str), ColumnPosition(side, reference)  # type: ignore[arg-type]


def _decode_add(node: Any) -> Sequence[SchemaChange]:
    move = member(node, "move", dict | None, None)
    position = None if move is None else _move(move)[1]
    return [AddColumn(_path(node), _type(node, "dataType"), member(node, "comment", str | None, None), position)]


def _decode_type(node: Any) -> Sequence[SchemaChange]:
    kind, path = _type(node, "newDataType"), _path(node)
    changed = UpdateColumnType(path, kind.with_nullable(True))
    if member(node, "keepNullability", bool, False):
        return [changed]
    return [changed, UpdateColumnNullability(path, kind.nullable)]


def _type(node: Any, key: str) -> DataType:
    return parse_type(member(node, key, str | dict))


def _decode_position(node: Any) -> Sequence[SchemaChange]:
    name, position = _move(member(node, "move", dict))
    return [UpdateColumnPosition((name,), position)]


def _optional(node: Any, key: str) -> str | None:
    found: str | None = member(node, key, str | None, None)
    return found


_DECODERS: dict[str, Callable[[Any], Sequence[SchemaChange]]] = {
    "setOption": lambda n: [SetOption(member(n, "key", str), member(n, "value", str))],
    "removeOption": lambda n: [RemoveOption(member(n, "key", str))],
    "updateComment": lambda n: [UpdateComment(_optional(n, "comment"))],
    "addColumn": _decode_add,
    "renameColumn": lambda n: [RenameColumn(_path(n), member(n, "newName", str))],
    "dropColumn": lambda n: [DropColumn(_path(n))],
    "updateColumnType": _decode_type,
    "updateColumnNullability": lambda n: [UpdateColumnNullability(_path(n), member(n, "newNullability", bool))],
    "updateColumnComment": lambda n: [UpdateColumnComment(_path(n), _optional(n, "newComment"))],
    "updateColumnDefaultValue": lambda n: [UpdateColumnDefault(_path(n), _optional(n, "newDefaultValue"))],
    "updateColumnPosition": _decode_position,
}
_KNOWN = ", ".join(_DECODERS)
