"""dbt's suites of snapshots."""

import re

import pytest
from dbt.adapters.paimon import PaimonAdapter
from dbt.adapters.spark.impl import SparkAdapter
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)

from paimon_sql.preprocess import split_statements

_POSTGRES = (
    (r"\bTEXT\b", "STRING"),
    (r"::text\b", "::string"),
    (r" default ('[^']*'|null)", ""),
    (r"(test_valid_to from \S+)$", r"\1 order by id, test_valid_to"),  # rows are looked at by their position
)


@pytest.fixture(scope="class", autouse=True)
def _sql_of_suites():
    """Statements of the suites themselves are written for PostgreSQL, several in one text."""

    def run(self, sql, fetch, conn):
        for pattern, replacement in _POSTGRES:
            sql = re.sub(pattern, replacement, sql)
        return [SparkAdapter.run_sql_for_tests(self, s.text, fetch, conn) for s in split_statements(sql)][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaimonAdapter, "run_sql_for_tests", run)
        yield


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


@pytest.mark.long
class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


@pytest.mark.long
class TestSimpleSnapshot(BaseSimpleSnapshot):
    pass


@pytest.mark.long
class TestSnapshotCheck(BaseSnapshotCheck):
    pass


@pytest.mark.long
class TestEphemeralHardDeletes(BaseSnapshotEphemeralHardDeletes):
    pass


@pytest.mark.long
class TestNewColumnTimestampStrategy(BaseSnapshotNewColumnTimestampStrategy):
    pass


@pytest.mark.long
class TestNewColumnSpecificCheckCols(BaseSnapshotNewColumnSpecificCheckCols):
    pass


@pytest.mark.long
class TestNewColumnWithDeletes(BaseSnapshotNewColumnWithDeletes):
    pass


@pytest.mark.long
class TestColumnNames(BaseSnapshotColumnNames):
    pass


@pytest.mark.long
class TestColumnNamesFromProject(BaseSnapshotColumnNamesFromDbtProject):
    pass


@pytest.mark.long
class TestInvalidColumnNames(BaseSnapshotInvalidColumnNames):
    pass


@pytest.mark.long
class TestValidToCurrent(BaseSnapshotDbtValidToCurrent):
    pass


@pytest.mark.long
class TestMultiUniqueKey(BaseSnapshotMultiUniqueKey):
    pass
