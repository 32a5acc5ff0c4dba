"""Filters that other tools push into a dataset: expressions of `pyarrow.compute`, as conditions of scans.

Arrow shows the content of an expression only as a text, which is not exact: it lacks types, for example. So the text is
parsed, and an expression is built again from the parts. If this expression does not equal the given one, nothing is
pushed down, and Arrow filters the rows: the query then takes longer, but is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.spec.kinds import MOMENTS
from paimon_core.spec.types import DataField, Kind
from paimon_sql.python.where.bound import COLUMN, Bound, condition_of, literal
from paimon_sql.python.where.coercion import spark_type

_WORDS = re.compile(
    r"""\ (?P<joined>and|or)\ | (?P<test>is_valid|is_null|invert|is_in)\( | (?P<open>\() | (?P<close>\))
    | (?P<name>[A-Za-z_]\w*)(?=\ (?:==|!=|<=|>=|<|>)\ |,\ \{|\)) | \ (?P<op>==|!=|<=|>=|<|>)[ ]
    | (?P<text>"(?:[^"\\]|\\.)*") | (?P<nulls>,\ \{nan_is_null=false\}\))
    | (?P<set>,\ \{value_set=[^:]*:\[) | (?P<end>\s*\],\ null_matching_behavior=MATCH\}\)) | (?P<comma>,)?\s+
    | (?P<value>[^()\[\],"\s]+(?:\ [0-9][0-9:.Z]*)?)""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "==": ("=", lambda a, b: a == b),
    "!=": ("<>", lambda a, b: a != b),
    "<": ("<", lambda a, b: a < b),
    "<=": ("<=", lambda a, b: a <= b),
    ">": (">", lambda a, b: a > b),
    ">=": (">=", lambda a, b: a >= b),
}
# Types with values that Arrow and Spark compare alike. They differ for floats (NaN) and for CHAR (spaces).
_COMPARED = frozenset(
    (
        *(Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.VARCHAR),
        *MOMENTS,
    )
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_POSITION = re.compile(r"FieldPath\(([0-9]+)")


class _UnknownFormError(Exception):
    """An expression that is not understood."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: as Arrow has it, and as a condition of a scan."""

    arrow: Any
    bound: Bound


def condition_in(expression: pc.Expression, fields: Mapping[str, DataField], schema: pa.Schema) -> Bound | None:
    """Return the condition that equals an expression on the columns of a table, None if it is not understood."""
    text = str(expression)
    for is_typed in (True, False):  # constants have the type of their column, or the type of their Python value
        try:
            found = _Parser(fields, schema, is_typed, iter(list(_words(text)))).whole()
        except (_UnknownFormError, StopIteration, ValueError, TypeError, ArithmeticError, KeyError, RecursionError):
            continue
        except pa.ArrowException:
            continue
        if found.arrow.equals(expression):
            return found.bound
    return None


def positions_in(expression: pc.Expression) -> list[int]:
    """Return the positions of columns in an expression, as in `pc.field(0)`. A text in the expression that looks like a
    position counts, too.
    """
    return [int(number) for number in _POSITION.findall(str(expression))]


def _words(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        word = _WORDS.match(text, place)
        if word is None or word.end() == place:
            raise _UnknownFormError(text)
        place = word.end()
        if word.lastgroup is not None:
            yield word.lastgroup, word[word.lastgroup]


@dataclass
class _Parser:
    fields: Mapping[str, DataField]
    schema: pa.Schema
    is_typed: bool
    words: Iterator[tuple[str, str]]

    def whole(self) -> _Part:
        found = self.part(*next(self.words))
        if next(self.words, None) is not None:
            raise _UnknownFormError
        return found

    def part(self, kind: str, word: str) -> _Part:
        if kind == "test":
            return self.test(word)
        if kind != "open":
            raise _UnknownFormError
        kind, word = next(self.words)
        if kind == "name":
            return self.compared(word)
        left = self.part(kind, word)
        joined = self.expect("joined")
        right = self.part(*next(self.words))
        self.expect("close")
        arrow = left.arrow & right.arrow if joined == "and" else left.arrow | right.arrow
        return _Part(arrow, condition_of(joined, left.bound, right.bound))

    def test(self, name: str) -> _Part:
        if name == "invert":
            inner = self.part(*next(self.words))
            self.expect("close")
            return _Part(~inner.arrow, condition_of("not", inner.bound))
        column = self.expect("name")
        field, bound = pc.field(column), self.column(column)
        if name == "is_in":
            return self.listed(column, field, bound)
        if name == "is_null":
            self.expect("nulls")
            return _Part(field.is_null(), condition_of("is_null", bound))
        self.expect("close")
        return _Part(field.is_valid(), condition_of("not", condition_of("is_null", bound)))

    def listed(self, column: str, field: Any, bound: Bound) -> _Part:
        self.expect("set")
        values = []
        for kind, word in self.words:
            if kind == "end":
                break
            if kind != "comma":
                values.append(self.value(column, kind, word))
        if not values:
            raise _UnknownFormError
        literals = [literal(_stored(scalar), bound.type) for scalar in values]
        known = pa.array([s.as_py() for s in values], values[0].type)
        # Arrow's list has no NULL: is_in is false for a NULL row, for which IN is NULL
        is_known = condition_of("not", condition_of("is_null", bound))
        return _Part(field.isin(known), condition_of("and", is_known, condition_of("in", bound, *literals)))

    def compared(self, column: str) -> _Part:
        name, compare = _OPERATORS[self.expect("op")]
        scalar = self.value(column, *next(self.words))
        self.expect("close")
        bound = self.column(column)
        return _Part(compare(pc.field(column), scalar), condition_of(name, bound, literal(_stored(scalar), bound.type)))

    def column(self, name: str) -> Bound:
        field = self.fields[name]
        is_other_moment = field.type.kind in MOMENTS and self.schema.field(name).type.unit != "us"
        if field.type.kind not in _COMPARED or is_other_moment:
            raise _UnknownFormError
        return Bound(COLUMN, spark_type(field.type), value=name)

    def value(self, column: str, kind: str, word: str) -> pa.Scalar:
        """The constant of a word. The type of the column must be able to hold it, too."""
        arrow = self.schema.field(column).type
        if kind == "text":
            known: Any = re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), word[1:-1], flags=re.DOTALL)
        elif pa.types.is_boolean(arrow):
            known = {"true": True, "false": False}[word]
        elif kind == "value":
            known = _reader(arrow)(word)
        else:
            raise _UnknownFormError
        typed = pa.scalar(known, arrow)
        return typed if self.is_typed else pa.scalar(known)

    def expect(self, kind: str) -> str:
        found, word = next(self.words)
        if found != kind:
            raise _UnknownFormError
        return word


def _reader(arrow: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_integer(arrow):
        return int
    if pa.types.is_decimal(arrow):
        return Decimal
    if pa.types.is_date(arrow):
        return date.fromisoformat
    if pa.types.is_timestamp(arrow):
        return datetime.fromisoformat
    raise _UnknownFormError


def _stored(scalar: pa.Scalar) -> Any:
    """The value as constants of conditions have it: days of dates, microseconds of moments."""
    value = scalar.as_py()
    if isinstance(value, datetime):
        known = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (known - _EPOCH) // timedelta(microseconds=1)
    return (value - _EPOCH.date()).days if isinstance(value, date) else value
