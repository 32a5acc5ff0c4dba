"""dbt-spark without this package, by `paimon-sql run`: what docs/dbt.md says of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support.place import rows_of
from tests.support.quick_jvm import QUICK_JVM

_FILES = {
    "dbt_project.yml": "name: plain\nprofile: plain\nflags: {send_anonymous_usage_stats: false}\n",
    "seeds/raw.csv": "id,name\n1,a\n2,b\n",
    "models/orders.sql": """{{ config(materialized='table', file_format='paimon',
        tblproperties={'primary-key': 'id', 'bucket': '1'}) }} select id, name from {{ ref('raw') }}""",
    "models/appended.sql": "{{ config(materialized='incremental', incremental_strategy='append') }}"
    " select id from {{ ref('orders') }}",
    "models/overwritten.sql": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite',"
    " partition_by='id') }} select name, id from {{ ref('orders') }}",
    "models/counted.sql": "{{ config(materialized='view') }} select count(*) as n from {{ ref('orders') }}",
    "models/tests.yml": "models: [{name: orders, columns: [{name: id, data_tests: [unique, not_null]}]}]",
}
_REFUSED = {
    "merged": (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }} select 1 as id"
    ),
    "formatted": "{{ config(materialized='incremental', file_format='paimon') }} select 1 as id",
}
_PROFILE = {"type": "spark", "method": "session", "host": "NA", "schema": "shop", "threads": 1}


@pytest.mark.long
def test_what_works_and_what_dbt_spark_refuses(tmp_path: Path) -> None:
    for name, text in {**_FILES, **{f"models/{name}.sql": text for name, text in _REFUSED.items()}}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    profile = {"plain": {"target": "dev", "outputs": {"dev": _PROFILE}}}
    (tmp_path / "profiles.yml").write_text(yaml.safe_dump(profile))
    settings = {
        "spark.sql.catalog.paimon": "paimon_sql.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": str(tmp_path / "lake"),
        "spark.sql.defaultCatalog": "paimon",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.sql.shuffle.partitions": "2",
    }
    words = [word for k, v in settings.items() for word in ("-c", f"{k}={v}")]
    program = "from dbt.cli.main import cli; cli()"
    run = [sys.executable, "-m", "paimon_sql", "run", "--master", "local[2]", *words, sys.executable, "-c", program]
    command = [*run, "build", "--no-use-colors"]
    done = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False) for _ in range(2)]
    for said in (one.stdout + one.stderr for one in done):
        assert "PASS=7 WARN=0 ERROR=2" in said, said
        for name in _REFUSED:
            assert f"ERROR creating sql incremental model shop.{name}" in said, said
    catalog = load_catalog({"warehouse": str(tmp_path / "lake")})
    rows = {name: len(rows_of(catalog.load_table(Identifier("shop", name)))) for name in ("orders", "appended")}
    assert rows == {"orders": 2, "appended": 4}
    assert len(rows_of(catalog.load_table(Identifier("shop", "overwritten")))) == 2
