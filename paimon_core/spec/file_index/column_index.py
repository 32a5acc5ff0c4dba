"""What an index of a column answers: rows of the file, by their position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from paimon_core.spec.file_index.cursor import Rows
from paimon_core.spec.file_index.keys import Key


class ColumnIndex(Protocol):
    """Each answer holds every row for which the question is true, and possibly others; None where the index does not
    know. Answers may be changed. Raises `CorruptFileError` where bytes that are needed are damaged."""

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        """Rows with one of the keys."""

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        """Rows with a value, but none of the keys."""

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        """Rows with a smaller key."""

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        """Rows with a larger key."""

    def is_null(self) -> Rows | None:
        """Rows without a value."""

    def is_not_null(self) -> Rows | None:
        """Rows with a value."""


class UnknownIndex:
    """The answers of an index that knows nothing; a base of those that know something."""

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return None

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return None

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        return None

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        return None

    def is_null(self) -> Rows | None:
        return None

    def is_not_null(self) -> Rows | None:
        return None


class EmptyIndex(UnknownIndex):
    """The index of a column without any value, which has no body."""

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return Rows()

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return Rows()

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        return Rows()

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        return Rows()

    def is_not_null(self) -> Rows | None:
        return Rows()
