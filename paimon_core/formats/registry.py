"""The formats of data files by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.file_format import FileFormat
from paimon_core.formats.parquet import ParquetFormat
from paimon_core.options import FILE_FORMAT, TableOptions

FORMATS: Mapping[str, FileFormat] = MappingProxyType({f.extension: f for f in (ParquetFormat(),)})


def write_format(options: TableOptions) -> FileFormat:
    """The format that new files get. Raises `UnsupportedFeatureError`."""
    return _named(options[FILE_FORMAT], f"'{FILE_FORMAT.key}' = '{options[FILE_FORMAT]}'")


def format_of_file(file_name: str) -> FileFormat:
    """The format of an existing file. Raises `UnsupportedFeatureError`."""
    return _named(file_name.rpartition(".")[2].lower(), f"File {file_name}")


def _named(name: str, subject: str) -> FileFormat:
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnsupportedFeatureError(
            f"{subject}: this version reads and writes {known} only; set '{FILE_FORMAT.key}' to one of them."
        )
    return FORMATS[name]
