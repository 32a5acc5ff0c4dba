"""Stripes that crash the native reader, or keep it busy for years, are refused before it sees them."""

from __future__ import annotations

import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.orc as po
import pytest

from paimon_core.formats.orc.layout import check_tail, read_streams, read_stripe_footer
from paimon_core.formats.orc.stripe_checks import check_stripe

_ROWS = 20


_DECIMAL = pa.decimal128(20, 4)


def file(kind: pa.DataType = _DECIMAL) -> bytes:
    """A file without compression of one stripe and one column."""
    value = Decimal(12) if pa.types.is_decimal(kind) else "text"
    sink = io.BytesIO()
    po.write_table(pa.table({"c": pa.array([value] * _ROWS, kind)}), sink, compression="uncompressed")
    return sink.getvalue()


def check(data: bytes) -> None:
    source = pa.BufferReader(data)
    tail = check_tail(source)
    for stripe in tail.stripes:
        check_stripe(source, tail, stripe)


@pytest.mark.parametrize("kind", [pa.decimal128(20, 4), pa.decimal128(10, 0), pa.string()])
def test_whole_files_pass(kind: pa.DataType) -> None:
    check(file(kind))


def test_scales_that_no_decimal_has() -> None:
    data = file()
    source = pa.BufferReader(data)
    tail = check_tail(source)
    scales = next(s for s in read_streams(source, tail, tail.stripes[0])[0] if s.kind == 5)
    run = b"\x10\xff\xff\xff"  # a short repeat of 3 bytes
    damaged = data[: scales.start] + run + data[scales.start + len(run) :]
    with pytest.raises(ValueError, match="have impossible scales"):
        check(damaged)


def test_rows_of_stripes_that_do_not_add_up() -> None:
    data = file()
    tail = check_tail(pa.BufferReader(data))
    at = data.index(bytes([0x28, _ROWS]), tail.footer_start)  # field 5 of the stripe
    with pytest.raises(ValueError, match="do not add up to its number of rows"):
        check(data[: at + 1] + bytes([_ROWS + 1]) + data[at + 2 :])


def test_decimals_of_too_many_digits() -> None:
    data = file()
    tail = check_tail(pa.BufferReader(data))
    at = data.index(bytes([0x28, 20, 0x30, 4]), tail.footer_start)  # precision and scale
    with pytest.raises(ValueError, match="impossible number of digits"):
        check(data[: at + 1] + bytes([99]) + data[at + 2 :])


def test_encodings_of_another_version() -> None:
    data = file(pa.string())
    source = pa.BufferReader(data)
    tail = check_tail(source)
    stripe = tail.stripes[0]
    footer = read_stripe_footer(source, tail, stripe)
    for encoding in (2, 3):  # the last one, which is the column's
        old = bytes([0x08, encoding])
        at = footer.rfind(old)
        if at >= 0:
            damaged = footer[: at + 1] + bytes([encoding - 2]) + footer[at + 2 :]
            with pytest.raises(ValueError, match="encoding that only older versions of ORC"):
                check(data[: stripe.footer_start] + damaged + data[stripe.footer_start + len(footer) :])
            return
    raise AssertionError("the column has no encoding of version 2")


def test_one_encoding_too_few() -> None:
    data = file(pa.string())
    source = pa.BufferReader(data)
    tail = check_tail(source)
    stripe = tail.stripes[0]
    footer = read_stripe_footer(source, tail, stripe)
    at = footer.index(b"\x12")  # the first encoding becomes a field that nobody knows
    with pytest.raises(ValueError, match="encodings for 2 columns"):
        check(data[: stripe.footer_start + at] + b"\x7a" + data[stripe.footer_start + at + 1 :])


def with_kind(data: bytes, column: int, old: int, new: int) -> bytes:
    """The file with another kind of a stream in the footer of its stripe."""
    stream = bytes([0x08, old, 0x10, column])
    at = data.index(stream, check_tail(pa.BufferReader(data)).stripes[0].footer_start)
    return data[: at + 1] + bytes([new]) + data[at + 2 :]


def test_a_stream_of_a_kind_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="of kind 11, which does not exist"):
        check(with_kind(file(pa.string()), 1, 1, 11))


def test_keys_of_maps_that_are_null() -> None:
    sink, column = io.BytesIO(), pa.array([[("key", 1)]] * _ROWS, pa.map_(pa.string(), pa.int64()))
    po.write_table(pa.table({"c": column}), sink, compression="uncompressed")
    check(sink.getvalue())
    with pytest.raises(ValueError, match=r"keys of a map \(column 2\) are NULL"):
        check(with_kind(sink.getvalue(), 2, 6, 0))


@pytest.mark.parametrize("codec", ["zlib", "snappy", "lz4", "zstd"])
def test_chunks_that_are_longer_than_their_stream(codec: str) -> None:
    sink = io.BytesIO()
    po.write_table(pa.table({"c": pa.array(range(_ROWS), pa.int64())}), sink, compression=codec)
    data = sink.getvalue()
    check(data)
    source = pa.BufferReader(data)
    tail = check_tail(source)
    stream = read_streams(source, tail, tail.stripes[0])[0][-1]
    damaged = data[: stream.start + 2] + b"\x7f" + data[stream.start + 3 :]
    with pytest.raises(ValueError, match="a chunk ends after its stream"):
        check(damaged)
    far = pa.BufferReader(damaged)
    check_stripe(far, check_tail(far), tail.stripes[0], near=False)  # each look would be a request
