"""Java's Hive catalog and ours in one metastore: entries field by field, and each opens what the other made."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.interop.engines import Engines
from tests.interop.in_turns import OF_ALL_TYPES, change_in_turn, in_catalog
from tests.support.hive_server import HiveServer, start_hive

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from pyiceberg.catalog.hive import HiveCatalog as IcebergHiveCatalog

# what differs by the moment, or by who has asked
_OF_THE_MOMENT = frozenset(("createTime", "lastAccessTime"))
_NOT_COMPARED = frozenset(("transient_lastDdlTime", "numFiles", "totalSize", "owner"))
TABLES = (
    f"t ({OF_ALL_TYPES}) COMMENT 'of all types' TBLPROPERTIES ('file.format' = 'orc')",
    "keyed (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')",
    "parted (v STRING, p INT, q STRING COMMENT 'part') PARTITIONED BY (p, q)",
    "synced (v STRING, p INT COMMENT 'a', q STRING) PARTITIONED BY (p, q) "
    "TBLPROPERTIES ('metastore.partitioned-table' = 'true')",
    "tagged (v STRING) TBLPROPERTIES ('metastore.tag-to-partition' = 'day')",
)


@pytest.fixture(scope="module")
def hive() -> Iterator[HiveServer]:
    server = start_hive()
    if isinstance(server, str):
        pytest.skip(server)
    yield server
    server.remove()


@pytest.fixture(scope="module")
def engines(hive: HiveServer, root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Both engines with a catalog `paimon` in the metastore, and the databases `ours` and `java`."""
    warehouse = str(tmp_path_factory.mktemp("hive") / "warehouse")
    given = {**hive.options, "lock.enabled": "true", "warehouse": warehouse}
    sparks_own = {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": hive.uri}
    with in_catalog(root_session, warehouse, given, "ours", of_java=sparks_own) as both:
        for name in both.by_name:
            both.run(name, f"CREATE DATABASE paimon.{name} COMMENT 'about' WITH DBPROPERTIES (level = '1')")
            both.run(name, "USE paimon.ours")
        yield both


def facts(value: Any, database: str) -> Any:
    """A value of Thrift's as what it is made of, without what belongs to the moment, in a database called `db`."""
    if isinstance(value, dict):
        return {k: facts(v, database) for k, v in value.items() if k not in _NOT_COMPARED}
    if isinstance(value, list):
        return [facts(v, database) for v in value]
    if isinstance(value, str):
        return value.replace(f"/{database}.db", "/db.db") if value != database else "db"
    if hasattr(value, "thrift_spec"):
        return {k: facts(v, database) for k, v in vars(value).items() if k not in _OF_THE_MOMENT}
    return value


@pytest.mark.parametrize("table", TABLES)
def test_entries_are_equal_field_by_field(engines: Engines, hive: HiveServer, table: str) -> None:
    name = table.partition(" ")[0]
    for engine in ("ours", "java"):
        engines.run(engine, f"CREATE TABLE paimon.{engine}.{table}")
        if name in ("parted", "synced"):
            engines.run(engine, f"INSERT INTO paimon.{engine}.{name} VALUES ('a', 1, 'x y/ä'), ('b', 2, NULL)")
        if name == "tagged":
            engines.run(
                engine,
                f"INSERT INTO paimon.{engine}.{name} VALUES ('a')",
                f"CALL paimon.sys.create_tag(table => '{engine}.{name}', tag => '2024-01-01')",
            )
    client = hive.client()
    ours, java = (facts(client.get_table(engine, name), engine) for engine in ("ours", "java"))
    assert ours == java
    parts = [
        sorted(map(str, (facts(p, engine) for p in client.get_partitions(engine, name, -1))))
        for engine in ("ours", "java")
    ]
    assert parts[0] == parts[1] and len(parts[0]) == {"synced": 2, "tagged": 1}.get(name, 0)


def test_databases_are_equal(engines: Engines, hive: HiveServer) -> None:
    client = hive.client()
    ours, java = (facts(client.get_database(name), name) for name in ("ours", "java"))
    assert {**ours, "ownerName": ""} == {**java, "ownerName": ""}


@pytest.mark.parametrize(("one", "other"), [("ours", "java"), ("java", "ours")])
def test_each_opens_changes_renames_and_drops_what_the_other_made(engines: Engines, one: str, other: str) -> None:
    change_in_turn(engines, one, other, ("ours", "java"), ["ADD COLUMN w INT"])


def test_external_tables_of_both(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("external")
    for one, other in (("ours", "java"), ("java", "ours")):
        engines.run(one, f"CREATE TABLE paimon.ours.at_{one} (k INT) LOCATION '{folder}/{one}'")
        engines.run(
            other, f"INSERT INTO paimon.ours.at_{one} VALUES (1)", f"ALTER TABLE paimon.ours.at_{one} ADD COLUMN w INT"
        )
        engines.both(f"SELECT * FROM paimon.ours.at_{one}", [[1, None]])
        engines.run(other, f"DROP TABLE paimon.ours.at_{one}")
        assert (folder / one / "schema" / "schema-1").exists()


@pytest.mark.parametrize("name", ["csv", "json", "orc", "parquet"])
def test_format_tables_of_both(engines: Engines, hive: HiveServer, name: str) -> None:
    for engine in ("ours", "java"):
        table = f"paimon.{engine}.as_{name}"
        engines.run(engine, f"CREATE TABLE {table} (k INT, v STRING, p INT) USING {name} PARTITIONED BY (p)")
    client = hive.client()
    ours, java = (facts(client.get_table(engine, f"as_{name}"), engine) for engine in ("ours", "java"))
    assert ours == java
    for one, other in (("ours", "java"), ("java", "ours")):
        engines.run(one, f"INSERT INTO paimon.{one}.as_{name} VALUES (1, 'a', 1)")
        engines.run(other, f"INSERT INTO paimon.{one}.as_{name} VALUES (2, 'b', 2)")
        engines.both(f"SELECT k, v, p FROM paimon.{one}.as_{name} ORDER BY k", [[1, "a", 1], [2, "b", 2]])
        engines.both(f"SHOW TABLES IN paimon.{one} LIKE 'as_{name}'")


def test_views_of_both(engines: Engines, hive: HiveServer) -> None:
    for engine in ("ours", "java"):
        engines.run(
            engine,
            f"USE paimon.{engine}",
            "CREATE TABLE behind (k INT, at TIMESTAMP)",
            "INSERT INTO behind VALUES (1, TIMESTAMP '2024-01-01 00:00:00')",
            "CREATE VIEW seen (n COMMENT 'a number', at) COMMENT 'about' TBLPROPERTIES ('x' = 'y') "
            "AS SELECT k + 1 AS sum, at FROM behind",
        )
    client = hive.client()
    ours, java = (facts(client.get_table(engine, "seen"), engine) for engine in ("ours", "java"))
    assert ours["parameters"].pop("paimon-sql.view")
    assert (ours.pop("owner"), java.pop("owner")) == (getpass.getuser(), None)  # Java's views are nobody's
    assert ours == java
    for one, other in (("ours", "java"), ("java", "ours")):
        engines.both(f"SHOW VIEWS IN paimon.{one}", [[one, "seen", False]])
        for engine in (one, other):
            assert engines.rows(engine, f"SELECT n FROM paimon.{one}.seen") == [[2]]
        engines.run("ours", f"ALTER VIEW paimon.{one}.seen RENAME TO {one}.renamed")
        assert engines.rows("java", f"SELECT n FROM paimon.{one}.renamed") == [[2]]
        engines.run(other, f"DROP VIEW paimon.{one}.renamed")
        engines.both(f"SHOW VIEWS IN paimon.{one}", [])


def test_views_of_sparks_own_catalog(engines: Engines) -> None:
    """Those that another Spark keeps in the metastore, whose `spark_catalog` is our catalog here."""
    engines.run(
        "java",
        "CREATE TABLE spark_catalog.default.numbers (k INT, v STRING) USING parquet",
        "INSERT INTO spark_catalog.default.numbers VALUES (1, 'a'), (2, 'b')",
        "CREATE VIEW spark_catalog.ours.sparks (Key COMMENT 'c', v) COMMENT 'about' TBLPROPERTIES ('x' = 'y') "
        "AS SELECT k, v FROM spark_catalog.default.numbers",
        "USE spark_catalog.default",
        "CREATE VIEW plain AS SELECT CAST(v AS VARCHAR(3)) AS v, array(k) AS ks FROM numbers WHERE k > 1",
        "USE paimon.ours",
    )
    assert engines.rows("ours", "SELECT * FROM paimon.default.plain") == [["b", [2]]]
    assert engines.rows("ours", "SHOW VIEWS IN paimon.ours") == [["ours", "sparks", False]]
    assert engines.rows("ours", "DESCRIBE paimon.ours.sparks") == [["Key", "int", "c"], ["v", "string", None]]
    shown = dict(engines.rows("ours", "SHOW TBLPROPERTIES paimon.ours.sparks"))
    assert shown["x"] == "y" and not [k for k in shown if k.startswith(("view.", "spark.sql"))]
    engines.run("ours", "DROP VIEW paimon.ours.sparks", "DROP VIEW paimon.default.plain")


@pytest.mark.parametrize("alias", [None, "for_readers"])
def test_entries_for_readers_of_iceberg_are_equal(engines: Engines, hive: HiveServer, alias: str | None) -> None:
    """The entry that the table has anyway, or one of its own, and each engine goes on from that of the other."""
    name = "iced" if alias is None else "named"
    options = {"metadata.iceberg.storage": "hive-catalog", "metadata.iceberg.uri": hive.uri}
    if alias is not None:
        options["metadata.iceberg.table"] = alias
    given = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    client = hive.client()
    made = {}
    for engine in ("ours", "java"):
        engines.run(
            engine,
            f"CREATE TABLE paimon.{engine}.{name} (k INT, v STRING COMMENT 'c', t TIMESTAMP, p STRING) "
            f"PARTITIONED BY (p) TBLPROPERTIES ({given})",
            f"INSERT INTO paimon.{engine}.{name} VALUES (1, 'a', TIMESTAMP '2024-01-01 00:00:00', 'p')",
        )
        made[engine] = facts(client.get_table(engine, alias or name), engine)
    ours, java = (_in_one_place(made[engine], engine) for engine in ("ours", "java"))
    assert ours == java
    for engine, other in (("ours", "java"), ("java", "ours")):
        engines.run(other, f"INSERT INTO paimon.{engine}.{name} VALUES (2, '{other}', NULL, 'q')")
        engines.run(engine, f"INSERT INTO paimon.{engine}.{name} VALUES (3, '{engine}', NULL, 'q')")
        table = IcebergHiveCatalog("office", uri=hive.uri).load_table(f"{engine}.{alias or name}")
        found = sorted(table.scan().to_arrow().select(["k", "v", "p"]).to_pylist(), key=str)
        assert [tuple(row.values()) for row in found] == [(1, "a", "p"), (2, other, "q"), (3, engine, "q")]


def _in_one_place(value: Any, database: str) -> Any:
    """Facts with local places as paths, as the engines spell `file:` in two ways, below a database called `db`."""
    if isinstance(value, dict):
        return {k: _in_one_place(v, database) for k, v in value.items()}
    if not isinstance(value, str):
        return value
    return re.sub(r"^file:/+", "/", value).replace(f"/iceberg/{database}/", "/iceberg/db/")
