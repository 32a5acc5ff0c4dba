"""Flink's data types inside a column list, as the nearest types of Spark's parser.

Some properties do not exist in Spark's types: the precision of a timestamp, the length of a binary, and whether a map
is a multiset. One table property, `DECLARED_TYPES_PROPERTY`, passes them to the catalog, which applies and drops it.
Its value is a JSON list of `[path, type]`. The path names the column and the steps down to the type (a field's name, or
`element`, `key`, `value`). The type is written as in a Paimon schema file, or is the bare word MULTISET for a map from
elements to their counts.
"""

from __future__ import annotations

from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import NO_NAMES, NUMBER

DECLARED_TYPES_PROPERTY = "paimon-sql.declared-types"
DEEPEST_TYPE = 100  # levels of nested types; deeper types are passed to Spark unchanged

Path = tuple[str, ...]

_SPARK_PRECISION = 6  # the precision of Spark's own timestamps
_MAX_PRECISION = 9
# the first words of types; `_READ` has Flink's types, and types that may contain such types
_NESTED = {"ARRAY": ("element",), "MAP": ("key", "value"), "MULTISET": ("key",)}
_BINARY = ("BYTES", "BINARY", "VARBINARY")
_TIMESTAMP = ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
_READ = frozenset([*_NESTED, "ROW", "STRUCT", *_BINARY, "DOUBLE", "VARCHAR", *_TIMESTAMP])


@dataclass(slots=True)
class TypeRewrites:
    """The rewriting of the types of one column list."""

    edits: list[Edit] = field(default_factory=list)
    declared: list[tuple[Path, str]] = field(default_factory=list)
    flink_only: bool = False  # whether a type is not a type of Spark

    def replace(self, edit: Edit) -> None:
        self.edits.append(edit)
        self.flink_only = True


def read_type(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """Read one data type from the cursor, up to the first part that is not known, and record its rewrites."""
    kind, opened = cursor.symbol(), cursor.symbol(1)
    if kind in NO_NAMES or len(path) > DEEPEST_TYPE:
        return
    if kind not in _READ:
        cursor.index += 1
        if opened == "(":
            cursor.skip_parentheses()
    elif kind in _NESTED and opened == "<":
        _nested(cursor, kind, path, found)
    elif (kind in ("ROW", "STRUCT") and opened == "<") or (kind == "ROW" and opened == "("):
        _row(cursor, path, found)
    elif kind in _BINARY:
        _binary(cursor, path, found)
    elif kind == "DOUBLE" and opened == "PRECISION":
        cursor.index += 2
        found.replace(cursor.replaced(cursor.index - 2, "DOUBLE"))
    elif kind == "VARCHAR" and opened != "(":
        cursor.index += 1
        found.replace(cursor.replaced(cursor.index - 1, "STRING"))
    elif kind in _TIMESTAMP and opened == "(":
        _timestamp(cursor, path, found)
    else:
        cursor.index += 1
        if cursor.symbol() == "(":
            cursor.skip_parentheses()


def _nested(cursor: Cursor, word: str, path: Path, found: TypeRewrites) -> None:
    """Rewrite the types in ARRAY<t> and MAP<k, v>, and MULTISET<t> to MAP<t, INT>."""
    is_multiset = word == "MULTISET"
    if is_multiset:
        found.replace(Edit.at(cursor.tokens, cursor.index, "MAP"))
        found.declared.append((path, "MULTISET"))
    cursor.index += 2
    for step in _NESTED[word]:
        read_type(cursor, (*path, step), found)
        if (follows := cursor.symbol()) not in (",", ">"):
            _skip_to_separator(cursor, ">")
            follows = cursor.symbol()
        if follows != ",":
            break
        cursor.index += 1
    if is_multiset and cursor.symbol() == ">":
        found.replace(Edit.after(cursor.last, ", INT"))
    cursor.take(">")


def _row(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """Rewrite ROW<...> and ROW(...) to STRUCT<...>, and the types of their fields; STRUCT<...> itself is kept."""
    first = cursor.index
    closing = ">" if cursor.symbol(1) == "<" else ")"
    if cursor.symbol() == "ROW":
        found.replace(Edit.at(cursor.tokens, first, "STRUCT"))
    if closing == ")":
        found.replace(Edit.at(cursor.tokens, first + 1, "<"))
    cursor.index += 2
    while cursor.at_name():
        name = cursor.next_text()
        if cursor.symbol() == ":":
            cursor.index += 1
        first = cursor.index
        read_type(cursor, (*path, name), found)
        if (follows := cursor.symbol()) not in (",", closing):
            if cursor.at_string() and cursor.index > first:  # Flink's comment of a field
                found.replace(Edit.before(cursor.tokens[cursor.index], "COMMENT "))
            _skip_to_separator(cursor, closing)
            follows = cursor.symbol()
        if follows != ",":
            break
        cursor.index += 1
    if cursor.take(closing) and closing == ")":
        found.replace(cursor.replaced(cursor.index - 1, ">"))


def _binary(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """Rewrite BYTES, BINARY(n) and VARBINARY(n) to BINARY."""
    first, word = cursor.index, cursor.symbol()
    cursor.index += 1
    length = _number_in_parentheses(cursor)
    if word != "BINARY" or length is not None:
        found.replace(cursor.replaced(first, "BINARY"))
    if length is not None:
        found.declared.append((path, f"{word}({length})"))


def _timestamp(cursor: Cursor, path: Path, found: TypeRewrites) -> None:
    """Rewrite Flink's timestamps: TIMESTAMP(p) has no time zone, TIMESTAMP_LTZ(p) is an instant."""
    first, word = cursor.index, cursor.symbol()
    cursor.index += 1
    precision = _number_in_parentheses(cursor)
    zone = cursor.symbol()
    if precision is None or precision > _MAX_PRECISION or (zone == "WITH" and cursor.symbol(1) == "TIME"):
        return
    is_instant = (zone == "WITH" and cursor.take("WITH", "LOCAL", "TIME", "ZONE")) or word == "TIMESTAMP_LTZ"
    if zone == "WITHOUT" and not is_instant:
        cursor.take("WITHOUT", "TIME", "ZONE")
    found.edits.append(cursor.replaced(first, "TIMESTAMP_LTZ" if is_instant else "TIMESTAMP_NTZ"))
    if precision != _SPARK_PRECISION:
        found.flink_only = True
        suffix = " WITH LOCAL TIME ZONE" if is_instant else ""
        found.declared.append((path, f"TIMESTAMP({precision}){suffix}"))


def _number_in_parentheses(cursor: Cursor) -> int | None:
    if cursor.symbol() != "(" or cursor.symbol(1) != NUMBER or cursor.symbol(2) != ")":
        return None
    text = cursor.tokens.text(cursor.index + 1)
    cursor.index += 3
    return int(text) if text.isdigit() else None


def _skip_to_separator(cursor: Cursor, closing: str) -> None:
    """Skip NOT NULL, COMMENT '...' and anything else after a type, up to the comma or the end of its list."""
    depth = 0
    while not cursor.at_end() and not (depth == 0 and cursor.symbol() in (",", closing)):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(cursor.symbol(), 0)
        if depth < 0:
            return
        cursor.next()
