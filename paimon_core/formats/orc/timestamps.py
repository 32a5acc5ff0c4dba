"""Times of ORC files in microseconds, for those that pyarrow's nanoseconds do not reach.

A time is a number of seconds since 2015-01-01 of the writer's clock, in stream DATA, and its nanoseconds in stream
SECONDARY: the last three bits are how many zeros were cut off (n: n + 1 zeros, none for 0). Whole seconds are read by
pyarrow, from the same file with a footer that calls the columns of times numbers. Source: ORC specification v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array, validity
from paimon_core.formats.orc.integer_runs import decode_runs
from paimon_core.formats.orc.layout import (
    LONG,
    TIMESTAMP,
    TIMESTAMP_INSTANT,
    OrcTail,
    messages,
    read_stream,
    read_streams,
    stored,
)
from paimon_core.formats.replaced_footer import ReplacedFooterFile
from paimon_core.spec.encodings.varints import encode_varint

_SECONDARY = 5
_TIMES = (TIMESTAMP, TIMESTAMP_INSTANT)
_UTC = ("UTC", "GMT", "Etc/UTC")


def times_as_numbers(source: pa.NativeFile, tail: OrcTail) -> ReplacedFooterFile:
    """An ORC file in which columns of times are numbers."""
    return ReplacedFooterFile(source, tail.footer_start, _tail_of_numbers(tail))


@dataclass(frozen=True, slots=True)
class StripeTimes:
    """What the times of one stripe are made of besides seconds: nanoseconds by column, the writer's time zone."""

    tail: OrcTail
    nanos: dict[int, NDArray[np.int64]]
    zone: str

    def restored(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """A batch of numbers as `schema`, the file's own, has it, times in microseconds."""
        root = dict(zip(schema.names, self.tail.types[0].below, strict=True))
        fields = [schema.field(name) for name in batch.schema.names]
        arrays = [self._column(c, f.type, root[f.name]) for c, f in zip(batch.columns, fields, strict=True)]
        return pa.RecordBatch.from_arrays(
            arrays, schema=pa.schema([f.with_type(a.type) for f, a in zip(fields, arrays, strict=True)])
        )

    def _column(self, column: pa.Array, wanted: pa.DataType, index: int) -> pa.Array:
        kind, below = self.tail.types[index].kind, self.tail.types[index].below
        if kind in _TIMES:
            return self._times(column, index, instant=kind == TIMESTAMP_INSTANT)
        if not below:
            return column
        nulls = column.is_null() if column.null_count else None
        if pa.types.is_struct(wanted):
            children = [self._column(column.field(i), f.type, below[i]) for i, f in enumerate(wanted)]
            fields = [f.with_type(c.type) for f, c in zip(wanted, children, strict=True)]
            return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
        if pa.types.is_map(wanted):
            keys = self._column(column.keys, wanted.key_type, below[0])
            items = self._column(column.items, wanted.item_type, below[1])
            target = pa.map_(wanted.key_field.with_type(keys.type), wanted.item_field.with_type(items.type))
            return pa.MapArray.from_arrays(column.offsets, keys, items, type=target, mask=nulls)
        values = self._column(column.values, wanted.value_type, below[0])
        target = pa.list_(wanted.value_field.with_type(values.type))
        return pa.ListArray.from_arrays(column.offsets, values, type=target, mask=nulls)

    def _times(self, column: pa.Array, index: int, *, instant: bool) -> pa.Array:
        valid, zone = validity(column), "UTC" if instant else self.zone
        nanos = np.zeros(len(column), dtype=np.int64)
        found = self.nanos.get(index, nanos[:0])
        if len(found) != valid.sum():
            raise ValueError(f"it has {len(found)} times where {valid.sum()} should be")
        nanos[valid] = found
        seconds = fixed_values(column, np.int64) + int(datetime(2015, 1, 1, tzinfo=ZoneInfo(zone)).timestamp())
        seconds = np.where((seconds < 0) & (nanos > 999_999), seconds - 1, seconds)
        micros = int64_array(seconds * 1_000_000 + nanos // 1000).view(pa.timestamp("us", "UTC"))
        if zone not in _UTC:
            micros = pc.local_timestamp(micros.cast(pa.timestamp("us", zone)))
        result = micros.cast(pa.timestamp("us", "UTC" if instant else None))
        return pc.if_else(pa.array(valid), result, None) if column.null_count else result


def stripe_times(source: pa.NativeFile, tail: OrcTail, index: int) -> StripeTimes:
    """Read what the whole seconds of a stripe lack. Raises `ValueError`."""
    streams, zone = read_streams(source, tail, tail.stripes[index])
    nanos = {
        s.column: _nanoseconds(read_stream(source, tail, s))
        for s in streams
        if s.kind == _SECONDARY and s.column < len(tail.types) and tail.types[s.column].kind in _TIMES
    }
    return StripeTimes(tail, nanos, zone)


def _nanoseconds(data: bytes) -> NDArray[np.int64]:
    numbers = decode_runs(data)
    zeros = (numbers & np.uint64(7)).astype(np.int64)
    return (numbers >> np.uint64(3)).astype(np.int64) * np.where(zeros > 0, 10 ** (zeros + 1), 1)


def _tail_of_numbers(tail: OrcTail) -> bytes:
    footer = bytearray(tail.footer)
    for column in tail.types:
        if column.kind in _TIMES:
            footer[column.kind_offset] = LONG
    content = stored(tail.codec, tail.block_size, bytes(footer))
    rest = b"".join(tail.postscript[a:b] for a, b in _spans_behind_length(tail.postscript))
    postscript = b"\x08" + encode_varint(len(content)) + rest
    return content + postscript + bytes([len(postscript)])


def _spans_behind_length(postscript: bytes) -> list[tuple[int, int]]:
    """The postscript without its first field, the footer's length."""
    first = next(offset for number, _, offset in messages(postscript) if number == 1)
    after = first
    while postscript[after] >= 0x80:
        after += 1
    return [(0, first - 1), (after + 1, len(postscript))]
