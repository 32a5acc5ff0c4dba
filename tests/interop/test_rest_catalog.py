"""Java's REST catalog and ours as clients of our server: each opens what the other made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.function import SqlDefinition
from paimon_sql.catalog.load import load_catalog
from tests.interop.engines import Engines
from tests.interop.in_turns import OF_ALL_TYPES, change_in_turn, in_catalog
from tests.support.rest_server import RestServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RestServer, str]]:
    folder = tmp_path_factory.mktemp("rest")
    warehouse = str(folder / "warehouse")
    behind: Any = load_catalog({"metastore": "jdbc", "warehouse": warehouse, "sync-all-properties": "false"})
    with RestServer.over(behind, folder / "tokens") as running:
        yield running, warehouse
    behind.close()


@pytest.fixture(scope="module")
def engines(server: tuple[RestServer, str], root_session: Any) -> Iterator[Engines]:
    """Both engines with a catalog `paimon` at the server, and the database `db`."""
    given = {**server[0].options("writer"), "token.provider": "bear"}
    with in_catalog(root_session, "of-the-server", given, "db", of_java={}) as both:
        both.run("ours", "CREATE DATABASE paimon.db")
        for name in both.by_name:
            both.run(name, "USE paimon.db")
        yield both


@pytest.mark.parametrize(("one", "other"), [("ours", "java"), ("java", "ours")])
def test_each_opens_changes_renames_and_drops_what_the_other_made(engines: Engines, one: str, other: str) -> None:
    alters = ("ADD COLUMN w INT COMMENT 'more' FIRST", "ALTER COLUMN w AFTER v", "ALTER COLUMN w TYPE BIGINT")
    change_in_turn(engines, one, other, ("db", "db"), alters)


@pytest.mark.parametrize(("one", "other"), [("ours", "java"), ("java", "ours")])
def test_columns_of_all_types_partitions_tags_and_branches(engines: Engines, one: str, other: str) -> None:
    engines.run(one, f"CREATE TABLE types_{one} ({OF_ALL_TYPES}, p INT) PARTITIONED BY (p) COMMENT 'of all types'")
    engines.both(f"DESCRIBE types_{one}")
    engines.run(one, f"INSERT INTO types_{one} (i, st, p) VALUES (1, 'ä', 1), (2, NULL, 2)")
    engines.run(other, f"INSERT INTO types_{one} (i, st, p) VALUES (3, 'z', 2)")
    engines.both(f"SELECT i, st, p FROM types_{one} ORDER BY i", [[1, "ä", 1], [2, None, 2], [3, "z", 2]])
    engines.both(f"SHOW PARTITIONS types_{one}")
    engines.run(one, f"CALL sys.create_tag(table => 'db.types_{one}', tag => 'first', snapshot => 1)")
    engines.both(f"SELECT i FROM types_{one} VERSION AS OF 'first' ORDER BY i", [[1], [2]])
    engines.run(other, f"CALL sys.create_branch(table => 'db.types_{one}', branch => 'b', tag => 'first')")
    engines.run(one, f"INSERT INTO `types_{one}$branch_b` (i, p) VALUES (9, 1)")
    engines.run(other, f"INSERT INTO `types_{one}$branch_b` (i, p) VALUES (10, 1)")
    engines.both(f"SELECT i FROM `types_{one}$branch_b` ORDER BY i", [[1], [2], [9], [10]])
    engines.run(other, f"CALL sys.rollback(table => 'db.types_{one}', version => 'first')")
    engines.both(f"SELECT count(*) FROM types_{one}", [[2]])
    engines.run(one, f"INSERT INTO types_{one} (i, p) VALUES (4, 1)")
    engines.run(other, f"INSERT OVERWRITE types_{one} PARTITION (p = 2) (i) VALUES (5)")
    engines.both(f"SELECT i FROM types_{one} ORDER BY i", [[1], [4], [5]])


def test_views(engines: Engines) -> None:
    for one in ("ours", "java"):
        engines.run(
            one,
            f"CREATE TABLE behind_{one} (k INT)",
            f"INSERT INTO behind_{one} VALUES (1)",
            f"CREATE VIEW seen_{one} AS SELECT k + 1 AS n FROM behind_{one}",
        )
        engines.both(f"SELECT n FROM seen_{one}", [[2]])
    engines.run("ours", "DROP VIEW seen_java")
    engines.run("java", "DROP VIEW seen_ours")
    for engine in ("ours", "java"):
        assert engines.rows(engine, "SHOW VIEWS") == []


_INPUTS = '[{"id": 0, "name": "length", "type": "INT"}, {"id": 1, "name": "width", "type": "INT"}]'
_CREATE = (
    f"CALL sys.create_function(`function` => 'db.%s', inputParams => '{_INPUTS}', returnParams => "
    """'[{"id": 0, "name": "area", "type": "BIGINT"}]', deterministic => true, comment => 'c', options => 'k1=v1')"""
)


@pytest.mark.parametrize(("one", "other"), [("ours", "java"), ("java", "ours")])
def test_functions_by_procedure(engines: Engines, server: tuple[RestServer, str], one: str, other: str) -> None:
    """What one creates the other changes, finds and drops."""
    name = f"area_{one}"
    engines.run(one, _CREATE % name)
    alter = f"CALL sys.alter_function(`function` => 'db.{name}', change => '%s')"
    definition = {"type": "sql", "definition": "length * width"}
    engines.run(other, alter % json.dumps({"action": "addDefinition", "name": "spark", "definition": definition}))
    engines.run(one, alter % json.dumps({"action": "setOption", "key": "k2", "value": "v2"}))
    catalog: Any = load_catalog(server[0].options("reader"))
    found = catalog.load_function(Identifier("db", name))
    assert [f.name for f in (*found.parameters, *found.results)] == ["length", "width", "area"]
    assert found.definitions == {"spark": SqlDefinition("length * width")}
    assert (found.comment, found.options, found.deterministic) == ("c", {"k1": "v1", "k2": "v2"}, True)
    assert [[f"paimon.db.{name}"]] == engines.rows("ours", f"SHOW USER FUNCTIONS LIKE '{name}'")
    engines.both(f"SELECT db.{name}(2, 3) AS n", [[6]])
    engines.run(other, f"CALL sys.drop_function(`function` => 'db.{name}')")
    assert not catalog.function_exists(Identifier("db", name))


def test_functions_of_statements(engines: Engines) -> None:
    for one, other in (("ours", "java"), ("java", "ours")):
        name = f"by_statement_{one}"
        engines.run(one, f"CREATE FUNCTION {name}(x INT) RETURNS INT RETURN x + 1")
        engines.both(f"SELECT db.{name}(2) AS n", [[3]])
        engines.run(other, f"DROP FUNCTION {name}")
        assert engines.rows("ours", f"SHOW USER FUNCTIONS LIKE '{name}'") == []


def test_commits_of_both_in_turn(engines: Engines) -> None:
    engines.run("ours", "CREATE TABLE both_write (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for n in range(6):
        engines.run(("ours", "java")[n % 2], f"INSERT INTO both_write VALUES ({n}, 'x'), (100, '{n}')")
    engines.both("SELECT count(*), max(v) FROM both_write", [[7, "x"]])
    engines.both("SELECT v FROM both_write WHERE k = 100", [["5"]])
