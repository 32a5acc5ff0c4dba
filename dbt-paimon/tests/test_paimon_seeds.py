"""Seeds: every value as it is in the file, keys, one commit."""

import datetime as dt

import pytest
from dbt.adapters.paimon import impl
from dbt.tests.util import relation_from_name, run_dbt, write_file

_SEED = """id,big,text,day,at,flag,price
1,9007199254740993,it's a \\ ${x},2024-01-02,2024-01-02 03:04:05,true,1.50
2,2,,,,,
1,3,"last, of ""its"" key",2024-01-03,2024-01-03 00:00:00,false,-2
"""
_CONFIG = """
seeds:
  - name: things
    config:
      primary_key: id
      options: {bucket: 1}
      column_types: {price: "decimal(10, 2)", text: string}
"""


class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"things.csv": _SEED, "seeds.yml": _CONFIG, "nothing.csv": "id,name\n"}

    def _rows(self, project, name):
        table = relation_from_name(project.adapter, name)
        return [tuple(row) for row in project.run_sql(f"select * from {table} order by 1", fetch="all")]

    def test_values_keys_and_no_rows(self, project):
        results = run_dbt(["seed"])
        assert {r.node.name: r.adapter_response["rows_affected"] for r in results} == {"things": 3, "nothing": 0}
        first, second = self._rows(project, "things")
        assert first[:4] == (1, 3, 'last, of "its" key', dt.date(2024, 1, 3))
        assert second == (2, 2, None, None, None, None, None)
        assert self._rows(project, "nothing") == []

    def test_a_seed_is_replaced_in_one_commit(self, project, monkeypatch):
        run_dbt(["seed", "--select", "things"])
        monkeypatch.setattr(impl, "_ROWS_OF_SEED", 2)  # of three rows
        write_file(
            _SEED.replace("\n1,3", "\n3,3").replace(",flag", ",is_new"), project.project_root, "seeds", "things.csv"
        )
        run_dbt(["seed", "--select", "things"])
        rows = self._rows(project, "things")
        assert rows[0][:3] == (1, 9007199254740993, "it's a \\ ${x}")
        assert [row[0] for row in rows] == [1, 2, 3]
        sql = f"select commit_kind from `paimon`.`{project.test_schema}`.`things$snapshots`"
        assert {tuple(row) for row in project.run_sql(sql, fetch="all")} == {("OVERWRITE",)}

    def test_a_type_of_no_column_is_refused(self, project):
        write_file(_CONFIG.replace("text: string", "nothing: int"), project.project_root, "seeds", "seeds.yml")
        (result,) = run_dbt(["seed", "--select", "things"], expect_pass=False)
        assert "columns that the seed does not have: nothing" in result.message
        write_file(_CONFIG, project.project_root, "seeds", "seeds.yml")
