"""What pages and footers of Parquet files claim is looked at before the native reader believes it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.formats.parquet import page_checks
from paimon_core.formats.parquet.footer import chunk_metadata, column_chunks, file_end, read_footer, row_groups
from paimon_core.formats.parquet.page_checks import checked_footer
from paimon_core.formats.parquet.thrift import I32, I64, LIST, Fields, Items, decode_at, encode

_CHUNK_SIZES, _UNPACKED_TOTAL, _DICTIONARY, _DATA = 16, 6, 11, 9  # ColumnMetaData


def file(columns: int = 1, rows: int = 100, note: str = "", **settings: Any) -> bytes:
    sink = io.BytesIO()
    names = ["a.b", *(f"c{i}" for i in range(1, columns))]
    table = pa.table({n: [f"value {i % 9}" for i in range(rows)] for n in names})
    pq.write_table(table.replace_schema_metadata({"note": note}), sink, **settings)
    return sink.getvalue()


def check(data: bytes) -> bool:
    """Check all pages; whether they were looked at."""
    source, opened = pa.BufferReader(data), pq.ParquetFile(pa.BufferReader(data))
    found = checked_footer(source, opened.schema, opened.num_row_groups)
    for group in range(opened.num_row_groups) if found else ():
        found.check_pages(group, opened.schema_arrow.names)
    return found is not None


def with_footer(data: bytes, change: Callable[[Fields], None]) -> bytes:
    found, start = read_footer(pa.BufferReader(data))
    change(chunk_metadata(column_chunks(row_groups(found)[0])[0]))
    return data[:start] + file_end(found)


def with_header(data: bytes, page: int, change: Callable[[Fields], None]) -> bytes:
    """The file with the first header of a kind of pages, `page`, changed to one of the same length."""
    at = chunk_metadata(column_chunks(row_groups(read_footer(pa.BufferReader(data))[0])[0])[0])[page][1]
    header, length = decode_at(data[at:])
    change(header)
    new = encode(header)
    found, start = read_footer(pa.BufferReader(data))
    meta = chunk_metadata(column_chunks(row_groups(found)[0])[0])
    meta[7] = I64, meta[7][1] + len(new) - length
    if page == _DICTIONARY:
        meta[_DATA] = I64, meta[_DATA][1] + len(new) - length
    return data[:at] + new + data[at + length : start] + file_end(found)


@pytest.mark.parametrize("rows", [0, 1, 100])
@pytest.mark.parametrize(
    "settings", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"compression": "zstd"}]
)
def test_whole_files_pass(rows: int, settings: dict[str, Any]) -> None:
    assert check(file(rows=rows, **settings))


def test_long_statistics_and_many_pages_pass() -> None:
    sink = io.BytesIO()
    texts = pa.table({"t": ["x" * 5000 + str(i) for i in range(300)]})
    pq.write_table(texts, sink, use_dictionary=False, data_page_size=10_000)
    assert check(sink.getvalue())


def test_a_footer_of_very_many_columns_is_not_taken_apart() -> None:
    assert not check(file(columns=300))


@pytest.mark.parametrize("page", [_DICTIONARY, _DATA])
@pytest.mark.parametrize("claimed", [2**31 - 1, 10**6, -1])
def test_a_page_of_more_bytes_than_its_chunk(page: int, claimed: int) -> None:
    def claim(header: Fields) -> None:
        header[2] = I32, claimed

    with pytest.raises(ValueError, match=rf"a page of its column a\.b claims {claimed} bytes, but only \d+ are left"):
        check(with_header(file(), page, claim))


def test_a_chunk_of_more_bytes_than_its_size_can_hold() -> None:
    def claim(meta: Fields) -> None:
        meta[_UNPACKED_TOTAL] = I64, 2**50

    with pytest.raises(ValueError, match=r"its column a\.b claims 1125899906842624 bytes"):
        check(with_footer(file(), claim))


def test_a_page_of_more_values_than_rows() -> None:
    def claim(header: Fields) -> None:
        header[7][1][1] = I32, 2**30

    with pytest.raises(ValueError, match=r"a page of its column a\.b claims 1073741824 values"):
        check(with_header(file(), _DICTIONARY, claim))


def test_a_page_that_leads_out_of_its_chunk() -> None:
    def claim(header: Fields) -> None:
        header[3] = I32, 10**6

    with pytest.raises(ValueError, match="a page is longer than its column"):
        check(with_header(file(), _DICTIONARY, claim))


def test_a_histogram_that_ends_the_process_when_somebody_looks_at_its_chunk() -> None:
    def lengthen(meta: Fields) -> None:
        meta[_CHUNK_SIZES][1][3] = LIST, Items((I64,), [1, 2, 3, 4])

    with pytest.raises(ValueError, match=r"a histogram of column a\.b does not match the column's levels"):
        check(with_footer(file(), lengthen))


def test_footers_of_another_file_at_the_same_path_and_long_footers_are_not_kept() -> None:
    """Kept footers are found by their bytes, and a hostile table cannot fill the memory with them."""
    page_checks._kept_chunks.cache_clear()
    first, long = file(2), file(note="x" * 2**18)
    assert check(first) and check(first) and check(file(2, rows=101)) and check(long)
    kept = page_checks._kept_chunks.cache_info()
    assert (kept.hits, kept.currsize) == (1, 2)
