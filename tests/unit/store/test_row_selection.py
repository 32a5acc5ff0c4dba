"""Rows of a file by their positions: of all row groups, of some, of formats that know no groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import FORMATS
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import INT, DataField
from paimon_core.store.data.bucket_files import read_rows
from tests.support.examples import examples

FIELDS = (DataField(id=0, name="n", type=INT),)
ROWS = 40


@pytest.fixture(scope="module", params=["parquet", "avro"])
def request_of_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReadRequest:
    """40 rows in four parts."""
    path = str(tmp_path_factory.mktemp("rows") / f"f.{request.param}")
    writer = FORMATS[request.param].open_writer(LocalFileIO(), path, FIELDS, TableOptions({}))
    for start in range(0, ROWS, 10):
        numbers = pa.array(np.arange(start, start + 10, dtype=np.int32))
        writer.write(pa.table([numbers], schema=arrow_schema(FIELDS)))
    writer.close()
    return ReadRequest(path, FIELDS, stored=lambda: FIELDS, max_rows=7)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.sets(st.integers(0, ROWS - 1)))
def test_exactly_the_rows_chosen(request_of_file: ReadRequest, chosen: set[int]) -> None:
    rows = np.array(sorted(chosen), dtype=np.int64)
    file_format = FORMATS[request_of_file.path.rpartition(".")[2]]
    batches = list(read_rows(file_format, LocalFileIO(), request_of_file, rows))
    assert [n for b in batches for n in b.column("n").to_pylist()] == sorted(chosen)
    assert sum(b.num_rows for b in read_rows(file_format, LocalFileIO(), request_of_file, None)) == ROWS


def test_a_row_that_is_not_there(request_of_file: ReadRequest) -> None:
    if request_of_file.path.endswith("parquet"):
        with pytest.raises(CorruptFileError, match="row 40, but it has 40 rows"):
            list(read_rows(FORMATS["parquet"], LocalFileIO(), request_of_file, np.array([3, 40])))
