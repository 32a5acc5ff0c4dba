"""Models as Paimon tables: keys, options, one commit, tags that stay, comments, catalogs."""

import pytest
from dbt.tests.util import get_manifest, relation_from_name, run_dbt, write_file

_KEYED = """
{{ config(materialized='table', primary_key=['id'], options={'bucket': 1, 'file.format': 'orc'},
          post_hook=["{{ paimon_create_tag(this, 'run ' ~ var('run'), retain='90 days') }}",
                     "{{ paimon_create_branch(this, 'trial', tag='run ' ~ var('run')) }}",
                     after_commit("{{ paimon_compact(this) }}")]) }}
select id, name from values (1, 'one'), (2, 'run {{ var("run") }}'), (2, 'run {{ var("run") }}') as t(id, name)
"""
_COUNTS = """
{{ config(materialized='incremental', incremental_strategy='append') }}
select {{ var('run') }} as run, `order` from {{ ref('names') }}
"""
_NAMES = "{{ config(materialized='ephemeral') }} select 'x' as `order`"
_DOCUMENTED = """
version: 2
models:
  - name: counts
    description: "It's the table's\\nown ${comment} with a \\\\ in it"
    config: {persist_docs: {relation: true, columns: true}}
    columns:
      - name: order
        description: "a 'quoted' text"
        quote: true
      - name: run
        description: of dbt
      - name: nowhere
        description: no such column
"""


def _rows(project, sql):
    return [tuple(row) for row in project.run_sql(sql, fetch="all")]


def _run(project, number, *arguments, **kwargs):
    return run_dbt(["run", "--vars", f"{{run: {number}}}", *arguments], **kwargs)


class TestTable:
    @pytest.fixture(scope="class")
    def models(self):
        return {"keyed.sql": _KEYED}

    def test_each_run_is_one_commit_and_tags_stay(self, project):
        _run(project, 1)
        _run(project, 2)
        table = relation_from_name(project.adapter, "keyed")
        assert str(table) == f"`paimon`.`{project.test_schema}`.`keyed`"
        assert _rows(project, f"select * from {table} order by id") == [(1, "one"), (2, "run 2")]
        assert _rows(project, f"select * from {table} version as of 'run 1' order by id") == [(1, "one"), (2, "run 1")]
        kinds = _rows(project, f"select commit_kind from `paimon`.`{project.test_schema}`.`keyed$snapshots`")
        assert [kind for (kind,) in kinds if kind != "COMPACT"] == ["OVERWRITE", "OVERWRITE"]
        assert dict(_rows(project, f"show tblproperties {table}")) == {
            "primary-key": "id",
            "bucket": "1",
            "file.format": "orc",
        }
        branches = _rows(project, f"select branch_name from `paimon`.`{project.test_schema}`.`keyed$branches`")
        assert branches == [("trial",)]

    def test_a_model_that_fails_leaves_the_rows(self, project):
        _run(project, 3)
        table = relation_from_name(project.adapter, "keyed")
        broken = _KEYED.replace("id, name from", "id, raise_error('no') as name from")
        write_file(broken, project.project_root, "models", "keyed.sql")
        _run(project, 4, expect_pass=False)
        assert _rows(project, f"select name from {table} where id = 2") == [("run 3",)]
        write_file(_KEYED, project.project_root, "models", "keyed.sql")


class TestComments:
    @pytest.fixture(scope="class")
    def models(self):
        return {"counts.sql": _COUNTS, "names.sql": _NAMES, "schema.yml": _DOCUMENTED}

    def test_comments_are_kept_and_not_written_twice(self, project):
        _run(project, 1)
        schemas = f"select schema_id from `paimon`.`{project.test_schema}`.`counts$schemas`"
        before = _rows(project, schemas)
        _run(project, 2)
        assert _rows(project, schemas) == before
        described = {
            row[0]: row[1:]
            for row in _rows(project, "describe extended " + str(relation_from_name(project.adapter, "counts")))
        }
        assert described["order"] == ("string", "a 'quoted' text")
        assert described["run"] == ("int", "of dbt")
        assert described["Comment"][0] == "It's the table's\nown ${comment} with a \\ in it"

        text = _DOCUMENTED.replace("of dbt", "of dbt's")
        write_file(text, project.project_root, "models", "schema.yml")
        _run(project, 3)
        assert len(_rows(project, schemas)) == len(before) + 1

    def test_the_catalog_of_the_docs(self, project):
        run_dbt(["run", "--full-refresh", "--vars", "{run: 9}"])
        catalog = run_dbt(["docs", "generate", "--vars", "{run: 9}"])
        table = catalog.nodes["model.test.counts"]
        assert (table.metadata.database, table.metadata.schema, table.metadata.type) == (
            "paimon",
            project.test_schema,
            "table",
        )
        assert table.metadata.comment.startswith("It's the table's")
        assert {name: c.comment for name, c in table.columns.items()} == {"run": "of dbt's", "order": "a 'quoted' text"}
        assert (table.stats["rows"].value, table.stats["files"].value) == (1, 1)
        assert table.stats["bytes"].value > 0


class TestGrantsWithoutUsers:
    @pytest.fixture(scope="class")
    def models(self):
        return {"granted.sql": "{{ config(materialized='table', grants={'select': ['me']}) }} select 1 as id"}

    def test_grants_are_refused_before_a_statement_runs(self, project):
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "warehouse has no users" in result.message
        assert project.adapter.get_relation("paimon", project.test_schema, "granted") is None
        write_file(
            "{{ config(materialized='table', grants={}) }} select 1 as id",
            project.project_root,
            "models",
            "granted.sql",
        )
        run_dbt(["run"])


class TestCatalogs:
    """A model, and a source, in another catalog of the session"""

    @pytest.fixture(scope="class", autouse=True)
    def other_catalog(self, spark, tmp_path_factory):
        spark.conf.set("spark.sql.catalog.other", "paimon_sql.SparkCatalog")
        spark.conf.set("spark.sql.catalog.other.warehouse", str(tmp_path_factory.mktemp("other")))
        spark.sql("create database other.shop")
        spark.sql("create table other.shop.orders as select 7 as id")

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "sources.yml": "sources: [{name: shop, database: other, tables: [{name: orders}]}]",
            "copied.sql": "{{ config(materialized='table', database='other') }} "
            "select id from {{ source('shop', 'orders') }}",
            "here.sql": "{{ config(materialized='table') }} select id + 1 as id from {{ ref('copied') }}",
        }

    def test_names_have_three_parts(self, project, spark):
        run_dbt(["run"])
        run_dbt(["run"])  # the second finds the tables there are
        assert spark.table(f"other.{project.test_schema}.copied").collect()[0].id == 7
        assert spark.table(f"paimon.{project.test_schema}.here").collect()[0].id == 8
        catalog = run_dbt(["docs", "generate"])
        found = {name: node.metadata.database for name, node in {**catalog.nodes, **catalog.sources}.items()}
        assert found == {"model.test.copied": "other", "model.test.here": "paimon", "source.test.shop.orders": "other"}


class TestRelations:
    @pytest.fixture(scope="class")
    def models(self):
        return {"first.sql": "{{ config(materialized='table') }} select 1 as id"}

    def test_list_rename_truncate_and_drop(self, project, spark):
        run_dbt(["run"])
        spark.sql("create or replace temporary view not_a_relation as select 1")
        adapter = project.adapter
        with adapter.connection_named("_test"):
            adapter.cache.clear()
            schema = adapter.Relation.create(database="paimon", schema=project.test_schema)
            (first,) = adapter.list_relations_without_caching(schema)
            assert (first.identifier, first.type) == ("first", "table")
            second = first.incorporate(path={"identifier": "the second"})
            adapter.rename_relation(first, second)
            adapter.truncate_relation(second)
            assert adapter.execute(f"select count(*) from {second}", fetch=True)[1].rows[0][0] == 0
            adapter.drop_relation(second)
            assert adapter.list_relations_without_caching(schema) == []
            nowhere = adapter.Relation.create(database="paimon", schema="nowhere")
            assert adapter.list_relations_without_caching(nowhere) == []
            assert adapter.get_columns_in_relation(second) == []
        assert get_manifest(project.project_root) is not None


@pytest.mark.views
class TestViews:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "seen.sql": "{{ config(materialized=var('kind')) }} select 1 as id",
            "schema.yml": "models: [{name: seen, description: It's seen, columns: [{name: id, description: the key}]}]",
        }

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+persist_docs": {"relation": True, "columns": True}}}

    def test_a_table_becomes_a_view_and_again_a_table(self, project):
        for kind in ("table", "view", "view", "table"):
            run_dbt(["run", "--vars", f"{{kind: {kind}}}"])
            relation = project.adapter.get_relation("paimon", project.test_schema, "seen")
            assert relation.type == kind
            assert _rows(project, f"select id from {relation}") == [(1,)]
            catalog = run_dbt(["docs", "generate", "--vars", f"{{kind: {kind}}}"])
            assert catalog.nodes["model.test.seen"].metadata.comment == "It's seen"
            assert catalog.nodes["model.test.seen"].columns["id"].comment == "the key"


class TestWithoutViews:
    @pytest.fixture(scope="class")
    def models(self):
        return {"seen.sql": "{{ config(materialized=var('kind')) }} select 1 as id"}

    def test_a_table_stays_where_no_view_can_be(self, project, has_views):
        if has_views:
            pytest.skip("the catalog keeps views")
        run_dbt(["run", "--vars", "{kind: table}"])
        (result,) = run_dbt(["run", "--vars", "{kind: view}"], expect_pass=False)
        assert "a filesystem catalog has tables only" in result.message
        assert _rows(project, f"select id from {relation_from_name(project.adapter, 'seen')}") == [(1,)]
