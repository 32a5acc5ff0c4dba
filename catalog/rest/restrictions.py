"""The filters and masks in a server's answer. A filter or mask is refused if its name is unknown, or if it has another
meaning for the types of the table's columns: so no row and no value is shown by mistake.

Source: `Predicate`, `LeafPredicate`, `CompoundPredicate`, `Transform` of Paimon, and their JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from paimon_core.errors import PaimonError
from paimon_core.expressions.shown import (
    FUNCTIONS,
    Cased,
    Condition,
    Constant,
    Every,
    Joined,
    Shown,
    ShownColumn,
    Some,
    Term,
)
from paimon_core.expressions.shown import Test as Leaf
from paimon_core.spec.kinds import FLOATS, INTEGERS, TEXTS, is_in_range
from paimon_core.spec.types import DataField, Kind, parse_type

_MOST_DEPTH = 50
_OF_NULLS = frozenset(("IS_NULL", "IS_NOT_NULL"))
_OF_TEXTS = frozenset(("STARTS_WITH", "ENDS_WITH", "CONTAINS", "LIKE"))
_OF_SETS = frozenset(("IN", "NOT_IN"))
_OF_PAIRS = frozenset(("BETWEEN", "NOT_BETWEEN"))
_OF_BOOLEANS = frozenset(("EQUAL", "NOT_EQUAL")) | _OF_SETS


class UnknownRestriction(Exception):
    """A filter or mask is unknown here. The message names the unknown part."""


def read_restrictions(filters: Iterable[str], masks: Mapping[str, str], fields: Iterable[DataField]) -> Shown | None:
    """Parse the part of a table with these columns that the user may see. Return None if it is the whole table.

    Raises `UnknownRestriction`.
    """
    known = {f.name: f for f in fields}
    conditions = tuple(_condition(_json(text), known) for text in filters if text)
    if unknown := sorted(name for name, text in masks.items() if text and name not in known):
        raise UnknownRestriction(f"a mask of column {unknown[0]!r}, which the table does not have")
    given = ((known[name], text) for name, text in sorted(masks.items()) if text)
    made = tuple((field.name, _mask(text, field, known), field.type.nullable) for field, text in given)
    condition = conditions[0] if len(conditions) == 1 else Every(conditions) if conditions else None
    return Shown(condition, made) if condition is not None or made else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnknownRestriction("a text that is not JSON") from None


def _condition(node: Any, fields: Mapping[str, DataField], depth: int = 0) -> Condition:
    kind = _member(node, "kind", str)
    if depth > _MOST_DEPTH:
        raise UnknownRestriction("a filter of too many levels")
    if kind == "COMPOUND":
        function, parts = _member(node, "function", str), _member(node, "children", list)
        children = tuple(_condition(part, fields, depth + 1) for part in parts)
        if function not in ("AND", "OR") or not children:
            raise UnknownRestriction(f"a filter that combines {len(children)} parts by {function}")
        return Every(children) if function == "AND" else Some(children)
    if kind != "LEAF":
        raise UnknownRestriction(f"a filter of kind {kind}")
    function, transform = _member(node, "function", str), _member(node, "transform", dict)
    if function in ("TRUE", "FALSE"):
        return Leaf(function, Constant(None))
    term, of = _term(transform, fields)
    if function not in FUNCTIONS:
        raise UnknownRestriction(f"a filter by {function}")
    if function in _OF_NULLS:
        return Leaf(function, term)
    if of is None:
        raise UnknownRestriction(f"a filter by {function} of NULL")
    literals = _member(node, "literals", list)
    expected = 2 if function in _OF_PAIRS else 1
    if function not in _OF_SETS and len(literals) != expected:
        raise UnknownRestriction(f"a filter by {function} with {len(literals)} literals")
    if (function in _OF_TEXTS and of not in TEXTS) or (of is Kind.BOOLEAN and function not in _OF_BOOLEANS):
        raise UnknownRestriction(f"a filter by {function} of {of.value}")
    if function == "LIKE" and any(c in str(literals[0]) for c in "_\\"):
        raise UnknownRestriction("a filter by LIKE with other patterns than %")
    return Leaf(function, term, tuple(None if v is None else _literal(v, of) for v in literals))


def _literal(value: Any, kind: Kind) -> Any:
    if kind in TEXTS and isinstance(value, str):
        return value
    if kind is Kind.BOOLEAN and isinstance(value, bool):
        return value
    if not isinstance(value, bool):
        if kind in INTEGERS and isinstance(value, int) and is_in_range(kind, value):
            return value
        # Java distinguishes 0.0 and -0.0
        if kind in FLOATS and isinstance(value, (int, float)) and math.isfinite(value) and value:
            return float(value)
    raise UnknownRestriction(f"a filter that compares {kind.value} with {str(value)[:100]!r}")


def _mask(text: str, field: DataField, fields: Mapping[str, DataField]) -> Term:
    """Return the mask of a column. Raises `UnknownRestriction` if its values have another type than the column."""
    term, kind = _term(_json(text), fields)
    if kind is None:
        if not field.type.nullable:
            raise UnknownRestriction(f"a mask of NULLs for column {field.name!r}, which is NOT NULL")
        return term
    same = term == ShownColumn(field.name) or ({kind, field.type.kind} <= TEXTS)
    if not same and not (kind in INTEGERS | FLOATS | {Kind.BOOLEAN, Kind.DATE} and kind is field.type.kind):
        raise UnknownRestriction(f"a mask of {kind.value} for column {field.name!r}, which is {field.type.sql()}")
    return term


def _term(node: Any, fields: Mapping[str, DataField]) -> tuple[Term, Kind | None]:
    """Return the term of a transform, and the kind of its values (None if all are NULL)."""
    name = _member(node, "name", str)
    if name == "NULL":
        return Constant(None), None
    if name == "FIELD_REF":
        field = _field(_member(node, "fieldRef", dict), fields)
        return ShownColumn(field.name), field.type.kind
    if name not in ("CONCAT", "CONCAT_WS", "UPPER", "LOWER"):
        raise UnknownRestriction(f"a transform {name}")
    parts = tuple(_text(part, fields) for part in _member(node, "inputs", list))
    if name in ("UPPER", "LOWER"):
        if len(parts) != 1:
            raise UnknownRestriction(f"{name} of {len(parts)} texts")
        return Cased(parts[0], name == "UPPER"), Kind.VARCHAR
    if name == "CONCAT":
        if not parts:
            raise UnknownRestriction("CONCAT of nothing")
        return Joined(parts), Kind.VARCHAR
    separator = parts[0] if parts else None
    if len(parts) < 2 or not isinstance(separator, Constant) or separator.value is None:
        raise UnknownRestriction("CONCAT_WS with a separator that is not a text")
    return Joined(parts[1:], separator.value), Kind.VARCHAR


def _text(node: Any, fields: Mapping[str, DataField]) -> Term:
    """Return an input of a transform of texts."""
    if node is None or isinstance(node, str):
        return Constant(node)
    field = _field(node, fields)
    if field.type.kind not in TEXTS:
        raise UnknownRestriction(f"column {field.name!r} as a text, which is {field.type.sql()}")
    return ShownColumn(field.name)


def _field(node: Any, fields: Mapping[str, DataField]) -> DataField:
    """Return the column that a reference names. Its number belongs to another schema.

    Raises `UnknownRestriction` if its type is different.
    """
    name = _member(node, "name", str)
    found = fields.get(name)
    if found is None:
        raise UnknownRestriction(f"column {name!r}, which the table does not have")
    try:
        kind = parse_type(node.get("type")).kind
    except PaimonError:
        raise UnknownRestriction(f"column {name!r} of an unknown type") from None
    if kind is not found.type.kind and not {kind, found.type.kind} <= TEXTS:
        raise UnknownRestriction(f"column {name!r} as {kind.value}, which is {found.type.sql()}")
    return found


def _member(node: Any, name: str, kind: type) -> Any:
    found = node.get(name) if isinstance(node, dict) else None
    if not isinstance(found, kind):
        raise UnknownRestriction(f"a part without {name!r}")
    return found
