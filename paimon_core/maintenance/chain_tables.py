"""Chain tables: create full partitions from older full partitions and later changes, and remove full partitions that
changes make outdated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import commit
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.publish import Publisher
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.expressions.predicate import Or, equals
from paimon_core.jobs import Job, Measure
from paimon_core.options import BLOB_AS_DESCRIPTOR, CHAIN_TABLE, SCAN_DELTA_BRANCH, SCAN_SNAPSHOT_BRANCH
from paimon_core.scan.chain import is_branch_of_chain
from paimon_core.scan.read import read_split
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.message import WRITE_RESULT, WriteResult
from paimon_core.spec.snapshot import CommitKind, Operation, Snapshot
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.store.branches import open_branch
from paimon_core.store.manifests import max_sequence_number, read_entries, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.rows.incoming import as_stored
from paimon_core.write.writer import open_writer, written


def full_branch(store: TableStore) -> TableStore:
    """Return the branch with the full partitions of a chain table. Raises `BranchNotFoundError`."""
    return open_branch(store, store.options[SCAN_SNAPSHOT_BRANCH])


def fill_job(store: TableStore, splits: Sequence[DataSplit]) -> Job[DataSplit, WriteResult]:
    """Return the job that writes the rows of splits into the branch of full partitions."""
    full, tasks = full_branch(store), tuple(sorted(splits, key=lambda s: -s.size))
    run = partial(_fill, store, as_stored(full), max_sequence_number(full, latest_snapshot(full)) + 1)
    return Job(f"compact {store.name}", run, DATA_SPLIT, WRITE_RESULT, tasks, measure=Measure("files", _files))


def _files(split: DataSplit) -> int:
    return len(split.files)


def _fill(store: TableStore, full: TableStore, sequence_start: int, split: DataSplit) -> WriteResult:
    writer = open_writer(full, sequence_start=sequence_start)
    described = store.with_options({BLOB_AS_DESCRIPTOR.key: "true"})  # the writer fetches the bytes of descriptors
    rows = read_split(described, split, [f.name for f in store.schema.fields])
    return WriteResult(tuple(written(writer, rows)))


def drop_outdated(store: TableStore, made: Snapshot, publisher: Publisher) -> None:
    """Remove the full partitions that an overwrite of changes made outdated: those with the same values.

    Raises `CommitUnknownError` if that fails: the overwrite is committed, so its files must not be deleted.
    """
    if made.commit_kind is not CommitKind.OVERWRITE or not is_branch_of_chain(store, SCAN_DELTA_BRANCH):
        return
    try:
        _drop_full(store, made, publisher)
    except PaimonError as error:
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} is committed, but branch "
            f"'{store.options[SCAN_SNAPSHOT_BRANCH]}' still has full partitions of the same values, which hide its "
            f"changes: {error} Run the statement again to remove them."
        ) from error


def _drop_full(store: TableStore, made: Snapshot, publisher: Publisher) -> None:
    # `chain_conflict` has checked before the overwrite that the partitions may be removed.
    full = full_branch(store).with_options({CHAIN_TABLE.key: "false"})
    changed = {e.partition for e in read_entries(store, read_manifest_list(store, made.delta_manifest_list))}
    fields = full.schema.partition_fields
    outdated = [equals(full.schema.partition_keys, decode_row([f.type for f in fields], p)) for p in changed]
    if outdated:
        info = CommitInfo(user=made.commit_user, operation=Operation.TRUNCATE)
        commit(full, (), info, publisher, Overwrite(predicate=Or(tuple(outdated))))
