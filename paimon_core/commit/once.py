"""Commits that are made once, however often they are tried: the epochs of a stream of writes.

Such a commit has a commit user, which names its stream, and an identifier, which grows with each commit of the stream.
A stream begins its next commit when the last one is certainly made. The snapshot stores both. So a commit first
searches the table's snapshots for its user with its identifier or a later one. Before each publish it searches the new
snapshots again. If another process tries the same commit at the same time, either its snapshot is found, or both want
the same number and one loses the race.

Snapshots expire. So a record stores the state of the last commit that the stream began (`store/streams.py`):

    not made, searched S    before anything is published: none of the snapshots up to S is this commit
    made, searched S        afterwards

A process may die between any two of these steps, and the stream may be started again much later. Then a commit without
a snapshot is in one of these states:

- no record of the stream, or a record of an earlier commit: it was not begun;
- a record of it that says `made`, or a record of a later commit: it was made, and has expired;
- a record of it that says `not made`, and all snapshots after S exist: it was not made;
- the same, but some of those snapshots have expired: unknown. Our own expiry searches the snapshots that it removes for
  the commits of records, and corrects the records (`settle_records`). So this happens only if another engine expires
  snapshots. The commit is refused until the user decides, by 'write.stream.unknown-epoch'.

A write in parts is a commit that has its user to itself (`Once.ALONE`). No record is kept, because each such commit
would leave one: the snapshots since the write began show whether it was made. If some have expired, it is refused.

Only one process creates a record, so no earlier snapshot is of its commit. Whatever is written to the record later
stays true, even if it comes late, twice, or from two processes in any order.

An empty record counts as `not made, searched 0`. So all snapshots are searched, down to the last one of the stream:
its next commit comes after it. The result is written to the record.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from paimon_core.commit.draft import CommitInfo, Once
from paimon_core.commit.publish import create_if_missing
from paimon_core.dataclass import dataclass
from paimon_core.errors import AlreadyCommittedError, CommitConflictError, StorageError, UnreadableFileError
from paimon_core.options import STREAM_UNKNOWN_EPOCH
from paimon_core.spec.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from paimon_core.store.snapshots import find_snapshot, latest_snapshot
from paimon_core.store.streams import (
    StreamCommit,
    check_stream_user,
    delete_earlier_commits,
    encode_stream_commit,
    last_stream_commit,
    stream_users,
    write_stream_commit,
)
from paimon_core.store.table_store import TableStore

_LOOKS = 10
_LOG = logging.getLogger(__name__)


def check_not_made(store: TableStore, info: CommitInfo) -> None:
    """Raise `AlreadyCommittedError` if a commit that is made once was made before.

    Other commits pass. Raises `CommitConflictError` if snapshots no longer show whether it was made,
    `InvalidNameError`, `CorruptFileError`.
    """
    if info.once is Once.ALONE:
        UnrecordedGuard(store, info).check(latest_snapshot(store))
    elif info.once is not None:
        _search_all(store, info)


def guard_of(store: TableStore, info: CommitInfo) -> OnceGuard | UnrecordedGuard | None:
    """Return the guard of a commit that is made once, to be checked before each publish, or None for any other commit.

    Raises the same errors as `check_not_made`."""
    if info.once is None:
        return None
    if info.once is Once.ALONE:
        return UnrecordedGuard(store, info)
    for _ in range(_LOOKS):
        record, searched = _search_all(store, info)
        guard = OnceGuard(store, info, searched)
        if record is not None and record.identifier == info.identifier:
            if record.searched == 0 < searched:  # the record is empty, or the table had no snapshots
                guard.write(made=False)
            return guard
        if guard.begin():
            return guard
    raise _not_known(store, info, "other processes keep trying to make this commit")


@dataclass(slots=True)
class OnceGuard:
    """The guard of a commit that is made once. Snapshots up to `searched` are of other commits."""

    store: TableStore
    info: CommitInfo
    searched: int

    def begin(self) -> bool:
        """Create the record. Return False if another process created it."""
        path, first = self.store.paths.stream_commit(self.info.user, self.info.identifier), self.record(made=False)
        if not create_if_missing(self.store.io, path, encode_stream_commit(first)):
            return False
        latest = latest_snapshot(self.store)
        last = 0 if latest is None else latest.id
        if last <= self.searched or find_snapshot(self.store, self.searched + 1) is not None:
            return True  # from here on, expiry checks all snapshots that the record covers
        found, _ = _search(self.store, self.info, last, self.searched)
        if found is not None or last_stream_commit(self.store, self.info.user) != first:
            return False
        self.searched = last  # snapshots that have expired are older than the record
        self.write(made=False)
        return True

    def check(self, latest: Snapshot | None) -> None:
        """Search the new snapshots up to `latest`, the base of the next try.

        Raises the same errors as `check_not_made`.
        """
        last = 0 if latest is None else latest.id
        if last < self.searched:  # rolled back: numbers are used again, so search their new snapshots
            self.searched = last
            self.write(made=False)
            return
        found, is_complete = _search(self.store, self.info, last, self.searched)
        if found is not None and found.commit_identifier >= self.info.identifier:
            raise _already(self.store, self.info, f"it is snapshot {found.id}")
        if not is_complete:  # our expiry has settled the record, or another engine expired snapshots
            _, last = _search_all(self.store, self.info, last)
        self.searched = last

    def made(self, snapshot: Snapshot | None) -> None:
        """Record that the commit is made, as `snapshot`, or with None if it had no changes.

        This never raises: the commit is made in any case."""
        try:
            self.searched = self.searched if snapshot is None else snapshot.id
            self.write(made=True)
            delete_earlier_commits(self.store, self.info.user, self.info.identifier)
        except (StorageError, UnreadableFileError, FileNotFoundError) as error:
            said = "%s is made, but its record may be outdated: %s"
            _LOG.warning(said, _name(self.store, self.info), error, extra=self.store.log_fields(snapshot))

    def record(self, *, made: bool) -> StreamCommit:
        return StreamCommit(self.info.identifier, made, self.searched)

    def write(self, *, made: bool) -> None:
        write_stream_commit(self.store, self.info.user, self.record(made=made))


@dataclass(frozen=True, slots=True)
class UnrecordedGuard:
    """The guard of a commit that is the only one of its user."""

    store: TableStore
    info: CommitInfo

    def check(self, latest: Snapshot | None) -> None:
        """Search the snapshots from `latest`, the base of the next try, down to the one on which the write began.

        Raises `AlreadyCommittedError` if one of them is this commit, `CommitConflictError` if some have expired.
        """
        begun, number = self.info.begun_on, 0 if latest is None else latest.id
        while number > 0:
            found = find_snapshot(self.store, number)
            if found is not None and found.commit_user == self.info.user:
                raise _already(self.store, self.info, f"it is snapshot {found.id}")
            if begun is not None and number <= begun.id and (found is None or found.is_same(begun)):
                return  # older snapshots, and a table that was rolled back, do not have this commit
            if found is None:
                raise CommitConflictError(
                    f"Table {self.store.name}: snapshots that were made since this write began have expired, so it is "
                    "unknown whether it was committed before. Nothing was committed now. Check whether the table has "
                    "the rows. If it does not, write them again."
                )
            number -= 1

    def made(self, snapshot: Snapshot | None) -> None:
        """Do nothing: the snapshot itself is the record."""


def settle_records(store: TableStore, expired: Sequence[Snapshot]) -> None:
    """Update the records of streams before an expiry removes the snapshots `expired`, the oldest of a table."""
    ids = {s.id for s in expired}
    for user in stream_users(store):
        try:
            record = last_stream_commit(store, user)
        except UnreadableFileError as error:  # the next commit of this stream gets this error
            _LOG.warning("%s", error, extra=store.log_fields())
            continue
        if record is None or record.made:
            continue
        of_user = [s for s in expired if s.id > record.searched and s.commit_user == user]
        made = next((s for s in of_user if record.identifier <= s.commit_identifier < BATCH_COMMIT_IDENTIFIER), None)
        if made is not None:
            write_stream_commit(store, user, StreamCommit(made.commit_identifier, made=True, searched=made.id))
            continue
        # a snapshot of an earlier commit of the stream comes before this commit
        searched = max([record.searched, *(s.id for s in of_user if s.commit_identifier < record.identifier)])
        if max(ids) > record.searched and (searched in ids or searched + 1 in ids):  # otherwise snapshots are missing
            write_stream_commit(store, user, StreamCommit(record.identifier, made=False, searched=max(ids)))


def _search_all(store: TableStore, info: CommitInfo, last: int | None = None) -> tuple[StreamCommit | None, int]:
    """Return the record of a commit that was not made, and the last snapshot that was searched.

    The search ends at `last`, or else at the latest snapshot. Raises the same errors as `check_not_made`.
    """
    check_stream_user(info.user)
    policy = store.options[STREAM_UNKNOWN_EPOCH]
    try:
        record = last_stream_commit(store, info.user)
    except UnreadableFileError:
        if policy == "fail":
            raise
        record = None
    if last is None:
        latest = latest_snapshot(store)
        last = 0 if latest is None else latest.id
    rolled_back = record is not None and record.searched > last  # all snapshots were searched, or are newer
    found, is_complete = _search(store, info, last, 0 if record is None or rolled_back else record.searched)
    if found is not None and found.commit_identifier >= info.identifier:
        raise _already(store, info, f"it is snapshot {found.id}")
    if record is not None and record.identifier >= info.identifier + (not record.made):
        raise _already(store, info, f"its stream has gone on to commit {record.identifier}")
    if found is not None:
        return record, last
    unknown = None
    if record is not None and record.identifier == info.identifier and not (is_complete or rolled_back):
        unknown = "it was begun, and snapshots have expired since"
    elif record is None and info.once is Once.FOLLOWING and info.identifier > 0:
        unknown = (
            "the table has neither snapshots of its stream nor a record of it. Perhaps the table was dropped and "
            "created again, rolled back, or restored; or another writer wrote the epochs before; or the record "
            "expired ('consumer.expiration-time')"
        )
    if unknown is not None and policy == "skip":
        raise _already(store, info, "'write.stream.unknown-epoch' = 'skip' treats it as made")
    if unknown is not None and policy == "fail":
        raise _not_known(store, info, unknown)
    return record, last


def _search(store: TableStore, info: CommitInfo, last: int, known: int) -> tuple[Snapshot | None, bool]:
    """Return the newest snapshot of a stream from `known` + 1 to `last`, and whether all of these snapshots exist."""
    for number in range(last, known, -1):
        snapshot = find_snapshot(store, number)
        if snapshot is None:  # the oldest expire first
            return None, False
        if snapshot.commit_user == info.user and snapshot.commit_identifier != BATCH_COMMIT_IDENTIFIER:
            return snapshot, True
    return None, True


def _name(store: TableStore, info: CommitInfo) -> str:
    return f"Commit {info.identifier} of {info.user} to table {store.name}"


def _already(store: TableStore, info: CommitInfo, why: str) -> AlreadyCommittedError:
    return AlreadyCommittedError(f"{_name(store, info)} was made before: {why}. Nothing was committed this time.")


def _not_known(store: TableStore, info: CommitInfo, why: str) -> CommitConflictError:
    return CommitConflictError(
        f"{_name(store, info)}: it is unknown whether it was made before, since {why}. Nothing was committed now. "
        "Check whether the table has its rows. If it does, start the stream again with the option "
        "'write.stream.unknown-epoch' = 'skip'; if it does not, with 'commit'. You can also start a new stream, with "
        "a new checkpoint."
    )
