"""Columns with more levels than readers of Parquet take."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption, apply_changes
from tests.support.tables import fields

PARQUET = format_of_file("f.parquet")


def nested(kind: Kind, times: int) -> DataType:
    found: DataType = INT
    for _ in range(times):
        if kind is Kind.ROW:
            found = RowType(fields=(DataField(id=0, name="f", type=found),))
        elif kind is Kind.MAP:
            found = MapType(key=STRING, value=found)
        else:
            found = CollectionType(Kind.ARRAY, element=found)
    return found


@pytest.mark.parametrize(("kind", "most"), [(Kind.ROW, 98), (Kind.MAP, 49), (Kind.ARRAY, 49)])
def test_a_file_that_is_written_can_be_read(tmp_path: Path, kind: Kind, most: int) -> None:
    path, io = str(tmp_path / "f.parquet"), LocalFileIO()
    deepest = (DataField(id=0, name="c", type=nested(kind, most)),)
    writer = PARQUET.open_writer(io, path, deepest, TableOptions({}))
    writer.write(arrow_schema(deepest).empty_table())
    writer.close()
    assert list(PARQUET.read(io, ReadRequest(path, deepest))) == []
    deeper = (DataField(id=0, name="c", type=nested(kind, most + 1)),)
    for refuse in (
        lambda: PARQUET.check(deeper, TableOptions({})),
        lambda: PARQUET.open_writer(io, f"{path}-2", deeper, TableOptions({})),
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"'c' cannot be in Parquet files: it would have 10[01] "):
            refuse()
    assert [p.name for p in tmp_path.iterdir()] == ["f.parquet"]


def test_tables_are_defined_with_columns_that_their_files_can_have() -> None:
    deep = nested(Kind.ARRAY, 50)
    with pytest.raises(UnsupportedFeatureError, match="'c' cannot be in Parquet"):
        new_table_schema(fields(id=INT, c=deep))
    plain = new_table_schema(fields(id=INT))
    with pytest.raises(UnsupportedFeatureError, match="'c' cannot be in Parquet"):
        apply_changes(plain, [AddColumn(("c",), deep)], time_millis=0)
    orc = apply_changes(plain, [SetOption("file.format", "orc"), AddColumn(("c",), deep)], time_millis=0)
    with pytest.raises(UnsupportedFeatureError, match="'c' cannot be in Parquet"):
        apply_changes(orc, [RemoveOption("file.format")], time_millis=0)
