"""Files with other values in some columns: rows and statistics are those of a file written anew, bytes are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.columns import with_values
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError, InternalError, PaimonError
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet import splice
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.parquet.footer import column_chunks, read_footer, row_groups
from paimon_core.formats.parquet.splice import replace_columns
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, CollectionType, DataField, Kind, MapType, RowType
from tests.support.examples import examples
from tests.support.faulty_io import Fault, FaultyIO
from tests.support.strategies import KEY_TYPES, columns_of

IO = LocalFileIO()
NESTED = RowType(
    fields=(
        DataField(id=20, name="x", type=CollectionType(Kind.ARRAY, element=INT)),
        DataField(id=21, name="y", type=STRING),
    )
)
FIELDS = tuple(
    DataField(id=i, name=n, type=t)
    for i, (n, t) in enumerate({"k": BIGINT, "d": DOUBLE, "s": STRING, "r": NESTED, "i": INT}.items())
)
SCHEMA = arrow_schema(FIELDS)
ROWS = 50_000  # several pages


def table(rows: int, start: int = 0) -> pa.Table:
    k = np.arange(start, start + rows)
    columns = [
        pa.array(k),
        pa.array(k / 7, mask=k % 11 == 0),
        pa.array([f"s{n % 500}" for n in k]),
        pa.array(
            [{"x": [n, None], "y": None if n % 3 else "y"} for n in k.tolist()], arrow_schema(FIELDS).field("r").type
        ),
        pa.array(k % 5, pa.int32()),
    ]
    return pa.table(columns, schema=SCHEMA)


def write(path: Path, groups: list[pa.Table], fields: Any = FIELDS, **options: str) -> WrittenFile:
    given = {k.replace("__", "."): v for k, v in options.items()}
    writer = ParquetFileWriter(OutputFile(IO, str(path)), fields, TableOptions(given))
    for rows in groups:
        writer.write(rows)
    return writer.close()


def replaced(
    path: Path,
    target: Path,
    rows: np.ndarray[Any, Any],
    values: pa.RecordBatch,
    fields: Any = FIELDS,
    io: FileIO = IO,
    **options: str,
) -> WrittenFile | None:
    def change(start: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return with_values(batches, rows, values, start)

    wanted = tuple(f for f in fields if f.name in values.schema.names)
    request = ReadRequest(
        str(path), wanted, options=TableOptions({k.replace("__", "."): v for k, v in options.items()})
    )
    return replace_columns(io, request, str(target), change)


def read(path: Path, fields: Any = FIELDS) -> pa.Table:
    batches = list(ParquetFormat().read(IO, ReadRequest(str(path), tuple(fields))))
    return pa.Table.from_batches(batches, arrow_schema(fields))


@pytest.mark.parametrize("names", [["d"], ["k", "s"], ["r"], ["i", "r", "d"]])
def test_some_columns_change(tmp_path: Path, names: list[str]) -> None:
    old, target = tmp_path / "old.parquet", tmp_path / "new.parquet"
    groups = [table(ROWS), table(ROWS // 2, ROWS), table(10, 2 * ROWS)]
    write(old, groups)
    rows = np.unique(np.random.default_rng(1).integers(0, ROWS + ROWS // 2 + 10, 1000))
    values = table(len(rows), 10**6).select(names).combine_chunks().to_batches()[0]
    written = replaced(old, target, rows, values)
    whole = pa.concat_tables(groups)
    batches = with_values(iter(whole.combine_chunks().to_batches()), rows, values)
    expected = pa.Table.from_batches(list(batches))
    anew = write(
        tmp_path / "anew.parquet",
        [expected.slice(0, ROWS), expected.slice(ROWS, ROWS // 2), expected.slice(ROWS + ROWS // 2)],
    )
    assert written is not None
    assert read(target) == expected == pq.read_table(target, schema=expected.schema)
    assert (written.size, written.row_count) == (target.stat().st_size, len(expected))
    assert written.stats == {n: anew.stats[n] for n in names}
    before, after = pq.ParquetFile(old).metadata, pq.ParquetFile(target).metadata
    assert before.schema == after.schema
    for group in range(3):
        assert after.row_group(group).num_rows == before.row_group(group).num_rows
        for column in range(after.num_columns):
            chunk, known = after.row_group(group).column(column), before.row_group(group).column(column)
            assert chunk.has_offset_index
            assert chunk.has_column_index == known.has_column_index
            if chunk.path_in_schema.partition(".")[0] not in names:
                assert chunk.statistics == known.statistics
                assert chunk_bytes(target, chunk) == chunk_bytes(old, known)


def chunk_bytes(path: Path, chunk: Any) -> bytes:
    start = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
    return path.read_bytes()[start : start + chunk.total_compressed_size]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(KEY_TYPES))
def test_columns_of_every_type(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, data_type: Any) -> None:
    folder = tmp_path_factory.mktemp("splice")
    fields = (DataField(id=0, name="a", type=data_type), DataField(id=1, name="b", type=data_type))
    drawn = data.draw(columns_of((data_type, data_type)).filter(lambda columns: len(columns[0])))
    group = pa.table(drawn, schema=arrow_schema(fields))
    count = len(group)
    write(folder / "old.parquet", [group, group], fields)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, 2 * count - 1), min_size=1))), np.int64)
    from_rows = pa.array((rows + 1) % count)
    values = group.select(["a"]).combine_chunks().to_batches()[0].take(from_rows)
    assert replaced(folder / "old.parquet", folder / "new.parquet", rows, values, fields) is not None
    picked = np.arange(2 * count)
    picked[rows] = (rows + 1) % count
    found, whole = read(folder / "new.parquet", fields), pa.concat_tables([group, group]).combine_chunks()
    assert found.column("a").combine_chunks() == whole.column("a").combine_chunks().take(pa.array(picked))
    assert found.column("b").combine_chunks() == whole.column("b").combine_chunks()


def test_a_file_can_change_again_and_again(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", [table(100)])
    expected = table(100)
    for i, name in enumerate(("d", "s", "d", "k", "i", "r")):
        rows = np.array([i, 50 + i])
        values = table(2, 1000 * i).select([name]).combine_chunks().to_batches()[0]
        assert replaced(tmp_path / f"{i}.parquet", tmp_path / f"{i + 1}.parquet", rows, values) is not None
        batches = with_values(iter(expected.combine_chunks().to_batches()), rows, values)
        expected = pa.Table.from_batches(list(batches))
        assert read(tmp_path / f"{i + 1}.parquet") == expected
    sizes = [(tmp_path / f"{i}.parquet").stat().st_size for i in (0, 6)]
    assert sizes[1] < sizes[0] * 1.2  # nothing remains of values that were replaced


def test_files_that_cannot_be_taken_as_they_are(tmp_path: Path) -> None:
    rows, values = np.array([1]), table(1).select(["d"]).combine_chunks().to_batches()[0]
    target = tmp_path / "new.parquet"
    write(tmp_path / "bloom.parquet", [table(10)], **{"parquet__bloom.filter.enabled": "true"})
    write(tmp_path / "empty.parquet", [])
    other = table(10).set_column(1, "d", table(10).column("d").cast(pa.float32()))
    pq.write_table(other, tmp_path / "type.parquet")
    write(tmp_path / "plain.parquet", [table(10)])
    for name in ("bloom", "empty", "type"):
        assert replaced(tmp_path / f"{name}.parquet", target, rows, values) is None
    blooms: dict[str, Any] = {"parquet__bloom.filter.enabled": "true"}
    assert replaced(tmp_path / "plain.parquet", target, rows, values, **blooms) is None
    assert not target.exists()


def test_damaged_files_leave_nothing_behind(tmp_path: Path) -> None:
    path, target = tmp_path / "old.parquet", tmp_path / "new.parquet"
    write(path, [table(200), table(200)])
    content, values = path.read_bytes(), table(1).select(["d"]).combine_chunks().to_batches()[0]
    path.write_bytes(content[:-100])
    with pytest.raises(CorruptFileError, match=r"old\.parquet"):
        replaced(path, target, np.array([1]), values)
    length = int.from_bytes(content[-8:-4], "little")
    for offset in range(len(content) - length - 1500, len(content), 7):
        path.write_bytes(content[:offset] + bytes([content[offset] ^ 0x55]) + content[offset + 1 :])
        try:
            replaced(path, target, np.array([1]), values)
        except PaimonError:
            assert not target.exists()
        target.unlink(missing_ok=True)


def test_pages_that_are_read_short_are_not_copied(tmp_path: Path) -> None:
    path, target = tmp_path / "old.parquet", tmp_path / "new.parquet"
    write(path, [table(200), table(200, 200)])
    values = table(1).select(["d"]).combine_chunks().to_batches()[0]
    counted = FaultyIO(IO)
    assert replaced(path, target, np.array([1]), values, io=counted) is not None
    whole = target.read_bytes()
    for call in counted.moments(Fault.SHORT):
        target.unlink(missing_ok=True)
        try:
            replaced(path, target, np.array([1]), values, io=FaultyIO(IO, call, Fault.SHORT))
        except PaimonError as error:
            assert "short" in str(error) or str(path) in str(error)
            assert not target.exists()
        else:
            assert target.read_bytes() == whole  # what was read short was read again
    assert len(counted.moments(Fault.SHORT)) > 10


@pytest.mark.parametrize("change", ["missing in the part", "missing in the file", "twice"])
def test_a_row_group_gets_no_other_columns_than_it_has(tmp_path: Path, change: str) -> None:
    old, inner = table(10), NESTED.fields
    write(tmp_path / "old.parquet", [old])
    write(tmp_path / "part.parquet", [old.select(["r"])], FIELDS[3:4])
    footers = [read_footer(pa.memory_map(str(tmp_path / f"{n}.parquet")))[0] for n in ("old", "part")]
    groups = [row_groups(f)[0] for f in footers]
    chunks = [column_chunks(g) for g in groups]
    if change == "twice":
        chunks[1].append(chunks[1][-1])
    else:
        del chunks[change == "missing in the part"][-len(inner) if change == "missing in the file" else -1]
    content = pa.py_buffer((tmp_path / "part.parquet").read_bytes())
    source = splice._Source("old.parquet", pa.memory_map(str(tmp_path / "old.parquet")))
    part = splice._Part(content, footers[1], WrittenFile("part.parquet", 0, 10, {}))
    with pytest.raises(InternalError, match="a row group would get other columns than it has"):
        splice._Splice(pa.BufferOutputStream()).add_group(groups[0], source, part)


def test_maps_with_a_column_per_key_are_written_anew(tmp_path: Path) -> None:
    """The metadata of a file numbers the keys of all its rows: other values have other numbers."""
    fields = (FIELDS[0], DataField(id=1, name="m", type=MapType(key=STRING.with_nullable(False), value=BIGINT)))
    old, schema = tmp_path / "old.parquet", arrow_schema(fields)
    layout = {"fields__m__map__storage-layout": "shared-shredding"}
    maps = pa.array([[("a", 1)], [("b", 2)]], schema.field("m").type)
    write(old, [pa.table([pa.array([1, 2]), maps], schema=schema)], fields, **layout)
    other = pa.RecordBatch.from_arrays([maps.slice(1)], schema=pa.schema([schema.field("m")]))
    assert replaced(old, tmp_path / "new.parquet", np.array([0]), other, fields, **layout) is None
    keys = pa.RecordBatch.from_arrays([pa.array([7])], schema=pa.schema([schema.field("k")]))
    assert replaced(old, tmp_path / "new.parquet", np.array([0]), keys, fields, **layout) is not None
    assert read(tmp_path / "new.parquet", fields).to_pylist() == [{"k": 7, "m": [("a", 1)]}, {"k": 2, "m": [("b", 2)]}]
