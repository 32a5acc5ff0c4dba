"""A column's type as a node of a Paimon schema file: text, or an object with its parts."""

from __future__ import annotations

from typing import Any

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.rules.column_types import DEEPEST_TYPE

Node = str | dict[str, Any]

# in Paimon, names without precision or length mean: TIMESTAMP is an instant, a text or binary has any length
_BARE = {
    "TIMESTAMP": "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "VARCHAR": "STRING",
    "VARBINARY": "BYTES",
    "BINARY": "BYTES",
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
}
_ZONES = ("WITH LOCAL TIME ZONE", "WITHOUT TIME ZONE")
_COLLECTIONS = {"ARRAY": ("element",), "MULTISET": ("element",), "MAP": ("key", "value")}


def take_type(cursor: Cursor, depth: int = 0) -> Node | None:
    """Read a type and its NOT NULL; None for an unknown type."""
    if not cursor.at_name() or depth > DEEPEST_TYPE:
        return None
    word = cursor.next_text().upper()
    node = _parts(cursor, word, depth + 1) if cursor.symbol() == "<" or word == "ROW" else _atom(cursor, word)
    if cursor.symbol() not in ("NOT", "NULL"):
        return node
    if cursor.take("NOT", "NULL") and node is not None:
        return f"{node} NOT NULL" if isinstance(node, str) else node | {"type": f"{node['type']} NOT NULL"}
    cursor.take("NULL")
    return node


def _atom(cursor: Cursor, word: str) -> str:
    """Read the words of a type without parts. The reader of the result checks that the type exists."""
    if cursor.take("PRECISION"):
        word += " PRECISION"
    sizes = _sizes(cursor)
    zone = _zone(cursor) if cursor.symbol() in ("WITH", "WITHOUT") else ""
    if not sizes and not zone:
        return _BARE.get(word, word)
    return f"{word.removesuffix('_NTZ')}{sizes}{zone}"


def _zone(cursor: Cursor) -> str:
    return next((f" {zone}" for zone in _ZONES if cursor.take(*zone.split())), "")


def _parts(cursor: Cursor, word: str, depth: int) -> Node | None:
    closing = ">" if cursor.take("<") else ")" if cursor.take("(") else None
    if closing is None:
        return None
    if word in ("ROW", "STRUCT"):
        fields = _fields(cursor, closing, depth)
        return None if fields is None else {"type": "ROW", "fields": fields}
    node: dict[str, Any] = {"type": word}
    for step in _COLLECTIONS.get(word, ()):
        part = take_type(cursor, depth)
        if part is None or not cursor.take("," if step == "key" else closing):
            return None
        node[step] = part
    return node if len(node) > 1 else None


def _fields(cursor: Cursor, closing: str, depth: int) -> list[dict[str, Any]] | None:
    fields: list[dict[str, Any]] = []
    while cursor.at_name():
        name = cursor.next()
        cursor.take(":")
        node = take_type(cursor, depth)
        if node is None:
            return None
        fields.append({"id": len(fields), "name": name.text, "type": node})
        cursor.take("COMMENT")
        if (text := cursor.take_text()) is not None:
            fields[-1]["description"] = text
        if not cursor.take(","):
            break
    return fields if fields and cursor.take(closing) else None


def _sizes(cursor: Cursor) -> str:
    """Read the parentheses after a type's name, and return their text."""
    if cursor.symbol() != "(":
        return ""
    start = cursor.index
    cursor.skip_parentheses()
    return "".join(map(cursor.tokens.text, range(start, cursor.index)))
