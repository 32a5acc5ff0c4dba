from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from paimon_core.errors import CorruptFileError, InvalidOptionError, MetadataMissingError
from paimon_core.expressions.predicate import Compare, IsNull
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import decode_row, encode_row
from paimon_core.spec.manifest import FileKind, ManifestEntry, live_entries
from paimon_core.spec.stats import decode_stats
from paimon_core.spec.types import DOUBLE, INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import (
    manifest_list_file,
    merge_manifests,
    read_entries,
    read_manifest,
    read_manifest_list,
    write_manifests,
)
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.record_files import write_metadata
from paimon_core.store.table_store import TableStore
from tests.support.stored import compact, create_table, insert
from tests.support.tables import data_file, fields, new_store


def entry(store: TableStore, p: int | None = 1, kind: FileKind = FileKind.ADD, bucket: int = 0) -> ManifestEntry:
    partition = encode_row([INT], [p]) if store.schema.partition_keys else encode_row([], [])
    return ManifestEntry(kind=kind, partition=partition, bucket=bucket, total_buckets=-1, file=data_file(store, 1, 2))


def deleted(added: ManifestEntry) -> ManifestEntry:
    return ManifestEntry(
        kind=FileKind.DELETE, partition=added.partition, bucket=added.bucket, total_buckets=-1, file=added.file
    )


def test_a_manifest_says_what_is_in_it(tmp_path: Path) -> None:
    store = new_store(tmp_path, partition="p")
    entries = [entry(store, 7, bucket=2), entry(store, None), entry(store, 3), deleted(entry(store, 5, bucket=4))]
    (meta,) = write_manifests(store, entries)
    assert (meta.num_added_files, meta.num_deleted_files, meta.min_bucket, meta.max_bucket) == (3, 1, 0, 4)
    (p,) = decode_stats([INT], meta.partition_stats)
    assert (p.minimum, p.maximum, p.null_count) == (3, 7, 1)
    assert meta.file_size == Path(store.paths.manifest(meta.file_name)).stat().st_size
    assert list(read_manifest(store, meta.file_name)) == entries


def test_manifests_are_what_java_reads_after_2_0_unless_another_format_is_asked_for(tmp_path: Path) -> None:
    """Avro only, with these fields in this order: it decodes them without a schema of its own."""
    table = create_table(str(tmp_path), primary_key="k", bucket="1")
    for number in range(2):
        insert(table, [(1, str(number)), (2, "")])
    compact(table)
    files = sorted((Path(table.store.root) / "manifest").iterdir())
    assert len(files) > 4 and all(f.read_bytes().startswith(b"Obj\x01") for f in files)
    manifests = [f for f in files if f.name.startswith("manifest-") and not f.name.startswith("manifest-list")]
    fields = [("_VERSION", "int"), ("_KIND", "int"), ("_PARTITION", "bytes"), ("_BUCKET", "int")]
    fields += [("_TOTAL_BUCKETS", "int"), ("_FILE", "record")]
    for file in manifests:
        with file.open("rb") as stream:
            written = fastavro.reader(stream).writer_schema["fields"]
        kinds = [f["type"]["type"] if isinstance(f["type"], dict) else f["type"] for f in written]
        assert list(zip([f["name"] for f in written], kinds, strict=True)) == fields


@pytest.mark.parametrize("order", [1, -1])
def test_bounds_of_partitions_know_nan(order: int, tmp_path: Path) -> None:
    schema = new_table_schema(fields(k=INT, p=DOUBLE), options={"partition": "p"})
    store = TableStore.of(LocalFileIO(), str(tmp_path), schema)
    partitions = [encode_row([DOUBLE], [v]) for v in (math.nan, 0.0, 1.5, -0.0, None)]
    file = data_file(store, 1, 2)
    added = [ManifestEntry(kind=FileKind.ADD, partition=p, bucket=0, total_buckets=-1, file=file) for p in partitions]
    (meta,) = write_manifests(store, added[::order])
    (p,) = decode_stats([DOUBLE], meta.partition_stats)
    assert (str(p.minimum), str(p.maximum), p.null_count) == ("-0.0", "nan", 1)
    for partition in partitions:
        assert only_partitions(store.schema.partition_fields, [partition]).may_hold(meta)
    for value in (math.nan, 1.5, 0.0):
        assert PartitionFilter(store.schema.partition_fields, Compare("p", "=", value)).may_hold(meta)


def test_lists_keep_order_and_size(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    metas = [*write_manifests(store, [entry(store)]), *write_manifests(store, [entry(store)])]
    file = manifest_list_file(store, metas)
    write_metadata(store, file)
    assert list(read_manifest_list(store, file.name)) == metas
    assert len(file.data) == Path(store.paths.manifest(file.name)).stat().st_size
    assert write_manifests(store, []) == []


def test_few_small_manifests_are_left_alone(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    metas = [m for _ in range(29) for m in write_manifests(store, [entry(store)])]
    assert merge_manifests(store, metas) == metas


def test_many_small_manifests_become_one(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    entries = [entry(store) for _ in range(30)]
    metas = [m for e in entries for m in write_manifests(store, [e])]
    (merged,) = merge_manifests(store, metas)
    assert list(read_manifest(store, merged.file_name)) == entries


def test_a_minor_merge_keeps_deletes_of_files_elsewhere(tmp_path: Path) -> None:
    store = new_store(tmp_path, **{"manifest.merge-min-count": "2"})
    elsewhere, here = entry(store), entry(store)
    metas = [m for e in (here, deleted(elsewhere), deleted(here)) for m in write_manifests(store, [e])]
    (merged,) = merge_manifests(store, metas)
    assert list(read_manifest(store, merged.file_name)) == [deleted(elsewhere)]


def test_a_full_merge_leaves_no_delete_and_spares_untouched_manifests(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    first, second, third = [entry(store) for _ in range(200)], [entry(store) for _ in range(200)], entry(store)
    metas = [m for es in (first, second, [deleted(first[0]), third]) for m in write_manifests(store, es)]
    small = store.with_options(
        {"manifest.target-file-size": f"{metas[0].file_size - 200}b", "manifest.full-compaction-threshold-size": "1b"}
    )
    pending = write_manifests(store, [deleted(first[1])])
    merged = merge_manifests(small, metas + pending)
    assert metas[1] in merged
    assert sum(m.num_deleted_files for m in merged) == 0
    live = {e.file.file_name for e in live_entries(read_entries(store, merged)).values()}
    assert live == {e.file.file_name for e in [*first[2:], *second, third]}


def test_a_full_merge_sorts_by_a_partition_column_where_that_is_asked_for(tmp_path: Path) -> None:
    options = {"manifest.full-compaction-threshold-size": "0 b", "manifest-sort.enabled": "true"}
    store = new_store(tmp_path, partition="p").with_options(options)
    metas = [m for p in (3, 1, None, 2, 1) for m in write_manifests(store, [entry(store, p)])]

    def order(**more: str) -> list[int | None]:
        merged = merge_manifests(store.with_options({f"manifest-sort.{k}": v for k, v in more.items()}), metas)
        return [decode_row([INT], e.partition)[0] for e in read_entries(store, merged)]

    assert order() == [None, 1, 1, 2, 3]
    assert order(**{"max-rewrite-size": "1 b"}) == order(enabled="false") == [3, 1, None, 2, 1]
    with pytest.raises(InvalidOptionError, match="manifest-sort.partition-field"):
        order(**{"partition-field": "k"})


def test_missing_and_broken_manifests_are_named(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with pytest.raises(MetadataMissingError, match="manifest-missing is missing: a snapshot names it"):
        read_manifest(store, "manifest-missing")
    Path(store.paths.manifest_dir).mkdir(parents=True, exist_ok=True)
    Path(store.paths.manifest("manifest-x")).write_bytes(b"Obj\x01nonsense")
    with pytest.raises(CorruptFileError, match="manifest-x"):
        read_manifest(store, "manifest-x")


def test_an_unknown_codec_is_named(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({"manifest.compression": "lzma"})
    with pytest.raises(InvalidOptionError, match="manifest.compression"):
        write_manifests(store, [entry(store)])


@pytest.mark.parametrize(("p", "may"), [(3, True), (5, True), (7, True), (2, False), (8, False), (None, False)])
def test_manifests_are_pruned_by_partition(tmp_path: Path, p: int | None, may: bool) -> None:
    store = new_store(tmp_path, partition="p")
    (meta,) = write_manifests(store, [entry(store, 3), entry(store, 7)])
    fields = store.schema.partition_fields
    assert only_partitions(fields, [encode_row([INT], [p])]).may_hold(meta) is may
    if p is not None:
        assert PartitionFilter(fields, predicate=Compare("p", "=", p)).may_hold(meta) is may
        assert PartitionFilter(fields, predicate=Compare("p", "=", p)).holds(encode_row([INT], [p]))
        assert not PartitionFilter(fields, predicate=Compare("p", "=", p)).holds(encode_row([INT], [None]))


def test_a_manifest_that_counts_no_nulls_is_not_pruned_by_null(tmp_path: Path) -> None:
    """pypaimon 1.3.2 counts 0 NULLs in a partition column that has NULL only."""
    store = new_store(tmp_path, partition="p")
    fields = store.schema.partition_fields
    (meta,) = write_manifests(store, [entry(store, None)])
    for counts in ((0,), (), None):
        counted = replace(meta, partition_stats=replace(meta.partition_stats, null_counts=counts))
        assert only_partitions(fields, [encode_row([INT], [None])]).may_hold(counted)
        assert PartitionFilter(fields, predicate=IsNull("p")).may_hold(counted)
    (valued,) = write_manifests(store, [entry(store, 3)])
    assert not PartitionFilter(fields, predicate=IsNull("p")).may_hold(valued)
