"""Times of ORC files in microseconds, for times that pyarrow's nanoseconds cannot hold.

A time is a number of seconds since 2015-01-01 of the writer's clock, in stream DATA, and its nanoseconds in stream
SECONDARY: the last three bits count the zeros that were cut off (n: n + 1 zeros, none for 0). pyarrow reads the whole
seconds, from the same file with a footer that declares the columns of times as numbers. Source: ORC specification v1.

The stripe names the time zone of the writer's clock. pyarrow only finds names of regions. Java's writers also write
names such as `GMT+08:00` and `PST`, which `paimon_core.time_zones` resolves. In zones other than UTC, pyarrow reads two
kinds of old times differently from Java: local mean times, and times around the epoch, which differ by a second.

Spark writes a TIMESTAMP, which is a moment, as ORC's time without a zone: the stored seconds are then the moment
itself. Paimon's own writers store the moment's wall clock of UTC instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, int64_array, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnfamiliarFormError
from paimon_core.formats.orc.integer_runs import decode_runs
from paimon_core.formats.orc.layout import (
    LONG,
    TIMESTAMP,
    TIMESTAMP_INSTANT,
    OrcTail,
    end_of_file,
    messages,
    read_stream,
    read_streams,
    read_stripe_footer,
    stored,
)
from paimon_core.formats.orc.nested import changed_columns
from paimon_core.formats.replaced_footer import ReplacedFooterFile
from paimon_core.spec.encodings.varints import encode_varint
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, RowType
from paimon_core.time_zones import SHORT_NAMES, time_zone

_SECONDARY = 5
_TIMES = (TIMESTAMP, TIMESTAMP_INSTANT)
_UTC = ("UTC", "GMT", "Etc/UTC")
_OF_SPARK = b"org.apache.spark.version"  # in the metadata of the files that Spark writes
# 1973-01-01: no zone has had local mean time since then
_SETTLED = fixed_array(np.array([94_694_400_000]), pa.timestamp("ms"))[0]


def times_as_numbers(source: pa.NativeFile, tail: OrcTail, index: int) -> ReplacedFooterFile:
    """Return the ORC file with its times as numbers and without a time zone, for readers of one stripe."""
    stripe = tail.stripes[index]
    footer = stored(tail.codec, tail.block_size, _in_utc(read_stripe_footer(source, tail, stripe)))
    return ReplacedFooterFile(source, stripe.footer_start, footer + _tail_of_numbers(tail, index, len(footer)))


def is_found_by_rules(zone: str) -> bool:
    """Return whether this module must resolve a time zone itself. It must if pyarrow does not know the zone, or has
    other rules for it, and the name is not the name of a region.
    """
    if zone in SHORT_NAMES:
        return True
    try:
        ZoneInfo(zone)
    except (ValueError, LookupError, OSError):
        return True
    return False


def is_utc(zone: str) -> bool:
    return zone in _UTC


def has_old_clocks(stripe: pa.RecordBatch, zone: str) -> bool:
    """Return whether a stripe has times that pyarrow may read differently from what Java wrote in a time zone."""
    return zone not in _UTC and any(map(_has_old_clocks, stripe.columns))


def _has_old_clocks(column: pa.Array) -> bool:
    if pa.types.is_timestamp(column.type):
        return column.type.tz is None and bool(pc.any(pc.less(column, _SETTLED.cast(column.type))).as_py())
    if pa.types.is_struct(column.type):
        return any(map(_has_old_clocks, column.flatten()))
    if pa.types.is_map(column.type):
        return _has_old_clocks(column.keys) or _has_old_clocks(column.items)
    return pa.types.is_list(column.type) and _has_old_clocks(column.flatten())


@dataclass(frozen=True, slots=True)
class StripeTimes:
    """The parts of the times of one stripe besides seconds: nanoseconds by column, and the writer's time zone.

    `moments` are the numbers of the columns without a zone that have moments.
    """

    path: str
    tail: OrcTail
    nanos: dict[int, NDArray[np.int64]]
    zone: str
    moments: frozenset[int] = frozenset()

    def restored(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Return a batch of numbers with the types of `schema`, the file's schema, and times in microseconds."""
        return changed_columns(batch, schema, self.tail, self._part)

    def _part(self, part: pa.Array, index: int) -> pa.Array:
        kind = self.tail.types[index].kind
        return self._times(part, index, is_instant=kind == TIMESTAMP_INSTANT) if kind in _TIMES else part

    def _times(self, column: pa.Array, index: int, *, is_instant: bool) -> pa.Array:
        valid, zone = validity(column), UTC if is_instant else self._clock()
        is_moment = is_instant or index in self.moments
        nanos = np.zeros(len(column), dtype=np.int64)
        found = self.nanos.get(index, nanos[:0])
        if len(found) != valid.sum():
            raise ValueError(f"a column has {len(found)} times for {valid.sum()} values")
        nanos[valid] = found
        seconds = fixed_values(column, np.int64) + int(datetime(2015, 1, 1, tzinfo=zone).timestamp())
        seconds = np.where((seconds < 0) & (nanos > 999_999), seconds - 1, seconds)
        if not isinstance(zone, ZoneInfo) and not is_moment:
            seconds = seconds + int((zone.utcoffset(None) or timedelta()).total_seconds())
        micros = int64_array(seconds * 1_000_000 + nanos // 1000).view(pa.timestamp("us", "UTC"))
        if isinstance(zone, ZoneInfo) and zone.key not in _UTC and not is_moment:
            micros = pc.local_timestamp(micros.cast(pa.timestamp("us", zone.key)))
        result = micros.cast(pa.timestamp("us", "UTC" if is_moment else None))
        return pc.if_else(pa.array(valid), result, None) if column.null_count else result

    def _clock(self) -> tzinfo:
        try:
            return time_zone(self.zone)
        except InvalidOptionError as e:
            raise UnfamiliarFormError(
                self.path, f"its times have the time zone {self.zone!r}, which this version does not know"
            ) from e


def moments_without_zone(
    file: po.ORCFile, tail: OrcTail, sources: Sequence[str | None], fields: Sequence[DataField]
) -> frozenset[int]:
    """Return the numbers of the columns that `fields` read as moments, in a file of Spark that stores moments without a
    zone. `sources` are the names of the fields' columns in the file.
    """
    if _OF_SPARK not in (file.metadata or {}):
        return frozenset()
    numbers = dict(zip(file.schema.names, tail.types[0].below, strict=True))
    found: set[int] = set()
    for source, field in zip(sources, fields, strict=True):
        if source is not None:
            _add_moments(found, tail, numbers[source], file.schema.field(source).type, field.type)
    return frozenset(found)


def _add_moments(found: set[int], tail: OrcTail, number: int, arrow: pa.DataType, wanted: DataType) -> None:
    column = tail.types[number]
    match wanted:
        case RowType(fields=fields) if pa.types.is_struct(arrow):
            by_name = {f.name.lower(): f.type for f in fields}
            for below, part in zip(column.below, arrow, strict=True):
                if (kind := by_name.get(part.name.lower())) is not None:
                    _add_moments(found, tail, below, part.type, kind)
        case MapType(key=key, value=value) if pa.types.is_map(arrow):
            _add_moments(found, tail, column.below[0], arrow.key_type, key)
            _add_moments(found, tail, column.below[1], arrow.item_type, value)
        case CollectionType(element=element) if pa.types.is_list(arrow):
            _add_moments(found, tail, column.below[0], arrow.value_type, element)
        case _ if wanted.kind is Kind.TIMESTAMP_LTZ and column.kind == TIMESTAMP:
            found.add(number)


def stripe_times(
    path: str, source: pa.NativeFile, tail: OrcTail, index: int, moments: frozenset[int] = frozenset()
) -> StripeTimes:
    """Read the times of a stripe without their whole seconds: the nanoseconds, and the writer's time zone. Raises
    `ValueError`.
    """
    streams, zone = read_streams(source, tail, tail.stripes[index])
    nanos = {
        s.column: _nanoseconds(read_stream(source, tail, s))
        for s in streams
        if s.kind == _SECONDARY and s.column < len(tail.types) and tail.types[s.column].kind in _TIMES
    }
    return StripeTimes(path, tail, nanos, zone, moments)


def _nanoseconds(data: bytes) -> NDArray[np.int64]:
    numbers = decode_runs(data)
    zeros = (numbers & np.uint64(7)).astype(np.int64)
    return (numbers >> np.uint64(3)).astype(np.int64) * np.where(zeros > 0, 10 ** (zeros + 1), 1)


def _tail_of_numbers(tail: OrcTail, index: int, footer_size: int) -> bytes:
    """The tail of the file; the footer of one stripe has another size."""
    footer = bytearray(tail.footer)
    for column in tail.types:
        if column.kind in _TIMES:
            footer[column.kind_offset] = LONG
    stripe, offset = [(value, at) for number, value, at in messages(tail.footer) if number == 3][index]
    size, at = next((value, at) for number, value, at in messages(stripe) if number == 4)
    changed = stripe[:at] + encode_varint(footer_size) + stripe[at + len(encode_varint(size)) :]
    whole = _replaced(bytes(footer), stripe, offset, changed)
    return end_of_file(tail.codec, tail.block_size, whole, tail.postscript)


def _in_utc(footer: bytes) -> bytes:
    """Return the footer of a stripe with UTC as its writer's time zone."""
    for number, value, offset in messages(footer):
        if number == 3:
            return _replaced(footer, value, offset, b"UTC")
    return footer


def _replaced(message: bytes, value: bytes, offset: int, other: bytes) -> bytes:
    """Return a message in which `other` replaces the value at an offset, and the length of `other` replaces the value's
    length.
    """
    start, end = offset - len(encode_varint(len(value))), offset + len(value)
    return message[:start] + encode_varint(len(other)) + other + message[end:]
