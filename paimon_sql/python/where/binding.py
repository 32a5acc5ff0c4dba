"""The SQL text of a condition as a tree with types, by sqlglot's parser of Spark's dialect.

What this module does not know is refused by name: a condition is evaluated as Spark does, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from paimon_core.arrow.patterns import Pattern
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.kinds import FLOATS, MOMENTS, NUMBERS, TEXTS
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
    LengthType,
    RowType,
)
from paimon_sql.python.where.bound import CAST, COLUMN, Bound, condition_of, literal
from paimon_sql.python.where.casts import check_castable, text_moment
from paimon_sql.python.where.coercion import COMPARED, TIMESTAMP, TIMESTAMP_LTZ, common_type, result_type, spark_type
from paimon_sql.python.where.evaluation import value_of

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
# further parts of nodes that are read, or that mean nothing here; a node with other parts is refused
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
_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1
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
    """Return the tree of an expression of any type. Raises as `bind`."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
        parsed = sqlglot.parse_one(_with_quotes(text, tokens), read="spark")
    except (SqlglotError, ValueError, RecursionError) as e:
        cause = f"it is not valid SQL ({_first_line(e)})"
        raise InvalidOptionError(f"where cannot be {text!r}: {cause}.") from e
    words = {t.text.upper() for t in tokens if t.token_type is TokenType.VAR}
    if "TRY_CAST" in words:  # the tree does not show it
        raise _refusal("TRY_CAST")
    return _Binder(fields, zone).bind(parsed)


@dataclass(frozen=True, slots=True)
class _Binder:
    fields: Sequence[DataField]
    zone: tzinfo | None

    def bind(self, node: exp.Expression) -> Bound:
        kind = type(node)
        given = {name for name, part in node.args.items() if part not in (None, False, [])}
        if unknown := given - _PARTS - _MORE_PARTS.get(kind, _PARTS):
            raise _refusal(f"{node.sql('spark')} ({', '.join(sorted(unknown))})")
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
        raise _refusal(node.sql("spark"))

    # -- values -------------------------------------------------------------------------------------------------------
    def column(self, node: exp.Expression) -> Bound:
        """A column, or a field in a ROW."""
        names = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
        if not names or isinstance(node.this, exp.Star):
            raise _refusal(node.sql("spark"))
        first = _named(names[0], {f.name: f for f in self.fields})
        if first is None:
            raise ColumnNotFoundError(
                f"where names the column {names[0]!r}, which does not exist: the columns are "
                f"{', '.join(f.name for f in self.fields)}."
            )
        found, data_type = Bound(COLUMN, spark_type(first.type), value=first.name), first.type
        for name in names[1:]:
            inner = _named(name, {f.name: f for f in data_type.fields}) if isinstance(data_type, RowType) else None
            if inner is None:
                raise ColumnNotFoundError(f"where names {'.'.join(names)!r}: {data_type.sql()} has no field {name!r}.")
            found, data_type = Bound("field", spark_type(inner.type), (found,), inner.name), inner.type
        if isinstance(data_type, LengthType) and data_type.kind is Kind.CHAR:
            return Bound("padded", STRING, (found,), data_type.length)  # as Spark reads CHAR
        return found

    def number(self, node: exp.Expression) -> Bound:
        """A constant: a text, or a number, with the type that Spark gives it."""
        text = str(node.this)
        if node.is_string:
            return literal(text, STRING)
        if re.fullmatch("[0-9]+", text):
            value = int(text)
            if value <= _LARGEST_BIGINT:
                return literal(value, INT if value <= _LARGEST_INT else BIGINT)
        if not re.fullmatch(r"[0-9]*\.?[0-9]*", text):
            return literal(float(text), DOUBLE)
        digits = Decimal(text)
        scale = max(0, -int(digits.as_tuple().exponent))
        whole = len(str(abs(int(digits)))) if int(digits) else 0
        if max(whole + scale, 1) > DecimalType.MAX_PRECISION:
            raise _refusal(text)
        return literal(digits, DecimalType(precision=max(whole + scale, 1), scale=scale))

    def binary(self, node: exp.Expression) -> Bound:
        digits = str(node.this)
        return literal(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")), BYTES)

    def negative(self, node: exp.Expression) -> Bound:
        inner = node.this
        if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal) and not inner.this.is_string:
            # a suffix, as in -9223372036854775808L
            return self.cast(self.negative(exp.Neg(this=inner.this)), _type_of(inner.args["to"], inner))
        found = self.bind(inner)
        if found.type.kind not in NUMBERS:
            raise _refusal(node.sql("spark"))
        if found.is_literal and found.value is not None:
            return literal(-found.value, INT if -found.value == -_LARGEST_INT - 1 else found.type)
        return Bound("negative", found.type, (found,))

    def absolute(self, node: exp.Expression) -> Bound:
        found = self.bind(node.this)
        if found.type.kind not in NUMBERS:
            raise _refusal(node.sql("spark"))
        return Bound("abs", found.type, (found,))

    def first_known(self, node: exp.Expression) -> Bound:
        parts = self.alike([self.bind(n) for n in (node.this, *node.expressions)])
        return Bound("coalesce", parts[0].type, tuple(parts))

    def joined(self, node: exp.Expression) -> Bound:
        given = (node.this, node.expression) if isinstance(node, exp.DPipe) else node.expressions
        parts = tuple(self.cast(self.bind(n), STRING) for n in given)
        return Bound("concat", STRING, parts)

    def converted(self, node: exp.Expression) -> Bound:
        return self.cast(self.bind(node.this), _type_of(node.args["to"], node))

    # -- conditions ---------------------------------------------------------------------------------------------------
    def both(self, name: str, node: exp.Expression) -> Bound:
        parts = [self.cast(self.bind(n), BOOLEAN) for n in (node.left, node.right)]
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
        raise _refusal(node.sql("spark"))

    def distinct(self, node: exp.Expression) -> Bound:
        return condition_of("not", self.compared("<=>", self.bind(node.this), self.bind(node.expression)))

    def between(self, node: exp.Expression) -> Bound:
        child, low, high = (self.bind(node.args[name]) for name in ("this", "low", "high"))
        return condition_of("and", self.compared(">=", child, low), self.compared("<=", child, high))

    def listed(self, node: exp.Expression) -> Bound:
        if not node.expressions:
            raise _refusal(node.sql("spark"))
        given = [self.bind(n) for n in node.expressions]
        child, *values = _as_long(self.alike([self.bind(node.this), *given]))
        if all(v.is_literal for v in values) and child.type.kind not in FLOATS:
            return _unwrapped_list(condition_of("in", child, *values))
        equal = [self.compared("=", child, v) for v in values]
        return condition_of("or", *equal) if len(equal) > 1 else equal[0]

    def like(self, node: exp.Expression, escape: str = "\\") -> Bound:
        child, pattern = self.cast(self.bind(node.this), STRING), self.bind(node.expression)
        if not pattern.is_literal or not isinstance(pattern.value, str):
            raise _refusal(f"{node.sql('spark')} with a pattern that is not a constant")
        flags = "(?is)" if isinstance(node, exp.ILike) else "(?s)"
        plain = pattern.value if escape == "\\" else None  # a pattern with another escape is not a prefix
        found = condition_of("like", child, value=(plain, flags + _like_regex(pattern.value, escape)))
        return condition_of("not", found) if node.args.get("negate") else found

    def escaped(self, node: exp.Expression) -> Bound:
        if not isinstance(node.this, exp.Like | exp.ILike) or len(node.expression.name) != 1:
            raise _refusal(node.sql("spark"))
        return self.like(node.this, node.expression.name)

    def regex(self, node: exp.Expression) -> Bound:
        child, pattern = self.cast(self.bind(node.this), STRING), self.bind(node.expression)
        if not pattern.is_literal or not isinstance(pattern.value, str):
            raise _refusal(f"{node.sql('spark')} with a pattern that is not a constant")
        return condition_of("rlike", child, value=Pattern.of("The pattern in where", pattern.value).text)

    # -- types --------------------------------------------------------------------------------------------------------
    def compared(self, operator: str, left: Bound, right: Bound) -> Bound:
        for one, other in ((left, right), (right, left)):
            if one.is_literal and one.value is not None and (fitted := _fitted(one, other, self.zone)) is not None:
                left, right = (fitted, other) if one is left else (other, fitted)
                return condition_of(operator, left, right)
        left, right = _as_long(self.alike([left, right]))
        return condition_of(operator, left, right)

    def computed(self, operator: str, left: Bound, right: Bound) -> Bound:
        left, right = (self.cast(x, DOUBLE) if x.type.kind in TEXTS else x for x in (left, right))
        if left.is_null or right.is_null:
            left, right = self.alike([left, right])
        return Bound(operator, result_type(operator, left.type, right.type), (left, right))

    def alike(self, nodes: Sequence[Bound]) -> list[Bound]:
        """The nodes in their common type; NULL has any type."""
        known = [n.type for n in nodes if not n.is_null]
        wanted = known[0] if known else BOOLEAN
        for data_type in known[1:]:
            wanted = common_type(wanted, data_type)
        if wanted.kind not in COMPARED:
            raise UnsupportedFeatureError(f"where cannot compare values of type {wanted.sql()}: filter the result.")
        return [literal(None, wanted) if n.is_null else self.cast(n, wanted) for n in nodes]

    def cast(self, node: Bound, target: DataType) -> Bound:
        if node.type == target:
            return node
        if node.is_null:
            return literal(None, target)
        check_castable(node.type, target, is_literal=node.is_literal)
        if not node.is_literal:
            return Bound(CAST, target, (node,))
        if node.type.kind in TEXTS and target.kind in MOMENTS:
            return literal(text_moment(node.value, target, self.zone), target)
        return literal(value_of(Bound(CAST, target, (node,)), self.zone), target)


_SPECIAL: dict[type[exp.Expression], Callable[[_Binder, Any], Bound]] = {
    exp.Column: _Binder.column,
    exp.Dot: _Binder.column,
    exp.Literal: _Binder.number,
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
}


def _fitted(constant_node: Bound, column: Bound, zone: tzinfo | None) -> Bound | None:
    """Return a constant in the type of a column, if the type has exactly this value; None if it does not.

    Comparing in the column's type gives the same result, and prunes files. Spark removes such casts likewise.
    """
    source, target = constant_node.type, column.type
    if column.is_literal or source == target or source.kind not in NUMBERS or target.kind not in NUMBERS:
        return None
    try:
        common = common_type(source, target)
        there = value_of(Bound(CAST, target, (constant_node,)), zone)
        made = literal(there, target)
        back, wide = (value_of(Bound(CAST, common, (n,)), zone) for n in (made, constant_node))
    except PaimonError:
        return None
    return made if back == wide else None


def _unwrapped_list(node: Bound) -> Bound:
    """Return `CAST(column) IN (constants)` without the cast, if the column's type has all the constants exactly."""
    child, *values = node.parts
    if child.name != CAST:
        return node
    (column,) = child.parts
    fitted = [v if v.is_null else _fitted(v, column, None) for v in values]
    known = [literal(None, column.type) if f is not None and f.is_null else f for f in fitted]
    parts = [f for f in known if f is not None]
    return condition_of("in", column, *parts) if len(parts) == len(known) else node


def _as_long(operands: list[Bound]) -> list[Bound]:
    """Pad constants to the length of a CHAR that they are compared with, as Spark does."""
    length = max((n.value for n in operands if n.name == "padded"), default=0)
    return [
        literal(n.value.ljust(length), n.type) if length and n.is_literal and n.value is not None else n
        for n in operands
    ]


def _named(name: str, fields: Mapping[str, DataField]) -> DataField | None:
    """The field with a name, or the only one with the name in another case."""
    if name in fields:
        return fields[name]
    alike = [f for key, f in fields.items() if key.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


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
        raise _refusal(whole.sql("spark"))
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


def _refusal(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"where cannot evaluate {what} without Spark: filter the result of the scan, or run the query in Spark."
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
