"""Keys as 64-bit words: columns of numpy int64 with a lexicographic order equal to the order of the keys.

The problem: a merge compares keys of several columns and of any type, row by row, billions of times. Arrow compares
columns one by one, and Python values are a hundred times slower. So a key becomes words: numpy compares, sorts and
searches whole columns of words at a time.

    BOOLEAN, integers, DATE, TIME, TIMESTAMP, DECIMAL up to precision 18   one word: the stored number
    DECIMAL of a higher precision                                          two words: the high half, the low half
    FLOAT, DOUBLE       one word: the bits; for negative numbers all bits except the sign are flipped; -0.0 comes
                        before 0.0, and all NaN are one key, after all numbers
    CHAR, VARCHAR, BINARY, VARBINARY    a word per 8 bytes, big endian and padded with 0, then the length, which orders
                        texts that are equal after padding
    columns with a NULL                 one word before the others, 0 for NULL: NULL is the smallest

Words compare as signed numbers, so unsigned words have their sign bit flipped. The number of words of a text depends on
the longest text of its batch. So batches to be compared agree on `widths` first, and `flatten` pads shorter texts.

`fold` then packs the words of a row into one word: it shifts out bits that are the same in all rows, multiplies each
word by the span of the next word, and adds them. If 62 bits are not enough, it replaces words by their ranks. Folded
words have the order and the ties of their rows, but cannot be compared with words of other rows. One word per row makes
the rest fast: a sort, a binary search or a comparison of neighbours is then one numpy call.

The order of keys is the order of Paimon's `BinaryRow` comparators, by which runs are sorted on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import byte_lengths, byte_words, fixed_values, validity
from paimon_core.dataclass import dataclass

Words = NDArray[np.int64]
_SIGN = np.uint64(2**63)
_SPAN_LIMIT = 2**62
_MAX_WORD_BYTES = 2**25
_TWO_WORDS = np.dtype((np.int64, (2,)))
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """The words of one column of a batch, each of shape (rows,).

    `size` follows `words` for types with values of any length. If `nullable`, the first word is 0 for NULL."""

    words: tuple[Words, ...]
    size: Words | None = None
    nullable: bool = False


def key_words(columns: Sequence[pa.Array]) -> tuple[ColumnWords, ...]:
    """Return the words of each column of a key."""
    return tuple(_column_words(c) for c in columns)


def widths(keys: Sequence[tuple[ColumnWords, ...]]) -> tuple[int, ...]:
    """Return the number of words per column that is enough for the keys of all batches."""
    return tuple(max(len(column.words) for column in columns) for columns in zip(*keys, strict=True))


def flatten(key: tuple[ColumnWords, ...], columns: tuple[int, ...]) -> list[Words]:
    """Return the words of a batch, most significant first, with columns padded to their widths; shapes (rows,)."""
    result: list[Words] = []
    for column, width in zip(key, columns, strict=True):
        result += column.words
        if column.size is not None:
            rows = len(column.size)
            padding = np.full(rows, np.iinfo(np.int64).min)
            result += [padding] * (width - len(column.words)) + [column.size]
    return result


def fold(words: Sequence[Words]) -> Words:
    """Return one word per row with the same order and the same ties, comparable among these rows only."""
    folded = words[0]
    if len(words) == 1 or not len(folded):
        return folded
    folded = _without_idle_bits(folded)
    for word in map(_without_idle_bits, words[1:]):
        if _span(word) == 1:
            continue
        if _span(folded) * _span(word) >= _SPAN_LIMIT:
            folded = _ranks(folded, "stable")  # mostly a concatenation of sorted runs
        if _span(folded) * _span(word) >= _SPAN_LIMIT:
            word = _ranks(word, "quicksort")
        folded = (folded - folded.min()) * np.int64(_span(word)) + (word - word.min())
    return folded


def float_values(words: Words) -> NDArray[np.float64]:
    """Return the numbers of words of FLOAT or DOUBLE."""
    return np.where(words < 0, words ^ np.int64(2**63 - 1), words).view(np.float64)


def reversed_order(key: tuple[ColumnWords, ...], columns: tuple[int, ...]) -> list[Words]:
    """Return the words of `flatten` in the opposite order, except that NULL stays the smallest."""
    result: list[Words] = []
    for column, width in zip(key, columns, strict=True):
        words = flatten((column,), (width,))
        nulls = words[:1] if column.nullable else []
        result += nulls + [~w for w in words[len(nulls) :]]
    return result


def last_row(words: Sequence[Words]) -> tuple[int, ...]:
    """Return the words of the last row's key."""
    return tuple(int(w[-1]) for w in words)


def upper_bound(words: Sequence[Words], key: tuple[int, ...]) -> int:
    """Return how many of the sorted rows are less than or equal to the key."""
    low, high = 0, len(words[0])
    for word, bound in zip(words, key, strict=True):
        part = word[low:high]
        # the bound as int64: with a Python int, numpy would compare floats
        value = np.int64(bound)
        low, high = low + int(part.searchsorted(value, "left")), low + int(part.searchsorted(value, "right"))
    return high


def bounded(batches: Iterator[pa.RecordBatch], key_names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that are not empty, cut so that the words of long keys fit in memory."""
    for batch in batches:
        texts = [c for c in map(batch.column, key_names) if _has_bytes(c.type)]
        width = sum(int(byte_lengths(c).max(initial=0)) for c in texts)
        step = max(1, _MAX_WORD_BYTES // max(width, 1))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)


def _span(word: Words) -> int:
    return int(word.max()) - int(word.min()) + 1


def _without_idle_bits(word: Words) -> Words:
    """Shift out the low bits that are the same in all rows, such as the padding of short texts."""
    varying = int(np.bitwise_or.reduce(word ^ word[0])) & (2**64 - 1)
    return word >> np.int64((varying & -varying).bit_length() - 1) if varying else word


def _ranks(word: Words, algorithm: Literal["stable", "quicksort"]) -> Words:
    order = np.argsort(word, kind=algorithm)
    ordered = word[order]
    ranks = np.empty(len(word), dtype=np.int64)
    ranks[order] = np.append(0, np.cumsum(ordered[1:] != ordered[:-1]))
    return ranks


def _has_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_binary(arrow))


def _column_words(column: pa.Array) -> ColumnWords:
    nullable = column.null_count > 0
    nulls = (validity(column).astype(np.int64),) if nullable else ()
    if _has_bytes(column.type):
        lengths = byte_lengths(column)
        count = (int(lengths.max(initial=0)) + 7) // 8
        matrix = byte_words(column, count).byteswap()  # big endian, as bytes compare
        words = tuple(_signed(np.ascontiguousarray(matrix[:, i])) for i in range(count))
        return ColumnWords((*nulls, *words), lengths, nullable)
    if pa.types.is_decimal(column.type):
        pair = fixed_values(column, _TWO_WORDS)
        low, high = np.ascontiguousarray(pair[:, 0]), np.ascontiguousarray(pair[:, 1])
        one = column.type.precision <= 18
        words = (low,) if one else (high, _signed(low.view(np.uint64)))
        return ColumnWords((*nulls, *words), nullable=nullable)
    if pa.types.is_floating(column.type):
        return ColumnWords((*nulls, _float_words(column)), nullable=nullable)
    width = 1 if pa.types.is_boolean(column.type) else column.type.bit_width // 8
    return ColumnWords((*nulls, fixed_values(column, _SIGNED[width]).astype(np.int64)), nullable=nullable)


def _signed(words: NDArray[np.uint64]) -> Words:
    return (words ^ _SIGN).view(np.int64)


def _float_words(column: pa.Array) -> Words:
    values: NDArray[Any] = fixed_values(column, np.float32 if column.type.bit_width == 32 else np.float64)
    values = values.astype(np.float64)
    values[np.isnan(values)] = np.nan  # every NaN is the same key
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
