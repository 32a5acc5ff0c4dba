"""Trees of conditions, made node by node with the types and casts that Spark gives them.

`binding` makes nodes from SQL by sqlglot, `simple` from the text of simple conditions without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from decimal import Decimal

from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, NUMBERS, TEXTS
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    RowType,
)
from paimon_sql.python.where.bound import CAST, COLUMN, Bound, condition_of, literal, nodes
from paimon_sql.python.where.casts import check_castable, text_moment
from paimon_sql.python.where.coercion import COMPARED, common_type, result_type, spark_type, tightest_type
from paimon_sql.python.where.evaluation import value_of

_LONGEST_NUMBER = 1_000  # characters
_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1
PADDED = "padded"  # the node of a CHAR column; its value is the length


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes the nodes of conditions on columns; `zone` is the zone of wall clocks."""

    fields: Sequence[DataField]
    zone: tzinfo | None

    def named(self, names: Sequence[str]) -> Bound:
        """Return a column, or a field in a ROW. Raises `ColumnNotFoundError`."""
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
            return Bound(PADDED, STRING, (found,), data_type.length)  # as Spark reads CHAR
        return found

    def number(self, text: str) -> Bound:
        """Return a number without a sign, with the type that Spark gives it. Raises `UnsupportedFeatureError`."""
        if len(text) > _LONGEST_NUMBER:
            raise refusal(f"{text[:40]}…")
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
            raise refusal(text)
        return literal(digits, DecimalType(precision=max(whole + scale, 1), scale=scale))

    def negated_number(self, found: Bound, text: str) -> Bound:
        """Return the negative of a number; `text` is the expression. Raises `UnsupportedFeatureError`."""
        if found.type.kind not in NUMBERS:
            raise refusal(text)
        if found.is_literal and found.value is not None:
            return literal(-found.value, INT if -found.value == -_LARGEST_INT - 1 else found.type)
        return Bound("negative", found.type, (found,))

    def among(self, child: Bound, given: Sequence[Bound]) -> Bound:
        """Return `child IN (given, …)`."""
        child, *values = _as_long(self.alike([child, *given]), self.zone)
        if all(v.is_literal for v in values) and child.type.kind not in FLOATS:
            return _unwrapped_list(condition_of("in", child, *values))
        equal = [self.compared("=", child, v) for v in values]
        return condition_of("or", *equal) if len(equal) > 1 else equal[0]

    def having_any(self, name: str, array: Bound, given: Sequence[Bound]) -> Bound:
        """Return `array_contains(array, value)` or `arrays_overlap(array, array(value, …))`.

        Its `value` is the type in which elements are compared. Raises `UnsupportedFeatureError`.
        """
        if not isinstance(array.type, CollectionType) or array.type.kind is not Kind.ARRAY:
            raise UnsupportedFeatureError(f"where cannot evaluate {name} of {array.type.sql()}: it takes an ARRAY.")
        if array.type.element.kind is Kind.CHAR:
            raise UnsupportedFeatureError(f"where cannot evaluate {name} of elements of type CHAR: filter the result.")
        element = spark_type(array.type.element)
        known = [v for v in given if not v.is_null]
        wanted = tightest_type(element, known[0].type) if known else element
        values = [self.cast(v, wanted) for v in given]
        narrowed = [_narrowed(v, element) for v in values]
        if all(v.type == element for v in narrowed):  # elements need no cast, and the condition can skip files
            wanted, values = element, narrowed
        return condition_of(name, array, *values, value=wanted)

    def compared(self, operator: str, left: Bound, right: Bound) -> Bound:
        """Return a comparison in the type in which Spark compares."""
        for one, other in ((left, right), (right, left)):
            if one.is_literal and one.value is not None and (fitted := _fitted(one, other, self.zone)) is not None:
                left, right = (fitted, other) if one is left else (other, fitted)
                return condition_of(operator, left, right)
        left, right = _as_long(self.alike([left, right]), self.zone)
        return condition_of(operator, left, right)

    def computed(self, operator: str, left: Bound, right: Bound) -> Bound:
        """Return arithmetic on numbers."""
        left, right = (self.cast(x, DOUBLE) if x.type.kind in TEXTS else x for x in (left, right))
        if left.is_null or right.is_null:
            left, right = self.alike([left, right])
        return Bound(operator, result_type(operator, left.type, right.type), (left, right))

    def alike(self, nodes: Sequence[Bound]) -> list[Bound]:
        """Return nodes in their common type; NULL has any type."""
        known = [n.type for n in nodes if not n.is_null]
        wanted = known[0] if known else BOOLEAN
        for data_type in known[1:]:
            wanted = common_type(wanted, data_type)
        if wanted.kind not in COMPARED:
            raise UnsupportedFeatureError(f"where cannot compare values of type {wanted.sql()}: filter the result.")
        return [literal(None, wanted) if n.is_null else self.cast(n, wanted) for n in nodes]

    def cast(self, node: Bound, target: DataType) -> Bound:
        """Return a node in another type. Raises `InvalidDataError` for a constant that the type cannot hold."""
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


def _fitted(constant_node: Bound, column: Bound, zone: tzinfo | None) -> Bound | None:
    """Return a constant in the type of a column, if the type has exactly this value; None if it does not.

    A comparison in the column's type gives the same result and can prune files. Spark removes such casts, too.
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


def _narrowed(constant_node: Bound, element: DataType) -> Bound:
    """Return a constant integer, or NULL, in the type of elements if that type has it; else the node."""
    if constant_node.is_null:
        return literal(None, element)
    if not constant_node.is_literal or not {constant_node.type.kind, element.kind} <= INTEGERS:
        return constant_node
    try:
        return literal(value_of(Bound(CAST, element, (constant_node,)), None), element)
    except PaimonError:
        return constant_node


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


def _as_long(operands: list[Bound], zone: tzinfo | None) -> list[Bound]:
    """Pad columns of CHAR, and the constants that are compared with them, to the longest of these lengths, as Spark
    does.
    """
    if all(n.name != PADDED for n in operands):
        return operands
    operands = [n if n.is_literal or _has_columns(n) else literal(value_of(n, zone), n.type) for n in operands]
    length = max(n.value if n.name == PADDED else len(n.value) for n in operands if n.name == PADDED or _is_text(n))
    return [
        replace(n, value=length) if n.name == PADDED else literal(n.value.ljust(length), n.type) if _is_text(n) else n
        for n in operands
    ]


def as_string(node: Bound) -> Bound:
    """Return a node for an operation that does not pad: Spark pads columns of CHAR only in comparisons and in IN."""
    return Bound(CAST, STRING, (node,)) if node.name == PADDED else node


def _has_columns(node: Bound) -> bool:
    return any(n.name == COLUMN for n in nodes(node))


def _is_text(node: Bound) -> bool:
    return node.is_literal and isinstance(node.value, str)


def _named(name: str, fields: Mapping[str, DataField]) -> DataField | None:
    """The field with a name, or the only one with the name in another case."""
    if name in fields:
        return fields[name]
    alike = [f for key, f in fields.items() if key.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def refusal(what: str) -> UnsupportedFeatureError:
    """Return the error for an expression that is not evaluated here."""
    return UnsupportedFeatureError(
        f"where cannot evaluate {what} without Spark: filter the result of the scan, or run the query in Spark."
    )
