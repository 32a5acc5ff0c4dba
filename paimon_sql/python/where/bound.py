"""The tree of a condition: each node has the name of its operation, its type, and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.types import BOOLEAN, DataType

COLUMN, LITERAL, CAST = "column", "literal", "cast"
OPAQUE = "opaque"  # a condition that the object in `value` evaluates


@dataclass(frozen=True, slots=True)
class Bound:
    """A node. `value` is the name of a column or a field, the value of a literal (None: NULL), or a parameter.

    Literals have values as `pyarrow.scalar` takes them for the type; DATE days and TIMESTAMP microseconds are integers.
    """

    name: str
    type: DataType
    parts: tuple[Bound, ...] = ()
    value: Any = None

    @property
    def is_literal(self) -> bool:
        return self.name == LITERAL

    @property
    def is_null(self) -> bool:
        return self.name == LITERAL and self.value is None


def literal(value: Any, data_type: DataType) -> Bound:
    """Return the node of a constant."""
    return Bound(LITERAL, data_type, value=value)


def condition_of(name: str, *parts: Bound, value: Any = None) -> Bound:
    """Return a node of type BOOLEAN."""
    return Bound(name, BOOLEAN, parts, value)


def nodes(node: Bound) -> Iterator[Bound]:
    """Yield a node and all nodes below it."""
    yield node
    for part in node.parts:
        yield from nodes(part)


def conjuncts_of(node: Bound) -> Iterator[Bound]:
    """Yield the parts that must all be true, nested ANDs flattened."""
    if node.name == "and":
        for part in node.parts:
            yield from conjuncts_of(part)
    else:
        yield node
