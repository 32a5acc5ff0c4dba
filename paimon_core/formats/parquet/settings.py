"""Table options of Parquet files as settings of pyarrow's writer.

Some options can also be set for one column, as `KEY#COLUMN`; a nested column has its path in the file
(`a.list.element`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from paimon_core.arrow.leaves import leaves
from paimon_core.arrow.types import STORED_TIME
from paimon_core.errors import InvalidOptionError
from paimon_core.formats.codecs import codec, known_codec
from paimon_core.options import (
    ZSTD_LEVEL,
    Option,
    TableOptions,
    boolean,
    decimal_number,
    integer,
    memory_size,
    optional,
)

CODECS = {c: c for c in ("zstd", "snappy", "gzip", "lz4", "brotli", "none")} | {
    "uncompressed": "none",
    "lz4_raw": "lz4",
}
BLOCK_SIZE = Option("parquet.block.size", memory_size, 0, "Bytes of a row group; 0: the default.")
_COMPRESSION = Option("parquet.compression", str, "", "Codec of Parquet files; overrides `file.compression`.")
_DICTIONARY_PAGE_SIZE = Option("parquet.dictionary.page.size", memory_size, 2**20, "Bytes of a dictionary.")
_PAGE_SIZE = Option("parquet.page.size", memory_size, 2**20, "Bytes of a page.")
_PAGE_ROWS = Option("parquet.page.row.count.limit", integer, 20_000, "Rows of a page.")
_ZSTD_LEVEL = Option(
    "parquet.compression.codec.zstd.level", optional(integer), None, "Level; overrides `file.compression.zstd-level`."
)
_WRITE_CHECKSUM = Option("parquet.page.write-checksum.enabled", boolean, True, "Write a CRC-32 of each page.")
VERIFY_CHECKSUM = Option("parquet.page.verify-checksum.enabled", boolean, True, "Check the CRC-32 of pages.")
_BLOOM = Option("parquet.bloom.filter.enabled", boolean, False, "Write a bloom filter per column and row group.")
_BLOOM_VALUES = Option("parquet.bloom.filter.expected.ndv", integer, 2**20, "Distinct values a filter expects.")
_BLOOM_FPP = Option("parquet.bloom.filter.fpp", decimal_number, 0.01, "Share of absent values that a filter lets pass.")
T = TypeVar("T")


def writer_settings(options: TableOptions, schema: pa.Schema) -> dict[str, Any]:
    """Return the arguments of `pq.ParquetWriter` for files with these columns. Raises `InvalidOptionError`."""
    paths = [path for path, _ in leaves(schema)]
    common = codec(options, CODECS, "Parquet", _COMPRESSION)
    codecs = dict.fromkeys(paths, common) | {
        path: known_codec(own.key, options[own], CODECS, "Parquet")
        for path in paths
        if (own := _of_column(_COMPRESSION, path)) in options
    }
    level = options[ZSTD_LEVEL] if options[_ZSTD_LEVEL] is None else options[_ZSTD_LEVEL]
    return {
        "compression": codecs,
        "compression_level": {path: level for path, name in codecs.items() if name == "zstd"} or None,
        "dictionary_pagesize_limit": _positive(options, _DICTIONARY_PAGE_SIZE),
        "data_page_size": _positive(options, _PAGE_SIZE),
        "max_rows_per_page": _positive(options, _PAGE_ROWS),
        "write_page_checksum": options[_WRITE_CHECKSUM],
        "bloom_filter_options": dict(_bloom_filters(options, schema)) or None,
    }


def _bloom_filters(options: TableOptions, schema: pa.Schema) -> Iterator[tuple[str, dict[str, Any]]]:
    default = options[_BLOOM]
    for path, arrow in leaves(schema):
        wanted = options[_of_column(_BLOOM, path, default)]
        if wanted and not pa.types.is_boolean(arrow) and not arrow.equals(STORED_TIME):
            share = options[_of_column(_BLOOM_FPP, path)]
            if not 0 < share < 1:
                raise InvalidOptionError(
                    f"Option '{_BLOOM_FPP.key}#{path}' cannot be {share}: it must be a share between 0 and 1."
                )
            yield path, {"ndv": _positive(options, _of_column(_BLOOM_VALUES, path)), "fpp": share}


def _positive(options: TableOptions, option: Option[int]) -> int:
    if options[option] < 1:
        raise InvalidOptionError(f"Option '{option.key}' cannot be {options[option]}: it must be a number above 0.")
    return options[option]


def _of_column(option: Option[T], path: str, default: T | None = None) -> Option[T]:
    return replace(option, key=f"{option.key}#{path}", default=option.default if default is None else default)
