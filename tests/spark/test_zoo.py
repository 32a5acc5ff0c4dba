"""Tables of other writers through Spark: a few of each kind; `tests/interop/zoo` has many more of the core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from tests.interop.zoo.fixtures import DATABASE, expected, unpack

pytestmark = pytest.mark.spark

_TABLES = {
    "java-0.5.0": ("app_default", "pk_orc"),
    "pypaimon-2.0.0": ("app_part",),
    "pypaimon-rust-0.4.0": ("app_default", "pk"),
}


def test_statements_on_tables_of_other_writers(root_session: Any, tmp_path: Path) -> None:
    session = root_session.newSession()
    for writer, names in _TABLES.items():
        catalog = writer.replace("-", "_").replace(".", "_")
        unpack(writer, names, tmp_path / writer / f"{DATABASE}.db")
        session.conf.set(f"spark.sql.catalog.{catalog}", "paimon_sql.SparkCatalog")
        session.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(tmp_path / writer))
        spark = paimon_sql.install(session)
        for name in names:
            table = f"{catalog}.{DATABASE}.{name}"
            ids = {row[0] for row in expected(writer)["tables"][name]["latest"]}
            spark.sql(f"INSERT INTO {table} SELECT 777 AS id, * EXCEPT (id) FROM {table} LIMIT 1")
            spark.sql(f"DELETE FROM {table} WHERE id = 2")
            spark.sql(f"UPDATE {table} SET v = NULL WHERE id = 777")
            spark.sql(f"ALTER TABLE {table} ADD COLUMN more INT")
            found = {row.id: row.v for row in spark.sql(f"SELECT id, v FROM {table} WHERE more IS NULL").collect()}
            assert found.keys() == (ids | {777}) - {2} and found[777] is None
