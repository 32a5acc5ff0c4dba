"""How the rows of a plan are made: by the engine's own reader, by workers, in the driver, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from paimon_core.errors import CorruptFileError, DataFileMissingError, UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare, In, Predicate
from paimon_core.io.objects.hadoop_reader import HadoopReader
from paimon_core.scan import execution
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.execution import (
    Execution,
    ScanRequest,
    check_full_scan,
    check_row_positions,
    check_sizes,
    choose_execution,
    divide,
    has_case_twins,
    is_answered_by_partitions,
)
from paimon_core.scan.plan import Plan
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.index_manifest import DeletionVectorMeta
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit, DeletionFile
from paimon_core.spec.types import INT, STRING, DataField, RowType, parse_type
from paimon_core.store.table_store import TableStore
from tests.support.data import make_store
from tests.support.foreign_files import write_file
from tests.support.stored import create_table, insert
from tests.support.tables import data_file

COLUMNS = {"k": INT, "v": STRING}


def plan_of(store: TableStore, *files: DataFileMeta, **of_split: Any) -> Plan:
    split = {"partition": EMPTY_ROW, "bucket": 0, "bucket_dir": f"{store.root}/bucket-0", "files": files, **of_split}
    return Plan(table=store.name, snapshot=None, splits=(DataSplit(**split),), files_total=len(files))


def chosen(store: TableStore, plan: Plan, *columns: str, predicate: Predicate | None = None, **more: Any) -> Execution:
    derived = more.pop("derived", DerivedTable.ROWS)
    return choose_execution(store, plan, ScanRequest(columns or ("k", "v"), derived, predicate), **more)


def test_the_engine_reads_files_on_an_hdfs_that_it_knows(tmp_path: Path) -> None:
    store = replace(make_store(tmp_path, COLUMNS), root="hdfs://lake/wh/d.db/t")
    plan = plan_of(store, data_file(store, 0, 9))
    with patch.object(execution, "engines_read_alike", return_value=True):
        assert chosen(store, plan) is Execution.RAW
        assert chosen(store, plan, opens_hdfs=False) is Execution.MERGE
        request = ScanRequest(("k", "v"))
        assert divide(store, plan, request, opens_hdfs=False) == {Execution.MERGE: plan}


def test_the_engine_reads_plain_parquet_files(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    plan = plan_of(store, data_file(store, 0, 9))
    assert chosen(store, plan) is Execution.RAW
    assert chosen(store, plan, "v") is Execution.RAW
    assert chosen(store, plan, derived=DerivedTable.READ_OPTIMIZED) is Execution.RAW
    assert chosen(store, replace(plan, splits=())) is Execution.RAW
    assert chosen(store, plan, is_answered=True) is Execution.METADATA


def test_the_engine_reads_large_objects_by_hadoops_connector(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    small = write_file(store, pa.table({"k": pa.array([1], pa.int32()), "v": ["a"]})).files[0]
    hadoop = HadoopReader("lake", "paimon-s3a-1", {})
    remote = replace(store, root="s3://lake/wh/db.db/t")

    def way(size: int, *, reader: HadoopReader | None = hadoop, bucket: str = "lake") -> Execution:
        plan = plan_of(remote, replace(small, file_size=size), small, bucket_dir=f"s3://{bucket}/wh/db.db/t/bucket-0")
        with patch.object(execution, "engines_read_alike", lambda *_: True):
            return chosen(remote, plan, hadoop=reader)

    assert way(2**24) is Execution.RAW
    assert way(2**23) is Execution.MERGE, "two files, of 4 MB each"
    assert way(2**24, reader=None) is Execution.MERGE
    assert way(2**24, bucket="another") is Execution.MERGE


@pytest.mark.parametrize(
    "of_split",
    [
        {"needs_merge": True},
        {"branch": "b"},
        {
            "deletions": (
                DeletionFile("index", DeletionVectorMeta(data_file="data.parquet", offset=0, length=10, cardinality=1)),
            )
        },
    ],
)
def test_workers_read_splits_that_need_more_than_their_files(tmp_path: Path, of_split: dict[str, Any]) -> None:
    store = make_store(tmp_path, COLUMNS)
    assert chosen(store, plan_of(store, data_file(store, 0, 9), **of_split)) is Execution.MERGE


@pytest.mark.parametrize(
    "of_file",
    [
        {"schema_id": 1},
        {"file_name": "data-1.orc"},
        {"file_name": "_data.parquet"},
        {"file_name": ".data.parquet"},
        {"file_name": "data:1.parquet"},
    ],
)
def test_workers_read_files_that_the_engine_reads_otherwise(tmp_path: Path, of_file: dict[str, Any]) -> None:
    store = make_store(tmp_path, COLUMNS)
    assert chosen(store, plan_of(store, data_file(store, 0, 9), data_file(store, 0, 9, **of_file))) is Execution.MERGE


def test_files_of_other_writers_may_lack_partition_columns(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    whole = write_file(store, pa.table({"k": pa.array([1], pa.int32()), "v": ["a"]}))
    without = write_file(store, pa.table({"v": ["a"]}))
    assert chosen(store, plan_of(store, *whole.files)) is Execution.RAW
    assert chosen(store, plan_of(store, *whole.files, *without.files)) is Execution.MERGE
    assert chosen(store, plan_of(store, *whole.files, *without.files), "v") is Execution.RAW


@pytest.mark.parametrize(
    "options",
    [
        {"scan.ignore-lost-files": "true"},
        {"scan.ignore-corrupt-files": "true"},
        {"fields.m.map.storage-layout": "shared-shredding"},
    ],
)
def test_workers_read_what_options_ask_for(tmp_path: Path, options: dict[str, str]) -> None:
    store = make_store(tmp_path, COLUMNS)
    plan = plan_of(store, data_file(store, 0, 9))
    assert chosen(store.with_options(options), plan) is Execution.MERGE


def test_workers_make_columns_that_files_do_not_hold(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    plan = plan_of(store, data_file(store, 0, 9))
    assert chosen(store, plan, "k", "__paimon_file_path") is Execution.MERGE
    assert chosen(store, plan, derived=DerivedTable.AUDIT_LOG) is Execution.MERGE
    blobs = make_store(tmp_path, COLUMNS | {"b": parse_type("BLOB")}, blob_descriptor_field="b")
    assert chosen(blobs, plan, "b") is Execution.MERGE
    assert chosen(blobs, plan, "k") is Execution.RAW
    nanos = make_store(tmp_path, COLUMNS | {"t": parse_type("TIMESTAMP(9)")})
    assert chosen(nanos, plan, "k") is Execution.MERGE


def divided_plan(store: TableStore, *, plain: int, merged: int, **of_file: Any) -> Plan:
    """Return a plan of a split that needs no merge and one that does, with files of these sizes in bytes."""
    files = data_file(store, 0, 9, file_size=plain, **of_file), data_file(store, 0, 9, file_size=merged)
    parts = plan_of(store, files[0]), plan_of(store, files[1], bucket=1, needs_merge=True)
    return replace(parts[0], splits=parts[0].splits + parts[1].splits, files_total=2)


def test_the_engine_reads_its_part_of_a_divided_plan(tmp_path: Path) -> None:
    store, request = make_store(tmp_path, COLUMNS, keys=["k"]), ScanRequest(("k", "v"))
    plan = divided_plan(store, plain=2**22, merged=10)
    assert chosen(store, plan) is Execution.MERGE
    parts = divide(store, plan, request)
    assert {kind: part.splits for kind, part in parts.items()} == {
        Execution.RAW: plan.splits[:1],
        Execution.MERGE: plan.splits[1:],
    }
    assert all(part.files_total == 2 and part.table == plan.table for part in parts.values())


def test_plans_that_are_not_divided(tmp_path: Path) -> None:
    store, request = make_store(tmp_path, COLUMNS, keys=["k"]), ScanRequest(("k", "v"))
    plan = divided_plan(store, plain=2**22, merged=10)
    small = divided_plan(store, plain=2**22 - 1, merged=2**30)
    assert divide(store, small, request) == {Execution.MERGE: small}
    older = divided_plan(store, plain=2**22, merged=10, schema_id=store.schema.id + 1)
    assert divide(store, older, request) == {Execution.MERGE: older}
    hidden = divided_plan(store, plain=2**22, merged=10, file_name="_data-0.parquet")
    assert divide(store, hidden, request) == {Execution.MERGE: hidden}
    log = replace(request, derived=DerivedTable.AUDIT_LOG)
    assert divide(store, plan, log) == {Execution.MERGE: plan}
    lost = store.with_options({"scan.ignore-lost-files": "true"})
    assert divide(lost, plan, request) == {Execution.MERGE: plan}
    plain = replace(plan, splits=plan.splits[:1])
    assert divide(store, plain, request) == {Execution.RAW: plain}
    merged = replace(plan, splits=plan.splits[1:])
    assert divide(store, merged, request) == {Execution.MERGE: merged}
    one = replace(request, predicate=Compare("k", "=", 1))
    assert divide(store, plan, one) == {Execution.LOOKUP: plan}
    assert divide(store, replace(plan, splits=()), request) == {Execution.RAW: replace(plan, splits=())}


def test_a_file_that_the_engine_reads_otherwise_stays_with_the_workers(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS, keys=["k"])
    plan = divided_plan(store, plain=2**22, merged=10)
    path = Path(store.root, "bucket-0", plan.splits[0].files[0].file_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 2**22)
    assert divide(store, plan, ScanRequest(("k", "v"))) == {Execution.MERGE: plan}


def test_names_that_differ_only_in_case(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "K": INT})
    assert has_case_twins(store.schema)
    assert chosen(store, plan_of(store, data_file(store, 0, 9)), "k") is Execution.MERGE
    inner = tuple(DataField(id=i, name=n, type=INT) for i, n in enumerate("aA"))
    assert has_case_twins(make_store(tmp_path, {"r": RowType(fields=inner)}).schema)
    assert not has_case_twins(make_store(tmp_path, COLUMNS).schema)


def test_storages_and_names_that_the_engine_opens(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    plan = plan_of(store, data_file(store, 0, 9))
    assert chosen(replace(store, root="s3://bucket/db/t"), plan) is Execution.MERGE
    assert chosen(replace(store, root="hdfs://host/db/t"), plan) is Execution.RAW
    strange = plan_of(store, data_file(store, 0, 9), bucket_dir=f"{store.root}/p=ü/bucket-0")
    assert chosen(store, strange) is Execution.RAW
    assert chosen(store, strange, opens_unicode=False) is Execution.MERGE
    assert chosen(store, plan, opens_unicode=False) is Execution.RAW


def test_the_driver_looks_up_few_keys_in_few_files(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS, keys=["k"])
    plan = plan_of(store, data_file(store, 0, 9), needs_merge=True)
    one = Compare("k", "=", 1)
    assert chosen(store, plan, predicate=one) is Execution.LOOKUP
    assert chosen(store, plan, predicate=In("k", tuple(range(16)))) is Execution.LOOKUP
    assert chosen(store, plan, predicate=In("k", tuple(range(17)))) is Execution.MERGE
    assert chosen(store, plan, predicate=Compare("k", ">", 1)) is Execution.MERGE
    assert chosen(store, plan) is Execution.MERGE
    assert chosen(store, plan, predicate=one, derived=DerivedTable.AUDIT_LOG) is Execution.MERGE
    large = plan_of(store, data_file(store, 0, 9, file_size=2**28 + 1), needs_merge=True)
    assert chosen(store, large, predicate=one) is Execution.MERGE
    many = plan_of(store, *(data_file(store, 0, 9) for _ in range(65)), needs_merge=True)
    assert chosen(store, many, predicate=one) is Execution.MERGE
    assert chosen(store, plan_of(store, data_file(store, 0, 9)), predicate=one) is Execution.RAW


def test_full_scans_are_refused_where_options_say_so(tmp_path: Path) -> None:
    forbidden = {"read.allow.fullScan": "false"}
    plain, partitioned = (make_store(tmp_path, COLUMNS, partitions=p) for p in ((), ("k",)))
    plan = plan_of(plain, data_file(plain, 0, 9))
    check_full_scan(plain.with_options(forbidden), plan)
    check_full_scan(partitioned, plan)
    check_full_scan(partitioned.with_options(forbidden), replace(plan, files_total=2))
    with pytest.raises(UnsupportedFeatureError, match=r"Full scan is not supported of table .*\(k\)"):
        check_full_scan(partitioned.with_options(forbidden), plan)


def test_row_positions_are_those_of_compacted_rows(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS, keys=["k"])
    merged = plan_of(store, data_file(store, 0, 9), data_file(store, 0, 9), needs_merge=True)
    check_row_positions(store, merged, ["k", "__paimon_bucket"])
    with pytest.raises(UnsupportedFeatureError, match="metadata column __paimon_row_index"):
        check_row_positions(store, merged, ["k", "__paimon_row_index"])
    with pytest.raises(UnsupportedFeatureError, match="metadata column __paimon_file_path"):
        check_row_positions(
            store, plan_of(store, data_file(store, 0, 9), data_file(store, 10, 19)), ["__paimon_file_path"]
        )
    compacted = plan_of(store, data_file(store, 0, 9, level=5), data_file(store, 10, 19, level=5))
    check_row_positions(store, compacted, ["__paimon_file_path"])
    check_row_positions(make_store(tmp_path, COLUMNS), merged, ["__paimon_file_path"])


def test_partitions_answer_predicates_on_columns_that_compare_exactly(tmp_path: Path) -> None:
    columns = COLUMNS | {"p": INT, "q": parse_type("DOUBLE")}
    schema = make_store(tmp_path, columns, partitions=("p", "q")).schema
    one = Compare("p", "=", 1)
    assert is_answered_by_partitions(one, schema)
    assert is_answered_by_partitions(And((one, In("p", (1, 2)))), schema)
    for other in (Compare("k", "=", 1), Compare("q", "=", 1.0), And((one, Compare("k", "=", 1)))):
        assert not is_answered_by_partitions(other, schema)


def test_files_are_there_and_whole(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    splits = table.plan(table.latest_snapshot()).splits
    check_sizes(table.store, splits)
    (file,) = tmp_path.rglob("data-*.parquet")
    content = file.read_bytes()
    for other in (b"", content[:-1], content + b"x"):
        file.write_bytes(other)
        with pytest.raises(CorruptFileError, match=rf"{file.name} .* default\.t has {len(other)} bytes"):
            check_sizes(table.store, splits)
    file.unlink()
    with pytest.raises(DataFileMissingError, match=rf"{file.name} of table default\.t is missing"):
        check_sizes(table.store, splits)


def test_the_driver_reads_a_small_split_of_a_remote_storage(tmp_path: Path) -> None:
    near = make_store(tmp_path, COLUMNS)
    far = replace(near, root="s3://bucket/db/t")
    small = data_file(near, 0, 9, file_size=2**20)
    assert chosen(near, plan_of(near, small)) is Execution.RAW
    assert chosen(near, plan_of(near, small, needs_merge=True)) is Execution.MERGE
    with patch.object(type(far.io), "is_near", False):
        assert chosen(far, plan_of(far, small)) is Execution.LOOKUP
        assert chosen(far, plan_of(far, small, needs_merge=True)) is Execution.LOOKUP
        assert chosen(far, plan_of(far, small, small)) is Execution.MERGE
        assert chosen(far, plan_of(far, replace(small, row_count=10_001))) is Execution.MERGE
        assert chosen(far, plan_of(far, small), derived=DerivedTable.AUDIT_LOG) is Execution.MERGE
        blobs = replace(make_store(tmp_path, {"k": INT, "b": parse_type("BLOB")}), root=far.root)
        assert chosen(blobs, plan_of(blobs, small), "k") is Execution.LOOKUP
        assert chosen(blobs, plan_of(blobs, small), "k", "b") is Execution.MERGE
        twice = replace(plan_of(far, small), splits=plan_of(far, small).splits * 2)
        assert chosen(far, twice) is Execution.MERGE
