"""Read arrays and maps of BLOBs from `.blob` files: as bytes, or as descriptors of their elements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import stored_bytes, validity
from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnsupportedVersionError
from paimon_core.formats.blob import BlobFile
from paimon_core.formats.blob_elements import (
    Bytes,
    Elements,
    ManyElementsError,
    NullKeyError,
    Source,
    UnknownVersionError,
    assembled,
    in_memory,
    located,
    slices,
)
from paimon_core.io.ranges import read_ranges
from paimon_core.store.blob.values import descriptors, is_descriptor

_ROWS = 8192  # with descriptors that are made at once
_MOST_ELEMENTS, _MOST_OF_VALUE = 2**18, 2**24  # of values that are read at once, and of a single value

Numbers = NDArray[np.int64]


def nested_values(file: BlobFile, kind: pa.DataType, start: int, count: int, *, again: bool) -> Iterator[pa.Array]:
    """Yield the arrays or maps of some rows, in pieces. `again`: the rows will be written again, so elements that look
    like descriptors are returned as descriptors of their bytes.

    Raises `CorruptFileError`, `UnfamiliarFormError`, `UnsupportedVersionError`, `StorageError`.
    """
    places, _ = file.spans
    for values in file.read(start, count):
        valid = validity(values)
        stored = values.filter(pa.array(valid))
        data, ends = stored_bytes(stored)
        for rows, elements in _pieces(file.path, kind, in_memory(data), ends[:-1], np.diff(ends), valid):
            parts = slices(pa.py_buffer(data), elements.starts, elements.lengths)
            if again and (alike := is_descriptor(parts)).any():
                shift = (places[start : start + len(values)] - _spread(ends[:-1], valid))[rows][valid[rows]]
                there = elements.starts + np.repeat(shift, np.diff(elements.bounds))
                parts = pc.if_else(pa.array(alike), descriptors(file.path, there, elements.lengths), parts)
            yield assembled(kind, elements, parts, valid[rows])
        start += len(values)


def nested_descriptors(file: BlobFile, kind: pa.DataType, start: int, count: int) -> Iterator[pa.Array]:
    """Yield the arrays or maps of some rows, with descriptors of the elements. Reads no bytes of elements. Raises the
    same errors as `nested_values`."""

    def source(starts: Numbers, sizes: Numbers) -> Bytes:
        return stored_bytes(read_ranges(file.io, file.path, starts, sizes))[0]

    for first in range(start, start + count, _ROWS):
        starts, lengths = (part[first : min(first + _ROWS, start + count)] for part in file.spans)
        valid = lengths >= 0
        for rows, elements in _pieces(file.path, kind, source, starts[valid], lengths[valid], valid):
            yield assembled(kind, elements, descriptors(file.path, elements.starts, elements.lengths), valid[rows])


def _pieces(
    path: str, kind: pa.DataType, source: Source, starts: Numbers, sizes: Numbers, valid: NDArray[np.bool_]
) -> Iterator[tuple[slice, Elements]]:
    """Yield slices of rows with the elements of their values. `valid` marks the rows with a value; `starts` and `sizes`
    have an element for each of these rows. A slice has up to `_MOST_ELEMENTS` elements, or one value.
    """
    before = np.append(0, np.cumsum(valid))
    todo = [slice(0, len(valid))] if len(valid) else []
    while todo:
        rows = todo.pop()
        stored = slice(int(before[rows.start]), int(before[rows.stop]))
        most = _MOST_ELEMENTS if stored.stop - stored.start > 1 else _MOST_OF_VALUE
        try:
            with _naming(path):
                elements = located(kind, source, starts[stored], sizes[stored], most)
        except ManyElementsError as e:
            if most == _MOST_OF_VALUE:
                raise UnfamiliarFormError(path, f"an array or map of BLOBs {e}, known are up to {most}") from e
            middle = int(np.searchsorted(before, (stored.start + stored.stop) // 2, side="left"))
            todo += [slice(middle, rows.stop), slice(rows.start, middle)]
            continue
        yield rows, elements


def _spread(numbers: Numbers, valid: NDArray[np.bool_]) -> Numbers:
    """Return numbers of valid rows at the places of these rows."""
    found = np.zeros(len(valid), dtype=np.int64)
    found[valid] = numbers
    return found


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except UnknownVersionError as e:
        raise UnsupportedVersionError(path, f"an array or map of BLOBs {e}") from e
    except ManyElementsError:
        raise
    except NullKeyError as e:
        raise UnfamiliarFormError(path, f"an array or map of BLOBs {e}") from e
    except (ValueError, EOFError) as e:
        raise CorruptFileError(path, f"an array or map of BLOBs {e}") from e
