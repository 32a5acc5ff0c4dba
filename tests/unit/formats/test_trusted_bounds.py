"""Which bounds hold: the same for one file and for many, and for a file's footer as for its manifest entry."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.expressions.predicate import Compare, Predicate
from paimon_core.expressions.prune import may_match, rank
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.registry import format_name, of_format
from paimon_core.formats.trusted_bounds import BY_FORMAT, MEASURED, trusted
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import BIGINT, DOUBLE, FLOAT, INT, STRING, DataField, DataType, Kind, TimeType
from tests.support.examples import examples

MILLIS = TimeType(Kind.TIMESTAMP, precision=3)
NAMES = ["1.parquet", "1.orc", "1.ORC", "1.orc.gz", "1.orc.parquet", "1.avro", "orc", "1.orcs", "1.zst.orc", "1.orc.x"]
numbers = st.sampled_from([0.0, -0.0, 1.5, -2.0, math.inf, math.nan])
millis = st.integers(-3, 3)


def test_formats_of_many_names() -> None:
    found = of_format(pa.array([n.encode() for n in NAMES], pa.binary()), "orc")
    assert found.tolist() == [format_name(n) == "orc" for n in NAMES]


@settings(max_examples=examples(100))
@given(st.data())
def test_many_files_are_judged_as_one(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from([FLOAT, DOUBLE, MILLIS, BIGINT]))
    values = numbers if data_type in (FLOAT, DOUBLE) else millis
    bounds = [sorted(data.draw(st.tuples(values, values)), key=rank) for _ in NAMES]
    low, high = (np.array(column) for column in zip(*bounds, strict=True))
    of_orc = np.array([format_name(n) == "orc" for n in NAMES])
    low_holds, high_holds = trusted(data_type, low, high, of_orc)
    for i, (name, ends) in enumerate(zip(NAMES, bounds, strict=True)):
        one = tuple((n, 0) for n in ends) if data_type is MILLIS else tuple(ends)
        found = BY_FORMAT.get(format_name(name), MEASURED).bounds(data_type, ColumnStats(*one, 0))
        assert (found.minimum is not None, found.maximum is not None) == (low_holds[i], high_holds[i])


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (INT, st.integers(-4, 4)),
        (STRING, st.text("abé", max_size=3)),
        (MILLIS, millis.map(lambda n: (n, 0))),
        (DOUBLE, numbers),
    ],
    ids=["int", "string", "timestamp", "double"],
)
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_row_groups_are_left_out_as_their_file_would_be(
    data_type: DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """What the manifest says of a file of one row group, its footer says too; of floats it may know less."""
    field = DataField(id=0, name="c", type=data_type)
    column = data.draw(st.lists(st.none() | values, min_size=1, max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        io, path = LocalFileIO(), str(Path(folder) / "f.parquet")
        writer = ParquetFormat().open_writer(io, path, [field], TableOptions({}))
        plain = [v[0] if isinstance(v, tuple) else v for v in column]
        writer.write(
            pa.table([pa.array(plain, _plain_type(data_type)).cast(arrow_schema([field])[0].type)], names=["c"])
        )
        stats = writer.close().stats
        for op in ("<", "<=", ">", ">=", "<=>", "!="):  # a value of "=" is looked for behind the footer
            predicate: Predicate = Compare("c", op, data.draw(values))  # type: ignore[arg-type]
            by_manifest = may_match(predicate, lambda name: stats.get(name, UNKNOWN), len(column))
            request = ReadRequest(path, (field,), predicate, stored=lambda: (field,))
            by_footer = any(batch.num_rows for batch in ParquetFormat().read(io, request))
            assert by_footer == by_manifest or (data_type is DOUBLE and by_footer)


def _plain_type(data_type: DataType) -> pa.DataType:
    return {INT: pa.int32(), STRING: pa.string(), DOUBLE: pa.float64()}.get(data_type, pa.int64())


def test_footers_of_parquet_leave_nan_out(tmp_path: Path) -> None:
    """NaN is larger than 5.0, and the footer says that nothing is larger than 1.0."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"c": [1.0, math.nan]}), path)
    field = DataField(id=0, name="c", type=DOUBLE)
    for op, value in (("=", 1.0), (">", 5.0), ("<", 2.0)):
        request = ReadRequest(str(path), (field,), Compare("c", op, value), by_name=True)  # type: ignore[arg-type]
        assert any(b.num_rows for b in ParquetFormat().read(LocalFileIO(), request))
