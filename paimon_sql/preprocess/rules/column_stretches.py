"""Long lists of plain columns, in CREATE TABLE and ALTER TABLE … ADD, read without the tokens of each.

A column is plain where a name, a type, NOT NULL, a comment and a literal as default are all it has. Tables of hundreds
of columns have few types: each spelling of one is read once. A stretch of columns becomes a string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paimon_sql.preprocess.fillers import as_string
from paimon_sql.preprocess.lexing import COMMENT, tokenize
from paimon_sql.preprocess.rules.column_types import TypeRewrites, read_type
from paimon_sql.preprocess.tokens import Cursor, Edit

_SHORTEST = 100  # characters
_DEEPEST = 4  # types in types

_PART = r"(?:[\w$]++|`[^`]++`(?!`))"
_HEAD = re.compile(
    rf"(?>(?:\s++|{COMMENT})*)(?:EXPLAIN\s++(?:\w++\s++)?)?"
    r"(?:(?:CREATE(?:\s++OR\s++REPLACE)?|REPLACE)\s++TABLE\s++(?:IF\s++NOT\s++EXISTS\s++)?|(ALTER)\s++TABLE\s++)"
    rf"{_PART}(?>(?:\.{_PART})*)\s*+(?(1)ADD\b\s*+(?>(?:COLUMNS?\b\s*+)?))\((?!\s*+(?:\(|(?:SELECT|WITH|FROM|VALUES|TABLE)\b))",
    re.IGNORECASE | re.DOTALL,
)


def _nested(depth: int) -> str:
    """What stands in the brackets of a type."""
    inside = r"[\w\s:,`]++"
    for _ in range(depth):
        inside = rf"[\w\s:,`]++|<(?>(?:{inside})*)>|\((?>(?:{inside})*)\)"
    return inside


_FLAT = (
    "TINYINT|SMALLINT|INTEGER|INT|BIGINT|FLOAT|DOUBLE(?:[ ]PRECISION)?|BOOLEAN|STRING|DATE|DECIMAL|NUMERIC|CHAR|VARCHAR"
    "|BINARY|VARBINARY|BYTES|TIMESTAMP|TIMESTAMP_LTZ|TIMESTAMP_NTZ|VARIANT"
)
_TYPE = (
    rf"(?:(?:{_FLAT})\b(?>(?:\s*+\([\d\s,]++\))?)"
    rf"|(?:ARRAY|MAP|MULTISET|STRUCT|ROW)\s*+(?:<(?>(?:{_nested(_DEEPEST)})*)>|\((?>(?:{_nested(_DEEPEST)})*)\)))"
)
_STRING = r"(?>(?:'(?>(?:[^'\\]|\\.)*)')+)"
_CLAUSE = rf"NOT\s++NULL\b|COMMENT\s++{_STRING}|DEFAULT\s++(?:-?\d[\w.]*+|{_STRING}|(?:NULL|TRUE|FALSE)\b)"
_COLUMN = re.compile(
    rf"\s*+([^\W\d]\w*+|`[^`]++`(?!`))\s++({_TYPE})(?>(?:\s++(?:{_CLAUSE}))*)\s*+,", re.IGNORECASE | re.DOTALL
)
# columns whose types are Spark's, all at once
_UNCHANGED = re.compile(
    rf"(?>(?:\s*+(?:[^\W\d]\w*+|`[^`]++`(?!`))\s++"
    r"(?:TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE(?!\s++PRECISION\b)|BOOLEAN|STRING|DATE|DECIMAL)\b(?>(?:\s*+\([\d\s,]++\))?)"
    rf"(?>(?:\s++(?:{_CLAUSE}))*)\s*+,)+)",
    re.IGNORECASE | re.DOTALL,
)
_MOST_MISSES = 3  # in a row, behind which they are not looked for
# words of types that ALTER TABLE tells to the catalog one by one: it reads all columns then
_DECLARED = re.compile("TIMESTAMP|BINARY|MULTISET", re.IGNORECASE)
# a column that is not plain, or a constraint
_ITEM = re.compile(r"(?!\s*+,)(?>(?:[^(),'\"`<>/-]++|'[^'\\]*+'|`[^`]*+`|\((?>(?:[\w\s,.=+*`]++|'[^'\\]*+')*)\))*),")


@dataclass(frozen=True, slots=True)
class ColumnStretches:
    """A statement with strings for its plain columns, and what their types become, by the places of these strings."""

    text: str
    types: dict[int, TypeRewrites] = field(default_factory=dict)


def column_stretches(text: str) -> ColumnStretches:
    """The very same text where there are no such columns, and where the tokens of declared types are asked for."""
    head = _HEAD.match(text) if len(text) > _SHORTEST else None
    if head is None or (head[1] and _DECLARED.search(text, head.end())):
        return ColumnStretches(text)
    pieces: list[str] = []
    types: dict[int, TypeRewrites] = {}
    known: dict[str, TypeRewrites] = {}
    position, written = head.end(), 0
    while True:
        found, start = TypeRewrites(), position
        end = _end_of_columns(text, start, found, known)
        if end is None:
            return ColumnStretches(text)
        position = end
        if position - start >= _SHORTEST:
            begin = start + len(text[start:position]) - len(text[start:position].lstrip())
            types[begin] = found
            pieces += text[written:begin], as_string(text[begin:position])
            written = position
        item = _ITEM.match(text, position)
        if item is None:
            break
        position = item.end()
    return ColumnStretches("".join(pieces) + text[written:], types)


def _end_of_columns(text: str, position: int, found: TypeRewrites, known: dict[str, TypeRewrites]) -> int | None:
    """Where plain columns end, and what their types become; None where one cannot be read after all."""
    misses = 0
    while True:
        if misses < _MOST_MISSES:
            unchanged = _UNCHANGED.match(text, position)
            misses = 0 if unchanged else misses + 1
            position = unchanged.end() if unchanged else position
        column = _COLUMN.match(text, position)
        if column is None:
            return position
        kind = known.get(column[2]) or _read(column[2])
        if kind is None:
            return None
        known[column[2]] = kind
        if kind.edits:
            _add(found, kind, column[1].strip("`"), column.start(2))
        position = column.end()


def _add(found: TypeRewrites, kind: TypeRewrites, column: str, start: int) -> None:
    """A column's type to those found."""
    found.edits += [Edit(edit.start + start, edit.end + start, edit.text) for edit in kind.edits]
    found.declared += [((column, *path), name) for path, name in kind.declared]
    found.flink_only |= kind.flink_only


def _read(spelling: str) -> TypeRewrites | None:
    """A type by itself; None where more stands there than it."""
    tokens, found = tokenize(spelling), TypeRewrites()
    if tokens is None:
        return None
    read_type(cursor := Cursor(tokens), (), found)
    return found if cursor.peek() is None else None
