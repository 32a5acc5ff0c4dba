"""The SQL text of a condition as a tree with types, by sqlglot's parser of Spark's dialect.

A function or operator that this module does not support is refused by name: a condition is evaluated as Spark does, or
not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import tzinfo
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from paimon_core.arrow.patterns import Pattern
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.spec.kinds import NUMBERS
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    DataField,
    DataType,
    DecimalType,
    Kind,
)
from paimon_sql.python.where.bound import Bound, condition_of, literal
from paimon_sql.python.where.building import Builder, as_string, refusal
from paimon_sql.python.where.coercion import TIMESTAMP, TIMESTAMP_LTZ

_TYPES: dict[exp.DType, DataType] = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.DATE: DATE,
    exp.DType.TEXT: STRING,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP_LTZ,
    exp.DType.TIMESTAMPTZ: TIMESTAMP_LTZ,
}
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_ARITHMETIC: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
_TEXT_TESTS: dict[type[exp.Expression], str] = {
    exp.StartsWith: "startswith",
    exp.EndsWith: "endswith",
    exp.Contains: "contains",
}
_DATE_PARTS: dict[type[exp.Expression], str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day"}
_OF_TEXT: dict[type[exp.Expression], tuple[str, DataType]] = {
    exp.Upper: ("upper", STRING),
    exp.Lower: ("lower", STRING),
    exp.Length: ("length", INT),
}
_PARTS = frozenset(("this", "expression", "expressions"))
# other parts of nodes that are allowed: they are read, or have no effect here. All other parts are refused
_MORE_PARTS: dict[type[exp.Expression], frozenset[str]] = {
    exp.Column: frozenset(("table", "db", "catalog")),
    exp.Literal: frozenset(("is_string",)),
    exp.Cast: frozenset(("to",)),
    exp.TryCast: frozenset(("to",)),
    exp.Between: frozenset(("low", "high")),
    exp.Like: frozenset(("negate",)),
    exp.ILike: frozenset(("negate",)),
    exp.Concat: frozenset(("safe",)),
    exp.DPipe: frozenset(("safe",)),
    exp.Div: frozenset(("typed", "safe")),
    exp.Coalesce: frozenset(("is_nvl",)),
}
_UNSEEN = frozenset(("TRY_CAST", "ARRAY_HAS"))  # words that the tree does not show
_WILDCARD = re.compile(r"(?P<escaped>\\.)|(?P<any>%)|(?P<one>_)|(?P<plain>[^\\%_]+|\\)", re.DOTALL)


def bind(text: str, fields: Sequence[DataField], zone: tzinfo | None) -> Bound:
    """Return the tree of a condition on the columns of a table; `zone` is the zone of wall clocks.

    Raises `InvalidOptionError` for a text that is not a condition, `ColumnNotFoundError`, `UnsupportedFeatureError` for
    an expression that is not evaluated here, `InvalidDataError` for a constant that is not valid.
    """
    found = bind_value(text, fields, zone)
    if found.is_null:
        return literal(None, BOOLEAN)
    if found.type.kind is not Kind.BOOLEAN:
        raise InvalidOptionError(f"where cannot be {text!r}: it is of type {found.type.sql()}, not a condition.")
    return found


def bind_value(text: str, fields: Sequence[DataField], zone: tzinfo | None) -> Bound:
    """Return the tree of an expression of any type. Raises the errors of `bind`."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
        parsed = sqlglot.parse_one(_with_quotes(text, tokens), read="spark")
    except (SqlglotError, ValueError, RecursionError) as e:
        cause = f"it is not valid SQL ({_first_line(e)})"
        raise InvalidOptionError(f"where cannot be {text!r}: {cause}.") from e
    words = {t.text.upper() for t in tokens if t.token_type is TokenType.VAR}
    for unseen in _UNSEEN & words:
        raise refusal(unseen)
    return _Binder(fields, zone).bind(parsed)


@dataclass(frozen=True, slots=True)
class _Binder(Builder):
    def bind(self, node: exp.Expression) -> Bound:
        kind = type(node)
        given = {name for name, part in node.args.items() if part not in (None, False, [])}
        if unknown := given - _PARTS - _MORE_PARTS.get(kind, _PARTS):
            raise refusal(f"{node.sql('spark')} ({', '.join(sorted(unknown))})")
        special = _SPECIAL.get(kind)
        if special is not None:
            return special(self, node)
        if kind in _COMPARISONS:
            return self.compared(_COMPARISONS[kind], self.bind(node.this), self.bind(node.expression))
        if kind in _ARITHMETIC:
            return self.computed(_ARITHMETIC[kind], self.bind(node.this), self.bind(node.expression))
        if kind in _TEXT_TESTS:
            texts = [self.cast(self.bind(n), STRING) for n in (node.this, node.expression)]
            return condition_of(_TEXT_TESTS[kind], *texts)
        if kind in _DATE_PARTS:
            inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
            return Bound(_DATE_PARTS[kind], INT, (self.cast(self.bind(inner), DATE),))
        if kind in _OF_TEXT:
            name, result = _OF_TEXT[kind]
            return Bound(name, result, (self.cast(self.bind(node.this), STRING),))
        raise refusal(node.sql("spark"))

    # -- values -------------------------------------------------------------------------------------------------------
    def column(self, node: exp.Expression) -> Bound:
        """A column, or a field in a ROW."""
        names = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
        if not names or isinstance(node.this, exp.Star):
            raise refusal(node.sql("spark"))
        return self.named(names)

    def number_or_text(self, node: exp.Expression) -> Bound:
        """A constant: a text, or a number, with the type that Spark gives it."""
        text = str(node.this)
        if node.is_string:
            return literal(text, STRING)
        return self.number(text)

    def binary(self, node: exp.Expression) -> Bound:
        digits = str(node.this)
        return literal(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")), BYTES)

    def negative(self, node: exp.Expression) -> Bound:
        inner = node.this
        if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal) and not inner.this.is_string:
            # a suffix, as in -9223372036854775808L
            return self.cast(self.negative(exp.Neg(this=inner.this)), _type_of(inner.args["to"], inner))
        return self.negated_number(self.bind(inner), node.sql("spark"))

    def absolute(self, node: exp.Expression) -> Bound:
        found = self.bind(node.this)
        if found.type.kind not in NUMBERS:
            raise refusal(node.sql("spark"))
        return Bound("abs", found.type, (found,))

    def first_known(self, node: exp.Expression) -> Bound:
        parts = self.alike([self.bind(n) for n in (node.this, *node.expressions)])
        return Bound("coalesce", parts[0].type, tuple(parts))

    def joined(self, node: exp.Expression) -> Bound:
        given = (node.this, node.expression) if isinstance(node, exp.DPipe) else node.expressions
        parts = tuple(self.cast(self.bind(n), STRING) for n in given)
        return Bound("concat", STRING, parts)

    def converted(self, node: exp.Expression) -> Bound:
        return as_string(self.cast(self.bind(node.this), _type_of(node.args["to"], node)))

    # -- conditions ---------------------------------------------------------------------------------------------------
    def both(self, name: str, node: exp.Expression) -> Bound:
        """Return the AND or OR of all parts of a chain as one node: a tree of pairs would be too deep for thousands of
        parts.
        """
        parts = [self.cast(self.bind(n), BOOLEAN) for n in node.flatten(unnest=False)]
        return condition_of(name, *parts)

    def negated(self, node: exp.Expression) -> Bound:
        return condition_of("not", self.cast(self.bind(node.this), BOOLEAN))

    def tested(self, node: exp.Expression) -> Bound:
        """IS NULL, IS TRUE, IS FALSE."""
        child = self.bind(node.this)
        if isinstance(node.expression, exp.Null):
            return condition_of("is_null", child)
        if isinstance(node.expression, exp.Boolean):
            wanted = literal(bool(node.expression.this), BOOLEAN)
            return condition_of("<=>", self.cast(child, BOOLEAN), wanted)
        raise refusal(node.sql("spark"))

    def distinct(self, node: exp.Expression) -> Bound:
        return condition_of("not", self.compared("<=>", self.bind(node.this), self.bind(node.expression)))

    def between(self, node: exp.Expression) -> Bound:
        child, low, high = (as_string(self.bind(node.args[name])) for name in ("this", "low", "high"))
        return condition_of("and", self.compared(">=", child, low), self.compared("<=", child, high))

    def listed(self, node: exp.Expression) -> Bound:
        if not node.expressions:
            raise refusal(node.sql("spark"))
        return self.among(self.bind(node.this), [self.bind(n) for n in node.expressions])

    def like(self, node: exp.Expression, escape: str = "\\") -> Bound:
        child, pattern = self.cast(self.bind(node.this), STRING), self.bind(node.expression)
        if not pattern.is_literal or not isinstance(pattern.value, str):
            raise refusal(f"{node.sql('spark')} with a pattern that is not a constant")
        flags = "(?is)" if isinstance(node, exp.ILike) else "(?s)"
        plain = pattern.value if escape == "\\" else None  # a pattern with another escape is not a prefix
        found = condition_of("like", child, value=(plain, flags + _like_regex(pattern.value, escape)))
        return condition_of("not", found) if node.args.get("negate") else found

    def escaped(self, node: exp.Expression) -> Bound:
        if not isinstance(node.this, exp.Like | exp.ILike) or len(node.expression.name) != 1:
            raise refusal(node.sql("spark"))
        return self.like(node.this, node.expression.name)

    def regex(self, node: exp.Expression) -> Bound:
        child, pattern = self.cast(self.bind(node.this), STRING), self.bind(node.expression)
        if not pattern.is_literal or not isinstance(pattern.value, str):
            raise refusal(f"{node.sql('spark')} with a pattern that is not a constant")
        return condition_of("rlike", child, value=Pattern.of("The pattern in where", pattern.value).text)

    def containing(self, node: exp.Expression) -> Bound:
        """`array_contains(array, value)`."""
        array, value = self.bind(node.this), self.bind(node.expression)
        if value.is_null and isinstance(node.expression, exp.Null):
            raise refusal(f"{node.sql('spark')}: NULL has no type; the condition is never true")
        return self.having_any("array_contains", array, [value])

    def called(self, node: exp.Expression) -> Bound:
        """`arrays_overlap(array, array(constant, …))`, or the reverse."""
        arrays = sorted(node.expressions, key=lambda n: isinstance(n, exp.Array))
        if str(node.this).upper() != "ARRAYS_OVERLAP" or [isinstance(n, exp.Array) for n in arrays] != [False, True]:
            raise refusal(node.sql("spark"))
        values = [self.bind(n) for n in arrays[1].expressions]
        if not all(v.is_literal for v in values):
            raise refusal(f"{node.sql('spark')} with elements that are not constants")
        return self.having_any("arrays_overlap", self.bind(arrays[0]), self.alike(values))

    # -- types --------------------------------------------------------------------------------------------------------


_SPECIAL: dict[type[exp.Expression], Callable[[_Binder, Any], Bound]] = {
    exp.Column: _Binder.column,
    exp.Dot: _Binder.column,
    exp.Literal: _Binder.number_or_text,
    exp.RawString: lambda _, node: literal(str(node.this), STRING),
    exp.HexString: _Binder.binary,
    exp.Boolean: lambda _, node: literal(bool(node.this), BOOLEAN),
    exp.Null: lambda _, node: literal(None, BOOLEAN),
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.And: lambda binder, node: binder.both("and", node),
    exp.Or: lambda binder, node: binder.both("or", node),
    exp.Not: _Binder.negated,
    exp.Is: _Binder.tested,
    exp.NullSafeNEQ: _Binder.distinct,
    exp.Between: _Binder.between,
    exp.In: _Binder.listed,
    exp.Like: _Binder.like,
    exp.ILike: _Binder.like,
    exp.Escape: _Binder.escaped,
    exp.RegexpLike: _Binder.regex,
    exp.Cast: _Binder.converted,
    exp.TryCast: _Binder.converted,
    exp.Neg: _Binder.negative,
    exp.Abs: _Binder.absolute,
    exp.Coalesce: _Binder.first_known,
    exp.Concat: _Binder.joined,
    exp.DPipe: _Binder.joined,
    exp.ArrayContains: _Binder.containing,
    exp.Anonymous: _Binder.called,
}


def _with_quotes(text: str, tokens: Sequence[Token]) -> str:
    """Return the text with `\\'` for the `''` in a string, which is a quote in Spark and which sqlglot splits."""
    for one, other in reversed(list(pairwise(tokens))):
        is_doubled = one.token_type is other.token_type is TokenType.STRING and one.end + 1 == other.start
        if is_doubled and text[one.end] == text[other.start]:
            text = f"{text[: one.end]}\\{text[other.start :]}"
    return text


def _type_of(node: exp.DataType, whole: exp.Expression) -> DataType:
    if node.this is exp.DType.DECIMAL:
        precision, scale = [int(p.name) for p in node.expressions] + [10, 0][len(node.expressions) :]
        return DecimalType(precision=precision, scale=scale)
    found = _TYPES.get(node.this)
    if found is None or node.expressions:
        raise refusal(whole.sql("spark"))
    return found


def _like_regex(pattern: str, escape: str) -> str:
    """The regular expression of a LIKE pattern. Raises `InvalidOptionError` as Spark does for a wrong escape."""
    plain = pattern
    if escape != "\\":
        plain = pattern.replace("\\", "\\\\").replace(escape, "\\")
    parts = []
    for found in _WILDCARD.finditer(plain):
        if found["any"] or found["one"]:
            parts.append(".*" if found["any"] else ".")
        elif found["escaped"] and found["escaped"][1] in "%_\\" + escape:
            parts.append(re.escape(found["escaped"][1]))
        elif found["plain"] and found["plain"] != "\\":
            parts.append(re.escape(found["plain"]))
        else:
            raise InvalidOptionError(
                f"where has the LIKE pattern {pattern!r}, in which {escape!r} escapes neither '%', '_' nor itself: "
                f"write {escape * 2!r} for the character itself."
            )
    return rf"\A{''.join(parts)}\z"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
