"""The types of file indexes by name, and the types of columns that each supports."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from types import MappingProxyType

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.bitmap import BitmapIndex
from paimon_core.indexes.file_index.bloom_filter import BloomFilterIndex
from paimon_core.indexes.file_index.bsi import BsiIndex
from paimon_core.indexes.file_index.column_index import ColumnIndex, EmptyIndex
from paimon_core.indexes.file_index.cursor import ByteCursor, Rows
from paimon_core.indexes.file_index.keys import KeyType
from paimon_core.indexes.file_index.range_bitmap import RangeBitmapIndex
from paimon_core.spec.kinds import BINARIES, DAYS_AND_TIMES, FLOATS, INTEGERS, MOMENTS, TEXTS
from paimon_core.spec.types import DataType, DecimalType, Kind, TimeType

BLOOM_FILTER, BITMAP, BSI, RANGE_BITMAP = "bloom-filter", "bitmap", "bsi", "range-bitmap"
_WHOLE = INTEGERS | DAYS_AND_TIMES | MOMENTS
_MOST_DIGITS = 18
_MOST_PRECISION = 6


@dataclass(frozen=True, slots=True)
class IndexType:
    """A type of index: its reader, and the columns for which it can be built."""

    read: Callable[[ByteCursor, KeyType, int], ColumnIndex[Rows]]
    kinds: frozenset[Kind]
    bounded: bool = False  # long decimals and nanoseconds do not fit

    def admits(self, data_type: DataType) -> bool:
        """Return whether columns of the type can have this index."""
        if self.bounded and isinstance(data_type, DecimalType) and data_type.precision > _MOST_DIGITS:
            return False
        if self.bounded and isinstance(data_type, TimeType) and data_type.kind in MOMENTS:
            return data_type.precision <= _MOST_PRECISION
        return data_type.kind in self.kinds


INDEX_TYPES: Mapping[str, IndexType] = MappingProxyType(
    {
        BITMAP: IndexType(BitmapIndex, _WHOLE | TEXTS | FLOATS | {Kind.BOOLEAN}),
        BLOOM_FILTER: IndexType(BloomFilterIndex, _WHOLE | TEXTS | FLOATS | BINARIES),
        BSI: IndexType(BsiIndex, _WHOLE | {Kind.DECIMAL}),
        RANGE_BITMAP: IndexType(RangeBitmapIndex, _WHOLE | TEXTS | FLOATS | {Kind.BOOLEAN, Kind.DECIMAL}, bounded=True),
    }
)


def index_types(*, positional: bool) -> Container[str]:
    """Return all types of indexes, or `positional` ones, which find rows and not only whole files."""
    return INDEX_TYPES.keys() - {BLOOM_FILTER} if positional else INDEX_TYPES.keys()


def decode_index(
    path: str, index_type: str, data_type: DataType, body: bytes | None, row_count: int
) -> ColumnIndex[Rows] | None:
    """Return the index of a column, None for an unknown type of index. Raises `CorruptFileError` naming `path`."""
    known, keys = INDEX_TYPES.get(index_type), KeyType.of(data_type)
    if known is None or keys is None or not known.admits(data_type):
        return None
    return EmptyIndex() if body is None else known.read(ByteCursor(path, body), keys, row_count)
