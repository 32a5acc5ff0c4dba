"""Java's connector and ours in one catalog that is at a server, and what they do to one table in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import paimon_sql
from tests.interop.engines import ENGINES, Engines, SparkEngine
from tests.support.java_oracle import JavaOracle, find_oracles

OF_ALL_TYPES = (
    "b BOOLEAN, t TINYINT, s SMALLINT, i INT COMMENT 'an int', l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(20, 4), "
    "dt DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, c CHAR(7), v VARCHAR(300), st STRING, bin BINARY, a ARRAY<INT>, "
    "m MAP<STRING, ARRAY<DATE>>, r STRUCT<x: INT, y: STRUCT<z: TIMESTAMP>>"
)


@contextmanager
def in_catalog(
    root_session: Any, warehouse: str, options: Mapping[str, str], database: str, *, of_java: Mapping[str, str]
) -> Iterator[Engines]:
    """Both engines with a catalog `paimon` of these options; Java has more settings, and our warehouse is its own."""
    oracles = find_oracles()
    if oracles is None:
        pytest.skip("shared/oracles/java_sql.py is missing in the folders above: set PAIMON_ORACLES to its folder")
    settings = {f"spark.sql.catalog.paimon.{k}": v for k, v in options.items()}
    no_cache = {"spark.sql.catalog.paimon.cache-enabled": "false"}  # else Java sees what others alter minutes later
    oracle = JavaOracle(oracles, warehouse, settings | no_cache | dict(of_java))
    session = root_session.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    try:
        yield Engines({"ours": SparkEngine(paimon_sql.install(session)), "java": oracle}, database)
    finally:
        oracle.close()


def change_in_turn(engines: Engines, one: str, other: str, databases: tuple[str, str], alters: Sequence[str]) -> None:
    """One makes a table, and the other writes to it, adds a column by `alters` and drops it; between, the first moves
    it from one database to another, and deletes a row."""
    table, renamed = f"{databases[0]}.by_{one}", f"{databases[1]}.renamed_{one}"
    engines.run(
        one,
        f"CREATE TABLE paimon.{table} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')",
        f"INSERT INTO paimon.{table} VALUES (1, 'a'), (2, 'b')",
    )
    engines.run(
        other,
        f"INSERT INTO paimon.{table} VALUES (2, 'c')",
        *(f"ALTER TABLE paimon.{table} {alter}" for alter in alters),
        f"ALTER TABLE paimon.{table} SET TBLPROPERTIES ('snapshot.num-retained.min' = '5')",
    )
    engines.run(one, f"ALTER TABLE paimon.{table} RENAME TO {renamed}")
    engines.run(other, f"INSERT INTO paimon.{renamed} VALUES (3, 'd', 4)")
    engines.run(one, f"DELETE FROM paimon.{renamed} WHERE k = 1")
    engines.both(f"SELECT * FROM paimon.{renamed} ORDER BY k", [[2, "c", None], [3, "d", 4]])
    engines.both(f"SHOW TABLES IN paimon.{databases[1]} LIKE 'renamed*'")
    engines.run(other, f"DROP TABLE paimon.{renamed}")
    for engine in ENGINES:
        assert engines.rows(engine, f"SHOW TABLES IN paimon.{databases[1]} LIKE 'renamed_{one}'") == []
