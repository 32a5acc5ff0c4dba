"""Flink's data types inside a column list, as the nearest types that Spark's parser knows.

What Spark's types cannot say (the precision of a timestamp, the length of a binary, that a map was a multiset) goes
with the statement in one table property, `DECLARED_TYPES_PROPERTY`, for the catalog to apply and drop. Its value is a
JSON list of `[path, type]`: the path names the column and the steps down to the type (a field's name, or `element`,
`key`, `value`), the type is written as in a Paimon schema file, or is the bare word MULTISET for a map to its counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.tokens import TokenType

from paimon_sql.preprocess.tokens import Cursor, Edit, is_name, is_string

DECLARED_TYPES_PROPERTY = "paimon-sql.declared-types"

Path = tuple[str, ...]

_SPARK_PRECISION = 6  # of a timestamp: Spark's own types have this one
_MAX_PRECISION = 9
_NESTED = {"ARRAY": ("element",), "MAP": ("key", "value"), "MULTISET": ("key",)}


@dataclass(slots=True)
class TypeRewrites:
    """What was found in the types of one column list."""

    edits: list[Edit] = field(default_factory=list)
    declared: list[tuple[Path, str]] = field(default_factory=list)
    flink_only: bool = False  # some type is no Spark type

    def replace(self, edit: Edit) -> None:
        self.edits.append(edit)
        self.flink_only = True

    def extend(self, other: TypeRewrites) -> None:
        self.edits += other.edits
        self.declared += other.declared
        self.flink_only |= other.flink_only


def read_type(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """Reads one data type from the cursor, as far as it is understood, and records its rewrites."""
    word = cursor.peek()
    if word is None or not is_name(word):
        return
    kind = cursor.symbol()
    opened = cursor.symbol(1)
    if kind in _NESTED and opened == "<":
        _nested(cursor, path, found)
    elif (kind in ("ROW", "STRUCT") and opened == "<") or (kind == "ROW" and opened == "("):
        _row(cursor, path, found)
    elif kind in ("BYTES", "BINARY", "VARBINARY"):
        _binary(cursor, path, found)
    elif kind == "DOUBLE" and opened == "PRECISION":
        cursor.next()
        found.replace(Edit.replace(word, cursor.next(), "DOUBLE"))
    elif kind == "VARCHAR" and opened != "(":
        found.replace(Edit.replace(word, cursor.next(), "STRING"))
    elif kind in ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ") and opened == "(":
        _timestamp(cursor, path, found)
    else:
        cursor.next()
        if cursor.symbol() == "(":
            cursor.skip_parentheses()


def _nested(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """ARRAY<t>, MAP<k, v>, and MULTISET<t>, which becomes MAP<t, INT>."""
    word = cursor.next()
    steps = _NESTED[word.text.upper()]
    is_multiset = word.text.upper() == "MULTISET"
    if is_multiset:
        found.replace(Edit.replace(word, word, "MAP"))
        found.declared.append((path, "MULTISET"))
    cursor.next()
    for step in steps:
        read_type(cursor, (*path, step), found)
        _skip_to_separator(cursor, ">")
        if not cursor.take(","):
            break
    if is_multiset and cursor.symbol() == ">":
        found.replace(Edit.after(cursor.last, ", INT"))
    cursor.take(">")


def _row(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """STRUCT<...> as it is, ROW<...> and ROW(...) to STRUCT<...>, fields included."""
    word, opening = cursor.next(), cursor.next()
    closing = ">" if opening.text == "<" else ")"
    if word.text.upper() == "ROW":
        found.replace(Edit.replace(word, word, "STRUCT"))
    if closing == ")":
        found.replace(Edit.replace(opening, opening, "<"))
    while (name := cursor.peek()) and is_name(name):
        cursor.next()
        cursor.take(":")
        read_type(cursor, (*path, name.text), found)
        comment = cursor.peek()
        if comment and is_string(comment):  # Flink's comment of a field
            found.replace(Edit.before(comment, "COMMENT "))
        _skip_to_separator(cursor, closing)
        if not cursor.take(","):
            break
    end = cursor.peek()
    if closing == ")" and end and cursor.symbol() == ")":
        found.replace(Edit.replace(end, end, ">"))
    cursor.take(closing)


def _binary(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """BYTES, BINARY(n), VARBINARY(n) to BINARY."""
    word = cursor.next()
    length = _number_in_parentheses(cursor)
    if word.text.upper() != "BINARY" or length is not None:
        found.replace(Edit.replace(word, cursor.last, "BINARY"))
    if length is not None:
        found.declared.append((path, f"{word.text.upper()}({length})"))


def _timestamp(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """TIMESTAMP(p) is without a time zone in Flink, TIMESTAMP_LTZ(p) is an instant."""
    word = cursor.next()
    precision = _number_in_parentheses(cursor)
    if precision is None or precision > _MAX_PRECISION or (cursor.symbol(), cursor.symbol(1)) == ("WITH", "TIME"):
        return
    is_instant = cursor.take("WITH", "LOCAL", "TIME", "ZONE") or word.text.upper() == "TIMESTAMP_LTZ"
    if not is_instant:
        cursor.take("WITHOUT", "TIME", "ZONE")
    found.edits.append(Edit.replace(word, cursor.last, "TIMESTAMP_LTZ" if is_instant else "TIMESTAMP_NTZ"))
    if precision != _SPARK_PRECISION:
        found.flink_only = True
        suffix = " WITH LOCAL TIME ZONE" if is_instant else ""
        found.declared.append((path, f"TIMESTAMP({precision}){suffix}"))


def _number_in_parentheses(cursor: Cursor) -> int | None:
    number = cursor.peek(1)
    if cursor.symbol() != "(" or cursor.symbol(2) != ")" or number is None or number.token_type is not TokenType.NUMBER:
        return None
    cursor.index += 3
    return int(number.text) if number.text.isdigit() else None


def _skip_to_separator(cursor: Cursor, closing: str) -> None:
    """Past NOT NULL, COMMENT '...' and whatever else follows a type, up to the comma or the end of its list."""
    depth = 0
    while not cursor.at_end() and not (depth == 0 and cursor.symbol() in (",", closing)):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(cursor.symbol(), 0)
        if depth < 0:
            return
        cursor.next()
