"""Values that pyarrow's ORC writer would end the process for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidDataError
from paimon_core.formats.orc import data_files
from paimon_core.formats.orc.data_files import OrcFormat
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType

MB = 2**20


def write(folder: Path, kind: DataType, value: Any) -> None:
    field = DataField(id=0, name="v", type=kind)
    writer = OrcFormat().open_writer(LocalFileIO(), str(folder / "f.orc"), (field,), TableOptions({}))
    try:
        writer.write(pa.table({"v": [None, value]}, schema=data_files.stored_schema(data_files.arrow_schema([field]))))
        writer.close()
    except BaseException:
        writer.abort()
        raise


@pytest.fixture(autouse=True)
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the limit, to be quick."""
    monkeypatch.setattr(data_files, "_LARGEST_VALUE", MB)


@pytest.mark.parametrize(
    ("kind", "of"),
    [
        (STRING, lambda text: text),
        (CollectionType(kind=Kind.ARRAY, element=STRING), lambda text: ["a", text]),
        (MapType(key=INT, value=STRING), lambda text: [(1, text)]),
        (RowType(fields=(DataField(id=1, name="s", type=STRING),)), lambda text: {"s": text}),
    ],
)
def test_a_large_value_is_refused(tmp_path: Path, kind: DataType, of: Any) -> None:
    with pytest.raises(InvalidDataError, match=r"'v' has a value of more than 1 MB.*Use Parquet"):
        write(tmp_path, kind, of("x" * (MB + 1)))
    assert list(tmp_path.iterdir()) == []
    write(tmp_path, kind, of("x" * MB))


def test_many_values_may_be_large_together(tmp_path: Path) -> None:
    write(tmp_path, CollectionType(kind=Kind.ARRAY, element=STRING), ["x" * 1000] * 5000)
