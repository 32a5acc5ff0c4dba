"""The interface for converting rows to lines of text and back, and the layout of plain text.

`csv` and `json` have the other layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Protocol

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import Option, TableOptions
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.types import DataField


def some_text(text: str) -> str:
    """Parse an option with one or more characters."""
    if not text:
        raise ValueError("one or more characters")
    return text


DELIMITER = Option("text.line-delimiter", some_text, "\n", "Text after each line of text files.")
_BLOCK, _LONGEST_LINE = 2**20, 2**26  # bytes read at a time, and of a line: a compressed file may never end


class Malformed(Enum):
    """The treatment of a value that does not parse."""

    ERROR = auto()
    NULL = auto()
    NULL_TO_END = auto()  # also makes the values after it NULL
    NO_ROW = auto()


class TextLayout(Protocol):
    """A conversion of rows to lines and back."""

    @property
    def name(self) -> str:
        """The format's name, which is also the ending of file names."""

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        """Raise `UnsupportedFeatureError` for columns that such files cannot store, `InvalidOptionError`."""

    def malformed(self, options: TableOptions) -> Malformed:
        """Return the treatment of values that do not parse."""

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        """Return the lines for columns of texts."""

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        """Return the first lines of a file."""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        """Yield columns of texts from lines."""


class LinesLayout:
    """The layout of one column of texts, with one line per text.

    NULL becomes an empty line, which is read as an empty text.
    """

    name = "text"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        _ = options[DELIMITER]  # raises where the value does not parse
        if len(fields) != 1 or fields[0].type.kind not in TEXTS:
            raise UnsupportedFeatureError(
                f"Text files have exactly one column of type STRING, not ({', '.join(f.name for f in fields)})."
            )

    def malformed(self, options: TableOptions) -> Malformed:
        return Malformed.ERROR

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        return joined(pc.binary_join_element_wise(batch.column(0).fill_null(""), "", options[DELIMITER]))

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        return b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        for lines in text_lines(stream, options[DELIMITER]):
            yield pa.RecordBatch.from_arrays([pa.array(lines, pa.binary()).cast(pa.string())], schema=schema)


def joined(lines: pa.StringArray) -> bytes:
    """Join the texts of a column to one text."""
    return bytes(
        pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "")[0].as_buffer()
    )


def text_lines(stream: pa.NativeFile, delimiter: str) -> Iterator[list[bytes]]:
    """Yield the lines of a file, without their delimiters, some megabytes at a time.

    Raises `ValueError` for a line without an end."""
    end, parts, carried = delimiter.encode(), list[bytes](), b""
    while block := stream.read(_BLOCK):
        first, *others = (carried + block).split(end)
        if others:
            yield [b"".join((*parts, first)), *others[:-1]]
            parts.clear()
        rest = others[-1] if others else first
        kept = max(0, len(rest) - len(end) + 1)  # a delimiter may have begun after it
        parts.append(rest[:kept])
        carried = rest[kept:]
        if sum(map(len, parts)) > _LONGEST_LINE:
            raise ValueError(f"a line has more than {_LONGEST_LINE} bytes")
    if rest := b"".join((*parts, carried)):
        yield [rest]
