"""Fast forward: give the table the rows and the history of one of its branches.

The branch's snapshots are copied into the table's history. If writers do not queue, other processes may delete, expire
or roll back either of them meanwhile. So both are read again after copying, and copies without files are removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from paimon_core.commit.publish import create_if_missing
from paimon_core.dataclass import dataclass
from paimon_core.errors import BranchNotFoundError, CommitConflictError, SnapshotNotFoundError
from paimon_core.iceberg.follow import keep_up
from paimon_core.maintenance.branches import check_branch_name
from paimon_core.maintenance.rollback import cut_history
from paimon_core.maintenance.tags import is_kept
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.spec.tag import Tag, encode_tag
from paimon_core.store.branches import branch_schema, open_branch
from paimon_core.store.schemas import list_schemas, schema_ids
from paimon_core.store.snapshots import existing_snapshots, find_snapshot, history_ids, reset_hints, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, readable_tags

_LOOKS = 10


@dataclass(frozen=True, slots=True)
class _History:
    """The history of a branch."""

    snapshots: tuple[Snapshot, ...]
    tags: tuple[Tag, ...]
    schemas: tuple[TableSchema, ...]

    @staticmethod
    def of(store: TableStore) -> _History:
        """Read the history of a branch.

        Raises `CommitConflictError` if other processes keep creating and removing snapshots.
        """
        for _ in range(_LOOKS):
            ids = history_ids(store)  # numbers before a gap have expired
            snapshots = existing_snapshots(store, ids)
            if [s.id for s in snapshots] == ids:
                return _History(tuple(snapshots), tuple(readable_tags(store)), tuple(list_schemas(store)))
        raise CommitConflictError(
            f"Other processes keep creating and removing snapshots of {store.name}. Run the statement again."
        )


def fast_forward(store: TableStore, name: str) -> None:
    """Replace the table's history by the history of a branch, from the branch's first snapshot on. The branch stays.

    Raises `BranchNotFoundError`, and `SnapshotNotFoundError` if the branch does not have a snapshot.
    """
    check_branch_name(name)
    with upkeep_turn(store) as held:
        branch, main = open_branch(held, name), open_branch(held, MAIN_BRANCH)
        new, old = _History.of(branch), _History.of(main)
        if not new.snapshots:
            raise SnapshotNotFoundError(f"Branch {branch.name} cannot replace the table: it has no snapshot yet.")
        same = _common(new.snapshots, old.snapshots)
        _replace_schemas(main, new.schemas, new.snapshots[0].schema_id)
        first = new.snapshots[max(0, same - 1)]  # the table always has a snapshot
        # Do this before searching for later snapshots: a commit on top of another snapshot then withdraws.
        if find_snapshot(main, first.id) != first:
            _put(main, main.paths.snapshot(first.id), encode_snapshot(first))
        cut_history(main, first, new.tags)
        for snapshot in new.snapshots[same:]:
            _put(main, main.paths.snapshot(snapshot.id), encode_snapshot(snapshot))
        if not snapshot_ids(main):
            create_if_missing(
                main.io, main.paths.snapshot(first.id), encode_snapshot(first)
            )  # expiry may have removed it
        _check_source(branch, main, new, old, same)
        _copy_tags(branch, main, new.tags)
        ids = history_ids(main)
        if ids:
            reset_hints(main, ids[0], ids[-1])
        last = new.schemas[-1].id
        for number in (n for n in schema_ids(main.io, main.paths.version_root) if n > last):
            main.delete(main.paths.schema(number))
        keep_up(main)


def _common(ours: Sequence[Snapshot], theirs: Sequence[Snapshot]) -> int:
    """Return the number of first snapshots that both histories share."""
    same = 0
    for one, other in zip(ours, [s for s in theirs if s.id >= ours[0].id], strict=False):
        if one != other:
            break
        same += 1
    return same


def _check_source(branch: TableStore, main: TableStore, new: _History, old: _History, same: int) -> None:
    """Remove copies if their files are no longer in any version.

    Raises `BranchNotFoundError` if the branch is gone; then the table is as before."""
    copies, last = new.snapshots[same:], new.snapshots[-1]
    if branch_schema(branch, branch.branch) is None or find_snapshot(branch, last.id) != last:
        for snapshot in reversed(copies):
            main.delete(main.paths.snapshot(snapshot.id))
        for snapshot in old.snapshots:
            create_if_missing(main.io, main.paths.snapshot(snapshot.id), encode_snapshot(snapshot))
        for tag in old.tags:
            create_if_missing(main.io, main.paths.tag(tag.name), encode_tag(tag))
        _replace_schemas(main, old.schemas, 0)
        if old.snapshots:
            reset_hints(main, old.snapshots[0].id, old.snapshots[-1].id)
        raise BranchNotFoundError(
            f"Branch {branch.name} was deleted, renamed or rolled back meanwhile; the table stays as it is."
        )
    known = {s.id for s in old.snapshots if s in new.snapshots}
    remaining = history_ids(branch)
    for snapshot in new.snapshots:
        if remaining and snapshot.id < remaining[0] and snapshot.id not in known:  # it expired in the branch
            main.delete(main.paths.snapshot(snapshot.id))
    gap = _gap(snapshot_ids(main), new.snapshots[max(0, same - 1)].id, old)
    for snapshot in copies:
        if gap is not None and snapshot.id >= gap:  # the table was rolled back
            main.delete(main.paths.snapshot(snapshot.id))


def _gap(ids: Sequence[int], first: int, old: _History) -> int | None:
    """Return the first of the ascending `ids` after a gap that a rollback made. `first` is the first snapshot of the
    branch, or the last snapshot that both histories share.

    Expiry removes the first snapshots, and gaps before `first` are older: an expiry was killed, or the branch's first
    snapshots have expired."""
    is_continued = any(s.id in ids for s in old.snapshots if s.id < first)  # so `first` cannot have expired
    run = [*([first - 1] if is_continued else []), *(n for n in ids if n >= first)]
    return next((n for before, n in pairwise(run) if n != before + 1), None)


def _copy_tags(branch: TableStore, main: TableStore, tags: Sequence[Tag]) -> None:
    for tag in tags:
        _put(main, main.paths.tag(tag.name), encode_tag(tag))
        if read_tag(branch, tag.name) != tag and not is_kept(main, tag):  # its files may be deleted
            main.delete(main.paths.tag(tag.name))


def _replace_schemas(main: TableStore, schemas: Sequence[TableSchema], first: int) -> None:
    """Replace the table's schemas by the branch's schemas, so that a version exists at any moment."""
    for schema in (s for s in schemas if s.id >= first or branch_schema(main, "") is None):
        _put(main, main.paths.schema(schema.id), encode_schema(schema))


def _put(main: TableStore, path: str, data: bytes) -> None:
    """Write a file, even over an existing one. The turn is checked each time: a long series of files can outlast it."""
    main.check_turn()
    main.io.replace_file(path, data)
