"""The numbers of a Thrift structure in the compact protocol, as Parquet's footers are, and where they stand.

Source: Thrift, "compact protocol".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_I32, _BINARY, _LIST, _SET, _MAP, _STRUCT, _LAST = 5, 8, 9, 10, 11, 12, 12
_BOOLEANS = (1, 2)
_WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}  # booleans, which headers tell, bytes, doubles; others are variable
_DEEPEST, _LONGEST = 16, 63
_LONG_LIST = 15


@dataclass(frozen=True, slots=True)
class ThriftNumber:
    """A number in a structure: ids from the outermost one, and where its header, its value and the next are."""

    path: tuple[int, ...]
    header: int
    value: int
    end: int


def numbers(data: bytes) -> Iterator[ThriftNumber]:
    """The 32-bit numbers of a structure and of those in it, in their order. Raises `ValueError` where it ends early."""
    return _Structure(data).fields()


class _Structure:
    """Walks through a structure."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def fields(self, path: tuple[int, ...] = (), depth: int = 0) -> Iterator[ThriftNumber]:
        """The numbers and texts among the fields, also of structures in them, in their order."""
        last = 0
        while (header := self._byte()) != 0:
            start, kind = self._place - 1, header & 15
            last = last + (header >> 4) if header >> 4 else self._number() >> 1
            value = self._place
            yield from self._below(kind, (*path, last), depth)
            if kind == _I32:
                yield ThriftNumber((*path, last), start, value, self._place)

    def _below(self, kind: int, path: tuple[int, ...], depth: int) -> Iterator[ThriftNumber]:
        """Pass a value by."""
        if depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind == _STRUCT:
            yield from self.fields(path, depth + 1)
        elif kind in (_LIST, _SET):
            header = self._byte()
            count = self._number() if header >> 4 == _LONG_LIST else header >> 4
            for _ in range(count):
                yield from self._element(header & 15, path, depth)
        elif kind == _MAP:
            count = self._number()
            kinds = self._byte() if count else 0
            for _ in range(count):
                yield from self._element(kinds >> 4, path, depth)
                yield from self._element(kinds & 15, path, depth)
        elif kind == _BINARY:
            self._skip(self._number())
        elif kind in _WIDTHS:
            self._skip(_WIDTHS[kind])
        elif kind < _LAST:
            self._number()
        else:
            raise ValueError(f"its footer has a value of the unknown kind {kind}")

    def _element(self, kind: int, path: tuple[int, ...], depth: int) -> Iterator[ThriftNumber]:
        if kind in _BOOLEANS:
            self._skip(1)
            return
        yield from self._below(kind, path, depth + 1)

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self._place - 1]

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LONGEST:
                raise ValueError("its footer has a number of more than 64 bits")
        return number | byte << shift

    def _skip(self, count: int) -> None:
        self._place += count
        if self._place > len(self._data):
            raise ValueError("its footer ends too early")
