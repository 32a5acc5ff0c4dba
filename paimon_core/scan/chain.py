"""Chain tables: one branch has full partitions, and every other partition is made of an older full partition and later
changes.

A partition that only the branch of changes has is read as the latest earlier full partition (its anchor), merged with
the changes of all later partitions up to itself. Partitions are ordered by the chain keys, the last partition columns
(`chain-table.chain-partition-keys`). Partitions that differ in the other partition columns are in separate chains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.options import CHAIN_PARTITION_KEYS, CHAIN_TABLE, SCAN_DELTA_BRANCH, SCAN_SNAPSHOT_BRANCH, Option
from paimon_core.scan.plan import Plan, plan_scan
from paimon_core.scan.time_travel import is_time_travel
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import list_schemas
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.store.branches import open_branch
else:
    open_branch = ImportedOnCall("paimon_core.store.branches", "open_branch")

Rank = tuple[Any, ...]  # compares in the order of a chain


def is_chain(store: TableStore) -> bool:
    """Return whether partitions are read from branches: the options name both branches, and the store is the main
    table."""
    named = store.options[SCAN_SNAPSHOT_BRANCH] and store.options[SCAN_DELTA_BRANCH]
    return bool(store.options[CHAIN_TABLE] and named and not store.branch)


def plan_chain(store: TableStore, predicate: Predicate | None, *, level: int | None = None) -> Plan:
    """Plan a scan of the latest versions of the branches, like `plan_scan`.

    With a `level`, only full partitions are read. Also raises `BranchNotFoundError`, `InvalidOptionError`.
    """
    if is_time_travel(store):
        raise UnsupportedFeatureError(
            f"Table {store.name} is a chain table, which has no versions of its own: read one of its branches "
            f"'{store.options[SCAN_SNAPSHOT_BRANCH]}' or '{store.options[SCAN_DELTA_BRANCH]}' at that version."
        )
    chain = _Chain.of(store)
    whole = plan_scan(chain.full, latest_snapshot(chain.full), predicate, level=level)
    splits = [replace(s, branch=chain.full.branch) for s in whole.splits]
    if level is None:
        splits += chain.made(predicate)
    return replace(whole, table=store.name, splits=tuple(splits))


def chain_files(store: TableStore) -> list[ManifestEntry]:
    """Return the files of all partitions: the files of full partitions, and the changes of other partitions."""
    chain = _Chain.of(store)
    others = (e for p, entries in chain.changed.items() if p not in chain.whole for e in entries)
    return [*(e for entries in chain.whole.values() for e in entries), *others]


def is_branch_of_chain(store: TableStore, option: Option[str]) -> bool:
    """Return whether the store is the branch of a chain table that the option `option` names."""
    return bool(store.options[CHAIN_TABLE] and store.branch) and store.options[option].lower() == store.branch.lower()


def splits_to_fill(store: TableStore, predicate: Predicate, *, again: bool) -> list[DataSplit]:
    """Return the splits to read for filling partitions: the partitions with changes that satisfy a predicate.

    With `again`, partitions that are already full are included. Raises the same errors as `plan_chain`."""
    wanted = PartitionFilter(store.schema.partition_fields, predicate=predicate)
    return list(_Chain.of(store, wanted if again else None).made(predicate))


def has_full_partition(store: TableStore, predicate: Predicate) -> bool:
    """Return whether a full partition satisfies a predicate. Raises `BranchNotFoundError`."""
    wanted = PartitionFilter(store.schema.partition_fields, predicate=predicate)
    return any(map(wanted.holds, _Chain.of(store).whole))


def needed_partition(
    store: TableStore, deleted_partitions: Set[bytes], overwritten: Sequence[ManifestEntry] = ()
) -> bytes | None:
    """Return a full partition among `deleted_partitions` that later changes still need as their anchor, or None.

    `overwritten` are the changes that the same commit deletes and adds: partitions written from scratch need no anchor.
    """
    return _Chain.of(store).needed(deleted_partitions, overwritten)


@dataclass(frozen=True)
class _Chain:
    """The table, its branch of full partitions (except the partitions `without`), and its branch of changes."""

    store: TableStore
    full: TableStore
    changes: TableStore
    without: PartitionFilter | None = None

    @staticmethod
    def of(store: TableStore, without: PartitionFilter | None = None) -> _Chain:
        """Open the branches. Raises `BranchNotFoundError`."""
        full, changes = (open_branch(store, store.options[o]) for o in (SCAN_SNAPSHOT_BRANCH, SCAN_DELTA_BRANCH))
        return _Chain(store, full, changes, without)

    @cached_property
    def whole(self) -> dict[bytes, list[ManifestEntry]]:
        """The files of full partitions."""
        found = _by_partition(self.full)
        return {p: e for p, e in found.items() if self.without is None or not self.without.holds(p)}

    @cached_property
    def changed(self) -> dict[bytes, list[ManifestEntry]]:
        """The files of changes, by partition."""
        return _by_partition(self.changes)

    @cached_property
    def ranks(self) -> dict[bytes, tuple[Rank, Rank]]:
        """The `_rank` of every partition."""
        return {p: self._rank(p) for p in (*self.whole, *self.changed)}

    def made(self, predicate: Predicate | None) -> Iterator[DataSplit]:
        """Yield the splits of partitions that are not full."""
        schema = self.store.schema
        wanted = PartitionFilter(
            schema.partition_fields, predicate=only_on(predicate, schema.partition_keys) if predicate else None
        )
        lacking = [p for p in self.changed if p not in self.whole and wanted.holds(p)]
        if not lacking:
            return
        # Versions of a row are in several partitions. Only a filter on the key matches either all of them or none.
        on_keys = only_on(predicate, schema.trimmed_primary_keys) if predicate else None
        base, later = (_splits(s, on_keys) for s in (self.full, self.changes))
        for partition in sorted(lacking, key=self.ranks.__getitem__):
            anchor, links = self._links(partition)
            yield from self._merged(partition, base.get(anchor, []), [s for p in links for s in later.get(p, [])])

    def _links(self, partition: bytes) -> tuple[bytes | None, list[bytes]]:
        """Return the full partition that a partition starts from, or None, and the partitions with the changes after
        it."""
        group, rank = self.ranks[partition]
        chained = {p: at for p, (other, at) in self.ranks.items() if other == group and at <= rank}
        before = [p for p in self.whole if p in chained]  # not the partition itself, which is not full
        anchor = max(before, key=chained.__getitem__, default=None)
        links = [p for p in self.changed if p in chained]
        return anchor, links if anchor is None else [p for p in links if chained[p] > chained[anchor]]

    def needed(self, deleted_partitions: Set[bytes], overwritten: Sequence[ManifestEntry]) -> bytes | None:
        """Find a needed partition, see `needed_partition`."""
        deleted = {e.file.file_name for e in overwritten if e.kind is FileKind.DELETE}
        remaining = [p for p, entries in self.changed.items() if any(e.file.file_name not in deleted for e in entries)]
        for partition in sorted(deleted_partitions & self.whole.keys(), key=self.ranks.__getitem__):
            group, rank = self.ranks[partition]
            full = [(at, p) for p in self.whole for other, at in [self.ranks[p]] if other == group]
            if any(at < rank and p not in deleted_partitions for at, p in full):
                continue
            end = min((at for at, _ in full if at > rank), default=None)
            behind = [at for p in remaining for other, at in [self.ranks[p]] if other == group and at > rank]
            if any(end is None or at < end for at in behind):
                return partition
        return None

    def _merged(self, partition: bytes, base: Sequence[DataSplit], later: Sequence[DataSplit]) -> Iterator[DataSplit]:
        by_bucket: dict[int, list[DataSplit]] = defaultdict(list)
        for split in (*base, *later):
            by_bucket[split.bucket].append(split)
        self._check_alike(base, later)
        for bucket, splits in by_bucket.items():
            files = (replace(f, external_path=data_file_path(s.bucket_dir, f)) for s in splits for f in s.files)
            yield DataSplit(
                partition=partition,
                bucket=bucket,
                bucket_dir=self.store.bucket_dir(partition, bucket),
                files=tuple(files),
                needs_merge=True,
                deletions=tuple(d for s in splits for d in s.deletions),
                kind=SplitKind.CHAIN,
                branch=self.changes.branch,
            )

    def _check_alike(self, base: Sequence[DataSplit], later: Sequence[DataSplit]) -> None:
        """Raise an error if files of the branches cannot be merged: their buckets differ, or full partitions have other
        schemas."""
        parts = ((self.whole, base), (self.changed, later))
        counts = {e.total_buckets for entries, splits in parts for s in splits for e in entries[s.partition]}
        ids = {f.schema_id for s in base for f in s.files}
        full, changes = ({s.id: s.fields for s in list_schemas(b) if s.id in ids} for b in (self.full, self.changes))
        if len(counts) > 1 or full != changes:
            raise InvalidOptionError(
                f"Chain table {self.store.name}: its branches {self.full.branch!r} and {self.changes.branch!r} have "
                "partitions of other columns or numbers of buckets, which cannot be merged. Alter them alike, or "
                "rescale the partitions."
            )

    def _rank(self, partition: bytes) -> tuple[Rank, Rank]:
        """Return the values that a partition shares with its chain, and its rank in the chain. NULL comes first."""
        schema = self.store.schema
        values = decode_row([f.type for f in schema.partition_fields], partition)
        ordered = tuple((v is not None, v) for v in values)
        first = len(ordered) - (len(self.store.options[CHAIN_PARTITION_KEYS]) or len(ordered))
        return ordered[:first], ordered[first:]


def _by_partition(store: TableStore) -> dict[bytes, list[ManifestEntry]]:
    found: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in live_files(store, latest_snapshot(store)).values():
        found[entry.partition].append(entry)
    return dict(found)


def _splits(store: TableStore, predicate: Predicate | None) -> dict[bytes | None, list[DataSplit]]:
    found: dict[bytes | None, list[DataSplit]] = defaultdict(list)
    splits: Iterable[DataSplit] = plan_scan(store, latest_snapshot(store), predicate).splits
    for split in splits:
        found[split.partition].append(split)
    return found
