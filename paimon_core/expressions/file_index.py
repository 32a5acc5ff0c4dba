"""The rows of a file that a predicate may be true for, by the file's indexes: AND meets, OR joins what these answer.

An answer holds every row that matches. What no index tells counts as possible, so that nothing is known of an OR with
such a part, and an AND does without it. NOT is taken inwards, where comparisons have an opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_core.expressions.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
)
from paimon_core.spec.file_index.column_index import ColumnIndex
from paimon_core.spec.file_index.cursor import Rows
from paimon_core.spec.file_index.keys import Key, literal_keys
from paimon_core.spec.types import DataType, Kind

_OPPOSITES: dict[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column as the file has it, and its indexes."""

    type: DataType
    indexes: Sequence[ColumnIndex]


Columns = Callable[[str], IndexedColumn | None]
Question = Callable[[ColumnIndex], Rows | None]


def matching_rows(predicate: Predicate, columns: Columns) -> Rows | None:
    """The positions of rows that may satisfy the predicate, None where every row may. `columns` gives None for a
    column without indexes. Raises `CorruptFileError`."""
    match predicate:
        case And(children):
            return _meet(matching_rows(c, columns) for c in children)
        case Or(children):
            return _join(matching_rows(c, columns) for c in children)
        case Not(child):
            opposite = _opposite(child)
            return None if opposite is None else matching_rows(opposite, columns)
        case _:
            column = columns(predicate.column)
            question = None if column is None else _question(predicate, column.type)
            return None if column is None or question is None else _meet(question(i) for i in column.indexes)


def _meet(parts: Iterable[Rows | None]) -> Rows | None:
    result: Rows | None = None
    for part in parts:
        if part is not None:
            result = part if result is None else result & part
            if not result:
                break
    return result


def _join(parts: Iterable[Rows | None]) -> Rows | None:
    result = Rows()
    for part in parts:
        if part is None:
            return None
        result |= part
    return result


def _opposite(predicate: Predicate) -> Predicate | None:
    """What is true where the predicate is false, in terms that indexes know."""
    match predicate:
        case Not(child):
            return child
        case And(children):
            return Or(tuple(Not(c) for c in children))
        case Or(children):
            return And(tuple(Not(c) for c in children))
        case IsNull(column):
            return IsNotNull(column)
        case IsNotNull(column):
            return IsNull(column)
        case Compare(column, op, value) if op in _OPPOSITES:
            return Compare(column, _OPPOSITES[op], value)
        case Compare(column, "<=>", None):
            return IsNotNull(column)
        case Compare(column, "<=>", value):
            return Or((Compare(column, "!=", value), IsNull(column)))
        case In(column, values):
            return And(tuple(Compare(column, "!=", v) for v in values))
        case _:
            return None


def _question(predicate: Predicate, data_type: DataType) -> Question | None:
    """What to ask an index, None where there is nothing to ask."""
    match predicate:
        case IsNull():
            return lambda index: index.is_null()
        case IsNotNull():
            return lambda index: index.is_not_null()
        case Compare(op="<=>", value=None):
            return lambda index: index.is_null()
        case Compare(value=None) | In(values=()):
            return lambda index: Rows()
        case Compare(op="=" | "<=>", value=value):
            return _equality((value,), data_type)
        case Compare(op=op, value=value):
            return _comparison(op, value, data_type)
        case In(values=values):
            return _equality([v for v in values if v is not None], data_type)
        case StartsWith(prefix=prefix):
            return _prefix(prefix.encode("utf-8", "surrogatepass")) if data_type.kind is Kind.VARCHAR else None
        case _:
            return None


def _equality(values: Sequence[object], data_type: DataType) -> Question | None:
    keys = list[Key]()
    for value in values:
        literal = literal_keys(value, data_type)
        if literal is None:
            return None
        keys += literal.keys
    return lambda index: index.equal(keys)


def _prefix(prefix: bytes) -> Question | None:
    if not prefix:
        return lambda index: index.is_not_null()
    after = prefix[:-1] + bytes([prefix[-1] + 1])  # no byte of UTF-8 is the largest
    return lambda index: _meet((index.greater(prefix, True), index.less(after, False)))


def _comparison(op: Operator, value: object, data_type: DataType) -> Question | None:
    literal = literal_keys(value, data_type)
    if literal is None:
        return None
    if op == "!=":
        return (lambda index: index.not_equal(literal.keys)) if literal.exact else None
    if not literal.ordered:
        return None
    low, high = literal.keys[0], literal.keys[-1]
    match op:
        case "<":
            return lambda index: index.less(low, not literal.exact)
        case "<=":
            return lambda index: index.less(high, True)
        case ">":
            return lambda index: index.greater(high, not literal.exact)
        case _:
            return lambda index: index.greater(low, True)
