"""The formats of data files by name, and which one a new file gets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.avro import AvroFormat
from paimon_core.formats.file_format import FileFormat
from paimon_core.formats.orc import OrcFormat
from paimon_core.formats.parquet import ParquetFormat
from paimon_core.options import FILE_FORMAT, TableOptions

_ALL: tuple[FileFormat, ...] = (ParquetFormat(), OrcFormat(), AvroFormat())
COMPRESSED_ENDINGS = ("gz", "bz2", "deflate", "snappy", "lz4", "zst")
FORMATS: Mapping[str, FileFormat] = MappingProxyType({f.extension: f for f in _ALL})


def write_format(options: TableOptions) -> FileFormat:
    """The format that new files get. Raises `UnsupportedFeatureError`."""
    return _named(options[FILE_FORMAT], f"'{FILE_FORMAT.key}' = '{options[FILE_FORMAT]}'")


def format_of_file(file_name: str) -> FileFormat:
    """The format of an existing file. Raises `UnsupportedFeatureError`."""
    return _named(format_name(file_name), f"File {file_name}")


def format_name(file_name: str) -> str:
    """What a file's name says of its format: its ending, before that of a compressed text (`.csv.gz`)."""
    name, _, ending = file_name.lower().rpartition(".")
    return name.rpartition(".")[2] if ending in COMPRESSED_ENDINGS else ending


def _named(name: str, subject: str) -> FileFormat:
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnsupportedFeatureError(
            f"{subject}: this version reads and writes {known} only; set '{FILE_FORMAT.key}' to one of them."
        )
    return FORMATS[name]
