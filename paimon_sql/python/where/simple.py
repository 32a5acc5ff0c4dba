"""The text of a simple condition as a tree, without sqlglot: its import takes longer than the look-up of a key.

A simple condition has comparisons of a column with a constant, and `IN` of constants, joined by AND. Its tree is the
tree that `binding` makes; tests/unit/python/test_simple.py compares them. `binding` reads all other texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import tzinfo

from paimon_core.lazy import regex
from paimon_core.spec.types import DATE, DOUBLE, STRING, DataField
from paimon_sql.python.where.bound import Bound, condition_of, literal
from paimon_sql.python.where.building import Builder
from paimon_sql.python.where.coercion import TIMESTAMP_LTZ

_CONSTANT = r"(?:(?:(?:DATE|TIMESTAMP)\s+)?'[^'\\]*'|-?[0-9]+(?:\.[0-9]+)?D?)"
_PART = regex(
    rf"""\s*(?P<column>[A-Za-z_]\w*)\s*
    (?:(?P<operator><=>|<=|>=|<>|!=|==|=|<|>)\s*(?P<value>{_CONSTANT})
    | IN\s*\((?P<values>\s*{_CONSTANT}(?:\s*,\s*{_CONSTANT})*\s*)\))
    (?:\s*\Z|\s+AND(?=\s))""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_VALUE = regex(_CONSTANT, re.IGNORECASE | re.ASCII)
_OPERATORS = {"!=": "<>", "==": "="}
_TYPES = {"DATE": DATE, "TIMESTAMP": TIMESTAMP_LTZ}
# columns with these names are left to `binding`: in expressions, the words mean something else
_WORDS = frozenset(
    ("AND", "ANY", "BETWEEN", "CASE", "CAST", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER")
    + ("DISTINCT", "EXISTS", "FALSE", "IN", "INTERVAL", "IS", "LIKE", "LOCALTIMESTAMP", "NOT", "NULL", "OR", "SELECT")
    + ("SESSION_USER", "TRUE", "USER")
)


def bind_simple(text: str, fields: Sequence[DataField], zone: tzinfo | None) -> Bound | None:
    """Return the tree of a condition, or None if it is not simple. Raises the errors of `bind`."""
    found = list(_parts(text, frozenset(f.name for f in fields)))
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found):
        return None
    make = Builder(fields, zone)
    bound = [_bound(make, part) for part in parts]
    return condition_of("and", *bound) if len(bound) > 1 else bound[0]


def _parts(text: str, names: frozenset[str]) -> Iterator[re.Match[str] | None]:
    """Yield the match of each part that AND joins, and None for a part that is not simple."""
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None or found["column"] not in names or found["column"].upper() in _WORDS:
            yield None
            return
        yield found
        place = found.end()


def _bound(make: Builder, part: re.Match[str]) -> Bound:
    column = make.named([part["column"]])
    if part["values"] is not None:
        return make.among(column, [_constant(make, v) for v in _VALUE.findall(part["values"])])
    operator = _OPERATORS.get(part["operator"], part["operator"])
    return make.compared(operator, column, _constant(make, part["value"]))


def _constant(make: Builder, text: str) -> Bound:
    if text.endswith("'"):
        word, _, value = text[:-1].partition("'")
        found = literal(value, STRING)
        return make.cast(found, _TYPES[word.strip().upper()]) if word else found
    digits = text.rstrip("Dd").lstrip("-")
    number = make.number(digits)
    signed = make.negated_number(number, text) if text.startswith("-") else number
    return signed if digits == text.lstrip("-") else make.cast(signed, DOUBLE)
