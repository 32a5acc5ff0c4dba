"""The interface of a column's index. Its answers are row positions in a file, or row ids of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from pyroaring import BitMap

from paimon_core.indexes.file_index.cursor import Rows
from paimon_core.indexes.file_index.keys import Key


class RowSet(Protocol):
    """A set of rows."""

    def __and__(self, other: Any, /) -> Self: ...

    def __or__(self, other: Any, /) -> Self: ...


RowSet_co = TypeVar("RowSet_co", bound=RowSet, covariant=True)


class End(NamedTuple):
    """An end of a range of keys."""

    key: Key
    inclusive: bool = True


class ColumnIndex(Protocol[RowSet_co]):
    """An index of a column.

    An answer has every matching row, and possibly others; None means unknown. Callers may change answers. Raises
    `CorruptFileError` if bytes that are needed for an answer are damaged."""

    def equal(self, keys: Sequence[Key]) -> RowSet_co | None:
        """Return rows with one of the keys."""

    def not_equal(self, keys: Sequence[Key]) -> RowSet_co | None:
        """Return rows with a value that is not one of the keys."""

    def less(self, key: Key, or_equal: bool) -> RowSet_co | None:
        """Return rows with a smaller key."""

    def greater(self, key: Key, or_equal: bool) -> RowSet_co | None:
        """Return rows with a larger key."""

    def between(self, low: End, high: End) -> RowSet_co | None:
        """Return the rows with a key between two ends."""

    def is_null(self) -> RowSet_co | None:
        """Return rows without a value."""

    def is_not_null(self) -> RowSet_co | None:
        """Return rows with a value."""


class UnknownIndex:
    """An index without answers: the base class of indexes that answer only some questions."""

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return None

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return None

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        return None

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        return None

    def between(self, low: End, high: End) -> Rows | None:
        above, below = self.greater(*low), self.less(*high)
        if above is None or below is None:
            return below if above is None else above
        return above & below

    def is_null(self) -> Rows | None:
        return None

    def is_not_null(self) -> Rows | None:
        return None


class EmptyIndex(UnknownIndex):
    """The index of a column without any value, which has no body."""

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return BitMap()

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return BitMap()

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        return BitMap()

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        return BitMap()

    def is_not_null(self) -> Rows | None:
        return BitMap()
