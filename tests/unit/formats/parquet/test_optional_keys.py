"""MAPs whose keys a file declares optional: read like others, refused where a key is NULL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import InvalidDataError
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
from paimon_core.formats.parquet.thrift import I32
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType, parse_type

ENTRIES = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.int32())]), nullable=False))
MAP = MapType(key=STRING, value=INT)
CASES: list[tuple[DataType, pa.DataType, list[Any]]] = [
    (MAP, ENTRIES, [[("a", 1), ("b", None)], None, [], [("c", 3)]]),
    (CollectionType(Kind.ARRAY, element=MAP), pa.list_(ENTRIES), [[[("a", 1)], [], None], None, []]),
    (RowType(fields=(DataField(id=7, name="m", type=MAP),)), pa.struct([("m", ENTRIES)]), [{"m": [("a", 1)]}, None]),
]


def as_entries(value: Any) -> Any:
    """Pairs as structs of a key and a value."""
    if isinstance(value, tuple):
        return {"key": value[0], "value": value[1]}
    if isinstance(value, list):
        return [as_entries(v) for v in value]
    return {k: as_entries(v) for k, v in value.items()} if isinstance(value, dict) else value


def write(path: Path, columns: dict[str, pa.Array], converted: int = 1, **settings: Any) -> None:
    """A file whose lists of structs of a key and a value are declared as MAPs: the pages of both are the same."""
    pq.write_table(pa.table(columns), path, store_schema=False, **settings)
    with pa.OSFile(str(path)) as source:
        footer, start = read_footer(source)
    elements, kept, i = schema_elements(footer), [], 0
    while i < len(elements):
        element = elements[i]
        kept.append(element)
        i += 1
        if i + 1 < len(elements) and element.get(6) == (I32, 3) and elements[i + 1].get(5) == (I32, 2):
            element.pop(10, None)
            element[6] = I32, converted
            repeated = elements[i]
            repeated[5] = I32, 2
            kept.append(repeated)
            i += 2  # without the element
    elements[:] = kept
    for group in row_groups(footer):
        for chunk in column_chunks(group):
            names = chunk_metadata(chunk)[3][1].values
            if len(names) > 2 and names[-2] == b"element" and names[-1] in (b"key", b"value"):
                del names[-2]
    path.write_bytes(path.read_bytes()[:start] + file_end(footer))


def read(path: Path, fields: tuple[DataField, ...], max_rows: int = 1000) -> list[dict[str, Any]]:
    request = ReadRequest(str(path), fields, stored=lambda: fields, max_rows=max_rows)
    return [row for batch in ParquetFormat().read(LocalFileIO(), request) for row in batch.to_pylist()]


@pytest.mark.parametrize("converted", [1, 2])  # MAP, MAP_KEY_VALUE
@pytest.mark.parametrize(("data_type", "arrow", "values"), CASES, ids=["map", "in an array", "in a row"])
def test_maps(tmp_path: Path, data_type: DataType, arrow: pa.DataType, values: list[Any], converted: int) -> None:
    path = tmp_path / "f.parquet"
    write(
        path, {"k": pa.array(range(len(values)), pa.int32()), "c": pa.array(map(as_entries, values), arrow)}, converted
    )
    with pytest.raises(pa.ArrowInvalid, match="Map keys"):
        pq.ParquetFile(path)
    fields = (DataField(id=0, name="k", type=INT), DataField(id=1, name="c", type=data_type))
    for max_rows in (1000, 1):
        assert [r["c"] for r in read(path, fields, max_rows)] == values
    assert [r["k"] for r in read(path, fields[:1])] == list(range(len(values)))


def test_beside_times_of_12_bytes(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    times = pa.array([1_000_000_001, None], pa.timestamp("ns"))
    entries = pa.array(map(as_entries, [[("a", 1)], None]), ENTRIES)
    write(path, {"m": entries, "t": times}, use_deprecated_int96_timestamps=True)
    fields = (DataField(id=0, name="m", type=MAP), DataField(id=1, name="t", type=parse_type("TIMESTAMP(6)")))
    rows = read(path, fields)
    assert [r["m"] for r in rows] == [[("a", 1)], None]
    assert [r["t"] is None for r in rows] == [False, True]


def test_a_key_that_is_null_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write(path, {"m": pa.array(map(as_entries, [[("a", 1)], [(None, 1)]]), ENTRIES)})
    fields = (DataField(id=0, name="m", type=MAP),)
    with pytest.raises(InvalidDataError, match=r"Column 'm' of file .*f\.parquet .*: a key is NULL"):
        read(path, fields)


def test_an_entry_of_two_nulls_is_an_empty_map(tmp_path: Path) -> None:
    """Compactions of Paimon 0.8 write an empty MAP in this way."""
    path = tmp_path / "f.parquet"
    stored = [[(None, None)], [("a", 1), ("b", None)], None, [(None, None), ("c", 3)], []]
    write(path, {"m": pa.array(map(as_entries, stored), ENTRIES)})
    fields = (DataField(id=0, name="m", type=MAP),)
    for max_rows in (1000, 1):
        rows = [r["m"] for r in read(path, fields, max_rows)]
        assert rows == [[], [("a", 1), ("b", None)], None, [("c", 3)], []]
