"""`CALL sys.rescale`, and `CALL sys.compact` of some buckets and of postponed ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import CommitConflictError, InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.io.local import LocalFileIO
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.spec.snapshot import CommitKind, Operation
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.unit.procedures.test_compaction import Tasks


def call(warehouse: str, name: str, **arguments: Any) -> Tasks:
    tasks = Tasks()
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", tasks)
    assert PROCEDURES[name].call(context, {"table": "t"} | arguments) == [(True,)]
    return tasks


def buckets(table: Table) -> set[tuple[int, int]]:
    return {(e.bucket, e.total_buckets) for e in live_files(table.store, table.latest_snapshot()).values()}


def rows(low: int, high: int, text: str = "a") -> list[tuple[int, str]]:
    return [(k, text) for k in range(low, high)]


@pytest.mark.parametrize("options", [{"primary_key": "k"}, {"bucket_key": "k"}])
def test_rescale(warehouse: str, options: dict[str, str]) -> None:
    table = stored.create_table(warehouse, bucket="2", **options)
    for low in (0, 10):
        stored.insert(table, rows(low, low + 20 if "primary_key" in options else low + 10, str(low)))
    before = stored.read(table)
    call(warehouse, "rescale", bucket_num=5)
    assert (stored.read(table), {of for _, of in buckets(table)}) == (before, {5})
    made = table.latest_snapshot()
    assert made is not None and (made.commit_kind, made.operation) == (CommitKind.OVERWRITE, Operation.OVERWRITE)
    table = stored.open_table(warehouse)
    assert (table.schema.options["bucket"], made.schema_id) == ("5", table.schema.id), "in the same commit"
    stored.insert(table, rows(40, 44))
    assert stored.read(table) == before + rows(40, 44)
    last = table.latest_snapshot()
    call(warehouse, "rescale")  # the same number: rows that are added meanwhile would be older than those moved
    assert table.latest_snapshot() == last


def test_a_rescale_that_fails_leaves_the_option(warehouse: str) -> None:
    stored.insert(stored.create_table(warehouse, bucket="2", bucket_key="k"), rows(0, 9))

    class Slow(Tasks):
        def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
            found = super().run(job)
            stored.insert(stored.open_table(warehouse), rows(9, 12))
            return found

    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", Slow())
    with pytest.raises(CommitConflictError):
        PROCEDURES["rescale"].call(context, {"table": "t", "bucket_num": 3})
    table = stored.open_table(warehouse)
    assert table.schema.options["bucket"] == "2" and {of for _, of in buckets(table)} == {2}
    stored.insert(table, rows(12, 15))
    assert stored.read(table) == rows(0, 15)


class Late(Tasks):
    """Faults begin where the rows have been moved, and are to be committed."""

    def __init__(self, io: FaultyIO, after: int, mode: Fault) -> None:
        super().__init__()
        self.io, self.after, self.mode, self.start = io, after, mode, 0

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        found = job.run_here()
        self.start = self.io.calls
        self.io.mode, self.io.fail_at = self.mode, self.start + self.after if self.after else 0
        return found


def rescale_with(warehouse: str, after: int, mode: Fault) -> tuple[Late, BaseException | None]:
    io = FaultyIO(LocalFileIO())
    tasks = Late(io, after, mode)
    context = ProcedureContext(FileSystemCatalog(io, warehouse), "default", tasks)
    try:
        PROCEDURES["rescale"].call(context, {"table": "t", "bucket_num": 5})
    except (PaimonError, SimulatedCrash) as error:
        return tasks, error
    finally:
        io.settle()
    return tasks, None


@pytest.mark.parametrize("mode", [Fault.BEFORE, Fault.AFTER, Fault.LATE, Fault.CRASH])
def test_a_rescale_that_stops_anywhere_is_finished_by_another_one(tmp_path: Path, mode: Fault) -> None:
    """Between the option and the commit rows are read, writes are refused by name, and nothing is lost."""
    whole = str(tmp_path / "whole")
    table = stored.create_table(whole, bucket="2", bucket_key="k")
    stored.insert(table, rows(0, 9))
    shutil.copytree(whole, tmp_path / "trial")
    trial, error = rescale_with(str(tmp_path / "trial"), 0, mode)
    assert error is None
    moments = [n - trial.start for n in trial.io.moments(mode) if n > trial.start]
    assert len(moments) > 3
    stopped_between = 0
    for moment in moments:
        warehouse = str(tmp_path / str(moment))
        shutil.copytree(whole, warehouse)
        _, error = rescale_with(warehouse, moment, mode)
        table = stored.open_table(warehouse)
        assert stored.read(table) == rows(0, 9)
        counts, option = {of for _, of in buckets(table)}, table.schema.options["bucket"]
        assert counts == {5} or error is not None
        if counts != {int(option)}:
            stopped_between += 1
            assert (counts, option) == ({2}, "5")
            says = ("CALL sys.rescale again", "schema-1 could not be written")  # the option, too, may come late
            assert not isinstance(error, PaimonError) or any(words in str(error) for words in says)
            with pytest.raises(CommitConflictError, match=r"CALL sys\.rescale"):
                stored.insert(table, rows(9, 12))
            call(warehouse, "rescale")
        table = stored.open_table(warehouse)
        stored.insert(table, rows(9, 12))
        assert stored.read(table) == rows(0, 12)
        assert {of for _, of in buckets(table)} == {int(table.schema.options["bucket"])}
    assert stopped_between or mode is not Fault.CRASH


def test_some_partitions_have_the_number_of_the_table(warehouse: str) -> None:
    table = stored.create_table(warehouse, bucket="2", bucket_key="v", partition="k")
    stored.insert(table, rows(0, 3))
    for some in ({"partitions": "k=1"}, {"where": "k = 1"}):
        with pytest.raises(InvalidOptionError, match="Alter the option first"):
            call(warehouse, "rescale", bucket_num=3, **some)
    call(warehouse, "rescale", bucket_num=2, partitions="k=1")
    stored.insert(table, rows(0, 3))


def test_what_cannot_be_rescaled(warehouse: str) -> None:
    wrong: list[tuple[dict[str, str], dict[str, Any], type[PaimonError], str]] = [
        ({"bucket": "2", "bucket_key": "k"}, {}, InvalidOptionError, "has no snapshot"),
        ({"bucket": "2", "bucket_key": "k"}, {"bucket_num": 0}, InvalidOptionError, "1 or more"),
        ({"bucket": "-2", "primary_key": "k"}, {}, InvalidOptionError, "must provide the resulting bucket number"),
        ({"bucket": "-1"}, {"bucket_num": 2}, UnsupportedFeatureError, "not a fixed number of buckets"),
    ]
    for number, (options, arguments, error, says) in enumerate(wrong):
        stored.create_table(f"{warehouse}/{number}", **options)
        with pytest.raises(error, match=says):
            call(f"{warehouse}/{number}", "rescale", **arguments)


def test_compact_of_some_buckets(warehouse: str) -> None:
    table = stored.create_table(warehouse, bucket="4", primary_key="k")
    stored.insert(table, rows(0, 40))
    assert call(warehouse, "compact", buckets="1-2").counts == [2]
    levels = {(e.bucket, e.file.level > 0) for e in live_files(table.store, table.latest_snapshot()).values()}
    assert levels == {(0, False), (1, True), (2, True), (3, False)}
    for wrong in ("4", "2-1", "x", ","):
        with pytest.raises(InvalidOptionError, match="below 4"):
            call(warehouse, "compact", buckets=wrong)
    with pytest.raises(InvalidOptionError, match="leave partition_idle_time and buckets out"):
        call(warehouse, "compact", buckets="1", order_strategy="order", order_by="k")


def test_compact_gives_postponed_rows_their_buckets(warehouse: str) -> None:
    table = stored.create_table(warehouse, bucket="-2", primary_key="k", postpone__default_bucket_num="2")
    for low in (0, 10):
        stored.insert(table, rows(low, low + 20, str(low)))
    assert stored.read(table) == []
    assert call(warehouse, "compact").counts == [1, 2]
    assert stored.read(table) == rows(0, 10, "0") + rows(10, 30, "10")
    assert buckets(table) == {(0, 2), (1, 2)}
    call(warehouse, "rescale", bucket_num=3)
    call(warehouse, "compact", compact_strategy="full")
    levels = {(e.bucket, e.file.level > 0) for e in live_files(table.store, table.latest_snapshot()).values()}
    assert levels == {(0, True), (1, True), (2, True)}
    with pytest.raises(InvalidOptionError, match="buckets is for tables with fixed buckets"):
        call(warehouse, "compact", buckets="0")


def test_files_of_a_compaction_that_comes_too_late_are_deleted(warehouse: str) -> None:
    table = stored.create_table(warehouse, bucket="1", primary_key="k")
    stored.insert(table, rows(0, 9))
    stored.insert(table, rows(0, 9, "b"))

    class Slow(Tasks):
        def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
            found = super().run(job)
            stored.compact(stored.open_table(warehouse))
            return found

    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", Slow())
    with pytest.raises(CommitConflictError):
        PROCEDURES["compact"].call(context, {"table": "t"})
    assert len(list(Path(warehouse).rglob("bucket-0/*"))) == 3
