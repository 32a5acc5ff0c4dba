"""Tables of which a REST server shows its user a part: queries answer as of a table of the rows that are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.catalog.load import load_catalog
from tests.support.rest_server import RestServer

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

from paimon_sql.catalog.rest import client

_REF = {"index": 5, "name": "salary", "type": "BIGINT"}
# who earns less than 400, whose name and department are shown otherwise
FILTER = {
    "kind": "LEAF",
    "transform": {"name": "FIELD_REF", "fieldRef": _REF},
    "function": "LESS_THAN",
    "literals": [400],
}
MASKS = {
    "name": {"name": "CONCAT", "inputs": ["***"]},
    "note": {"name": "NULL"},
    "dept": {"name": "CONCAT_WS", "inputs": ["-", "x", {"index": 1, "name": "dept", "type": "STRING"}]},
}
STORED = [(n, "it" if n % 2 else "hr", f"name {n}", None if n == 3 else f"note {n}", n * 100) for n in range(1, 9)]
SHOWN = [(k, f"x-{dept}", "***", None, salary) for k, dept, _, _, salary in STORED if salary < 400]
COLUMNS = "id INT, dept STRING, name STRING, note STRING, salary BIGINT"
TABLES: Mapping[str, str] = {
    "whole": "('bucket' = '-1')",
    "keyed": "('primary-key' = 'id', 'bucket' = '2')",
    "parted": "('primary-key' = 'id,dept', 'bucket' = '1', 'file-index.bloom-filter.columns' = 'name')",
}
QUERIES = [
    "SELECT * FROM {t}",
    "SELECT id FROM {t}",
    "SELECT name, id FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT count(note), min(salary), max(salary), max(id), min(name), max(dept) FROM {t}",
    "SELECT dept, count(*), sum(salary) FROM {t} GROUP BY dept",
    "SELECT DISTINCT dept FROM {t}",
    "SELECT id FROM {t} WHERE name = 'name 1'",
    "SELECT id FROM {t} WHERE name = '***'",
    "SELECT id FROM {t} WHERE name LIKE 'name%' OR note IS NOT NULL",
    "SELECT id FROM {t} WHERE note IS NULL",
    "SELECT id FROM {t} WHERE dept = 'it'",
    "SELECT id FROM {t} WHERE dept = 'x-it'",
    "SELECT count(*), max(salary) FROM {t} WHERE dept = 'it'",
    "SELECT count(*), max(salary) FROM {t} WHERE dept = 'x-it'",
    "SELECT count(*) FROM (SELECT * FROM {t} WHERE dept > 'hr' LIMIT 7)",
    "SELECT id, salary FROM {t} WHERE salary > 200",
    "SELECT * FROM {t} WHERE id = 7",
    "SELECT * FROM {t} WHERE id IN (2, 7)",
    "SELECT count(*) FROM {t} WHERE id > 0",
    "SELECT id FROM {t} ORDER BY salary DESC LIMIT 2",
    "SELECT max(salary) FROM (SELECT salary FROM {t} LIMIT 100)",
    "SELECT count(*) FROM (SELECT * FROM {t} LIMIT 7)",
    "SELECT a.id, b.dept FROM {t} a JOIN {t} b ON a.id = b.id AND a.dept = b.dept",
    "SELECT a.id FROM {t} a LEFT JOIN {t} b ON a.name = b.note WHERE b.id IS NULL",
    "SELECT id FROM {t} WHERE dept IN (SELECT dept FROM {t} WHERE id = 1)",
    "SELECT id, row_number() OVER (PARTITION BY dept ORDER BY salary DESC) FROM {t}",
]


@pytest.fixture
def office(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Sets what the server shows; the session, in an empty database there."""
    behind: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "served")})
    answer: dict[str, Any] = {}
    send = client.RestClient._send

    def answered(self: client.RestClient, request: Any) -> Any:
        if not request.path.endswith("/auth"):
            return send(self, request)
        return client._Answer(200, json.dumps(answer).encode(), {})

    monkeypatch.setattr(client.RestClient, "_send", answered)

    def show(*filters: Any, **masks: Any) -> Any:
        answer.update(
            filter=[json.dumps(f) for f in filters], columnMasking={name: json.dumps(m) for name, m in masks.items()}
        )
        return spark

    with RestServer.over(behind) as server:
        given = ", ".join(f"'{k}' = '{v}'" for k, v in {"type": "paimon", **server.options()}.items())
        spark.sql(f"CREATE CATALOG office WITH ({given})")
        spark.sql("CREATE DATABASE office.db")
        spark.sql("USE office.db")
        yield show
    behind.close()


def create(spark: Any, name: str) -> None:
    """One of the tables, with rows."""
    by, values = "PARTITIONED BY (dept)" if name == "parted" else "", ", ".join(map(str, STORED))
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) {by} TBLPROPERTIES {TABLES[name]}")
    inserted = f"VALUES {values.replace('None', 'NULL')} AS s(id, dept, name, note, salary)"
    spark.sql(f"INSERT INTO {name} SELECT * FROM {inserted}")
    if name != "whole":
        spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE id < 3")  # something to merge
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('query-auth.enabled' = 'true')")


def rows(spark: Any, query: str) -> list[str]:
    return sorted(map(str, (tuple(row) for row in spark.sql(query).collect())))


def test_queries_see_what_is_shown(office: Callable[..., Any]) -> None:
    spark = office(FILTER, **MASKS)
    spark.createDataFrame(SHOWN, COLUMNS).createOrReplaceTempView("shown")
    expected = {query: rows(spark, query.format(t="shown")) for query in QUERIES}
    spark.catalog.dropTempView("shown")
    for name in TABLES:
        create(spark, name)
        for query, found in expected.items():
            assert rows(spark, query.format(t=name)) == found, query
        version = f"SELECT id, name FROM {name} VERSION AS OF 1"
        assert rows(spark, version) == sorted(str((row[0], "***")) for row in SHOWN)
        told = "\n".join(r[0] for r in spark.sql(f"EXPLAIN COST SELECT * FROM {name}").collect())
        assert "rows expected" not in told, told  # it would count hidden rows
        assert "shown in part" in told and "sizeInBytes=8.0 EiB" in told, told  # what Spark takes where nobody says
    office()
    assert rows(spark, f"SELECT * FROM {name}") == sorted(map(str, STORED))


def test_a_filter_alone_and_masks_alone(office: Callable[..., Any]) -> None:
    spark = office(FILTER)
    create(spark, "keyed")
    create(spark, "whole")
    assert rows(spark, "SELECT name FROM keyed WHERE name >= 'name 2'") == ["('name 2',)", "('name 3',)"]
    assert rows(spark, "SELECT count(*) FROM whole") == ["(3,)"]
    office(name=MASKS["name"])
    assert rows(spark, "SELECT DISTINCT name FROM whole") == ["('***',)"]
    assert rows(spark, "SELECT count(*) FROM whole") == ["(8,)"]


REFUSED = [
    "DELETE FROM {t} WHERE id = 1",
    "DELETE FROM {t}",
    "UPDATE {t} SET salary = 1 WHERE id = 1",
    "MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET salary = 0",
    "SELECT * FROM `{t}$audit_log`",
    "SELECT * FROM `{t}$binlog`",
    "SELECT * FROM `{t}$ro`",
    "SELECT * FROM `{t}$files`",
    "SELECT * FROM `{t}$partitions`",
    "SELECT id, __paimon_file_path FROM {t}",
    "SELECT __paimon_partition FROM {t}",
    "SELECT * FROM {t} WITH ('incremental-between' = '0,1')",
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS",
]


@pytest.mark.parametrize("name", ["whole", "keyed"])
def test_what_does_not_show_a_part_is_refused(office: Callable[..., Any], name: str) -> None:
    spark = office(FILTER, **MASKS)
    create(spark, name)
    for statement in REFUSED:
        try:
            spark.sql(statement.format(t=name)).collect()
        except PySparkException as error:
            assert re.search("shows its user", str(error)), (statement, error)
        else:
            pytest.fail(f"{statement} was not refused")
    office()
    assert rows(spark, f"SELECT * FROM {name}") == sorted(map(str, STORED))


def test_streams_and_partitions_are_refused(office: Callable[..., Any], tmp_path: Path) -> None:
    spark = office(FILTER, **MASKS)
    create(spark, "keyed")
    create(spark, "parted")
    for made in (spark.readStream.table("keyed"), spark.readStream.table("keyed").select("id")):
        with pytest.raises(PySparkException, match="shows its user"):
            query = made.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
            query.processAllAvailable()
    with pytest.raises(PySparkException, match="shows its user"):
        spark.sql("SHOW PARTITIONS parted").collect()


def test_what_is_not_known_is_refused(office: Callable[..., Any]) -> None:
    spark = office(name={"name": "SUBSTRING", "inputs": []})
    create(spark, "whole")
    with pytest.raises(PySparkException, match="by a transform SUBSTRING, which this version does not support"):
        spark.sql("SELECT id FROM whole").collect()


def test_versions_before_columns_changed(office: Callable[..., Any]) -> None:
    spark = office(FILTER, **MASKS)
    create(spark, "whole")
    spark.sql("ALTER TABLE whole RENAME COLUMN note TO remark")
    office(FILTER, remark=MASKS["note"])
    assert rows(spark, "SELECT max(id) FROM whole") == ["(3,)"]
    with pytest.raises(PySparkException, match="cannot be read at this version.*'note' no longer exists"):
        spark.sql("SELECT id FROM whole VERSION AS OF 1").collect()
