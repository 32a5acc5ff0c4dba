"""Functions over serialized sets: `rbm32`, `rbm64`, `theta_sketch`, `hll_sketch`, in the encoding of their Java
libraries.

They loop over the groups with several values, because the libraries merge two sets at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass
from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.functions.steps import Steps, replaced, take_steps
from paimon_core.optional_packages import import_optional
from paimon_core.spec.encodings.roaring64 import decode_roaring64, encode_roaring64

Union = Callable[[bytes, bytes], bytes]


@dataclass(frozen=True, slots=True)
class SetUnion:
    """Returns the union of serialized sets and ignores NULL. A single set keeps its bytes."""

    union: Union

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        known = steps.narrowed(steps.valid(column))
        several = steps.counts(known) > 1
        result = take_steps(column, steps, steps.last(known))
        joined = [self._union_of(column, steps, p) for _, p in steps.groups_of(known & np.repeat(several, steps.sizes))]
        return replaced(result, several, pa.array(joined, column.type))

    def _union_of(self, column: pa.Array, steps: Steps, part: Any) -> bytes:
        values = column.take(int64_array(steps.rows[part])).to_pylist()
        try:
            joined: bytes = reduce(self.union, values)
            return joined
        except (ValueError, RuntimeError, IndexError, struct.error) as e:
            raise MergeRefusedError(f"a value is not a sketch that the function can read ({e})") from e


def bitmap32(left: bytes, right: bytes) -> bytes:
    """Return the union of two 32-bit roaring bitmaps."""
    joined = BitMap.deserialize(left) | BitMap.deserialize(right)
    joined.run_optimize()
    data: bytes = joined.serialize()
    return data


def bitmap64(left: bytes, right: bytes) -> bytes:
    """Return the union of two 64-bit roaring bitmaps."""
    return encode_roaring64(decode_roaring64(left) | decode_roaring64(right))


def theta_sketch(left: bytes, right: bytes) -> bytes:
    """Return the union of two theta sketches."""
    sketches = datasketches()
    union = sketches.theta_union()
    for data in (left, right):
        union.update(sketches.compact_theta_sketch.deserialize(data))
    result = bytearray(union.get_result().serialize())
    if result[0] & 0x3F > 1:  # a preamble of several longs ends with the sampling rate, which this library leaves out
        result[12:16] = struct.pack("<f", 1.0)
    return bytes(result)


def hll_sketch(left: bytes, right: bytes) -> bytes:
    """Return the union of two HLL sketches, as HLL_4."""
    sketches = datasketches()
    old, new = sketches.hll_sketch.deserialize(left), sketches.hll_sketch.deserialize(right)
    union = sketches.hll_union(new.lg_config_k)
    union.update(new)
    union.update(old)
    result: bytes = union.get_result(sketches.tgt_hll_type.HLL_4).serialize_compact()
    return result


def datasketches() -> Any:
    """Import the optional library of sketches. Raises `UnsupportedFeatureError` if it is not installed."""
    return import_optional("datasketches", "A merge of sketches", "sketches")
