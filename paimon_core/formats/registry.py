"""The formats of data files by name, and the choice of the format for a new file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_values
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.file_format import FileFormat
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.settings import BLOCK_SIZE
from paimon_core.formats.parquet.settings import CODECS as PARQUET_CODECS
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    CHANGELOG_FILE_COMPRESSION,
    CHANGELOG_FILE_FORMAT,
    CHANGELOG_STATS_MODE,
    FILE_BLOCK_SIZE,
    FILE_COMPRESSION,
    FILE_COMPRESSION_PER_LEVEL,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    FILE_SUFFIX_COMPRESSION,
    STATS_MODE,
    STATS_MODE_PER_LEVEL,
    VECTOR_FILE_FORMAT,
    TableOptions,
)
from paimon_core.options.option import Option
from paimon_core.options.support import WRITTEN_FORMATS
from paimon_core.spec.types import DataField, VectorType

if TYPE_CHECKING:
    from paimon_core.formats.avro.data_files import AvroFormat
    from paimon_core.formats.orc.data_files import OrcFormat, holds_times
    from paimon_core.formats.text.csv import CsvLayout
    from paimon_core.formats.text.data_files import TextFormat
    from paimon_core.formats.text.json import JsonLayout
    from paimon_core.formats.text.lines import LinesLayout
else:
    AvroFormat = ImportedOnCall("paimon_core.formats.avro.data_files", "AvroFormat")
    OrcFormat = ImportedOnCall("paimon_core.formats.orc.data_files", "OrcFormat")
    holds_times = ImportedOnCall("paimon_core.formats.orc.data_files", "holds_times")
    CsvLayout = ImportedOnCall("paimon_core.formats.text.csv", "CsvLayout")
    TextFormat = ImportedOnCall("paimon_core.formats.text.data_files", "TextFormat")
    JsonLayout = ImportedOnCall("paimon_core.formats.text.json", "JsonLayout")
    LinesLayout = ImportedOnCall("paimon_core.formats.text.lines", "LinesLayout")


class _Formats(Mapping[str, FileFormat]):
    """Formats by name. The first use of a format imports it: most tables have one."""

    def __init__(self, makers: Mapping[str, Callable[[], FileFormat]]) -> None:
        self._makers = makers
        self._made: dict[str, FileFormat] = {}

    def __getitem__(self, name: str) -> FileFormat:
        found = self._made.get(name)
        return self._made.setdefault(name, self._makers[name]()) if found is None else found

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


_TEXTS: Mapping[str, Callable[[], FileFormat]] = {
    "csv": lambda: TextFormat(CsvLayout()),
    "json": lambda: TextFormat(JsonLayout()),
    "text": lambda: TextFormat(LinesLayout()),
}
_PER_LEVEL = (
    (FILE_FORMAT, FILE_FORMAT_PER_LEVEL),
    (FILE_COMPRESSION, FILE_COMPRESSION_PER_LEVEL),
    (STATS_MODE, STATS_MODE_PER_LEVEL),
)
_OF_CHANGELOG: tuple[Option[Any], ...] = (CHANGELOG_FILE_FORMAT, CHANGELOG_FILE_COMPRESSION, CHANGELOG_STATS_MODE)
_CODEC_ENDINGS = {"zstd": "zst", "gzip": "gz", "bzip2": "bz2"}
COMPRESSED_ENDINGS = ("gz", "bz2", "deflate", "snappy", "lz4", "zst")
TEXTS = tuple(_TEXTS)
FORMATS: Mapping[str, FileFormat] = _Formats({"parquet": ParquetFormat, "orc": OrcFormat, "avro": AvroFormat, **_TEXTS})


def write_format(options: TableOptions) -> FileFormat:
    """Return the format for new files. Raises `UnsupportedFeatureError`."""
    return _named(options[FILE_FORMAT], f"'{FILE_FORMAT.key}' = '{options[FILE_FORMAT]}'")


def formats_to_write(options: TableOptions) -> frozenset[str]:
    """Return the names of all formats that new files may have."""
    return frozenset(own[FILE_FORMAT] for _, own in _roles(options))


def check_formats(fields: Sequence[DataField], options: TableOptions) -> None:
    """Raise `InvalidOptionError` or `UnsupportedFeatureError` for formats and options that new files cannot have."""
    apart = [f for f in fields if isinstance(f.type, VectorType)] if options[VECTOR_FILE_FORMAT] is not None else []
    for what, own in _roles(options):
        if own[FILE_FORMAT] not in FORMATS:
            known = ", ".join(WRITTEN_FORMATS)
            raise InvalidOptionError(f"Option '{what}' cannot be {own[FILE_FORMAT]!r}: this version writes {known}.")
        try:
            together = apart if what == VECTOR_FILE_FORMAT.key else [f for f in fields if f not in apart]
            write_format(own).check(together, own)
        except InvalidOptionError as e:
            if what == FILE_FORMAT.key:
                raise
            codecs = what.replace("format", "compression")
            raise InvalidOptionError(f"Files of '{what}' and '{codecs}' cannot be written: {e}") from e


def _roles(options: TableOptions) -> Iterator[tuple[str, TableOptions]]:
    """Yield the options of each kind of new files, with the name of the option that sets the kind's format."""
    yield FILE_FORMAT.key, options
    for level in sorted({level for _, per in _PER_LEVEL for level in options[per]}):
        yield FILE_FORMAT_PER_LEVEL.key, for_level(options, level)
    yield CHANGELOG_FILE_FORMAT.key, for_changelog(options)
    if options[VECTOR_FILE_FORMAT] in FORMATS:
        yield VECTOR_FILE_FORMAT.key, for_vectors(options)


def for_changelog(options: TableOptions) -> TableOptions:
    """Return the options for changelog files."""
    own: dict[str, str] = {}
    for special, (general, per_level) in zip(_OF_CHANGELOG, _PER_LEVEL, strict=True):
        if special in options:
            own |= {general.key: options.values[special.key], per_level.key: ""}
    return options.merged(own)


def for_vectors(options: TableOptions) -> TableOptions:
    """Return the options for files of VECTOR columns alone."""
    return options.merged({FILE_FORMAT.key: options[VECTOR_FILE_FORMAT] or options[FILE_FORMAT]})


def for_level(options: TableOptions, level: int) -> TableOptions:
    """Return the options for files of a level of a primary-key table."""
    changes = {of.key: options[per][level] for of, per in _PER_LEVEL if level in options[per]}
    return options.merged(changes) if changes else options


def block_bytes(options: TableOptions) -> int:
    """Return the bytes of a row group or stripe in the options, 0 if the options do not set them."""
    return options[FILE_BLOCK_SIZE] or (options[BLOCK_SIZE] if write_format(options).extension == "parquet" else 0)


def for_rows(options: TableOptions, rows: pa.Table) -> TableOptions:
    """Return the options for a file of these rows: Parquet instead of ORC if ORC cannot store them.

    Readers of Paimon tables use the file name's ending: a table may have files of several formats."""
    if write_format(options).extension != "orc" or all(holds_times(c) for col in rows.columns for c in col.chunks):
        return options
    changed = options.merged({FILE_FORMAT.key: "parquet"})
    if changed[FILE_COMPRESSION].strip().lower() in PARQUET_CODECS:
        return changed
    return changed.merged({FILE_COMPRESSION.key: FILE_COMPRESSION.default})


def file_ending(options: TableOptions) -> str:
    """Return the ending of names of new files: the format, and the codec if names contain it."""
    extension, codec = write_format(options).extension, options[FILE_COMPRESSION].strip().lower()
    if extension in TEXTS and codec not in ("", "none"):
        return f".{extension}.{_CODEC_ENDINGS.get(codec, codec)}"
    if not options[FILE_SUFFIX_COMPRESSION] or codec in ("", "none"):
        return f".{extension}"
    return f".{_CODEC_ENDINGS.get(codec, codec)}.{extension}"


def format_of_file(file_name: str) -> FileFormat:
    """Return the format of an existing file. Raises `UnsupportedFeatureError`."""
    return _named(format_name(file_name), f"File {file_name}")


def format_name(file_name: str) -> str:
    """Return the format in a file's name: its ending, without the ending of a compressed text (`.csv.gz`)."""
    name, _, ending = file_name.lower().rpartition(".")
    return name.rpartition(".")[2] if ending in COMPRESSED_ENDINGS else ending


def of_format(file_names: pa.Array, name: str) -> NDArray[np.bool_]:
    """Return which of many file names have a format, by the rule of `format_name`."""
    pattern = rf"(?i)(^|\.){name}(\.({'|'.join(COMPRESSED_ENDINGS)}))?$"
    found: NDArray[np.bool_] = fixed_values(pc.match_substring_regex(file_names, pattern), np.bool_)
    return found


def _named(name: str, subject: str) -> FileFormat:
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnsupportedFeatureError(
            f"{subject}: this version reads and writes only {known}; set '{FILE_FORMAT.key}' to one of them."
        )
    return FORMATS[name]
