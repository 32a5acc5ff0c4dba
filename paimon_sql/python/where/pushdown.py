"""The conjuncts of a condition that prune files, by the translation that Spark's scans use (`expressions.terms`)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.expressions.predicate import Predicate
from paimon_core.expressions.terms import Call, LiteralValue, Reference, Term, predicate_of
from paimon_core.spec.types import CollectionType, DataField, Kind, TimeType, element_of
from paimon_sql.python.where.bound import COLUMN, Bound, nodes
from paimon_sql.python.where.coercion import spark_type

_NAMES = {"and": "AND", "or": "OR", "not": "NOT", "is_null": "IS_NULL", "in": "IN"}
_COMPARED = frozenset(("=", "<>", "<", "<=", ">", ">=", "<=>"))
_UNPRUNED = (Kind.CHAR, Kind.BLOB, Kind.TIME)  # Spark pads CHAR before it compares
_MICROSECONDS = 6


def pushed_predicate(node: Bound, fields: Mapping[str, DataField]) -> Predicate | None:
    """Return the predicate of a conjunct, or None if the conjunct prunes nothing. `fields` are the table's columns."""
    named = {n.value for n in nodes(node) if n.name == COLUMN}
    if not named or not all(name in fields and _prunes(fields[name]) for name in named):
        return None
    term = _term(node)
    return None if term is None else predicate_of(term, fields)


def _prunes(field: DataField) -> bool:
    compared = element_of(field.type) or field.type
    is_finer = isinstance(compared, TimeType) and compared.precision > _MICROSECONDS  # Spark compares microseconds
    return compared.kind not in _UNPRUNED and not is_finer


def _term(node: Bound) -> Term | None:
    if node.name == COLUMN:
        return Call("=", (Reference((node.value,)), LiteralValue(True))) if node.type.kind is Kind.BOOLEAN else None
    if node.name == "not" and node.parts[0].name == "is_null":
        return _call("IS_NOT_NULL", node.parts[0])
    if node.name == "like":
        return _prefix(node)
    if node.name in ("and", "or", "not"):
        return _of_terms(_NAMES[node.name], [_term(p) for p in node.parts])
    if node.name in ("array_contains", "arrays_overlap"):
        return _of_elements(node)
    if node.name in _COMPARED or node.name in _NAMES:
        return _call(_NAMES.get(node.name, node.name), node)
    if node.name == "startswith":
        return _call("STARTS_WITH", node)
    return None


def _call(name: str, node: Bound) -> Term | None:
    return _of_terms(name, [_value(p) for p in node.parts])


def _of_elements(node: Bound) -> Term | None:
    """A condition that is true if an ARRAY has one of some constants; None if elements are cast before."""
    array, *values = node.parts
    if not isinstance(array.type, CollectionType) or spark_type(array.type.element) != node.value:
        return None
    return _of_terms("ARRAYS_OVERLAP", [_value(p) for p in (array, *values) if not p.is_null])


def _of_terms(name: str, terms: list[Term | None]) -> Term | None:
    known = tuple(t for t in terms if t is not None)
    return Call(name, known) if len(known) == len(terms) else None


def _value(node: Bound) -> Term | None:
    """A column or a constant, as Spark's rows store it."""
    if node.name == COLUMN:
        return Reference((node.value,))
    if not node.is_literal:
        return None
    value = node.value
    return LiteralValue(format(value, "f") if node.type.kind is Kind.DECIMAL and value is not None else value)


def _prefix(node: Bound) -> Term | None:
    """`LIKE 'prefix%'`; None for other patterns."""
    pattern, regex = node.value
    prefix = (pattern or "")[:-1]
    if pattern is None or not regex.startswith("(?s)") or not pattern.endswith("%") or any(c in prefix for c in "%_\\"):
        return None
    column = _value(node.parts[0])
    return None if column is None else Call("STARTS_WITH", (column, LiteralValue(prefix)))
