"""Tables with a primary key and BLOB columns in packs, on a local disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.blob.references import decode_references
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.tables import fields

INFO = CommitInfo(user="tester")
Rows = Mapping[int, tuple[bytes | None, bytes | None]]


def new_table(root: Path, **options: str) -> Table:
    """k INT, and the BLOB columns v and w."""
    spelled = {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    given = {"bucket": "1", "blob-field": "v,w", "write-only": "true"} | spelled
    path = f"{root}/db.db/t"
    schema = new_table_schema(fields(k=INT, v=BYTES, w=BYTES), primary_keys=("k",), options=given)
    assert create_schema(LocalFileIO(), path, schema)
    return Table(TableStore.of(LocalFileIO(), path, schema))


def write(table: Table, rows: Rows, kind: int = 0) -> None:
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    v, w = (pa.array([r[i] for r in rows.values()], pa.binary()) for i in (0, 1))
    columns = [pa.array(list(rows), pa.int32()), v, w, pa.array([kind] * len(rows), pa.int8())]
    try:
        writer.write(pa.record_batch(columns, names=["k", "v", "w", "_VALUE_KIND"]))
        table.commit_or_abort(writer.finish(), INFO)
    except BaseException:
        writer.abort()
        raise


def read(table: Table, snapshot: Snapshot | None = None) -> Rows:
    splits = table.plan(snapshot or table.latest_snapshot()).splits
    batches = (b for s in splits for b in read_split(table.store, s, ["k", "v", "w"]))
    return {row["k"]: (row["v"], row["w"]) for batch in batches for row in batch.to_pylist()}


def files(table: Table) -> dict[str, DataFileMeta]:
    """The live data files by path."""
    entries = live_files(table.store, table.latest_snapshot()).values()
    return {f"{table.store.bucket_dir(e.partition, e.bucket)}/{e.file.file_name}": e.file for e in entries}


def packs_of(table: Table) -> set[str]:
    """Return the packs that live files name. All of them exist."""
    found = set[str]()
    for path, file in files(table).items():
        (name,) = file.extra_files
        assert name == f"{file.file_name}.blobref"
        named = decode_references(f"{path}.blobref", Path(f"{path}.blobref").read_bytes())
        assert all(Path(p).exists() for p in named)
        found |= named
    return found


def on_disk(table: Table) -> set[str]:
    return set(map(str, Path(table.store.root).rglob("*.managed.blob")))
