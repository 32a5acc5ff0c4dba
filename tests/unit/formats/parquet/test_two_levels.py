"""Lists of two levels, and Hive's names of three levels, are read as the rules of Parquet say, as Java 2.0.0 does.

Java 2.0.0 fails on lists of two levels with structs; they are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.footer import (
    chunk_metadata,
    column_chunks,
    file_end,
    read_footer,
    row_groups,
    schema_elements,
)
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import DataField, parse_type

BINARY, I32, REPEATED = 8, 5, 2
_REPETITION, _NAME, _SCHEMA, _PATH, _SIZES, _BLOOM = 3, 4, 2, 3, 16, 12
ONE = {"type": "ROW", "fields": [{"id": 11, "name": "x", "type": "INT"}]}
TWO = {"type": "ROW", "fields": [*ONE["fields"], {"id": 12, "name": "y", "type": "STRING"}]}
STRUCT_OF_ONE = pa.struct([("x", pa.int32())])
STRUCT_OF_TWO = pa.struct([("x", pa.int32()), ("y", pa.string())])


def write(path: Path, values: Sequence[Any], element: pa.DataType, names: Sequence[str]) -> None:
    """Write a list with other names of its levels; one name makes a list of two levels."""
    items = pa.list_(pa.field("element", element, nullable=len(names) == 2))
    pq.write_table(pa.table({"l": pa.array(values, items)}), path, store_schema=False)
    with pa.OSFile(str(path)) as source:
        footer, start = read_footer(source)
    schema_elements(footer)
    elements = footer[_SCHEMA][1].values
    if len(names) == 1:
        del elements[2]
        elements[2][_REPETITION] = I32, REPEATED
    for level, name in enumerate(names, 2):
        elements[level][_NAME] = BINARY, name.encode()
    for chunk in (c for group in row_groups(footer) for c in column_chunks(group)):
        metadata = chunk_metadata(chunk)
        metadata[_PATH][1].values[1:3] = [name.encode() for name in names]
        metadata.pop(_SIZES, None)
        for index in (4, 5, 6, 7):  # the page index
            chunk.pop(index, None)
    path.write_bytes(path.read_bytes()[:start] + file_end(footer))


@pytest.mark.parametrize(
    ("element", "stored", "names", "item"),
    [
        ("INT", pa.int32(), ["array"], 7),
        ("INT", pa.int32(), ["element"], 7),
        ("STRING", pa.string(), ["array"], "text"),
        ("INT", pa.int32(), ["bag", "array_element"], 7),
        (TWO, STRUCT_OF_TWO, ["array"], {"x": 1, "y": "a"}),
        (TWO, STRUCT_OF_TWO, ["l_tuple"], {"x": 1, "y": "a"}),
        (TWO, STRUCT_OF_TWO, ["any"], {"x": 1, "y": "a"}),
        (ONE, STRUCT_OF_ONE, ["array"], {"x": 1}),
        (ONE, STRUCT_OF_ONE, ["l_tuple"], {"x": 1}),
    ],
)
def test_lists_of_other_writers(tmp_path: Path, element: Any, stored: pa.DataType, names: list[str], item: Any) -> None:
    path, values = tmp_path / "f.parquet", [[item, item], [], None, [item]]
    write(path, values, stored, names)
    assert [e.name for e in pq.ParquetFile(path).schema_arrow] == ["l"]
    fields = (DataField(id=0, name="l", type=parse_type({"type": "ARRAY", "element": element})),)
    found = list(ParquetFormat().read(LocalFileIO(), ReadRequest(str(path), fields)))
    assert [v for b in found for v in b.column(0).to_pylist()] == values
