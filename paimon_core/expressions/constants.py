"""Constants as Arrow values, without pandas.

If pandas is installed, the first call of `pyarrow.array` or `pyarrow.scalar` imports it, which takes longer than most
queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def text_constants(*texts: str) -> pa.Array:
    """Return texts as a column."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def scalar_of(value: Any, arrow: pa.DataType) -> pa.Scalar:
    """Return a value as a scalar. Raises as `pyarrow.scalar`."""
    if isinstance(value, str) and pa.types.is_string(arrow):
        return text_constants(value)[0]
    if type(value) is int and pa.types.is_integer(arrow):
        numbers = np.array([value], dtype=arrow.to_pandas_dtype())
        return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(numbers)])[0]
    return pa.scalar(value, arrow)
