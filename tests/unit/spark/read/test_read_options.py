"""The options of one read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_core.options.support import in_own_spelling
from paimon_core.spec.identifier import BRANCH_OPTION
from paimon_sql.preprocess import SEARCH_OPTION
from paimon_sql.spark.read.read_options import read_options
from paimon_sql.spark.write.write_options import check_foreign


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("snapshot-id", "scan.snapshot-id"),
        ("AS-OF-TIMESTAMP", "scan.timestamp-millis"),
        ("start-snapshot-id", "incremental-between"),
        ("startingVersion", "incremental-between"),
        ("startingtimestamp", "incremental-between-timestamp"),
        ("as.of.instant", "scan.timestamp"),
    ],
)
def test_options_of_other_formats_that_choose_rows_are_refused_by_name(key: str, instead: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"(?i)default.t cannot be read with the option '{key}'.*{instead}"
    ):
        read_options("default.t", {key: "1"})


def test_options_of_ours_are_found_in_any_case() -> None:
    given = {"Scan.Snapshot-Id": "1", "readChangeFeed": "False", "pathGlobFilter": "*"}
    assert read_options("t", given) == {"scan.snapshot-id": "1", "readChangeFeed": "False", "pathGlobFilter": "*"}
    for key in (*SCAN_OPTIONS, BRANCH_OPTION, SEARCH_OPTION):
        assert in_own_spelling({key.title(): "x"}) == {key: "x"}


def test_only_tables_with_vectors_are_searched() -> None:
    given = {"Search.Arguments": "{}"}
    with pytest.raises(UnsupportedFeatureError, match=r"A search cannot read default.t\$files"):
        read_options("default.t$files", given)
    assert read_options("default.t", given, has_vectors=True) == {"search.arguments": "{}"}


@pytest.mark.parametrize("use", [read_options, check_foreign])
def test_settings_of_a_session_are_no_options(use: Callable[[str, dict[str, str]], object]) -> None:
    """They would have no effect, and all rows would be read."""
    with pytest.raises(InvalidOptionError, match=r"default.t cannot be used .* Write 'scan.snapshot-id'"):
        use("default.t", {"Spark.Paimon.scan.snapshot-id": "1"})
