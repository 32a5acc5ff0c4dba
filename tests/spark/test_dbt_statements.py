"""The statements of dbt's Spark adapter, as it writes them, and what it reads from their answers."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.spark

_APP = '/* {"app": "dbt", "dbt_version": "1.11.0", "node_id": "model.shop.orders"} */\n'


def test_models_incremental_runs_and_snapshots(spark: Any) -> None:
    def run(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(_APP + text).collect()]

    run("create schema if not exists default\n  ")
    run("drop table if exists default.orders\n;")
    run(
        "create table default.orders\n      using paimon\n      partitioned by (day)\n      "
        "tblproperties ('bucket'='-1')\n      as\n      select 1 as id, 'a' as name, '01' as day"
    )
    assert run("select max(snapshot_id) from default.`orders$snapshots`") == [(1,)]
    shown = run("show table extended in default like '*'\n  ")
    assert [row[:3] for row in shown] == [("default", "orders", False)]
    assert len(shown[0]) == 4
    information = shown[0][3]
    assert "Provider: paimon" in information
    assert "Type: VIEW" not in information
    assert re.search(r"Owner: (\w+)", information)
    columns = re.findall(r"\|-- (.*): (.*) \(nullable = (.*)\b", information)
    assert [c[:2] for c in columns] == [("id", "integer"), ("name", "string"), ("day", "string")]
    described = run("describe extended default.orders\n  ")
    until = next(i for i, row in enumerate(described) if not row[0] or row[0].startswith("#"))
    assert [row[:2] for row in described[:until]] == [("id", "int"), ("name", "string"), ("day", "string")]

    run("create or replace temporary view orders__dbt_tmp as\n    select 2 as id, 'b' as name, '02' as day")
    run("set spark.sql.sources.partitionOverwriteMode = DYNAMIC\n    ")
    run("insert overwrite table default.orders\n partition (day)\n select `id`, `name`, `day` from orders__dbt_tmp")
    assert run("select id, day from default.orders order by id") == [(1, "01"), (2, "02")]
    run(
        "merge into default.orders as DBT_INTERNAL_DEST\n      using orders__dbt_tmp as DBT_INTERNAL_SOURCE\n"
        "      on \n          DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id\n      when matched then update set *\n"
        "      when not matched then insert *\n"
    )
    run(
        "merge into default.orders as DBT_INTERNAL_DEST\n    using orders__dbt_tmp as DBT_INTERNAL_SOURCE\n"
        "    on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id\n    when matched\n and DBT_INTERNAL_DEST.name = 'b'\n"
        "        then update\n        set name = 'closed'\n    when not matched\n        then insert *\n;"
    )
    run("alter table default.orders\n        add columns (note string)")
    assert run("select id, name, note from default.orders order by id") == [(1, "a", None), (2, "closed", None)]
    run("insert into table default.orders\n select `id`, `name`, `day`, 'x' as note from orders__dbt_tmp")
    run("create or replace table default.orders using paimon as select 7 as id")
    assert run("select * from default.orders;") == [(7,)]
    run("truncate table default.orders")
    run("drop table if exists default.orders")
    assert run("show tables in default") == []


def test_views(spark: Any) -> None:
    """The default materialization, and what it looks at before and after."""

    def run(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(_APP + text).collect()]

    run("create table default.orders using paimon as select 1 as id, 'a' as name")
    for name in ("a", "b"):
        run(
            "create or replace view default.recent\n  (\n    id comment 'the key',\n    name\n  )\n  "
            "comment 'what is new'\n  tblproperties ('x'='1')\n  as\n      select id, "
            f"concat(name, '{name}') as name from default.orders\n"
        )
    assert run("select * from default.recent") == [(1, "ab")]
    shown = run("show table extended in default like '*'\n  ")
    kinds = {row[1]: "view" if "Type: VIEW" in row[3] else "table" for row in shown}
    assert kinds == {"orders": "table", "recent": "view"}
    assert run("show views in default") == [("default", "recent", False)]
    described = run("describe extended default.recent\n  ")
    until = next(i for i, row in enumerate(described) if not row[0] or row[0].startswith("#"))
    assert described[:until] == [("id", "int", "the key"), ("name", "string", None)]
    run("create or replace view default.recent__dbt_tmp as select 2 as id")
    run("alter view default.recent rename to default.recent__dbt_backup")
    run("alter view default.recent__dbt_tmp rename to default.recent")
    run("drop view if exists default.recent__dbt_backup")
    assert run("select * from default.recent") == [(2,)]
    run("drop view if exists default.recent")
    run("create or replace table default.recent using paimon as select * from default.orders")
    run("drop table if exists default.recent")
    run("create or replace view default.recent as select 3 as id")
    assert run("select * from default.recent") == [(3,)]
