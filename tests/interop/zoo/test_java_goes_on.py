"""Java 2.0.0 reads the tables of other writers as we do, after we changed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.zoo.continued import Continued
from tests.interop.zoo.fixtures import expected, unpack, writers
from tests.interop.zoo.values import in_order
from tests.support.java_oracle import JavaOracle

# tables of numbers and texts, which the engine gives in the form of `values.shown_rows`
_NAMES = ("app_default", "pk_parquet", "pk_orc", "pk_avro", "pk_sequence", "me_aggregation", "me_partial_update")
# Java 2.0.0 itself fails on tables with buckets and neither key nor bucket key, which were the default then
_WITHOUT_BUCKET_KEY = ("java-0.4.0", "java-0.5.0", "java-0.6.0", "java-0.7.0")
_NEW = 100_001


@pytest.mark.interop
@pytest.mark.spark
@pytest.mark.parametrize("writer", writers())
def test_java_reads_what_we_made_of_it(java: tuple[JavaOracle, str], writer: str) -> None:
    oracle, warehouse = java
    database = f"goes_on_{writers().index(writer)}"
    there = set(expected(writer)["tables"]) - ({"app_default"} if writer in _WITHOUT_BUCKET_KEY else set())
    names = [name for name in _NAMES if name in there]
    assert names
    unpack(writer, names, Path(warehouse) / f"{database}.db")
    for name in names:
        continued = Continued(Path(warehouse), name, database)
        continued.insert(continued.like(_NEW))
        if continued.takes_changes and continued.updated_column() is not None:
            continued.update(_NEW)
        continued.add_column("zoo_added")
        before_compaction = continued.rows()
        continued.compact()
        assert continued.rows() == before_compaction and any(row[0] == _NEW for row in before_compaction)
        assert in_order(oracle.sql(f"SELECT * FROM paimon.{database}.{name}").rows) == continued.rows(), name
