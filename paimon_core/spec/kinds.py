"""The table of types: one row for each `Kind`, and the columns that other modules add to it.

`KINDS` has the facts of the format. A module that needs something else of each kind, such as an Arrow type or a name in
Avro, declares a `KindColumn`: it has an entry for each kind, or lists the kind among its `others`. So a new kind needs
a row here, and a decision in each column. `tests/unit/test_kinds.py` lists the columns that have not decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import TypeVar

from paimon_core.dataclass import dataclass

T = TypeVar("T")


class Kind(Enum):
    """The root of a type, with the name that it has in schema files."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    VARIANT = "VARIANT"
    BLOB = "BLOB"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    ARRAY = "ARRAY"
    MAP = "MAP"
    MULTISET = "MULTISET"
    ROW = "ROW"

    __hash__ = object.__hash__  # Enum hashes the name, in Python; each kind is one object


class Family(Enum):
    """Kinds with values of one sort, which most code treats alike."""

    BOOLEAN = auto()
    INTEGER = auto()
    FLOAT = auto()
    DECIMAL = auto()
    TEXT = auto()
    BYTES = auto()
    BLOB = auto()
    DATE = auto()
    TIME = auto()
    MOMENT = auto()
    NESTED = auto()


@dataclass(frozen=True, slots=True)
class KindRow:
    """The row of a kind: its family, and the size in bits of a number."""

    family: Family
    bits: int | None = None


KINDS: Mapping[Kind, KindRow] = MappingProxyType(
    {
        Kind.BOOLEAN: KindRow(Family.BOOLEAN),
        Kind.TINYINT: KindRow(Family.INTEGER, 8),
        Kind.SMALLINT: KindRow(Family.INTEGER, 16),
        Kind.INT: KindRow(Family.INTEGER, 32),
        Kind.BIGINT: KindRow(Family.INTEGER, 64),
        Kind.FLOAT: KindRow(Family.FLOAT, 32),
        Kind.DOUBLE: KindRow(Family.FLOAT, 64),
        Kind.DECIMAL: KindRow(Family.DECIMAL),
        Kind.CHAR: KindRow(Family.TEXT),
        Kind.VARCHAR: KindRow(Family.TEXT),
        Kind.BINARY: KindRow(Family.BYTES),
        Kind.VARBINARY: KindRow(Family.BYTES),
        Kind.BLOB: KindRow(Family.BLOB),
        Kind.DATE: KindRow(Family.DATE),
        Kind.TIME: KindRow(Family.TIME),
        Kind.TIMESTAMP: KindRow(Family.MOMENT),
        Kind.TIMESTAMP_LTZ: KindRow(Family.MOMENT),
        Kind.ARRAY: KindRow(Family.NESTED),
        Kind.MAP: KindRow(Family.NESTED),
        Kind.MULTISET: KindRow(Family.NESTED),
        Kind.ROW: KindRow(Family.NESTED),
        Kind.VARIANT: KindRow(Family.NESTED),
    }
)


def of_families(*families: Family) -> frozenset[Kind]:
    """Return the kinds of some families."""
    return frozenset(kind for kind, row in KINDS.items() if row.family in families)


INTEGERS, FLOATS = of_families(Family.INTEGER), of_families(Family.FLOAT)
NUMBERS = INTEGERS | FLOATS | {Kind.DECIMAL}
TEXTS, BINARIES = of_families(Family.TEXT), of_families(Family.BYTES)
STRINGS = TEXTS | BINARIES
MOMENTS = of_families(Family.MOMENT)
DAYS_AND_TIMES = of_families(Family.DATE, Family.TIME)
NESTED_KINDS = of_families(Family.NESTED)  # they cannot order rows


def is_in_range(kind: Kind, number: int) -> bool:
    """Return whether an integer type can hold a number."""
    limit = 1 << (KINDS[kind].bits or 0) - 1
    return -limit <= number < limit


class KindColumn(dict[Kind, T]):
    """A column of the table of types: something that a module knows of each kind.

    `others` are the names of the kinds without an entry, with blanks between them: the module handles these kinds in
    another way, or does not support them.
    """

    __slots__ = ("others",)

    def __init__(self, entries: Mapping[Kind, T], *, others: str) -> None:
        super().__init__(entries)
        self.others = frozenset(Kind[name] for name in others.split())

    def undecided(self, kinds: Iterable[Kind] = Kind) -> list[str]:
        """Return the names of kinds that are neither entries nor `others`, or are both."""
        return [kind.name for kind in kinds if (kind in self) == (kind in self.others)]
