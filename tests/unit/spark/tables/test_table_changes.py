from __future__ import annotations

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_sql.spark.tables.table_changes import check_history


def test_a_pipeline_keeps_no_older_rows_in_a_table_with_a_key() -> None:
    columns, table = ["id", "v", "__START_AT", "__END_AT"], Identifier("shop", "customers")
    with pytest.raises(UnsupportedFeatureError, match=r"shop.customers .*stored_as_scd_type=2.*\(id\)"):
        check_history(table, columns, ["id"], lambda: True)
    check_history(table, columns, [], lambda: True)
    check_history(table, columns, ["id", "__START_AT"], lambda: True)
    check_history(table, ["id", "v"], ["id"], lambda: True)
    check_history(table, columns, ["id"], lambda: False)  # a table that a user makes
