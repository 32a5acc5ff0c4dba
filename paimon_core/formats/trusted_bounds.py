"""The decision which bounds of a column hold for all of its values, for every file, row group and manifest entry.

Statistics in manifests are measured by the writer, or taken from the footer of the file. Footers have faults:

    source of bounds                               floats                    times before 1970
    measured (Avro, manifests of Parquet files)    NaN is the largest        exact
    footers of Parquet                             leave NaN out             exact
    footers of ORC, manifests of ORC files         leave NaN out, or NaN     off by a second or, in the Julian
                                                   hides the other values    calendar, by days

So an upper bound that leaves NaN out is useless, and so is a lower bound that is NaN. Times in manifests of
ORC files end at milliseconds if Paimon 0.4 wrote them: an upper bound without nanoseconds is the end of its
millisecond. CHAR values are filled with spaces in the statistics of ORC files, and shorter in the rows. So a lower
bound ends before its first control character, and before the spaces at its end.
`Trust` judges bounds of one file, `trusted` the bounds of many at once, which are whole milliseconds.
Source: parquet.thrift, `Statistics`; ORC files that Java wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.spec.kinds import FLOATS, MOMENTS
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import DataType, Kind, TimeType

Mask = NDArray[np.bool_]
_EPOCH = (0, 0)  # milliseconds, nanoseconds of the millisecond
_LAST_NANOSECOND = 999_999
_MILLIS = 3  # digits of a second


@dataclass(frozen=True, slots=True)
class Trust:
    """The faults of the bounds from one source."""

    hides_nan: bool = False
    blurs_old_times: bool = False
    fills_chars: bool = False

    def bounds(self, data_type: DataType, stats: ColumnStats) -> ColumnStats:
        """Return the statistics without bounds that may be wrong for some value."""
        low, high = stats.minimum, stats.maximum
        if self.hides_nan and data_type.kind in FLOATS:
            return ColumnStats(None if low != low else low, None, stats.null_count)
        if self.blurs_old_times and data_type.kind in MOMENTS:
            low, high = (bound if bound is not None and bound >= _EPOCH else None for bound in (low, high))
            if high is not None and isinstance(data_type, TimeType) and data_type.precision > _MILLIS and not high[1]:
                high = high[0], _LAST_NANOSECOND
            return ColumnStats(low, high, stats.null_count)
        if self.fills_chars and data_type.kind is Kind.CHAR and isinstance(low, str):
            return ColumnStats(_before_control(low).rstrip(" "), high, stats.null_count)
        return stats


MEASURED = Trust()
PARQUET_FOOTER = Trust(hides_nan=True)
_ORC = Trust(hides_nan=True, blurs_old_times=True, fills_chars=True)
BY_FORMAT: Mapping[str, Trust] = MappingProxyType({"orc": _ORC})  # in manifests, by format of the file; else MEASURED


def _before_control(text: str) -> str:
    """Return the text before its first character that is smaller than a space."""
    return next((text[:i] for i, c in enumerate(text) if c < " "), text)


def trusted(data_type: DataType, low: NDArray[Any], high: NDArray[Any], of_orc: Mask) -> tuple[Mask, Mask]:
    """Return which lower and which upper bounds hold, like `Trust.bounds` for many files in manifests.

    Times are epoch milliseconds; `of_orc` marks the ORC files. All arrays have shape (files,)."""
    if data_type.kind in FLOATS:
        return ~(of_orc & np.isnan(low)), ~of_orc
    if data_type.kind in MOMENTS:
        return ~of_orc | (low >= 0), ~of_orc | (high >= 0)
    every = np.ones(len(low), dtype=np.bool_)
    return every, every
