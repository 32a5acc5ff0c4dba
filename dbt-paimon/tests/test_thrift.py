"""dbt's suites once more, over the Thrift door of `paimon-sql serve`."""

from __future__ import annotations

from typing import Any

import pytest
import test_basic
import test_incremental
import test_more
import test_snapshots

from tests.support.served import PASSWORD, USER, Server

pytest.importorskip("pyhive", reason="needs 'dbt-paimon[thrift]'")


_sql_of_suites = test_snapshots._sql_of_suites  # for this module's classes, too


class OverThrift:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, server: Server) -> dict[str, Any]:
        where = {"method": "thrift", "host": "127.0.0.1", "port": server.thrift, "auth": "CUSTOM"}
        return {"type": "paimon", "threads": 4, **where, "user": USER, "password": PASSWORD}

    @pytest.fixture(scope="class")
    def has_views(self) -> bool:
        """The server's catalog keeps them, and this process has no session to ask."""
        return True


@pytest.mark.long
class TestSimpleMaterializations(OverThrift, test_basic.TestSimpleMaterializations):
    pass


class TestSettings(OverThrift):
    """The profile's settings, and those that dbt-spark's macros need, are in force in the server's session."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, server: Server) -> dict[str, Any]:
        where = {"method": "thrift", "host": "127.0.0.1", "port": server.thrift, "auth": "CUSTOM"}
        settings = {"server_side_parameters": {"spark.sql.shuffle.partitions": 7}}
        return {"type": "paimon", "threads": 1, **where, "user": USER, "password": PASSWORD, **settings}

    def test_settings(self, project: Any) -> None:
        assert project.run_sql("select cast('x' as int)", fetch="one") == (None,)
        assert project.run_sql("set spark.sql.shuffle.partitions", fetch="one")[-1] == "7"


class TestIncremental(OverThrift, test_basic.TestIncremental):
    pass


@pytest.mark.long
class TestAdapterMethods(OverThrift, test_basic.TestAdapterMethods):
    pass


@pytest.mark.long
class TestMergeExcludeColumns(OverThrift, test_incremental.TestMergeExcludeColumns):
    pass


@pytest.mark.long
class TestSnapshotCheckCols(OverThrift, test_snapshots.TestSnapshotCheckCols):
    pass


@pytest.mark.long
class TestSingularTests(OverThrift, test_basic.TestSingularTests):
    pass


@pytest.mark.long
class TestEmpty(OverThrift, test_basic.TestEmpty):
    pass


@pytest.mark.long
class TestEphemeral(OverThrift, test_basic.TestEphemeral):
    pass


@pytest.mark.long
class TestGenericTests(OverThrift, test_basic.TestGenericTests):
    pass


@pytest.mark.long
class TestIncrementalNotSchemaChange(OverThrift, test_basic.TestIncrementalNotSchemaChange):
    pass


@pytest.mark.long
class TestIncrementalBadStrategy(OverThrift, test_basic.TestIncrementalBadStrategy):
    pass


@pytest.mark.long
class TestTableMaterialization(OverThrift, test_basic.TestTableMaterialization):
    pass


@pytest.mark.long
class TestValidateConnection(OverThrift, test_basic.TestValidateConnection):
    pass


@pytest.mark.long
class TestIncrementalPredicates(OverThrift, test_incremental.TestIncrementalPredicates):
    pass


@pytest.mark.long
class TestIncrementalUniqueKey(OverThrift, test_incremental.TestIncrementalUniqueKey):
    pass


@pytest.mark.long
class TestIncrementalOnSchemaChange(OverThrift, test_incremental.TestIncrementalOnSchemaChange):
    pass


@pytest.mark.long
class TestMicrobatch(OverThrift, test_incremental.TestMicrobatch):
    pass


@pytest.mark.long
class TestSnapshotTimestamp(OverThrift, test_snapshots.TestSnapshotTimestamp):
    pass


@pytest.mark.long
class TestSimpleSnapshot(OverThrift, test_snapshots.TestSimpleSnapshot):
    pass


@pytest.mark.long
class TestSnapshotCheck(OverThrift, test_snapshots.TestSnapshotCheck):
    pass


@pytest.mark.long
class TestPersistDocs(OverThrift, test_more.TestPersistDocs):
    pass


@pytest.mark.long
class TestSameAliasDifferentSchemas(OverThrift, test_more.TestSameAliasDifferentSchemas):
    pass


@pytest.mark.long
class TestStringLiteral(OverThrift, test_more.TestStringLiteral):
    pass
