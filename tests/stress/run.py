"""A run: a folder with a table, what its processes wrote down, and the file that ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import BIGINT, INT
from paimon_core.store.branches import open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.load import load_catalog
from tests.stress.journal import Journal
from tests.stress.rows import KINDS, Commit, Kind, Row
from tests.support.tables import fields

T = Identifier("default", "t")
# expiry behind commits, so that what a reader or a writer has just planned may go; few manifests, as all read them
UPKEEP = {"snapshot.time-retained": "2 s", "snapshot.num-retained.min": "10", "manifest.merge-min-count": "5"}
BRANCH_WRITER = 1_000  # the first of the writers that commit to branches


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Values that every process of a run gets. Picklable."""

    folder: Path
    table: str  # its kind
    writers: int
    commits: int  # of all writers together, acknowledged
    orphan_age: float  # seconds after which a file that no version needs counts as an orphan
    pause: float = 1.0  # seconds between acts of upkeep, and between reads
    planted: str = ""  # a mistake that all processes make, by its name in tests/simulation/planted_bugs.py
    # the options of a catalog on a remote storage; without them, the table is in `folder`
    remote: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> Kind:
        return KINDS[self.table]

    @property
    def end(self) -> Path:
        """The file whose presence ends all processes."""
        return self.folder / "end"

    def journal(self, role: str) -> Journal:
        return Journal(self.folder / f"{role}.journal")

    def create(self) -> None:
        schema = new_table_schema(fields(p=INT, k=BIGINT, v=BIGINT), options=UPKEEP | dict(self.kind.options))
        self._catalog().create_table(T, schema)

    def open(self) -> Table:
        """The table as a process sees it that comes to it first."""
        table = self._catalog().load_table(T)
        io = table.store.io if self.remote else LocalFileIO()
        return Table(replace(table.store, io=io, cache=MetadataCache()))

    def _catalog(self) -> Catalog:
        return load_catalog(self.catalog_options)

    @property
    def catalog_options(self) -> dict[str, str]:
        return dict(self.remote) or {"warehouse": str(self.folder)}

    def open_to_write(self, writer: int) -> Table:
        """The table as a writer sees it: every second one leaves compaction and expiry to others, as most do that are
        many."""
        return self.open().with_options({"write-only": "true"} if writer % 2 else {})

    def commits_said(self, word: str) -> frozenset[Commit]:
        """The commits of which their writers said that they are `tried`, `acknowledged` or `failed`."""
        return frozenset(Commit(w, n) for w in range(self.writers) for n in self.journal(f"writer-{w}").numbers(word))


def rows_of(table: Table, snapshot: Snapshot | None) -> list[Row]:
    """All rows of a version: also those that wait for the compaction that writes their deletion vectors."""
    seen = table.with_options({"deletion-vectors.merge-on-read": "true"}) if table.store.has_primary_key else table
    splits = seen.plan(snapshot).splits
    batches = [b for split in splits for b in read_split(seen.store, split, ["p", "k", "v"])]
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def branch(table: Table, name: str) -> Table:
    return replace(table, store=open_branch(table.store, name))
