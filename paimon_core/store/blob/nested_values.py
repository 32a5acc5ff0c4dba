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
    NullKeyError,
    UnknownVersionError,
    assembled,
    in_memory,
    located,
    slices,
)
from paimon_core.io.ranges import read_ranges
from paimon_core.store.blob.values import descriptors, is_descriptor

_ROWS = 8192  # with descriptors that are made at once

Numbers = NDArray[np.int64]


def nested_values(file: BlobFile, kind: pa.DataType, start: int, count: int, *, again: bool) -> Iterator[pa.Array]:
    """Yield the arrays or maps of some rows, in pieces. `again`: they will be written again, and elements that look
    like descriptors are descriptors of their bytes.

    Raises `CorruptFileError`, `UnfamiliarFormError`, `UnsupportedVersionError`, `StorageError`."""
    places, _ = file.spans
    for values in file.read(start, count):
        valid = validity(values)
        stored = values.filter(pa.array(valid))
        data, ends = stored_bytes(stored)
        with _naming(file.path):
            elements = located(kind, in_memory(data), ends[:-1], np.diff(ends))
        parts = slices(pa.py_buffer(data), elements.starts, elements.lengths)
        if again and (alike := is_descriptor(parts)).any():
            shift = places[start : start + len(values)][valid] - ends[:-1]
            there = elements.starts + np.repeat(shift, np.diff(elements.bounds))
            parts = pc.if_else(pa.array(alike), descriptors(file.path, there, elements.lengths), parts)
        yield assembled(kind, elements, parts, valid)
        start += len(values)


def nested_descriptors(file: BlobFile, kind: pa.DataType, start: int, count: int) -> Iterator[pa.Array]:
    """Yield the arrays or maps of some rows, with descriptors of the elements. Reads no bytes of elements. Raises the
    same errors as `nested_values`."""

    def source(starts: Numbers, sizes: Numbers) -> Bytes:
        return stored_bytes(read_ranges(file.io, file.path, starts, sizes))[0]

    for first in range(start, start + count, _ROWS):
        starts, lengths = (part[first : min(first + _ROWS, start + count)] for part in file.spans)
        valid = lengths >= 0
        with _naming(file.path):
            elements = located(kind, source, starts[valid], lengths[valid])
        yield assembled(kind, elements, descriptors(file.path, elements.starts, elements.lengths), valid)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except UnknownVersionError as e:
        raise UnsupportedVersionError(path, f"an array or map of BLOBs {e}") from e
    except NullKeyError as e:
        raise UnfamiliarFormError(path, f"an array or map of BLOBs {e}") from e
    except (ValueError, EOFError) as e:
        raise CorruptFileError(path, f"an array or map of BLOBs {e}") from e
