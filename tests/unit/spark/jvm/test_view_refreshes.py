"""Refreshes that replace the rows of a table, by the definitions of the running pipelines."""

from __future__ import annotations

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm.view_refreshes import DefinedTable, check_truncation, replaces_rows, runs_of_view

TABLE = "paimon.shop.t"
VIEW, OTHER_VIEW = DefinedTable("1", TABLE, is_view=True), DefinedTable("2", TABLE, is_view=True)
STREAM = DefinedTable("3", TABLE, is_view=False)


def test_a_refresh_replaces_the_rows() -> None:
    assert runs_of_view(TABLE, [VIEW]) == {"1"}
    assert replaces_rows(TABLE, {"1"}, [VIEW])
    assert replaces_rows(TABLE, {"1"}, [OTHER_VIEW, VIEW])
    assert not replaces_rows(TABLE, (), [VIEW])


def test_a_streaming_table_is_emptied_at_once() -> None:
    for found in ([STREAM], [], [VIEW, STREAM]):
        assert not runs_of_view(TABLE, found)


def test_two_pipelines_that_define_a_table_differently() -> None:
    """The second one begins after the first one has put off its truncation: an append would keep the old rows."""
    with pytest.raises(UnsupportedFeatureError, match=f"{TABLE} is refreshed as a materialized view, and another"):
        replaces_rows(TABLE, {"1"}, [VIEW, STREAM])
    with pytest.raises(UnsupportedFeatureError, match=f"{TABLE} cannot be refreshed: .* Nothing was removed"):
        check_truncation(TABLE, [STREAM, VIEW])


def test_a_table_is_emptied_if_its_definitions_agree() -> None:
    another = DefinedTable("4", "paimon.shop.other", is_view=False)
    for found in ([], [STREAM], [VIEW], [VIEW, OTHER_VIEW], [VIEW, another]):
        check_truncation(TABLE, found)


def test_a_run_that_failed_before_it_appended() -> None:
    with pytest.raises(UnsupportedFeatureError, match="the pipeline was stopped"):
        replaces_rows(TABLE, {"1"}, [])
    assert not replaces_rows(TABLE, {"1"}, [STREAM])  # a later pipeline: its rows are added
    assert runs_of_view(TABLE, [VIEW, OTHER_VIEW]) == {"1", "2"}


def test_names_in_another_case() -> None:
    """Hive keeps names in small letters; in other catalogs `T` and `t` are two tables."""
    upper = DefinedTable("1", "paimon.shop.T", is_view=True)
    assert runs_of_view(TABLE, [upper]) == {"1"} and replaces_rows(TABLE, {"1"}, [upper])
    assert not runs_of_view(TABLE, [upper, STREAM])
