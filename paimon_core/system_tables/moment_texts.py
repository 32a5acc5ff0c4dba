"""Moments in ISO form, a column at once: each text is what `iso_timestamp` gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, int64_array
from paimon_core.spec.paths import iso_timestamp

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 to 9999


def moment_texts(millis: NDArray[np.int64], nanos: NDArray[np.int64]) -> pa.Array:
    """Of epoch milliseconds and the nanoseconds of the millisecond."""
    seconds, rest = np.divmod(millis, 1000)
    fraction = rest * 1_000_000 + nanos
    usual = (seconds >= _FIRST_SECOND) & (seconds <= _LAST_SECOND)
    times = fixed_array(np.where(usual, seconds, 0), pa.timestamp("s")).cast(pa.string())
    times = pc.utf8_replace_slice(times, 10, 11, "T")
    minutes = pc.utf8_slice_codeunits(times, 0, 16)
    texts = _replaced(times, (seconds % 60 == 0) & (fraction == 0), lambda rows: minutes.take(int64_array(rows)))
    texts = _replaced(texts, fraction != 0, lambda rows: _with_fraction(times.take(int64_array(rows)), fraction[rows]))
    return _replaced(texts, ~usual, lambda rows: _one_by_one(millis[rows], nanos[rows]))


def _with_fraction(times: pa.Array, fraction: NDArray[np.int64]) -> pa.Array:
    """Three, six or nine digits behind the point."""
    nine = pc.utf8_lpad(int64_array(fraction).cast(pa.string()), 9, "0")
    six, three = (pc.utf8_slice_codeunits(nine, 0, n) for n in (6, 3))
    places = np.where(fraction % 1_000_000 == 0, 0, np.where(fraction % 1000 == 0, 1, 2))
    return pc.binary_join_element_wise(times, pc.choose(int64_array(places), three, six, nine), ".")


def _one_by_one(millis: NDArray[np.int64], nanos: NDArray[np.int64]) -> pa.Array:
    return pa.array([iso_timestamp(*m) for m in zip(millis.tolist(), nanos.tolist(), strict=True)], pa.string())


def _replaced(texts: pa.Array, where: NDArray[np.bool_], made: Callable[[NDArray[np.int64]], pa.Array]) -> pa.Array:
    """The texts, but those that are made of rows `where` these are."""
    rows = np.flatnonzero(where)
    return pc.replace_with_mask(texts, fixed_array(where, pa.bool_()), made(rows)) if rows.size else texts
