"""Checks of a stripe before the native reader sees it: the reader trusts the stripe's metadata.

- Fewer encodings than columns make the reader read past the end of a list.
- Lengths in runs of another version than the column's encoding add up to arbitrary numbers.
- A chunk that is longer than its stream makes the reader decompress the bytes after the stream.
- NULL keys of maps end the process.
- The reader treats a stream of an unknown kind as a stream of NULLs.
- Each decimal has its own scale, which the reader adapts in steps of 18 digits: a scale of 2**60 takes years.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.orc.integer_runs import decode_runs
from paimon_core.formats.orc.layout import (
    DECIMAL,
    MAP,
    OrcTail,
    Stream,
    Stripe,
    check_chunks,
    messages,
    read_stream,
    read_streams,
    read_stripe_footer,
    typed_fields,
)
from paimon_core.spec.encodings.varints import varint_at

_PRESENT, _SECONDARY = 0, 5  # kinds of streams
_KINDS = frozenset({*range(11), 100, 101})
_MOST_CHUNKS = 100_000  # to check per stripe: 64 MB have 256 chunks of the usual size
_MOST_SCALE = 200  # zigzag codes of scales up to 38, and sums of them
_V1 = (0, 1)  # encodings with numbers of version 1
_NUMBERED = frozenset({2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18})  # kinds of columns with runs of numbers


def check_stripe(source: pa.NativeFile, tail: OrcTail, stripe: Stripe, *, near: bool = True) -> str:
    """Return the time zone of a stripe's writer. Raises `ValueError` for a stripe that the native reader must not see.

    Chunks are checked only if the file is `near`, which makes reading their headers cheap."""
    with typed_fields("a stripe"):
        streams, zone = _check(source, tail, stripe)
        left = _MOST_CHUNKS
        for stream in streams if near else ():
            left -= check_chunks(source, tail, stream, left)
    return zone


def _check(source: pa.NativeFile, tail: OrcTail, stripe: Stripe) -> tuple[list[Stream], str]:
    """Check the encodings and streams of a stripe. Return the streams, and the time zone of their writer."""
    encodings = [dict(_fields(v)) for n, v, _ in messages(read_stripe_footer(source, tail, stripe)) if n == 2]
    if len(encodings) != len(tail.types):
        raise ValueError(f"a stripe has {len(encodings)} encodings for {len(tail.types)} columns")
    if _is_since_0_12(tail) and any(
        t.kind in _NUMBERED and e.get(1, 0) in _V1 for t, e in zip(tail.types, encodings, strict=True)
    ):
        raise ValueError("a column has an encoding that only older versions of ORC than the file's have")
    if any(not 0 <= e.get(2, 0) <= stripe.rows * len(tail.types) + stripe.footer_start for e in encodings):
        raise ValueError("a stripe has a dictionary of more values than bytes")
    streams, zone = read_streams(source, tail, stripe)
    keys = {t.below[0] for t in tail.types if t.kind == MAP}
    if streams and not stripe.start <= streams[0].start:
        raise ValueError("the streams of a stripe are larger than the stripe")
    for stream in streams:
        if stream.column >= len(tail.types):
            raise ValueError(f"a stream is of column {stream.column}, which does not exist")
        if stream.kind not in _KINDS:
            raise ValueError(f"a stream is of kind {stream.kind}, which does not exist")
        if stream.kind == _PRESENT and stream.size and stream.column in keys:
            raise ValueError(f"the keys of a map (column {stream.column}) are NULL")
        if stream.kind == _SECONDARY and tail.types[stream.column].kind == DECIMAL and stream.size:
            content = read_stream(source, tail, stream)
            decode = _decode_v1 if encodings[stream.column].get(1, 0) in _V1 else decode_runs
            if (decode(content) > _MOST_SCALE).any():
                raise ValueError(f"values of column {stream.column} have impossible scales")
    return streams, zone


def _is_since_0_12(tail: OrcTail) -> bool:
    """Return whether the file's version is 0.12, which has numbers in runs of version 2 only."""
    return any(number == 4 and value == bytes((0, 12)) for number, value, _ in messages(tail.postscript))


def _fields(message: bytes) -> list[tuple[int, int]]:
    return [(number, value) for number, value, _ in messages(message) if isinstance(value, int)]


def _decode_v1(data: bytes) -> NDArray[np.uint64]:
    """Return the numbers in runs of version 1, none of them negative. For a run with steps, return only its first and
    last number.
    """
    found, offset = list[int](), 0
    while offset < len(data):
        head, offset = data[offset], offset + 1
        if head < 128:
            step = int.from_bytes(data[offset : offset + 1], "big", signed=True)
            base, offset = varint_at(data, offset + 1)
            found += [base, max(0, base + step * (head + 2))]
        else:
            for _ in range(256 - head):
                number, offset = varint_at(data, offset)
                found.append(number)
    return np.array([min(n, 2**63) for n in found], dtype=np.uint64)
