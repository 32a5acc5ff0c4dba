"""Writing chain tables: full partitions made by `compact_chain_table`, deletes that stay, partitions that must."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.errors import CommitUnknownError, InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare
from paimon_core.maintenance import chain_tables
from paimon_core.maintenance.branches import create_branch
from paimon_core.scan.read import read_split
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BYTES, INT, STRING, DataType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.data import make_batch
from tests.support.tables import fields, info
from tests.unit.procedures.test_compaction import Tasks

OPTIONS = {
    "chain-table.enabled": "true",
    "bucket": "2",
    "sequence.field": "n",
    "rowkind.field": "op",
    "partition.timestamp-pattern": "$day",
    "partition.timestamp-formatter": "yyyyMMdd",
    "chain-table.chain-partition-keys": "day",
    "num-sorted-run.compaction-trigger": "2",
}
Row = tuple[str, str, int, str, int]  # region, day, k, v, n


class Chain:
    """`default.t`, with the branches `full` and `delta`."""

    def __init__(self, warehouse: str, v: DataType = STRING, **options: str) -> None:
        self.catalog = load_catalog({"warehouse": warehouse})
        columns = fields(region=STRING, day=STRING, k=INT, v=v, n=INT, op=STRING)
        keys = ["region", "day", "k"]
        schema = new_table_schema(columns, keys[:2], OPTIONS | options, primary_keys=keys)
        self.catalog.create_table(Identifier("default", "t"), schema)
        for name in ("full", "delta"):
            create_branch(self.table("").store, name)
        for branch in ("", "full", "delta"):
            named = {"scan.fallback-snapshot-branch": "full", "scan.fallback-delta-branch": "delta"}
            self.catalog.alter_table(self.identifier(branch), [SetOption(k, v) for k, v in named.items()])

    @staticmethod
    def identifier(branch: str) -> Identifier:
        return Identifier.parse(f"default.t$branch_{branch}" if branch else "default.t")

    def table(self, branch: str) -> Table:
        return self.catalog.load_table(self.identifier(branch))

    def write(self, branch: str, rows: Sequence[Row], op: str = "+I", overwrite: Overwrite | None = None) -> None:
        table = self.table(branch)
        writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
        if rows:
            writer.write(make_batch(table.store, [(*row, op) for row in rows]))
        table.commit(writer.finish(), info(), overwrite)

    def rows(self, branch: str = "", day: str | None = None) -> list[tuple[str, str, int, str]]:
        table = self.table(branch)
        splits = table.plan(table.latest_snapshot(), Compare("day", "=", day) if day else None).splits
        batches = (b for s in splits for b in read_split(table.store, s, ["region", "day", "k", "v"]))
        return sorted(tuple(r.values()) for b in batches for r in b.to_pylist())

    def fill(self, partition: str, overwrite: bool | None = None, table: str = "t") -> Any:
        context = ProcedureContext(self.catalog, "default", Tasks(), UTC)
        arguments = {"table": table, "partition": partition, "overwrite": overwrite}
        return PROCEDURES["compact_chain_table"].call(context, arguments)[0][0]


@pytest.fixture
def chain(warehouse: str) -> Chain:
    chain = Chain(warehouse)
    chain.write("full", [("A", "20250810", 1, "one", 1), ("A", "20250810", 2, "two", 1)])
    chain.write(
        "delta", [("A", "20250811", 2, "zwei", 2), ("A", "20250811", 3, "drei", 2), ("B", "20250811", 1, "b", 1)]
    )
    chain.write("delta", [("A", "20250811", 1, "one", 3)], op="-D")
    chain.write("delta", [("A", "20250812", 4, "four", 1)])
    return chain


def test_a_partition_becomes_a_full_one(chain: Chain) -> None:
    made = [("A", "20250812", 2, "zwei"), ("A", "20250812", 3, "drei"), ("A", "20250812", 4, "four")]
    assert chain.fill("day='20250813'") is False
    assert chain.fill("region=A,day='20250812'") is True
    assert chain.fill("region=A,day='20250812'") is False
    assert [r for r in chain.rows("full") if r[1] == "20250812"] == chain.rows(day="20250812") == made
    chain.write("delta", [("A", "20250812", 5, "late", 1)])
    assert chain.rows(day="20250812") == made
    assert chain.fill('day="20250812"', overwrite=True) is True
    assert chain.rows("full", day="20250812") == [*made, ("A", "20250812", 5, "late")]
    assert chain.fill("day=20250811") is True
    assert chain.rows("full", day="20250811") == [
        ("A", "20250811", 2, "zwei"),
        ("A", "20250811", 3, "drei"),
        ("B", "20250811", 1, "b"),
    ]
    kinds = [s["commit_kind"] for s in chain.table("full").system_table("snapshots").to_pylist()]
    assert kinds[:3] == ["APPEND", "APPEND", "OVERWRITE"]


def test_a_partition_is_full_whatever_becomes_of_its_compaction(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise StorageError("the storage refuses")

    monkeypatch.setattr(Table, "due_compactions", refuse)
    assert chain.fill("day=20250811") is True
    assert [r[2:] for r in chain.rows("full", day="20250811")] == [(2, "zwei"), (3, "drei"), (1, "b")]


def test_a_full_partition_has_the_same_blobs(warehouse: str, tmp_path: Path) -> None:
    chain = Chain(warehouse, BYTES, **{"blob-field": "v"})
    secret, upload = tmp_path / "secret", tmp_path / "upload"
    secret.write_bytes(b"secret")
    upload.write_bytes(BlobDescriptor(str(secret)).encode())  # the value is bytes that look like a descriptor
    value: Any = BlobDescriptor(str(upload)).encode()
    chain.write("delta", [("A", "20250811", 1, value, 1)])
    before = chain.rows(day="20250811")
    assert before[0][3:] == (upload.read_bytes(),)
    assert chain.fill("day=20250811") is True
    assert chain.rows("full", day="20250811") == before


def test_deletes_stay_for_the_partitions_behind(chain: Chain) -> None:
    before = chain.rows()
    stored.compact(chain.table("delta"))
    files = chain.table("delta").system_table("files").to_pylist()
    assert sum(f["deleteRowCount"] for f in files) == 1 and {f["level"] for f in files} == {2}
    assert chain.rows() == before


def test_an_overwrite_of_changes_puts_the_full_partition_out_of_date(chain: Chain) -> None:
    chain.fill("day=20250812")
    chain.write("delta", [("A", "20250812", 9, "over", 1)], overwrite=Overwrite(dynamic=True))
    assert chain.rows("full", day="20250812") == []
    assert [r[2:] for r in chain.rows(day="20250812")] == [(2, "zwei"), (3, "drei"), (9, "over")]
    chain.fill("day=20250812")
    chain.write("delta", [("A", "20250810", 1, "one", 1)])
    chain.write("delta", [("A", "20250812", 1, "anew", 1), ("A", "20250813", 4, "anew", 1)], overwrite=Overwrite())
    assert chain.rows("full") == []
    assert [r[1:4] for r in chain.rows(day="20250813")] == [("20250813", 1, "anew"), ("20250813", 4, "anew")]


def test_an_overwrite_keeps_its_files_where_the_full_partition_cannot_be_dropped(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.fill("day=20250812")
    table = chain.table("delta")
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    writer.write(make_batch(table.store, [("A", "20250812", 9, "over", 1, "+I")]))

    def refuse(*_: object) -> None:
        raise StorageError("the storage refuses")

    with monkeypatch.context() as patched:
        patched.setattr(chain_tables, "commit", refuse)
        with pytest.raises(
            CommitUnknownError, match="is committed, but branch .* full partitions.*the storage refuses"
        ):
            table.commit_or_abort(writer.finish(), info(), Overwrite(dynamic=True))
    assert [r[2:] for r in chain.rows("delta", day="20250812")] == [(9, "over")]


def test_full_partitions_that_changes_start_from_stay(chain: Chain) -> None:
    drop = Overwrite(predicate=Compare("day", "=", "20250810"))
    for overwrite in (drop, Overwrite()):
        with pytest.raises(UnsupportedFeatureError, match="Snapshot partition cannot be dropped.*day=20250810"):
            chain.write("full", [], overwrite=overwrite)
    chain.write("delta", [("A", "20250810", 1, "one", 1)])
    before = chain.rows("delta")
    with pytest.raises(UnsupportedFeatureError, match="Snapshot partition cannot be dropped"):
        chain.write("delta", [("A", "20250810", 1, "again", 1)], overwrite=drop)
    assert chain.rows("delta") == before
    chain.write("full", [("A", "20250809", 7, "older", 1)])
    chain.write("full", [], overwrite=drop)
    chain.write("delta", [], overwrite=Overwrite())
    chain.write("full", [], overwrite=Overwrite())
    assert chain.rows() == []


def test_what_is_refused(chain: Chain, warehouse: str) -> None:
    plain = new_table_schema(fields(k=INT, day=STRING), ["day"])
    chain.catalog.create_table(Identifier("default", "plain"), plain)
    for arguments, said in (
        ({"partition": " "}, "Partition string cannot be empty"),
        ({"partition": "day=1;day=2"}, "only supports a single partition"),
        ({"partition": "nope=1"}, "the partition columns are region, day"),
        (
            {"partition": "day=1", "table": "plain"},
            "only supports chain tables, and default.plain is not a chain table",
        ),
        ({"partition": "day=1", "table": "`t$branch_full`"}, "to its branches|is a system table"),
    ):
        with pytest.raises((InvalidOptionError, ValueError), match=said):
            chain.fill(**arguments)
    for branch in ("", "full", "delta"):
        with pytest.raises(InvalidOptionError, match="Changelog producer must be none or input"):
            chain.catalog.alter_table(chain.identifier(branch), [SetOption("changelog-producer", "lookup")])
