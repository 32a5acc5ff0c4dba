"""Incremental models on Paimon tables: by key, by partition, with changing columns."""

import pytest
from dbt.tests.util import relation_from_name, run_dbt, write_file

_UPSERTED = """
{{ config(materialized='incremental', incremental_strategy='upsert', primary_key='id', options={'bucket': 1}) }}
select id, name from values
{% if is_incremental() %} (2, 'new'), (3, 'three') {% else %} (1, 'one'), (2, 'two') {% endif %} as t(id, name)
"""
_OVERWRITTEN = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day') }}
select id, day from values
{% if is_incremental() %} (9, 'b') {% else %} (1, 'a'), (2, 'b'), (3, 'b') {% endif %} as t(id, day)
"""
_MERGED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order', primary_key='order') }}
select `order`, name from values
{% if is_incremental() %} (2, 'new'), (3, 'three') {% else %} (1, 'one'), (2, 'two') {% endif %} as t(`order`, name)
"""


def _rows(project, name, order="1"):
    table = relation_from_name(project.adapter, name)
    return [tuple(row) for row in project.run_sql(f"select * from {table} order by {order}", fetch="all")]


def _kinds(project, name):
    sql = f"select commit_kind from `paimon`.`{project.test_schema}`.`{name}$snapshots`"
    return [kind for (kind,) in map(tuple, project.run_sql(sql, fetch="all"))]


class TestStrategies:
    @pytest.fixture(scope="class")
    def models(self):
        return {"upserted.sql": _UPSERTED, "overwritten.sql": _OVERWRITTEN, "merged.sql": _MERGED}

    def test_rows_of_a_key_and_of_a_partition_are_replaced(self, project, spark):
        run_dbt(["run"])
        run_dbt(["run"])
        assert _rows(project, "upserted") == _rows(project, "merged") == [(1, "one"), (2, "new"), (3, "three")]
        assert _kinds(project, "upserted") == ["OVERWRITE", "APPEND"]  # made in one commit, and nothing was read
        assert _rows(project, "overwritten") == [(1, "a"), (9, "b")]
        assert [t.name for t in spark.catalog.listTables() if t.isTemporary and "dbt_tmp" in t.name] == []

        run_dbt(["run", "--full-refresh"])
        assert _rows(project, "upserted") == [(1, "one"), (2, "two")]
        assert _rows(project, "overwritten") == [(1, "a"), (2, "b"), (3, "b")]
        assert _kinds(project, "upserted") == ["OVERWRITE", "APPEND", "OVERWRITE"]  # earlier snapshots are there

    def test_upsert_into_a_table_with_another_key_is_refused(self, project):
        write_file(
            _UPSERTED.replace("primary_key='id'", "primary_key='id,name'"),
            project.project_root,
            "models",
            "upserted.sql",
        )
        (result,) = run_dbt(["run", "--select", "upserted"], expect_pass=False)
        assert "has the primary key (id), and the model says (id,name)" in result.message
        assert "--full-refresh" in result.message
        run_dbt(["run", "--select", "upserted", "--full-refresh"])
        run_dbt(["run", "--select", "upserted"])
        assert _rows(project, "upserted", "1, 2") == [(1, "one"), (2, "new"), (2, "two"), (3, "three")]

    def test_upsert_without_a_key_is_refused(self, project):
        write_file(_UPSERTED.replace("primary_key='id', ", ""), project.project_root, "models", "upserted.sql")
        (result,) = run_dbt(["run", "--select", "upserted"], expect_pass=False)
        assert "upsert needs a primary_key" in result.message


_AUDITED = """
{{ config(materialized='incremental', options={'write.wap.enabled': 'true'},
          pre_hook="set spark.paimon.wap.branch = audit", post_hook="reset spark.paimon.wap.branch") }}
select {% if is_incremental() %} max(id) + 1 as id from {{ this }} {% else %} 1 as id {% endif %}
"""


class TestAudits:
    @pytest.fixture(scope="class")
    def models(self):
        return {"audited.sql": _AUDITED}

    def test_later_runs_write_to_the_branch(self, project):
        for _ in range(3):
            run_dbt(["run"])
        assert _rows(project, "audited") == [(1,)]
        assert _rows(project, "audited$branch_audit") == [(1,), (2,), (3,)]
        project.run_sql(f"call paimon.sys.publish('{project.test_schema}.audited', 'audit')")
        assert _rows(project, "audited") == [(1,), (2,), (3,)]


_CHANGING = """
{{ config(materialized='incremental', on_schema_change=var('change')) }}
{% if var('columns') == 'first' %} select 1 as id, cast(2 as int) as n, 'x' as gone
{% else %} select 2 as id, cast(3 as bigint) as n, 'y' as `the new` {% endif %}
"""


class TestSchemaChanges:
    @pytest.fixture(scope="class")
    def models(self):
        return {"changing.sql": _CHANGING}

    def _change(self, change, expect_pass=True):
        run_dbt(["run", "--full-refresh", "--vars", "{change: ignore, columns: first}"])
        return run_dbt(["run", "--vars", f"{{change: {change}, columns: second}}"], expect_pass=expect_pass)

    def _columns(self, project):
        table = relation_from_name(project.adapter, "changing")
        with project.adapter.connection_named("_test"):
            return {c.name: c.dtype for c in project.adapter.get_columns_in_relation(table)}

    def test_sync_all_columns(self, project):
        self._change("sync_all_columns")
        assert self._columns(project) == {"id": "int", "n": "bigint", "the new": "string"}
        assert _rows(project, "changing") == [(1, 2, None), (2, 3, "y")]

    def test_fail(self, project):
        (result,) = self._change("fail", expect_pass=False)
        assert "out of sync" in result.message
        assert _rows(project, "changing") == [(1, 2, "x")]

    def test_ignore_with_a_missing_column(self, project):
        (result,) = self._change("ignore", expect_pass=False)
        assert "gone" in result.message
        assert _rows(project, "changing") == [(1, 2, "x")]

    def test_append_new_columns(self, project):
        table = relation_from_name(project.adapter, "changing")
        self._change("append_new_columns")
        assert list(self._columns(project)) == ["id", "n", "gone", "the new"]
        rows = project.run_sql(f"select id, gone, `the new` from {table} order by id", fetch="all")
        assert [tuple(row) for row in rows] == [(1, "x", None), (2, None, "y")]
