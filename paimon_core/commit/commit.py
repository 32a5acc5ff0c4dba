"""The commit: a change becomes the next snapshot of a table, or fails and leaves nothing behind.

    latest snapshot + change -> conflicts? -> new manifests -> publish snapshot-N -> read snapshot-N back

Nothing is locked while rows are written. A commit reads the latest snapshot and checks that its change still fits
(`conflicts.py`). It writes the manifests of the next snapshot (`draft.py`) and publishes the snapshot file under the
next number (`publish.py`). Publishing is the one atomic step: the file appears whole, or not at all, and only if the
number is free. The publish call has one of three outcomes:

- Published. The commit reads the snapshot back all the same, because no storage reports a foreign writer that renames
  its file over ours (`other_writers.py`). The `uuid` in it and the name of its manifest list identify the draft; commit
  user and identifier do not, because two tries of one commit share them. If a foreign snapshot replaced ours, the
  commit tries again, unless the next snapshot is built on ours.
- Lost race. Another writer has the number. The commit deletes the draft's manifests and puts the change on top of the
  new snapshots, until a limit is reached (`retries.py`).
- Unknown. The call failed, and the file may exist now or later, by a request that is still under way. The draft stays
  open, and the next try has the same number, so at most one of the two becomes visible. Each try first reads that
  number back. If it finds one of its open drafts, the commit ends. If it finds another writer's snapshot, the drafts
  are lost.

A commit deletes the files of a draft only if the draft is certainly lost. If this stays uncertain, it raises
`CommitUnknownError`, and callers keep their files (`on_certain_failure`).

Writers of one machine queue for the table (`FileIO.writer_slot`). This makes races rare and keeps rollbacks and expiry
out. Without a queue, or if the process with the turn pauses until others overtake it, a rollback or expiry may free
snapshot numbers. A commit may then publish a snapshot outside the history, so it checks this after every publish
(`withdraw.py`). tests/protocol has a model of all this, docs/commit-protocol.md explains it.

Commits of streams are made once: each try searches the earlier snapshots for the same commit (`once.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import count

from paimon_core.clock import now_millis
from paimon_core.commit.attempt import Attempt, author
from paimon_core.commit.changes import CommitChange, Delta, Overwrite, changes_of
from paimon_core.commit.conflicts import find_conflict
from paimon_core.commit.draft import CommitInfo, Draft, write_draft
from paimon_core.commit.global_indexes import indexes_of_removed_rows, outdated_indexes, stale_indexes
from paimon_core.commit.once import OnceGuard, UnrecordedGuard, guard_of
from paimon_core.commit.other_writers import find_carried, is_replaced
from paimon_core.commit.planned import check_planned
from paimon_core.commit.publish import Publisher, PublishOutcome
from paimon_core.commit.renumbering import Renumbering, check_renumbers, find_renumbering
from paimon_core.commit.retries import RetryLimits, Tries
from paimon_core.commit.row_ids import grouped, number_rows
from paimon_core.commit.same_table import check_table, checked_schema_id
from paimon_core.commit.snapshot_times import clock_warning
from paimon_core.commit.withdraw import is_there, withdrawn
from paimon_core.commit.written_files import WrittenFiles
from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    PaimonError,
    StorageError,
    StorageRefusedError,
    UnreadableFileError,
)
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.side_by_side import both, outcome_of
from paimon_core.metrics import BUCKETS_COMPACTED, COMMIT_RETRIES, COMMIT_SECONDS, COMMIT_TRIES, COMMITS
from paimon_core.options import (
    MANIFEST_DELETE_DROP_STATS,
    MANIFEST_FULL_COMPACTION_SIZE,
    MANIFEST_TARGET_FILE_SIZE,
    ROW_TRACKING,
    ROW_TRACKING_GROUP,
    SNAPSHOT_IGNORE_EMPTY_COMMIT,
    SNAPSHOT_ORDERING,
)
from paimon_core.spec.manifest import DataFileMeta, FileKind, ManifestEntry, ManifestFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.snapshot import CommitKind, Snapshot, encode_snapshot
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.store.blob.references import own_packs
from paimon_core.store.data.snapshot_ordering import stamped
from paimon_core.store.features import check_writable
from paimon_core.store.indexes.index_files import delete_index_files, delete_new_indexes, index_entries
from paimon_core.store.manifests import data_manifests, delete_manifests, live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.snapshots import find_latest, find_snapshot, latest_for_commit, latest_snapshot, write_hints
from paimon_core.store.statistics import delete_statistics, write_statistics
from paimon_core.store.table_store import TableStore
from paimon_core.tracing import span

_LOG = logging.getLogger(__name__)


def commit(
    store: TableStore,
    messages: Sequence[CommitMessage],
    info: CommitInfo,
    publisher: Publisher,
    overwrite: Overwrite | None = None,
) -> Snapshot | None:
    """Make the messages' files visible. Return the last snapshot made, or None if there was nothing to commit.

    Written and compacted files become two snapshots. If the first is published and the second conflicts, the compaction
    is dropped.

    Raises `CommitConflictError`, `UnsupportedFeatureError` or `StorageError` if nothing is visible: the caller may
    delete the files. Raises `AlreadyCommittedError` for a commit that is made once (`once`) and was made before;
    nothing new is visible then, either. Raises `CommitUnknownError` if the caller must keep the files.
    """
    check_writable(store)
    made: Snapshot | None = None
    if info.once is not None:
        check_table(store)  # before the record of the commit is written
    guard = guard_of(store, info)
    changes = changes_of(store, messages, overwrite)
    if not changes and overwrite is None and not store.options[SNAPSHOT_IGNORE_EMPTY_COMMIT]:
        changes = [CommitChange(kind=CommitKind.APPEND, entries=(), scope=None)]
    if not changes:
        check_table(store)
    for change in changes:
        try:
            attempts = _Attempts(guard, partial(checked_schema_id, store)) if made is None else _Attempts()
            made = _commit_change(store, change, info, publisher, attempts)
        except PaimonError as error:
            if made is None or isinstance(error, CommitUnknownError):
                raise
            level = logging.DEBUG if isinstance(error, CommitConflictError) else logging.WARNING
            _LOG.log(
                level,
                "Rows are committed to %s, but their compaction is not: %s",
                store.name,
                error,
                extra=store.log_fields(made),
            )
            _delete_compacted(store, messages)
    if made is not None and made.commit_kind is CommitKind.COMPACT:
        store.metrics.add(BUCKETS_COMPACTED, sum(bool(m.compact_before) for m in messages))
    if guard is not None and made is None:
        guard.made(None)
    if overwrite is not None:  # a changelog does not show which rows an overwrite replaced
        _delete_files(store, [(m, f) for m in messages for f in m.new_changelog])
    warning = None if made is None else clock_warning(store.name, made, now_millis())
    if warning is not None:
        _LOG.warning("%s", warning, extra=store.log_fields(made))
    return made


def due_manifests(store: TableStore, snapshot: Snapshot | None) -> list[ManifestFileMeta]:
    """Return the small manifests of a version, and the manifests with DELETE, which `compact_manifests` rewrites."""
    manifests = () if snapshot is None else data_manifests(store, snapshot)
    small = [m for m in manifests if m.num_deleted_files > 0 or m.file_size < store.options[MANIFEST_TARGET_FILE_SIZE]]
    return small if len(small) > 1 else []


def compact_manifests(store: TableStore, info: CommitInfo, publisher: Publisher) -> Snapshot | None:
    """Rewrite the manifests into few manifests without DELETE entries, in a snapshot with the same files. Return None
    if nothing is due.
    """
    if not due_manifests(store, latest_snapshot(store)):
        return None
    check_table(store)
    fully = store.with_options({MANIFEST_FULL_COMPACTION_SIZE.key: "0 b"})
    change = CommitChange(kind=CommitKind.COMPACT, entries=(), scope=None)
    return _commit_change(fully, change, info, publisher, _Attempts())


def reassign_row_ids(
    store: TableStore, partitions: PartitionFilter, info: CommitInfo, publisher: Publisher
) -> tuple[Snapshot, Renumbering] | None:
    """Give the rows of partitions with gaps in their row ids consecutive new ids, in a snapshot of the same rows.
    Return None if no partition has gaps. Raises the same errors as `commit`, and the errors of `find_renumbering`.
    """
    check_writable(store)
    check_renumbers(store)
    check_table(store)
    before = latest_snapshot(store)
    first = None if before is None else find_renumbering(store, before, partitions)
    if first is None:
        return None
    plans: list[Renumbering] = []

    def plan(latest: Snapshot | None) -> Renumbering:
        found: Renumbering | None = first
        if latest != before:
            found = None if latest is None else find_renumbering(store, latest, partitions)
        if found is None:
            raise CommitConflictError(
                f"Table {store.name}: another commit has removed the gaps in the row ids. Nothing was committed."
            )
        plans.append(found)
        return found

    change = CommitChange(kind=CommitKind.OVERWRITE, entries=(), scope=None, renumbering=plan)
    made = _commit_change(store, change, info, publisher, _Attempts())
    if plans[-1].dropped_indexes:
        said = "Table %s no longer has index files %s: the ids of their rows had gaps. Create the index again."
        _LOG.warning(said, store.name, ", ".join(plans[-1].dropped_indexes), extra=store.log_fields(made))
    return made, plans[-1]


def commit_statistics(
    store: TableStore, statistics: TableStatistics, info: CommitInfo, publisher: Publisher
) -> Snapshot:
    """Give the table new statistics, in a snapshot that changes nothing else. Raises the same errors as `commit`."""
    check_writable(store)
    check_table(store)
    name = write_statistics(store, statistics)
    change = CommitChange(kind=CommitKind.ANALYZE, entries=(), scope=None, statistics=name)
    with on_certain_failure(lambda: delete_statistics(store, name)):
        return _commit_change(store, change, info, publisher, _Attempts())


def abort(store: TableStore, messages: Sequence[CommitMessage]) -> None:
    """Delete the files of messages that were not committed, and the packs of BLOBs that the same writers made for their
    rows. A file that cannot be deleted stays as an orphan.
    """
    packs = [
        pack for m in messages for pack in own_packs(store.io, store.bucket_dir(m.partition, m.bucket), m.new_files)
    ]
    delete_replaced(store, messages)
    _delete_paths(store, packs)


def delete_replaced(store: TableStore, messages: Sequence[CommitMessage]) -> None:
    """Delete the files of messages that were not committed, because other files have the same rows. Packs of BLOBs
    stay: the other files name them."""
    _delete_files(store, [(m, f) for m in messages for f in (*m.new_files, *m.new_changelog)])
    delete_new_indexes(store, messages)
    _delete_compacted(store, messages)


@dataclass(slots=True)
class _Attempts:
    """The tries of a change that is neither committed nor failed yet.

    `open` are drafts with a publish call of unknown outcome, all for one snapshot id. `replaced` are snapshots that
    were visible until another engine replaced them. `count` is the number of tries, `latest` is the version on which
    the last one was based. `guard` belongs to a commit that is made once.

    `check` is the outcome of `checked_schema_id`, which runs while the latest version is read for the first time; its
    error explains why files are missing. `write_draft` checks again, unless the session knew the latest version before
    the check.
    """

    guard: OnceGuard | UnrecordedGuard | None = None
    check: Callable[[], int | None] = lambda: None
    open: list[Draft] = field(default_factory=list)
    replaced: list[Snapshot] = field(default_factory=list)
    count: int = 0
    latest: Snapshot | None = None

    @property
    def undecided(self) -> list[Snapshot]:
        return [*self.replaced, *(d.snapshot for d in self.open)]


def _commit_change(
    store: TableStore, change: CommitChange, info: CommitInfo, publisher: Publisher, attempts: _Attempts
) -> Snapshot:
    """Commit a change. Count and log the commit by its result."""
    kind, result, made, began = change.kind.value, "failed", None, time.monotonic()
    try:
        with span("commit", table=store.name, kind=kind, operation=info.operation) as recorded:
            with store.metrics.timed(COMMIT_SECONDS):
                made = _publish_change(store, change, info, publisher, attempts)
            recorded.set(snapshot=made.id, tries=attempts.count)
        result = "published"
        return made
    except CommitConflictError:
        result = "conflict"
        if attempts.latest is not None:
            store.conflicts.add(store.root, attempts.latest.identity)
        raise
    except CommitUnknownError:
        result = "unknown"
        raise
    finally:
        store.metrics.add(COMMITS, kind=kind.lower(), result=result)
        seconds = round(time.monotonic() - began, 3)
        fields = {**store.log_fields(made), "kind": kind, "result": result, "seconds": seconds, "tries": attempts.count}
        _LOG.info("Commit to %s: %s %s after %.3f s", store.name, kind, result, seconds, extra=fields)


def _publish_change(
    store: TableStore, change: CommitChange, info: CommitInfo, publisher: Publisher, attempts: _Attempts
) -> Snapshot:
    """Try until our snapshot is published and stays, the change no longer fits, or a limit is reached."""
    limits, began = RetryLimits.of(store.options), time.monotonic()
    files = WrittenFiles(store, change, known=store.loaded)
    try:
        for tried in count(1):
            store.metrics.add(COMMIT_TRIES)
            attempts.count = tried
            if tried > 1:
                store.metrics.add(COMMIT_RETRIES)
            files.check()
            with store.writer_slot():
                started = time.monotonic()
                landed = find_carried(store, attempts.replaced)
                if landed is not None:
                    _notify_watcher(store, landed, change)
                    return landed
                landed = _try(store, change, info, publisher, attempts, merge=tried == 1)
            if landed is not None and not is_replaced(store, landed):
                write_hints(store, landed.id)
                if attempts.guard is not None:
                    attempts.guard.made(landed)
                _notify_watcher(store, landed, change)
                return landed
            if landed is not None:
                _note_replaced(store, attempts, landed)
            now = time.monotonic()
            wait = limits.next_wait(
                Tries(count=tried, seconds=now - began, last_seconds=now - started, is_known=not attempts.open)
            )
            if wait is None:
                break
            time.sleep(wait)
    except PaimonError as error:
        if attempts.undecided and not isinstance(error, CommitUnknownError):
            raise _unknown(store, attempts.undecided, error) from error
        raise
    if attempts.undecided:
        raise _unknown(store, attempts.undecided)
    raise CommitConflictError(
        f"Table {store.name}: {tried} commits in a row lost the race for the next snapshot; the latest "
        f"is {author(latest_snapshot(store))}. Nothing was committed; run the statement again, or raise "
        "'commit.max-retries' and 'commit.timeout'."
    )


def _try(
    store: TableStore,
    change: CommitChange,
    info: CommitInfo,
    publisher: Publisher,
    attempts: _Attempts,
    *,
    merge: bool,
) -> Snapshot | None:
    """Put the change on the latest snapshot and publish it.

    Return the new snapshot. Return None after a lost race, or after an unknown outcome, which is then recorded in
    `attempts`."""
    known = store.cache.latest_snapshots.get(store.paths.version_root)
    look = latest_for_commit if merge else latest_snapshot
    schema_id, latest = both(store.io, attempts.check, partial(look, store))
    attempts.check = lambda: None
    if known is None or latest is None or not known.is_same(latest):
        schema_id = None  # `latest` may belong to a table that was created after the check, by the same name
    if attempts.open and latest is not None and latest.id >= attempts.open[0].snapshot.id:
        landed = _landed(store, attempts, None)
        if landed is not None:
            return landed
        if attempts.open:
            raise CommitUnknownError(f"Snapshot {attempts.open[0].snapshot.id} of {store.name} has expired.")
        latest = latest_snapshot(store)
    attempts.latest = latest
    if attempts.guard is not None:
        attempts.guard.check(latest)
    if store.has_primary_key or change.rows_base is not None:
        check_planned(store, latest, info.planned_on)
    info = info.of_try(attempts.count)
    try:
        draft = write_draft(store, latest, _delta(store, change, latest), change.kind, info, schema_id, merge=merge)
    except UnreadableFileError:
        if is_there(store, latest):
            raise
        return None  # it expired while it was read: another writer has committed
    outcome = _publish(store, draft, publisher)
    attempts.open.append(draft)
    return _landed(store, attempts, outcome)


def _notify_watcher(store: TableStore, made: Snapshot, change: CommitChange) -> None:
    """Notify the table's watcher of a visible change."""
    store.notify(lambda w: w.committed(store, made, {e.partition for e in change.entries if e.kind is FileKind.ADD}))


@dataclass(frozen=True, slots=True)
class _Looks:
    """Two reads of storage after a publish call: `find` the snapshot under our number, and check that its base still
    exists.
    """

    find: Callable[[], Snapshot | None]
    is_base_there: Callable[[], bool]


def _landed(store: TableStore, attempts: _Attempts, outcome: PublishOutcome | None) -> Snapshot | None:
    """Return the one snapshot among the open drafts that is part of the history, or None."""
    several, last = len(attempts.open) > 1, attempts.open[-1]
    find, is_base_there = partial(find_latest, store, last.snapshot.id), partial(is_there, store, last.base)
    looks = _Looks(find, is_base_there)
    if outcome is PublishOutcome.PUBLISHED:  # both are needed, and both come after the publish
        looks = _Looks(*both(store.io, partial(outcome_of, find), partial(outcome_of, is_base_there)))
    draft = _resolve(store, attempts, outcome, looks)
    if draft is None:
        return None
    is_based = looks.is_base_there if draft is last else partial(is_there, store, draft.base)
    if not withdrawn(store, draft.base, draft.snapshot, is_based):
        return draft.snapshot
    if several:  # another open draft may be part of the history
        raise _unknown(store, [draft.snapshot])
    return None


def _note_replaced(store: TableStore, attempts: _Attempts, snapshot: Snapshot) -> None:
    fields, said = (
        store.log_fields(snapshot),
        "Snapshot %s of %s was replaced by another engine; it is committed again.",
    )
    _LOG.warning(said, snapshot.id, store.name, extra=fields)
    attempts.replaced.append(snapshot)


def _publish(store: TableStore, draft: Draft, publisher: Publisher) -> PublishOutcome | None:
    """Publish a draft. Return None if the outcome is unknown. Any error means that readers do not see the draft."""
    try:
        store.check_turn()
        return publisher.publish(store.paths.snapshot(draft.snapshot.id), encode_snapshot(draft.snapshot))
    except CommitUnknownError as error:
        _LOG.warning("%s", error, extra=store.log_fields(draft.snapshot))
        return None
    except PaimonError as error:
        if isinstance(error, StorageRefusedError) and not _is_invisible(store, draft):
            return None  # the client asked twice: the first request worked, the second was refused
        delete_manifests(store, draft.written)
        raise


def _is_invisible(store: TableStore, draft: Draft) -> bool:
    """Return whether a draft is certainly not visible."""
    try:
        if not store.io.exists(store.paths.snapshot(draft.snapshot.id)):
            return True  # this also holds if a file is in place of the folder, which `find_snapshot` could not read
        found = find_snapshot(store, draft.snapshot.id)
    except (StorageError, UnreadableFileError):
        return False
    return found is None or not found.is_same(draft.snapshot)


def _resolve(store: TableStore, attempts: _Attempts, outcome: PublishOutcome | None, looks: _Looks) -> Draft | None:
    """Read the snapshot back. Return the open draft that became visible, or None.

    Close drafts that are certainly lost, and delete the manifests of a lost draft if it is the only one. If there are
    several drafts, delete no manifests: other writers may have built on a draft that is not visible now. `outcome` is
    the outcome of the last draft, None if unknown.
    """
    drafts, last = list(attempts.open), attempts.open[-1]
    was_refused = outcome is PublishOutcome.LOST_RACE and len(drafts) == 1
    try:
        found = looks.find()
        landed = next((d for d in drafts if found is not None and found.is_same(d.snapshot)), None)
        is_certain = was_refused or found is None or landed is not None or looks.is_base_there()
    except (StorageError, UnreadableFileError) as error:
        if outcome is not PublishOutcome.PUBLISHED and not was_refused:
            raise _unknown(store, attempts.undecided, error) from error
        found, landed, is_certain = None, None, True
    if found is None and outcome is not PublishOutcome.PUBLISHED and not was_refused:
        return None  # a request under way may still make it visible
    if not is_certain:
        raise _unknown(store, attempts.undecided)  # the number was free again, and ours may have been there before
    attempts.open.clear()
    if outcome is PublishOutcome.PUBLISHED and landed is None:
        if found is None:
            return last  # others expired it or rolled it back within moments, or it cannot be read
        _note_replaced(store, attempts, last.snapshot)  # another process may have seen it: its manifests stay
    elif landed is None and len(drafts) == 1:
        delete_manifests(store, last.written)
    return landed


def _delta(store: TableStore, change: CommitChange, latest: Snapshot | None) -> Delta:
    """Return the delta to commit on top of `latest`. Raises `CommitConflictError`, `UnsupportedFeatureError`."""
    attempt = _attempt(store, change, latest)
    conflict = find_conflict(attempt)
    if conflict is not None:
        raise conflict.as_error(attempt)
    if change.renumbering is not None:
        plan = change.renumbering(latest)
        return Delta((), plan.indexes, next_row_id=plan.next_row_id, renumbering=plan)
    entries, next_row_id = attempt.entries, (latest.next_row_id if latest is not None else None) or 0
    number = latest.id + 1 if latest is not None else 1
    if store.options[ROW_TRACKING]:
        ordered = grouped(entries) if store.options[ROW_TRACKING_GROUP] else entries
        entries, next_row_id = number_rows(ordered, number, next_row_id)
    if store.options[SNAPSHOT_ORDERING] and change.kind is not CommitKind.COMPACT:
        entries = stamped(entries, number)
    if store.options[MANIFEST_DELETE_DROP_STATS]:
        entries = [_without_stats(e) if e.kind is FileKind.DELETE else e for e in entries]
    indexes = attempt.indexes_after if attempt.index_entries else None
    return Delta(entries, indexes, change.changelog, change.statistics, next_row_id)


def _attempt(store: TableStore, change: CommitChange, latest: Snapshot | None) -> Attempt:
    """Return the attempt to put the change on top of `latest`. Raises `UnsupportedFeatureError`."""
    check_writable(store)
    live = {} if change.scope is None else live_files(store, latest, change.scope)
    entries, indexes = change.against(live), index_entries(store, latest)
    changed = [*change.index_against(indexes), *outdated_indexes(store, change, indexes, entries)]
    deleted = {e.file.file_name for e in changed if e.kind is FileKind.DELETE}
    outdated = [*stale_indexes(indexes, entries), *indexes_of_removed_rows(store, indexes, entries)]
    changed += [e for e in outdated if e.file.file_name not in deleted]
    return Attempt(
        store=store,
        change=change,
        latest=latest,
        live=live,
        entries=entries,
        indexes=indexes,
        index_entries=changed,
    )


def _without_stats(entry: ManifestEntry) -> ManifestEntry:
    return replace(entry, file=replace(entry.file, value_stats=EMPTY_STATS, value_stats_cols=()))


def _unknown(store: TableStore, undecided: Sequence[Snapshot], cause: PaimonError | None = None) -> CommitUnknownError:
    snapshot, why = undecided[-1], f": {cause}" if cause else "."
    return CommitUnknownError(
        f"Table {store.name}: it is unknown whether snapshot {snapshot.id} was published{why} Its files are kept. "
        f"Before you run the statement again, check whether `{store.name}$snapshots` shows commit user "
        f"{snapshot.commit_user} there."
    )


def _delete_compacted(store: TableStore, messages: Sequence[CommitMessage]) -> None:
    """Delete the files that compactions wrote.

    Files that only changed their level or index stay, because they are live.
    """
    for message in messages:
        kept = frozenset(
            n for f in (*message.compact_before, *message.new_files) for n in (f.file_name, *f.extra_files)
        )
        written = (*message.compact_after, *message.compact_changelog)
        _delete_files(store, [(message, f) for f in written], kept)
        delete_index_files(store, message.partition, message.bucket, message.compact_new_index_files)


def _delete_files(
    store: TableStore, files: Sequence[tuple[CommitMessage, DataFileMeta]], kept: frozenset[str] = frozenset()
) -> None:
    """Delete data files with their extra files, except files with a name in `kept`."""
    folders = ((store.bucket_dir(m.partition, m.bucket), f) for m, f in files)
    paths = (p for folder, file in folders for p in data_file_paths(folder, file))
    _delete_paths(store, (p for p in paths if p.rpartition("/")[2] not in kept))


def _delete_paths(store: TableStore, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            store.io.delete(path)
        except OSError as error:
            _LOG.warning("File %s of a failed commit could not be deleted: %s", path, error, extra=store.log_fields())
