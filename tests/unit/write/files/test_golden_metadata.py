"""Metadata of files: writing the rows of a golden file gives the metadata that Java wrote for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.types import VALUE_KIND
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_core.spec.schema import decode_schema
from paimon_core.spec.stats import decode_stats
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer
from tests.support.golden import GOLDEN_DATABASE
from tests.support.manifests import decode_manifest

TABLES = (
    "bucket_append_key",
    "many_files",
    "me_dedup",
    "part_pk",
    "part_special",
    "pk_bucket_key",
    "stats_by_field",
    "types_pk_parquet",
)


def entries(root: Path) -> list[ManifestEntry]:
    found: dict[str, ManifestEntry] = {}
    for path in sorted(root.glob("manifest/manifest-*")):
        if "list" not in path.name and "index" not in path.name:
            for entry in decode_manifest(str(path), path.read_bytes()):
                if entry.kind is FileKind.ADD and entry.file.level == 0 and entry.file.file_source == 0:
                    found[entry.file.file_name] = entry
    return list(found.values())


def comparable(file: DataFileMeta, store: TableStore) -> DataFileMeta:
    """The metadata without what differs from one write to the next; statistics decoded."""
    names = file.value_stats_cols
    columns = tuple(f.name for f in store.schema.fields) if names is None else names
    # Parquet's writers differ in the sign of a zero that is a bound
    stats = repr(decode_stats(store.schema.types(columns), file.value_stats)).replace("-0.0,", "0.0,")
    bare = replace(file, file_name="", file_size=0, creation_time=None, embedded_file_index=None, extra_files=())
    return replace(bare, value_stats=stats)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TABLES)
def test_metadata_equals_java(name: str, tmp_path: Path) -> None:
    root = GOLDEN_DATABASE / name
    schema_path = next(root.glob("schema/schema-*"))
    schema = decode_schema(str(schema_path), schema_path.read_bytes())
    golden = TableStore.of(LocalFileIO(), str(root), schema)
    store = replace(golden, root=str(tmp_path / "t"))
    compared = 0
    for entry in entries(root):
        path = Path(golden.bucket_dir(entry.partition, entry.bucket)) / entry.file.file_name
        if not path.exists():
            continue
        writer = open_writer(store, sequence_start=entry.file.min_sequence_number)
        for batch in pq.ParquetFile(path).iter_batches():
            kept = [n for n in batch.schema.names if n == VALUE_KIND or not n.startswith("_")]
            writer.write(batch.select(kept))
        (message,) = writer.finish()
        (file,) = message.new_files
        assert (message.partition, message.bucket) == (entry.partition, entry.bucket)
        assert message.total_buckets == entry.total_buckets
        # rows that were replaced before the golden file was written used up numbers, too
        numbers = {n: getattr(entry.file, n) for n in ("min_sequence_number", "max_sequence_number")}
        assert comparable(replace(file, **numbers), store) == comparable(entry.file, store)
        assert file.max_sequence_number - file.min_sequence_number == file.row_count - 1
        compared += 1
    assert compared
