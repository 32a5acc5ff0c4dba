"""The bucket functions other than the default (`spec.hashing.murmur`), by their name in `bucket-function.type`.

mod    the bucket key is one INT or BIGINT column: its remainder, never negative
hive   `h = 31 * h + hash(column)` over the columns, then the remainder of its low 31 bits. The hash of a number is the
       number itself (BIGINT: both halves XORed), the hash of bytes `h = 31 * h + byte`, the hash of NULL 0
Source: Paimon's and Hive's bucketing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.errors import InvalidOptionError
from paimon_core.options import BUCKET_FUNCTION
from paimon_core.spec.kinds import DAYS_AND_TIMES, NUMBERS, STRINGS
from paimon_core.spec.types import DataField, Kind

Words = NDArray[np.uint32]
_LOW_31 = np.uint32(2**31 - 1)
_31 = np.uint32(31)


_MOD_KINDS = (Kind.INT, Kind.BIGINT)
_HIVE_KINDS = NUMBERS | STRINGS | DAYS_AND_TIMES | {Kind.BOOLEAN}


def check_bucket_key(fields: Sequence[DataField], kind: str) -> None:
    """Raise `InvalidOptionError` if a bucket function of the type `kind` does not accept the columns."""
    if kind == "mod" and (len(fields) != 1 or fields[0].type.kind not in _MOD_KINDS):
        raise InvalidOptionError(f"'{BUCKET_FUNCTION.key}' = 'mod' needs one bucket key column, of INT or BIGINT.")
    unusable = [f for f in fields if f.type.kind not in _HIVE_KINDS] if kind == "hive" else []
    if unusable:
        raise InvalidOptionError(
            f"'{BUCKET_FUNCTION.key}' = 'hive' cannot take column {unusable[0].name!r} of type {unusable[0].type} "
            "as bucket key. "
            "Choose another column, or another function."
        )


def mod_bucket(values: NDArray[np.int64], buckets: int) -> NDArray[np.int32]:
    """Return the buckets of whole numbers, shape (rows,)."""
    return np.mod(values, np.int64(buckets)).astype(np.int32)


def hive_bucket(hashes: Iterable[Words], rows: int, buckets: int) -> NDArray[np.int32]:
    """Return the buckets of rows by the hashes of their bucket key columns; all shapes are (rows,)."""
    total = np.zeros(rows, dtype=np.uint32)
    for column in hashes:
        total = total * _31 + column
    return ((total & _LOW_31) % np.uint32(buckets)).astype(np.int32)


def hive_int(values: NDArray[np.integer[Any]]) -> Words:
    """Return the hashes of numbers of up to 32 bits."""
    return values.astype(np.int32).view(np.uint32)


def hive_long(values: NDArray[np.int64]) -> Words:
    """Return the hashes of 64-bit numbers, or of the bits of a DOUBLE."""
    bits = values.view(np.uint64)
    return (bits ^ (bits >> np.uint64(32))).astype(np.uint32)


def hive_bytes(padded: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Words:
    """Return hashes of byte strings: `padded` has shape (rows, width), and `lengths` bytes of each row are used."""
    result = np.zeros(len(lengths), dtype=np.uint32)
    for i in range(padded.shape[1]):
        step = result * _31 + padded[:, i].view(np.int8).astype(np.int32).view(np.uint32)
        result = np.where(lengths > i, step, result)
    return result


def hive_decimal(low: NDArray[np.uint64], high: NDArray[np.int64], scale: int) -> Words:
    """Return hashes of decimals of one scale, given as the halves of 128-bit numbers.

    The hash is `31 * hash(number) + scale` without trailing zeros of the fraction. A number's hash is
    `h = 31 * h + word` over its 32-bit words, negated for a negative number."""
    limbs, negative = _magnitude(low, high), high < 0
    scales = np.where(np.any(limbs, axis=0), np.uint32(scale), np.uint32(0))
    for _ in range(scale):
        quotient, rest = _divide_by_ten(limbs)
        shorter = (rest == 0) & (scales > 0)
        limbs, scales = np.where(shorter, quotient, limbs), scales - shorter.astype(np.uint32)
    number = np.zeros(len(low), dtype=np.uint32)
    for limb in limbs:
        number = number * _31 + limb.astype(np.uint32)
    return np.where(negative, -number, number) * _31 + scales


def _magnitude(low: NDArray[np.uint64], high: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the absolute values as 32-bit limbs, high to low, shape (4, rows)."""
    negative, upper = high < 0, high.view(np.uint64)
    borrow = (low == 0).astype(np.uint64)
    low, upper = np.where(negative, ~low + np.uint64(1), low), np.where(negative, ~upper + borrow, upper)
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    return np.stack([upper >> half, upper & mask, low >> half, low & mask])


def _divide_by_ten(limbs: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    quotient, rest = np.empty_like(limbs), np.zeros(limbs.shape[1], dtype=np.uint64)
    for i, limb in enumerate(limbs):
        quotient[i], rest = np.divmod((rest << np.uint64(32)) | limb, np.uint64(10))
    return quotient, rest
