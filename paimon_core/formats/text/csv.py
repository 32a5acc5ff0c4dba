"""CSV: one line per row, with values in the order of the columns. Values with a special character are quoted; an escape
character precedes a quote or escape in them. Unless `csv.mode` is strict, missing values at the end of a line are NULL,
and values after the last column are ignored.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as pv

from paimon_core import compute as pc
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.text.lines import Malformed, joined, some_text
from paimon_core.options import Option, TableOptions, boolean, one_of
from paimon_core.spec.types import CollectionType, DataField, Kind, MapType, RowType


def _character(text: str) -> str:
    if len(text) != 1 or text == "\0":
        raise ValueError("one character")
    return text


STRICT = "strict"
FIELD_DELIMITER = Option("csv.field-delimiter", _character, ",", "Character between the values of a CSV line.")
LINE_DELIMITER = Option("csv.line-delimiter", some_text, "\n", "Text after each line of CSV files.")
QUOTE = Option("csv.quote-character", _character, '"', "Character around CSV values that need quotes.")
ESCAPE = Option("csv.escape-character", _character, "\\", "Character before a quote in a CSV value.")
NULL = Option("csv.null-literal", str, "", "Text for NULL in CSV files.")
HEADER = Option("csv.include-header", boolean, False, "CSV files begin with the names of the columns.")
MODE = Option(
    "csv.mode",
    one_of("permissive", "dropmalformed", "failfast", STRICT),
    STRICT,
    "A value that does not parse becomes NULL, drops its row, or fails; strict: a wrong number of values fails, too.",
)
_MALFORMED = {"permissive": Malformed.NULL_TO_END, "dropmalformed": Malformed.NO_ROW}
_STANDS_IN = "\ue000"  # replaces a line feed within a line that has another ending


class CsvLayout:
    """The `TextLayout` of CSV."""

    name = "csv"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        _check_options(options)
        for field in fields:
            if isinstance(field.type, CollectionType | MapType | RowType) or field.type.kind is Kind.VARIANT:
                raise UnsupportedFeatureError(f"Column {field.name!r}: CSV files cannot hold {field.type.kind.value}.")

    def malformed(self, options: TableOptions) -> Malformed:
        return _MALFORMED.get(options[MODE], Malformed.ERROR)

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        cells = [_quoted(c, options).fill_null(options[NULL]) for c in batch.columns]
        lines = pc.binary_join_element_wise(*cells, options[FIELD_DELIMITER])
        return joined(pc.binary_join_element_wise(lines, "", options[LINE_DELIMITER]))

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        row = pa.RecordBatch.from_arrays([pa.array([n]) for n in names], names=list(names))
        return self.encode(row, options) if options[HEADER] else b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        end, skipped = options[LINE_DELIMITER], int(options[HEADER])
        if end == "\n":
            yield from _parse(stream, schema, options, skipped)
            return
        text = stream.read().decode().replace("\n", _STANDS_IN).replace(end, "\n")
        for batch in _parse(io.BytesIO(text.encode()), schema, options, skipped):
            columns = [pc.replace_substring(c, _STANDS_IN, "\n") for c in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_options(options: TableOptions) -> None:
    """Raise `InvalidOptionError` for options that exclude each other."""
    special = [options[o] for o in (FIELD_DELIMITER, QUOTE, ESCAPE)]
    if len(set(special)) < len(special):
        keys = ", ".join(repr(o.key) for o in (FIELD_DELIMITER, QUOTE, ESCAPE))
        raise InvalidOptionError(f"Options {keys} cannot have a character in common. Set them to different characters.")
    _ = options[LINE_DELIMITER], options[HEADER], options[MODE]  # raises where a value does not parse


def _parse(source: object, schema: pa.Schema, options: TableOptions, skipped: int) -> Iterator[pa.RecordBatch]:
    if not schema.names:
        raise UnsupportedFeatureError("A CSV file needs at least one column.")
    others: dict[int, list[str]] = defaultdict(list)  # lines by a number of values that does not fit

    def put_aside(row: pv.InvalidRow) -> str:
        if options[MODE] == STRICT:
            return "error"
        others[row.actual_columns].append(row.text)
        return "skip"

    try:
        yield from _open(source, schema, options, skipped, put_aside)
    except pa.ArrowInvalid as e:
        if "Empty CSV file" not in str(e):
            raise
    for number, lines in others.items():
        names = [*schema.names, *(f"_{i}" for i in range(number))][:number] if number > len(schema) else schema.names
        found = pa.schema([schema.field(n) if n in schema.names else pa.field(n, pa.string()) for n in names[:number]])
        rest = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
        for batch in _open(rest, found, options, 0, None):
            columns = [
                *batch.columns[: len(schema)],
                *(pa.nulls(batch.num_rows, f.type) for f in list(schema)[number:]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _open(
    source: object, schema: pa.Schema, options: TableOptions, skipped: int, handler: object
) -> pv.CSVStreamingReader:
    return pv.open_csv(
        source,
        pv.ReadOptions(column_names=schema.names, skip_rows=skipped),
        pv.ParseOptions(
            delimiter=options[FIELD_DELIMITER],
            quote_char=options[QUOTE],
            escape_char=options[ESCAPE],
            newlines_in_values=True,
            ignore_empty_lines=False,
            invalid_row_handler=handler,
        ),
        pv.ConvertOptions(
            column_types=schema,
            null_values=[options[NULL]],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _quoted(column: pa.Array, options: TableOptions) -> pa.Array:
    quote, escape = options[QUOTE], options[ESCAPE]
    special = pa.array([False] * len(column))
    for character in (options[FIELD_DELIMITER], options[LINE_DELIMITER][0], "\n", "\r", quote, escape):
        special = pc.or_(special, pc.match_substring(column, character).fill_null(False))
    escaped = pc.replace_substring(pc.replace_substring(column, escape, escape * 2), quote, escape + quote)
    return pc.if_else(special, pc.binary_join_element_wise(quote, escaped, quote, ""), column)
