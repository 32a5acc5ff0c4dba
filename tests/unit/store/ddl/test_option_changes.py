from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.store.ddl.schema_changes import SetOption, apply_changes
from paimon_core.table import Table
from tests.support.tables import new_store

REFUSED = {"bucket-key": "n", "merge-engine": "first-row", "primary-key": "n", "partition": "k", "bucket": "-1"}


@pytest.mark.parametrize("key", REFUSED)
def test_what_decides_where_rows_are_stays(tmp_path: Path, key: str) -> None:
    table = Table(new_store(tmp_path, primary_key="k", bucket="2"))
    with pytest.raises(InvalidOptionError, match=f"'{key}' cannot"):
        table.with_options({key: REFUSED[key]})


def test_saying_it_again_changes_nothing(tmp_path: Path) -> None:
    table = Table(new_store(tmp_path, primary_key="k,p", partition="p", bucket="2"))
    same = {"primary-key": "k, p", "partition": "p", "bucket": "2"}
    assert table.with_options(same).schema == table.schema
    assert apply_changes(table.schema, [SetOption(k, v) for k, v in same.items()], 0) is table.schema
    assert table.with_options({"target-file-size": "1 mb", "bucket": "4", "x": "y"}).store.options.values["x"] == "y"
