"""`CALL sys.advise`: each rule has a table that needs it, and one that does not. Its statement ends the advice."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import And, Compare, In, Predicate
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.advice import Figures, advise
from paimon_core.maintenance.contradictions import contradiction_of
from paimon_core.options import TableOptions
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import RemoveOption, SetOption
from paimon_core.store.live_table import LIVE_FILES
from paimon_core.store.manifests import live_files
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from paimon_core.write.deletion import delete_rows
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

OPTIONS = {"bucket": "-1"}
KEYED = {"primary-key": "k", "bucket": "2"}
MIB = 2**20


class Lake:
    """A catalog with one table, `default.t`."""

    def __init__(self, root: Path, options: Mapping[str, str] | None = OPTIONS, table: str = "t") -> None:
        self.catalog, self.identifier = FileSystemCatalog(LocalFileIO(), str(root)), Identifier("default", table)
        if options is None:  # the table exists
            return
        schema = new_table_schema(fields(k=INT, v=STRING), options={"write-only": "true", **options})
        self.catalog.create_table(self.identifier, schema)

    @property
    def table(self) -> Table:
        return self.catalog.load_table(self.identifier)

    def insert(self, *values: int) -> None:
        stored.insert(self.table, [(value, "x") for value in values])

    def delete(self, *values: int) -> None:
        """Delete rows of a table with one file by deletion vectors."""
        table = self.table
        (entry,) = live_files(table.store, table.latest_snapshot()).values()
        rows = {entry.file.file_name: np.array(values, np.uint32)}
        messages = delete_rows(table.store, table.latest_snapshot(), {(entry.partition, entry.bucket): rows})
        stored.commit(table, messages, "deleter")

    def call(self, name: str, **arguments: Any) -> list[tuple[Any, ...]]:
        return list(PROCEDURES[name].call(ProcedureContext(self.catalog, "default", Tasks()), arguments))

    def advice(self) -> dict[str, str]:
        """The statements by their facts."""
        return {fact: statement for fact, _, statement in self.call("advise", table="t")}

    def follow(self, statement: str) -> None:
        """Run a statement of an advice, which must be a CALL."""
        name, arguments = re.fullmatch(r"CALL paimon\.sys\.(\w+)\((.*)\)", statement).groups()  # type: ignore[union-attr]
        given: dict[str, Any] = dict(re.findall(r"(\w+) => '([^']*)'", arguments))
        given |= {key: int(value) for key, value in re.findall(r"(\w+) => (\d+)", arguments)}
        self.call(name, **given)


def only(advice: dict[str, str], pattern: str) -> str:
    """The statement of the only advice, whose fact matches."""
    ((fact, statement),) = advice.items()
    assert re.search(pattern, fact), fact
    return statement


def test_a_table_in_order_needs_no_advice(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert lake.advice() == {}
    lake.insert(1, 2, 3)
    assert lake.advice() == {}


def test_small_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for value in range(4):
        lake.insert(value)
    assert lake.advice() == {}
    lake.insert(4)
    lake.follow(only(lake.advice(), r"^5 files are smaller than \d+ MiB, up to 5 in a bucket$"))
    assert lake.advice() == {}


def test_sorted_runs(tmp_path: Path) -> None:
    lake = Lake(tmp_path, KEYED)
    for _ in range(4):
        lake.insert(*range(10))
    assert lake.advice() == {}
    lake.insert(*range(10))
    statement = only(lake.advice(), r"^2 of 2 buckets have 5 or more sorted runs, up to 5$")
    assert statement == "CALL paimon.sys.compact(table => 'default.t')"
    lake.follow(statement)
    assert lake.advice() == {}


def test_deleted_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "deletion-vectors.enabled": "true"})
    lake.insert(*range(10))
    lake.delete(0)
    assert lake.advice() == {}
    lake.delete(1, 2)
    lake.follow(only(lake.advice(), r"^3 of 10 rows in data files are deleted$"))
    assert lake.advice() == {} and len(stored.read(lake.table)) == 7


@pytest.mark.parametrize(("buckets", "is_advised"), [("4", False), ("16", True)])
def test_buckets_of_few_rows(tmp_path: Path, buckets: str, is_advised: bool) -> None:
    lake = Lake(tmp_path, {**KEYED, "bucket": buckets})
    lake.insert(*range(10))
    if is_advised:
        lake.follow(only(lake.advice(), r"^16 buckets hold 0 MiB in the largest partition$"))
        lake.follow(
            only(lake.advice(), r"^1 of 1 buckets have 5 or more sorted runs")
        )  # it has the files of all buckets
    assert lake.advice() == {} and len(stored.read(lake.table)) == 10


def test_old_snapshots(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "compaction.min.file-num": "50"})
    for value in range(4):
        lake.insert(value)
    assert lake.advice() == {}
    lake.catalog.alter_table(
        lake.identifier, [SetOption("snapshot.num-retained.min", "1"), SetOption("snapshot.num-retained.max", "3")]
    )
    lake.follow(only(lake.advice(), r"^there are 4 snapshots, more than the options keep$"))
    assert lake.advice() == {}


def test_misspelled_options(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "snapshot.num-retained.maxx": "3", "owner": "me"})
    statement = only(lake.advice(), r"^option 'snapshot.num-retained.maxx' is not an option of Paimon$")
    assert statement == "ALTER TABLE paimon.default.t UNSET TBLPROPERTIES ('snapshot.num-retained.maxx')"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"snapshot.num-retained.min": "10", "snapshot.num-retained.max": "5"}, "snapshot.num-retained.(?:min|max)"),
        ({"changelog.num-retained.min": "3", "changelog.num-retained.max": "2"}, "changelog.num-retained.max"),
        ({"snapshot.num-retained.min": "0"}, "snapshot.num-retained.min"),
        (
            {f"{kind}.num-retained.{of}": "0" for kind in ("snapshot", "changelog") for of in ("min", "max")},
            "snapshot.num-retained.min', '.*",
        ),
    ],
)
def test_options_that_contradict_one_another(tmp_path: Path, given: dict[str, str], key: str) -> None:
    """Another engine has set them: it checks less."""
    lake = Lake(tmp_path, {**OPTIONS, "snapshot.num-retained.max": "50"})
    path = Path(lake.table.store.paths.schema(0))
    schema = json.loads(path.read_bytes())
    path.write_text(json.dumps({**schema, "options": {**schema["options"], **given}}))
    statement = only(lake.advice(), "^options contradict one another: ")
    found = re.fullmatch(rf"ALTER TABLE paimon\.default\.t UNSET TBLPROPERTIES \('({key})'\)", statement)
    assert found is not None, statement
    lake.catalog.alter_table(lake.identifier, [RemoveOption(key) for key in found[1].split("', '")])
    assert lake.advice() == {}


def test_contradictions_that_no_statement_mends_are_no_advice() -> None:
    schema = new_table_schema(fields(k=INT, v=STRING), options=KEYED)
    assert contradiction_of(schema) is None
    assert contradiction_of(replace(schema, options={**schema.options, "merge-engine": "nothing"})) is None


# rules about sizes that no test writes
FIGURES = Figures(TableOptions({}), has_primary_key=True, files=LIVE_FILES.empty_table(), target_size=128 * MIB)


def of_one_file(size: int, rows: int = 10) -> pa.Table:
    return pa.table([[b""], [0], [5], [size], [rows], [0], [b""]], schema=LIVE_FILES)


def buckets_of(*sizes: int) -> pa.Table:
    """Files of one partition, one in each bucket, with sizes in MiB."""
    rows = [{"partition": b"", "bucket": n, "level": 5, "size": size * MIB, "rows": 1} for n, size in enumerate(sizes)]
    return pa.Table.from_pylist(rows, schema=LIVE_FILES)


def skewed_partitions(count: int, largest: int) -> pa.Table:
    """Partitions of 10 MiB each, and one of `largest` MiB."""
    sizes = [10] * (count - 1) + [largest]
    rows = [{"partition": b"%d" % n, "bucket": 0, "level": 5, "size": s * MIB, "rows": 1} for n, s in enumerate(sizes)]
    return pa.Table.from_pylist(rows, schema=LIVE_FILES)


def test_a_partition_that_is_much_larger_than_others_is_named() -> None:
    skewed = replace(FIGURES, options=TableOptions({"bucket": "2"}), files=skewed_partitions(8, 5000))
    ((advice),) = advise(skewed)
    assert re.search(r"bucket_num => 10\)", advice.statement)
    assert advice.fact == "2 buckets hold 5000 MiB in the largest partition, and 633 MiB in an average one"


SKEWED = replace(FIGURES, options=TableOptions({"bucket": "8"}))


@pytest.mark.parametrize(
    ("figures", "pattern"),
    [
        (replace(FIGURES, options=TableOptions({"bucket": "2"}), files=of_one_file(5000 * MIB)), r"bucket_num => 10\)"),
        (replace(FIGURES, options=TableOptions({"bucket": "2"}), files=of_one_file(3000 * MIB)), None),
        (replace(FIGURES, options=TableOptions({"bucket": "2"}), files=skewed_partitions(8, 4000)), None),
        (replace(FIGURES, options=TableOptions({"bucket": "-1"}), files=of_one_file(5000 * MIB)), None),
        (replace(FIGURES, rows=999_999), None),
        (replace(FIGURES, rows=1_000_000), "ANALYZE TABLE"),
        (replace(FIGURES, rows=1_000_000, has_statistics=True), None),
        (replace(FIGURES, snapshots=11, expires=True), r"max_deletes => 11"),
        (replace(FIGURES, orphans=(0, 0)), None),
        (replace(FIGURES, orphans=(2, 3 * MIB)), r"remove_orphan_files"),
        (replace(FIGURES, waiting=1), r"compact"),
        (replace(SKEWED, files=buckets_of(*[100] * 7, 3000)), r"bucket_num => 32"),
        (replace(SKEWED, files=buckets_of(*[100] * 7, 2000)), None),
        (replace(SKEWED, files=buckets_of(*[1000] * 7, 2100)), None),
    ],
)
def test_figures(figures: Figures, pattern: str | None) -> None:
    found = [advice.statement for advice in advise(figures)]
    assert found == [] if pattern is None else re.search(pattern, *found)


def test_young_snapshots_stay(tmp_path: Path) -> None:
    """The oldest snapshot stays until the next one is old, too: an expiry by the options removes nothing."""
    lake = Lake(tmp_path, {**OPTIONS, "compaction.min.file-num": "50", "snapshot.num-retained.min": "1"})
    lake.insert(1)
    path = Path(lake.table.store.paths.snapshot(1))
    old = int(time.time() * 1000) - 7_200_000
    path.write_text(re.sub(r'"timeMillis" ?: ?\d+', f'"timeMillis" : {old}', path.read_text()))
    lake.insert(2)
    assert lake.table.store.io.exists(str(path)) and lake.advice() == {}


def test_a_consumer_that_keeps_snapshots(tmp_path: Path) -> None:
    limits = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    lake = Lake(tmp_path, {**OPTIONS, "compaction.min.file-num": "50", **limits})
    lake.insert(1)
    lake.call("reset_consumer", table="t", consumerId="it's", nextSnapshotId=1)
    lake.insert(2)
    statement = only(lake.advice(), r"^consumer \"it's\" keeps snapshots that it has not read, of 2 snapshots$")
    assert statement == r"CALL paimon.sys.reset_consumer(table => 'default.t', consumerId => 'it\'s')"
    lake.call("reset_consumer", table="t", consumerId="it's")
    lake.follow(only(lake.advice(), r"^there are 2 snapshots"))
    assert lake.advice() == {}


def test_many_snapshots_expire_at_once(tmp_path: Path) -> None:
    """More snapshots than 'snapshot.expire.limit': following the advice once ends it."""
    limits = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "snapshot.expire.limit": "2"}
    lake = Lake(tmp_path, {**OPTIONS, "compaction.min.file-num": "50", **limits})
    for value in range(6):
        lake.insert(value)
    lake.follow(only(lake.advice(), r"^there are 6 snapshots"))
    assert lake.advice() == {}


def test_rows_without_a_bucket(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "-2"})
    stored.insert(lake.table, [(1, "x")])
    lake.follow(only(lake.advice(), r"^1 files have no bucket yet$"))
    assert lake.advice() == {}


def test_files_of_no_version(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.insert(1)
    orphan = Path(lake.table.store.root) / "bucket-0" / f"data-{uuid.UUID(int=1)}-0.parquet"
    orphan.write_bytes(b"x" * MIB)
    os.utime(orphan, (0, 0))
    assert lake.advice() == {}
    ((fact, _, statement),) = lake.call("advise", table="t", deep=True)
    assert fact == "1 files with 1 MiB belong to no version, and are older than a day"
    lake.follow(statement)
    assert not orphan.exists() and not lake.call("advise", table="t", deep=True)


LOOKUP = {**KEYED, "changelog-producer": "lookup"}


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({**OPTIONS, "num-sorted-run.compaction-trigger": "3"}, "num-sorted-run.compaction-trigger"),
        ({**KEYED, "compaction.min.file-num": "3"}, "compaction.min.file-num"),
        ({**KEYED, "dynamic-bucket.target-row-num": "3"}, "dynamic-bucket.target-row-num"),
        ({**OPTIONS, "partition.expiration-time": "3 d"}, "partition.expiration-time"),
        ({**KEYED, "clustering.columns": "v"}, "clustering.columns"),
        ({"bucket": "2", "bucket-key": "k", "clustering.columns": "v"}, "clustering.columns"),
        ({**OPTIONS, "clustering.strategy": "zorder"}, "clustering.strategy"),
        ({**OPTIONS, "clustering.incremental.optimize-write": "true"}, "clustering.incremental.optimize-write"),
        ({**KEYED, "compaction.offpeak-ratio": "3"}, "compaction.offpeak-ratio"),
        ({**KEYED, "compaction.offpeak.end.hour": "3"}, "compaction.offpeak.end.hour"),
        ({**KEYED, "lookup-compact": "gentle"}, "lookup-compact"),
        ({**LOOKUP, "lookup-compact.max-interval": "3"}, "lookup-compact.max-interval"),
        (
            {**KEYED, "changelog-producer": "input", "changelog-producer.row-deduplicate": "true"},
            "changelog-producer.row-deduplicate",
        ),
        (
            {**LOOKUP, "changelog-producer.row-deduplicate-ignore-fields": "v"},
            "changelog-producer.row-deduplicate-ignore-fields",
        ),
        ({**KEYED, "deletion-vectors.merge-on-read": "true"}, "deletion-vectors.merge-on-read"),
        ({**KEYED, "sequence.field.sort-order": "descending"}, "sequence.field.sort-order"),
        ({"partition": "v", **OPTIONS, "end-input.check-partition-expire": "true"}, "end-input.check-partition-expire"),
        ({**OPTIONS, "tag.num-retained-max": "3"}, "tag.num-retained-max"),
    ],
)
def test_options_without_effect(options: dict[str, str], key: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, options)
    statement = only(lake.advice(), f"^option '{key}' has no effect on this table$")
    assert statement == f"ALTER TABLE paimon.default.t UNSET TBLPROPERTIES ('{key}')"
    lake.catalog.alter_table(lake.identifier, [RemoveOption(key)])
    assert lake.advice() == {}


DEDUPLICATED = {"changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "v"}
OFFPEAK = {
    f"compaction.offpeak{key}": value for key, value in (("-ratio", "3"), (".start.hour", "1"), (".end.hour", "3"))
}
TAGGED = {"tag.automatic-creation": "batch", "tag.num-retained-max": "3"}


@pytest.mark.parametrize(
    "options",
    [
        {**LOOKUP, "lookup-compact": "gentle", "lookup-compact.max-interval": "3", **DEDUPLICATED},
        {**KEYED, "deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
        {**KEYED, "sequence.field": "v", "sequence.field.sort-order": "descending", **OFFPEAK},
        {**OPTIONS, "clustering.columns": "k,v", "clustering.strategy": "zorder", **TAGGED},
        {"partition": "v", "partition.expiration-time": "3 d", "partition.expiration-check-interval": "0 s"},
        {**KEYED, "full-compaction.delta-commits": "3"},
    ],
)
def test_options_with_effect(options: dict[str, str], tmp_path: Path) -> None:
    assert Lake(tmp_path, options).advice() == {}


def test_a_value_of_another_writer_is_passed_over() -> None:
    """The effect of an unknown value is not known, so options beside it get no advice."""
    of_another = TableOptions({"lookup-compact.max-interval": "3", "changelog-producer": "unheard"})
    assert list(advise(replace(FIGURES, options=of_another))) == []


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({**OPTIONS, "file-index.bloom-filter.columns": "k"}, "file-index.read.enabled"),
        (
            {**KEYED, "bucket": "1", "pk-btree.index.columns": "v", "deletion-vectors.enabled": "true"},
            "global-index.enabled",
        ),
    ],
)
def test_indexes_that_no_scan_reads(options: dict[str, str], key: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, options)
    assert lake.advice() == {}
    lake.catalog.alter_table(lake.identifier, [SetOption(key, "false")])
    statement = only(lake.advice(), f"^writers build [a-z ]+, and '{key}' = 'false' keeps scans from reading them$")
    assert statement == f"ALTER TABLE paimon.default.t UNSET TBLPROPERTIES ('{key}')"
    lake.catalog.alter_table(lake.identifier, [RemoveOption(key)])
    assert lake.advice() == {}


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({"deletion-vectors.enabled": "true"}, "queries do not see their rows"),
        ({"merge-engine": "first-row"}, "queries do not see their rows"),
        ({"changelog-producer": "lookup"}, "streams do not see their changes"),
        ({"changelog-producer": "full-compaction"}, "streams do not see their changes"),
    ],
)
def test_rows_that_wait_for_a_compaction(options: dict[str, str], who: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**KEYED, "bucket": "1", **options})
    lake.insert(1)
    lake.insert(2)
    sees = len(stored.read(lake.table))
    assert sees == (0 if "queries" in who else 2), "as the advice says"
    lake.follow(only(lake.advice(), f"^2 files are not compacted, and {who}$"))
    assert lake.advice() == {} and len(stored.read(lake.table)) == 2


@pytest.mark.parametrize(
    "options", [{}, {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}]
)
def test_rows_that_wait_for_nothing(options: dict[str, str], tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**KEYED, "bucket": "1", **options})
    lake.insert(1)
    assert lake.advice() == {} and len(stored.read(lake.table)) == 1


def test_tags_without_creator(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "tag.automatic-creation": "process-time"})
    lake.insert(1)
    assert list(tag_names(lake.table.store)) == []
    statement = only(lake.advice(), "^'tag.automatic-creation' = 'process-time' creates no tags when writers commit$")
    assert statement == "ALTER TABLE paimon.default.t SET TBLPROPERTIES ('tag.automatic-creation' = 'batch')"
    lake.catalog.alter_table(lake.identifier, [SetOption("tag.automatic-creation", "batch")])
    lake.insert(2)
    assert lake.advice() == {} and len(tag_names(lake.table.store)) == 1


def test_the_flights_of_the_demo(tmp_path: Path) -> None:
    """Months as partitions, two buckets, writers that do not compact: merge once the runs are many, nothing else."""
    lake = Lake(tmp_path, {"primary-key": "k,v", "partition": "v", "bucket": "2"})
    months = [str(month) for month in range(1, 13)]
    for month in months:  # the schedule
        stored.insert(lake.table, [(flight, month) for flight in range(20)])
    assert lake.advice() == {}
    for batch in (months[:4], months[4:8], months[8:], months[:4], months[4:8], months[8:], months[8:]):  # the news
        stored.insert(lake.table, [(flight, month) for month in batch for flight in range(20)])
    assert lake.advice() == {}, "a month has been written four times at most"
    stored.insert(lake.table, [(flight, month) for month in months[8:] for flight in range(20)])
    lake.follow(only(lake.advice(), "^8 of 24 buckets have 5 or more sorted runs, up to 5$"))
    assert lake.advice() == {} and len(stored.read(lake.table)) == 240


def test_commits_that_may_be_lost(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "commit.unsafe-storage": "true"})
    assert "UNSET TBLPROPERTIES ('commit.unsafe-storage')" in only(lake.advice(), "two writers may overwrite")


def test_names_are_quoted(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**KEYED, "bucket": "16"}, "it's a t")
    lake.insert(1)
    ((_, _, statement),) = lake.call("advise", table="`it's a t`")
    assert statement == r"CALL paimon.sys.rescale(table => 'default.`it\'s a t`', bucket_num => 1)"


# filters that this process has seen
def of_filters(root: Path, options: Mapping[str, str] = OPTIONS, files: int = 6) -> Lake:
    """A table whose files each have a row with the lowest and the highest key, and others between them."""
    lake = Lake(root, {"compaction.min.file-num": "50", **options})
    for n in range(files):
        lake.insert(0, 10 + n, 1000)
    return lake


def look(lake: Lake, predicate: Predicate, times: int = 3) -> None:
    for _ in range(times):
        lake.table.plan(lake.table.latest_snapshot(), predicate)


def test_filters_without_a_file_index(tmp_path: Path) -> None:
    lake = of_filters(tmp_path)
    look(lake, And((Compare("k", "=", 12), Compare("v", ">", "a"))), times=2)
    look(lake, Compare("k", ">", 5))
    assert lake.advice() == {}, "two scans are few, and an index of this type does not serve ranges"
    look(lake, In("k", (12, 13)), times=1)
    statement = only(lake.advice(), r"^3 scans with a filter on 'k' read 18 of 18 files$")
    assert statement == "ALTER TABLE paimon.default.t SET TBLPROPERTIES ('file-index.bloom-filter.columns' = 'k')"
    lake.catalog.alter_table(lake.identifier, [SetOption("file-index.bloom-filter.columns", "k")])
    assert lake.advice() == {}
    lake.call("rewrite_file_index", table="t")
    assert lake.table.plan(lake.table.latest_snapshot(), Compare("k", "=", 12)).files_kept == 1, "the reason says so"


def test_a_file_index_beside_others(tmp_path: Path) -> None:
    lake = of_filters(tmp_path, {**OPTIONS, "file-index.bloom-filter.columns": "k"})
    look(lake, And((Compare("k", "=", 0), Compare("v", "=", "x"))))
    assert "'file-index.bloom-filter.columns' = 'k,v'" in only(lake.advice(), "on 'v'")


@pytest.mark.parametrize(
    "options", [{"partition": "k"}, KEYED, {**OPTIONS, "file-index.bitmap.columns": "k"}, {**OPTIONS, "few": "files"}]
)
def test_filters_that_need_no_file_index(options: dict[str, str], tmp_path: Path) -> None:
    lake = of_filters(tmp_path, options, files=3 if "few" in options else 4)
    look(lake, Compare("k", "=", 0))
    assert [fact for fact in lake.advice() if "scans" in fact] == []


def test_filters_that_statistics_serve(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "compaction.min.file-num": "50"})
    for n in range(10):
        lake.insert(n)
    look(lake, Compare("k", "=", 3))
    assert lake.advice() == {}


@pytest.mark.parametrize(("distinct", "is_advised"), [(12, False), (4044, True)])
def test_columns_with_few_values_need_no_file_index(distinct: int, is_advised: bool, tmp_path: Path) -> None:
    lake = of_filters(tmp_path)
    table = lake.table
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    known = TableStatistics(snapshot_id=snapshot.id, schema_id=0, columns={"k": {"distinctCount": distinct}})
    table.commit_statistics(known, CommitInfo(user="analyzer"))
    look(lake, Compare("k", "=", 12))
    assert bool(lake.advice()) is is_advised
