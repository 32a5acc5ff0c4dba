"""Each kind of long upkeep says how far it is: its phases, in files, rows or snapshots of how many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core import progress
from paimon_core.maintenance import release
from paimon_core.progress import Phase, Phases
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from tests.support.tables import fields

Ended = list[tuple[str, str, int, int]]
COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.string())])


class Recorded(Phases):
    """Keeps the last state of each phase: description, unit, done, count."""

    def __init__(self) -> None:
        super().__init__(every=60.0)
        self.ended: Ended = []

    def close(self, phase: Phase) -> None:
        super().close(phase)
        last = phase.progress
        self.ended.append((last.description, last.unit, last.done, last.count))


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ended]:
    recorded = Recorded()
    monkeypatch.setattr(progress, "PHASES", recorded)
    yield recorded.ended
    assert recorded.newest is None, "each phase has ended"


@pytest.fixture
def lake(tmp_path: Path) -> PaimonCatalog:
    """`default.t` with a primary key and four files of two buckets, `default.a` with four files and row ids."""
    catalog = open_catalog(str(tmp_path / "lake"))
    keyed = {"bucket": "2", "write-only": "true"}
    table = catalog.create_table("default.t", COLUMNS, primary_key="k", options=keyed)
    evolving = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    appended = catalog.create_table("default.a", COLUMNS, options=evolving)
    for n in range(4):
        rows = [{"k": k, "v": f"{n}"} for k in range(8)]
        appended.append(rows)
        if n < 2:
            table.upsert(rows)
    return catalog


def test_compaction(lake: PaimonCatalog, ended: Ended) -> None:
    lake.call("compact", table="t")
    assert ended == [("compact default.t", "files", 4, 4)]


def test_an_expiry(lake: PaimonCatalog, ended: Ended) -> None:
    lake.call("compact", table="t")
    ended.clear()
    lake.call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    assert ("read the manifests of default.t", "snapshots", 2, 2) in ended
    assert ("remove snapshots of default.t", "snapshots", 2, 2) in ended
    (deleted,) = [one for one in ended if one[0].startswith("delete")]
    assert deleted[:2] == ("delete files of default.t", "files") and deleted[2] == deleted[3] > 4
    assert ("read what other versions of default.t need", "snapshots", 1, 0) in ended


def test_an_expiry_deletes_a_part_at_a_time(lake: PaimonCatalog, ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_PART", 2)
    lake.call("compact", table="t")
    added, add = list[int](), Phase.add

    def note(self: Phase, number: int = 1) -> None:
        added.append(number)
        add(self, number)

    monkeypatch.setattr(Phase, "add", note)
    lake.call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    assert added.count(2) >= 3


def test_a_search_for_orphans(lake: PaimonCatalog, ended: Ended, tmp_path: Path) -> None:
    orphan = tmp_path / "lake/default.db/t/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet"
    orphan.touch()
    os.utime(orphan, (1, 1))
    lake.call("remove_orphan_files", table="t")
    assert [(one[0], one[1]) for one in ended] == [
        ("list the folders of default.t", "folders"),
        ("read the manifests of default.t", "snapshots"),
        ("delete files of default.t", "files"),
    ]
    assert ended[0][2] >= 6 and ended[0][3] == 0, "the number of folders is unknown before they are listed"


def test_a_clone(lake: PaimonCatalog, ended: Ended) -> None:
    lake.call("copy", source_table="t", target_table="c")
    copies = [one for one in ended if one[0].startswith("copy")]
    assert copies and all(unit == "files" and done == count for _, unit, done, count in copies)
    assert sum(count for *_, count in copies) >= 4


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
def test_an_index_build(lake: PaimonCatalog, ended: Ended, kind: str) -> None:
    lake.call("create_global_index", table="a", index_column="k", index_type=kind)
    assert ended == [("global index of default.a", "rows", 32, 32)]


def test_file_indexes(lake: PaimonCatalog, ended: Ended) -> None:
    lake.table("default.t").alter(options={"file-index.bloom-filter.columns": "v"})
    lake.call("rewrite_file_index", table="t")
    assert ended == [("index default.t", "files", 4, 4)]


def test_a_search_for_missing_files(lake: PaimonCatalog, ended: Ended) -> None:
    lake.call("remove_unexisting_files", table="t")
    assert ended == [("look for the files of default.t", "files", 4, 4)]


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_migration(lake: PaimonCatalog, ended: Ended, file_format: str, tmp_path: Path) -> None:
    """Files of Parquet are planned and taken over, rows of CSV are written anew."""
    options = {"type": "format-table", "file.format": file_format}
    inner, name = lake.inner, Identifier("default", "old")
    inner.create_table(name, new_table_schema(fields(k=INT, v=STRING, p=BIGINT), ["p"], options))
    for p in (1, 2):
        file = Path(inner.load_table(name).store.root) / f"p={p}" / f"f.{file_format}"
        file.parent.mkdir(parents=True)
        if file_format == "csv":
            file.write_text("1,a\n")
        else:
            pq.write_table(pa.table({"k": pa.array([1], pa.int32()), "v": ["a"]}), file)
    lake.call("migrate_table", source_type="hive", table="old")
    work = {"csv": ["migrate default.old"], "parquet": ["plan default.old", "link or copy 2 files"]}
    assert [one[0] for one in ended if one[1] == "files" and one[2:] == (2, 2)] == work[file_format]
