"""Calls that are wrong: what is said of each, and that nothing has changed."""

from __future__ import annotations

import re
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidNameError, PaimonError, TableNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

_VALUES = {"string": "x=y", "bigint": 1, "int": 1, "boolean": True}


class Calls:
    """Three snapshots of table t with a tag, a branch and a consumer; an empty table e; a partitioned one p."""

    def __init__(self, warehouse: str) -> None:
        self.warehouse = Path(warehouse)
        table = stored.create_table(warehouse, bucket="-1", write_only="true")
        for k in range(3):
            stored.insert(stored.open_table(warehouse), [(k, "x")])
        catalog = load_catalog({"warehouse": warehouse})
        catalog.create_table(Identifier("default", "e"), new_table_schema(fields(k=INT)))
        catalog.create_table(Identifier("default", "p"), new_table_schema(fields(k=INT, dt=STRING), ["dt"]))
        self.context = ProcedureContext(catalog, "default", Tasks(), UTC)
        self("create_tag", table="t", tag="one", snapshot=1)
        self("create_tag", table="t", tag="two")
        self("create_branch", table="t", branch="b", tag="one")
        self("reset_consumer", table="t", consumerId="c", nextSnapshotId=2)
        assert table.schema.fields

    def __call__(self, name: str, **arguments: Any) -> Any:
        return PROCEDURES[name].call(self.context, arguments)

    def files(self) -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in self.warehouse.rglob("*") if p.is_file()}


@pytest.fixture
def calls(warehouse: str) -> Calls:
    return Calls(warehouse)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("rollback", {"version": "9"}, "no snapshot 9: the snapshots 1 to 3 exist"),
    ("rollback", {"tag": "nope"}, "no tag 'nope' .its tags: one, two"),
    ("rollback", {"snapshot": -1}, "no snapshot -1"),
    ("rollback", {"table": "e", "version": "1"}, "no snapshots yet"),
    ("rollback_to_timestamp", {"timestamp": 0}, "no snapshot at or before 0"),
    ("rollback_to_watermark", {"watermark": 0}, "no snapshot with a watermark"),
    ("create_tag", {"tag": "one"}, "already exists, for snapshot 1"),
    ("create_tag", {"tag": "x", "snapshot": 9}, "snapshots 1 to 3 exist"),
    ("create_tag", {"tag": "x", "time_retained": "soon"}, "time_retained cannot be 'soon'"),
    ("create_tag", {"tag": ""}, "is empty"),
    ("create_tag", {"table": "e", "tag": "x"}, "no snapshot yet"),
    ("create_tag_from_timestamp", {"tag": "x", "timestamp": 2**60}, "no snapshot at or after"),
    ("replace_tag", {"tag": "nope"}, "no tag 'nope'"),
    ("replace_tag", {"tag": "one", "snapshot": 9}, "snapshots 1 to 3 exist"),
    ("rename_tag", {"tag": "one", "target_tag": "two"}, "already exists: choose another name"),
    ("rename_tag", {"tag": "nope", "target_tag": "x"}, "no tag 'nope'"),
    ("delete_tag", {"tag": " "}, "name one or more tags"),
    ("expire_tags", {"older_than": "soon"}, "older_than cannot be 'soon'.*2024-01-31"),
    ("create_branch", {"branch": "b"}, "already exists; its branches are b"),
    ("create_branch", {"branch": "main"}, "choose another name"),
    ("create_branch", {"branch": "x", "tag": "nope"}, "no tag 'nope'"),
    ("create_branch", {"branch": "x", "ignoreIfExists": "maybe"}, "'true' or 'false'"),
    ("delete_branch", {"branch": "b,nope"}, "no branch 'nope'; its branches are main, b"),
    ("rename_branch", {"from_branch": "b", "to_branch": "7"}, "is a number"),
    ("rename_branch", {"from_branch": "nope", "to_branch": "x"}, "no branch 'nope'"),
    ("fast_forward", {"branch": "nope"}, "no branch 'nope'"),
    ("merge_branch", {"source_branch": "nope"}, "no branch 'nope'"),
    ("merge_branch", {"source_branch": "b", "target_branch": "b"}, "into itself"),
    ("reset_consumer", {"consumerId": "nope"}, "its consumers: c"),
    ("reset_consumer", {"consumerId": "c", "nextSnapshotId": 9}, "no snapshot 9"),
    ("clear_consumers", {"includingConsumers": "["}, "not a regular expression"),
    ("expire_snapshots", {"retain_max": 1, "retain_min": 2}, "less than retain_min"),
    ("expire_snapshots", {"retain_min": 0}, "1 or more"),
    ("expire_snapshots", {"older_than": "2024-13-45"}, "older_than cannot be"),
    ("expire_snapshots", {"options": "what"}, "key=value"),
    ("expire_changelogs", {"older_than": "soon"}, "older_than cannot be"),
    ("expire_partitions", {}, "cannot expire"),
    ("expire_partitions", {"table": "p", "expiration_time": "soon"}, "it must be a duration"),
    (
        "expire_partitions",
        {"table": "p", "expiration_time": "1 d", "expire_strategy": "odd"},
        "values-time, update-time",
    ),
    ("mark_partition_done", {"partitions": "dt=1"}, "is not partitioned"),
    ("mark_partition_done", {"table": "p", "partitions": "x=1"}, "partition columns are dt"),
    ("drop_partition", {"table": "p", "partitions": "x=1"}, "partition columns are dt"),
    ("compact", {"partitions": "x=1"}, "the table is not partitioned"),
    ("compact", {"compact_strategy": "odd"}, "'full' or 'minor'"),
    ("compact", {"order_strategy": "odd", "order_by": "k"}, "one of none, order"),
    ("compact", {"order_strategy": "order", "order_by": "nope"}, "no column 'nope'"),
    ("compact", {"where": "dt > '1'", "partitions": "dt=1"}, "cannot be used together"),
    ("compact_database", {"table": None, "including_tables": "("}, "not a regular expression"),
    ("compact_manifest", {"options": "manifest-sort.max-rewrite-size=big"}, "it must be a size"),
    ("rescale", {"bucket_num": 2}, "is not a fixed number of buckets"),
    ("remove_orphan_files", {"older_than": "2999-01-01"}, "is in the future"),
    ("remove_orphan_files", {"mode": "odd"}, "local, distributed"),
    ("remove_orphan_files", {"parallelism": 0}, "1 or more"),
    ("remove_orphan_blobs", {"older_than": "2999-01-01"}, "is in the future"),
    ("remove_orphan_blobs", {"mode": "odd"}, "local, distributed"),
    ("remove_unexisting_files", {"parallelism": -1}, "1 or more"),
    ("repair_earliest_snapshot", {"snapshot_id": 2}, "does not follow a gap"),
    ("rewrite_file_index", {"where": "k = 1"}, "filters partitions"),
    ("copy", {"table": None, "source_table": "t", "target_table": "t"}, "into itself"),
    ("copy", {"table": None, "source_table": "t", "target_table": "p"}, "cannot take the files"),
    ("migrate_table", {"source_type": "odd"}, "hive, spark, iceberg, csv"),
    ("migrate_table", {"source_type": "hive"}, "Paimon table already"),
    ("migrate_database", {"table": None, "source_type": "odd", "database": "default"}, "one of hive, spark"),
]


def test_what_is_wrong_is_told_and_changes_nothing(calls: Calls) -> None:
    before = calls.files()
    for name, arguments, message in WRONG:
        given = {k: v for k, v in ({"table": "t"} | arguments).items() if v is not None}
        try:
            with pytest.raises(PaimonError, match=message):
                calls(name, **given)
        except BaseException as error:
            raise AssertionError(f"{name} {arguments}") from error
        assert calls.files() == before, (name, arguments)


def test_tables_that_are_none(calls: Calls) -> None:
    of_users = {n for n, p in PROCEDURES.items() if p.body.__module__.endswith(".privileges")}
    for name in sorted(set(PROCEDURES) - {*of_users, "clone", "migrate_table"}):
        parameters = PROCEDURES[name].parameters
        named = next((p.name for p in parameters if p.name in ("table", "source_table", "database_or_table")), None)
        others = {p.name: _VALUES[p.type] for p in parameters if p.required and p.name != named}
        for table, error in (
            ("nope", TableNotFoundError),
            ("t$files", InvalidNameError),
            ("a.b.c.d", InvalidNameError),
        ):
            if named is not None:
                with pytest.raises(error, match=re.escape(table)):
                    calls(name, **{named: table}, **others)
