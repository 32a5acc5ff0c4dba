"""Find the rows that may satisfy a predicate, by indexes of columns: AND intersects their answers, OR unites them.

An answer has every row that matches. If no index can answer, every row is possible: an OR with such a part is unknown,
and an AND ignores the part. NOT is moved inwards, to comparisons that have an opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import (
    And,
    Compare,
    HasAny,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    conjuncts,
)
from paimon_core.indexes.file_index.column_index import ColumnIndex, End, RowSet
from paimon_core.indexes.file_index.keys import Key, literal_keys
from paimon_core.spec.types import DataType, Kind

R = TypeVar("R", bound=RowSet)
_ORDERED = ("<", "<=", ">", ">=")
_OPPOSITES: dict[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class IndexedColumn(Generic[R]):
    """The type of a column, and its indexes. If they are indexes of the elements of ARRAYs, `type` is the type of the
    elements: `equal` then finds rows with an element that has one of the keys, and callers call no other method.
    """

    type: DataType
    indexes: Sequence[ColumnIndex[R]]
    of_elements: bool = False


Columns = Callable[[str], IndexedColumn[R] | None]
Question = Callable[[ColumnIndex[R]], R | None]


def matching_rows(predicate: Predicate, columns: Columns[R]) -> R | None:
    """Return the rows that may satisfy the predicate, or None if every row may.

    `columns` returns None for a column without indexes. Raises `CorruptFileError`."""
    match predicate:
        case And():
            return _meet(_matching(c, columns) for c in _with_ranges(conjuncts(predicate)))
        case Or(children):
            return _join(matching_rows(c, columns) for c in children)
        case Not(child):
            opposite = _opposite(child)
            return None if opposite is None else matching_rows(opposite, columns)
        case _:
            return _matching(predicate, columns)


@dataclass(frozen=True, slots=True)
class _Range:
    """Two comparisons of a column: a lower and an upper bound."""

    low: Compare
    high: Compare

    @property
    def column(self) -> str:
        return self.low.column


def _matching(predicate: Predicate | _Range, columns: Columns[R]) -> R | None:
    if isinstance(predicate, And | Or | Not):
        return matching_rows(predicate, columns)
    column = columns(predicate.column)
    if column is None or column.of_elements != isinstance(predicate, HasAny):
        return None
    question = _question(predicate, column.type)
    return None if question is None else _meet(question(i) for i in column.indexes)


def _with_ranges(parts: Sequence[Predicate]) -> Iterator[Predicate | _Range]:
    """Yield the parts. Two parts that bound a column from both sides become one range."""
    bounds = {(p.column, p.op[0]): p for p in parts if isinstance(p, Compare) and p.op in _ORDERED}
    paired = {c for c, side in bounds if side == "<" and (c, ">") in bounds}
    used = [p for (c, _), p in bounds.items() if c in paired]
    yield from (_Range(bounds[c, ">"], bounds[c, "<"]) for c in sorted(paired))
    yield from (p for p in parts if not any(p is u for u in used))


def _meet(parts: Iterable[R | None]) -> R | None:
    result: R | None = None
    for part in parts:
        if part is not None:
            result = part if result is None else result & part
            if not result:
                break
    return result


def _join(parts: Iterable[R | None]) -> R | None:
    result: R | None = None
    for part in parts:
        if part is None:
            return None
        result = part if result is None else result | part
    return result


def _opposite(predicate: Predicate) -> Predicate | None:
    """Return the opposite of the predicate, in terms that indexes can answer, or None."""
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


def _question(predicate: Predicate | _Range, data_type: DataType) -> Question[Any] | None:
    """Return the question to an index, or None if indexes cannot answer it."""
    match predicate:
        case _Range(low, high):
            return _between(low, high, data_type)
        case IsNull():
            return lambda index: index.is_null()
        case IsNotNull():
            return lambda index: index.is_not_null()
        case Compare(op="<=>", value=None):
            return lambda index: index.is_null()
        case Compare(value=None) | In(values=()):
            return lambda index: index.equal(())
        case Compare(op="=" | "<=>", value=value):
            return _equality((value,), data_type)
        case Compare(op=op, value=value):
            return _comparison(op, value, data_type)
        case In(values=values) | HasAny(values=values):
            return _equality([v for v in values if v is not None], data_type)
        case StartsWith(prefix=prefix):
            return _prefix(prefix.encode("utf-8", "surrogatepass")) if data_type.kind is Kind.VARCHAR else None
        case _:
            return None


def _equality(values: Sequence[object], data_type: DataType) -> Question[Any] | None:
    keys = list[Key]()
    for value in values:
        literal = literal_keys(value, data_type)
        if literal is None:
            return None
        keys += literal.keys
    return lambda index: index.equal(keys)


def _prefix(prefix: bytes) -> Question[Any] | None:
    if not prefix:
        return lambda index: index.is_not_null()
    after = prefix[:-1] + bytes([prefix[-1] + 1])  # no byte of UTF-8 is the largest
    return lambda index: index.between(End(prefix), End(after, False))


def _between(low: Compare, high: Compare, data_type: DataType) -> Question[Any] | None:
    if low.value is None or high.value is None:
        return lambda index: index.equal(())
    above, below = _end(low.op, low.value, data_type), _end(high.op, high.value, data_type)
    if above is None or below is None:
        return _comparison(low.op, low.value, data_type) or _comparison(high.op, high.value, data_type)
    return lambda index: index.between(above, below)


def _comparison(op: Operator, value: object, data_type: DataType) -> Question[Any] | None:
    if op == "!=":
        literal = literal_keys(value, data_type)
        return (lambda index: index.not_equal(literal.keys)) if literal is not None and literal.exact else None
    end = _end(op, value, data_type)
    if end is None:
        return None
    return (lambda index: index.less(*end)) if op[0] == "<" else (lambda index: index.greater(*end))


def _end(op: Operator, value: object, data_type: DataType) -> End | None:
    """Return the end of a range of keys for a comparison, or None if keys do not decide it."""
    literal = literal_keys(value, data_type)
    if literal is None or not literal.ordered:
        return None
    low, high = literal.keys[0], literal.keys[-1]
    match op:
        case "<":
            return End(low, not literal.exact)
        case "<=":
            return End(high)
        case ">":
            return End(high, not literal.exact)
        case _:
            return End(low)
