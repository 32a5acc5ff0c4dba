"""CHAR columns of ORC files: Java's ORC writer fills their values with spaces, and its reader removes the spaces."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.orc.data_files import OrcFormat
from paimon_core.formats.orc.layout import CHAR, read_tail
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import DataField, parse_type

STRING = 7  # the kind of texts that pyarrow writes
TYPES = ("CHAR(5)", {"type": "ARRAY", "element": "CHAR(5)"}, {"type": "MAP", "key": "INT", "value": "CHAR(5)"})
ROW = {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": "CHAR(5)"}]}
FIELDS = [DataField(id=i, name=f"c{i}", type=parse_type(t)) for i, t in enumerate((*TYPES, ROW))]
PADDED = [
    ("abc  ", ["z    ", None, "äbcde"], [(1, " a   "), (2, None)], {"x": "a\t   "}),
    (None, None, None, None),
    ("     ", [], [], {"x": None}),
]
TRIMMED = [
    ("abc", ["z", None, "äbcde"], [(1, " a"), (2, None)], {"x": "a\t"}),
    (None, None, None, None),
    ("", [], [], {"x": None}),
]


def written(folder: Path, kind: int) -> Path:
    """A file with the padded rows; its texts are of a kind."""
    path = folder / "f.orc"
    writer = OrcFormat().open_writer(LocalFileIO(), str(path), FIELDS, TableOptions({"file.compression": "none"}))
    schema = arrow_schema(FIELDS)
    writer.write(pa.table([list(c) for c in zip(*PADDED, strict=True)], schema=schema))
    writer.close()
    with pa.OSFile(str(path)) as source:
        tail = read_tail(source)
    content = bytearray(path.read_bytes())
    for column in tail.types:
        if column.kind == STRING:
            content[tail.footer_start + column.kind_offset] = kind
    path.write_bytes(content)
    return path


def read(path: Path, fields: list[DataField]) -> list[tuple[object, ...]]:
    batches = OrcFormat().read(LocalFileIO(), ReadRequest(str(path), tuple(fields)))
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


@pytest.mark.parametrize("fields", [FIELDS, [FIELDS[3], FIELDS[0]]], ids=["all", "some"])
def test_spaces_at_the_end_are_not_part_of_char_values(tmp_path: Path, fields: list[DataField]) -> None:
    numbers = [f.id for f in fields]
    assert read(written(tmp_path, CHAR), fields) == [tuple(row[i] for i in numbers) for row in TRIMMED]
    assert read(written(tmp_path, STRING), fields) == [tuple(row[i] for i in numbers) for row in PADDED]
