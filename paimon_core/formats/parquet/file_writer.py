"""The writer of Parquet data files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.arrow.required_parts import has_required_parts, with_required_parts
from paimon_core.arrow.types import SEQUENCE_NUMBER, VALUE_KIND, arrow_schema
from paimon_core.formats.file_format import WrittenFile
from paimon_core.formats.output import Output
from paimon_core.formats.parquet.encodings import check_encodings, column_encodings, part_dictionaries
from paimon_core.formats.parquet.int96 import Int96Sink, stored_leaves
from paimon_core.formats.parquet.levels import check_levels
from paimon_core.formats.parquet.settings import writer_settings
from paimon_core.formats.stats import chunk_stats, column_stats, leaf_indices, merge_stats
from paimon_core.io.file_io import storage_errors
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import TableOptions
from paimon_core.spec.kinds import FLOATS
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import DataField, StoredTimeType

if TYPE_CHECKING:
    from paimon_core.formats.parquet.variant_columns import VariantColumns, given_shapes, variant_columns
    from paimon_core.formats.shared_maps import SharedMaps, shared_maps
else:
    VariantColumns = ImportedOnCall("paimon_core.formats.parquet.variant_columns", "VariantColumns")
    given_shapes = ImportedOnCall("paimon_core.formats.parquet.variant_columns", "given_shapes")
    variant_columns = ImportedOnCall("paimon_core.formats.parquet.variant_columns", "variant_columns")
    SharedMaps = ImportedOnCall("paimon_core.formats.shared_maps", "SharedMaps")
    shared_maps = ImportedOnCall("paimon_core.formats.shared_maps", "shared_maps")

_KEYED_GROUP_ROWS = 2**16  # few rows to decode for one key; smaller ones are slower to write


def check_columns(fields: Sequence[DataField], options: TableOptions) -> None:
    """Raise the errors of `FileFormat.check` for columns and options that a file cannot have."""
    schema = arrow_schema(fields)
    check_levels(schema)
    writer_settings(options, schema)
    check_encodings(options)
    given_shapes(options)


class ParquetFileWriter:
    """Writes one Parquet file. Each `write` is a row group, or several if rows are sorted by key."""

    def __init__(self, output: Output, fields: Sequence[DataField], options: TableOptions):
        self._output = output
        self._fields = tuple(fields)
        self._schema = arrow_schema(fields)
        check_levels(self._schema)
        self._footers: list[pq.FileMetaData] = []
        # Footers leave NaN out, and have no bounds of INT96. Readers that trusted such bounds would lose rows.
        self._measured: dict[DataField, list[tuple[ColumnStats, int]]] = {
            f: [] for f in self._fields if f.type.kind in FLOATS or isinstance(f.type, StoredTimeType)
        }
        writer_settings(options, self._schema)  # invalid options fail before there are rows
        self._options, self._variants, self._maps = options, VariantColumns({}), SharedMaps({})
        keyed = {SEQUENCE_NUMBER, VALUE_KIND} <= {f.name for f in fields}
        self._group_rows = _KEYED_GROUP_ROWS if keyed else None
        self._writer: pq.ParquetWriter | None = None
        self._int96: Int96Sink | None = None

    def write(self, rows: pa.Table) -> None:
        for field, parts in self._measured.items():
            parts.append((column_stats(field.type, rows.column(field.name)), rows.num_rows))
        if self._writer is None:
            self._variants = variant_columns(self._fields, self._options, rows)
            self._maps = shared_maps(self._fields, self._options, rows)
        stored = _with_required_parts(self._maps.physical(self._variants.physical(rows)))
        with storage_errors("write", self._output.path):
            if self._writer is None:
                self._writer = self._open(rows)
            self._writer.write_table(stored, row_group_size=self._group_rows or max(rows.num_rows, 1))

    def _open(self, first_rows: pa.Table) -> pq.ParquetWriter:
        repeating, encodings = column_encodings(first_rows, self._options)
        schema = self._stored_schema()
        leaves, count = stored_leaves(schema)
        self._int96 = Int96Sink(self._output.sink, leaves, count) if leaves else None
        return pq.ParquetWriter(
            self._int96 or self._output.sink,
            schema,
            **writer_settings(self._options, schema),
            use_dictionary=[*repeating, *part_dictionaries(self._parts(schema), self._options)],
            column_encoding=encodings,
            store_decimal_as_integer=True,
            store_schema=False,
            write_statistics=[f.name for f in self._fields if f not in self._measured],
            write_page_index=True,
            metadata_collector=self._footers,
        )

    def _stored_schema(self) -> pa.Schema:
        return self._maps.schema(self._variants.schema(self._schema))

    def _parts(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns that are stored in parts."""
        return pa.schema([*self._variants.parts(stored), *self._maps.parts(stored)])

    @property
    def size(self) -> int:
        return self._output.size

    def close(self) -> WrittenFile:
        with storage_errors("write", self._output.path):
            if self._writer is None:
                self._writer = self._open(self._schema.empty_table())
            if metadata := self._maps.metadata(self._stored_schema()):
                self._writer.add_key_value_metadata(metadata)
            if self._int96 is not None:
                self._int96.hold()
            self._writer.close()
            if self._int96 is not None:
                self._int96.release()
        size = self._output.finish()
        footer = self._footers[0]
        stats = {f.name: self._column_stats(f, footer) for f in self._fields}
        return WrittenFile(self._output.path, size, footer.num_rows, stats)

    def abort(self) -> None:
        with suppress(Exception):  # closing fails again with another message; the first error is reported
            if self._writer is not None:
                self._writer.close()
        if self._writer is not None:
            # else the writer closes itself again when it is garbage-collected, and prints the error
            self._writer.is_open = False
        self._output.abort()

    def _column_stats(self, field: DataField, footer: pq.FileMetaData) -> ColumnStats:
        if field in self._measured:
            return merge_stats(self._measured[field])
        leaf = leaf_indices(footer).get(field.name)
        if leaf is None:
            return UNKNOWN
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        return merge_stats((chunk_stats(field.type, g.column(leaf)), g.num_rows) for g in groups)


def _with_required_parts(rows: pa.Table) -> pa.Table:
    for i, field in enumerate(rows.schema):
        if has_required_parts(field.type):
            chunks = [with_required_parts(c) for c in rows.column(i).chunks]
            rows = rows.set_column(i, field, pa.chunked_array(chunks, field.type))
    return rows
