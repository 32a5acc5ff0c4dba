"""Read many parts of one file. Parts that are close together are read with one request."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.io.file_io import FileIO, storage_errors

_GAP = 4096  # bytes: two parts with a smaller gap are read by one request


def read_ranges(io: FileIO, path: str, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> pa.Array:
    """Read `lengths` bytes from each of `starts`, as large binaries. A length of -1 means all bytes to the end of the
    file.

    Raises `FileNotFoundError`, `StorageError`, and `EOFError` naming a part that the file does not have.
    """
    with storage_errors("read", path), io.open_input(path) as file:
        size = file.size()
        sizes = np.where(lengths == -1, size - starts, lengths)
        wrong = np.flatnonzero((starts < 0) | (sizes < 0) | (starts > size) | (sizes > size - starts))
        if len(wrong):
            raise EOFError(f"{sizes[wrong[0]]} bytes from {starts[wrong[0]]} on of {path}, which has {size} bytes")
        parts = list[pa.Array]()
        order = np.argsort(starts, kind="stable")
        for group in _neighbours(starts[order], sizes[order]):
            rows = order[group]
            begin, end = starts[rows[0]], (starts[rows] + sizes[rows]).max()
            data = pa.py_buffer(file.read_at(int(end - begin), int(begin)))
            parts.append(_slices(data, starts[rows] - begin, sizes[rows]))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back)) if parts else pa.array([], pa.large_binary())


def _neighbours(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[slice]:
    """Divide the parts, which are ordered by their starts, into groups that are read together."""
    reached = np.maximum.accumulate(starts + sizes)
    breaks = np.flatnonzero(starts[1:] > reached[:-1] + _GAP) + 1
    bounds = [0, *breaks.tolist(), len(starts)]
    return [slice(a, b) for a, b in zip(bounds, bounds[1:], strict=False) if a < b]


def _slices(data: pa.Buffer, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> pa.Array:
    """Return each part of a buffer as a value; parts may overlap."""
    overlap = (starts[1:] < (starts + sizes)[:-1]).any()
    if overlap:  # offsets of an Arrow column must ascend
        whole = data.to_pybytes()
        return pa.array([whole[s : s + n] for s, n in zip(starts, sizes, strict=True)], pa.large_binary())
    bounds = np.append(np.stack([starts, starts + sizes], axis=1).reshape(-1), data.size)
    pieces = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), [None, pa.py_buffer(bounds), data])
    return pieces.take(pa.array(np.arange(len(starts), dtype=np.int64) * 2))
