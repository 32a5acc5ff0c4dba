"""Snapshots of a table or branch.

    snapshot/snapshot-N        one committed version, never changed; but an expiry may mark it before it removes it
    snapshot/{EARLIEST,LATEST} hints: the text of N, possibly behind

The history is the last run of numbers without a gap. Numbers before a gap belong to an expiry that is still running or
was killed (`maintenance/removal.py`): their versions count as expired.

Source: specification, "Snapshot".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from paimon_core.errors import CorruptFileError, SnapshotNotFoundError, StorageError, UnreadableFileError
from paimon_core.io.file_io import MOST_HINT
from paimon_core.io.side_by_side import both, outcome_of, side_by_side, together
from paimon_core.lazy import regex
from paimon_core.spec.paths import parse_snapshot_id
from paimon_core.spec.snapshot import Snapshot, decode_snapshot
from paimon_core.store.early_look import listed_versions, may_list
from paimon_core.store.table_store import TableStore

_LOOKS = 10
_HINT = regex(rb"\s*(\d{1,19})\s*")


def latest_snapshot(store: TableStore) -> Snapshot | None:
    """Return the newest version, or None for a table without versions."""
    found = _hinted(store)
    return _listed(store, -1) if found is None else found


def _hinted(store: TableStore) -> Snapshot | None:
    """Return the newest version by the hint; None if the hint is missing or outdated.

    While the hint is read, also read the version that the session remembers, in parallel. It is used only if the hint
    has the same number.
    """
    read_hint = partial(_read_hint, store, store.paths.latest_hint)
    known = store.cache.latest_numbers.get(store.paths.version_root)
    if known is None or store.io.requests_at_once < 2:
        hint = read_hint()
    else:
        hint, look = both(store.io, read_hint, partial(outcome_of, partial(_last, store, known)))
        if hint == known:
            return look()
    return None if hint is None else _last(store, hint)


def latest_for_commit(store: TableStore) -> Snapshot | None:
    """Return the newest version like `latest_snapshot`, as the base of a commit. If the session knows the version, its
    three reads are parallel.

    So the version may be read before the next number is checked, and both versions may have expired in between. The
    same can happen to a writer that pauses after `latest_snapshot`. Such a writer notices after its publish that its
    base is gone (`commit/withdraw.py`).
    """
    known = store.cache.latest_numbers.get(store.paths.version_root)
    if known is None or store.io.requests_at_once < 2:
        return latest_snapshot(store)
    reads: tuple[Callable[[], Any], ...] = (
        partial(_read_hint, store, store.paths.latest_hint),
        partial(_is_free, store, known + 1),
        partial(outcome_of, partial(find_latest, store, known)),
    )
    hint, is_last, find = together(store.io, reads)
    found = find() if is_last and hint == known else None
    return latest_snapshot(store) if found is None or found.is_expiring else found


def latest_for_read(store: TableStore) -> Snapshot | None:
    """Return the newest version like `latest_snapshot`, with fewer requests if the session has read the table before:
    one request if the storage has ETags, none if the table was opened a moment ago (`early_look.py`).

    Use it for reads, and for plans that a commit checks later. Never build a commit on it: expiry may free the number
    that the session remembers, and for a moment a snapshot outside the history may have this number
    (`commit/withdraw.py`).
    """
    numbers, root = store.cache.latest_numbers, store.paths.version_root
    known = numbers.get(root)
    found = None if known is None else _in_listing(store, known) or _last(store, known)
    found = found or latest_snapshot(store)
    if found is not None:
        numbers.put(root, found.id)
    return found


def _in_listing(store: TableStore, known: int) -> Snapshot | None:
    """Return the newest listed version. The listing has its ETag, so a version that the session has read before needs
    no further request.

    Return None if the storage has no ETags or the table has many versions. Also return None if a number between `known`
    and the newest version is missing: such numbers were freed, so the newest may be outside the history.
    """
    counts, root = store.cache.version_counts, store.paths.version_root
    if not may_list(store.cache, root):
        return None
    early = None if store.early_look is None else store.early_look.take(root, known)
    files = early or listed_versions(store.io, store.paths)
    if known not in files or any(n not in files for n in range(known, max(files))):
        return None
    counts.put(root, len(files))
    remembered = store.cache.find(_tagged(store, max(files), files[max(files)].tag))
    return find_latest(store, max(files)) if remembered is None else remembered[0]


def find_latest(store: TableStore, snapshot_id: int) -> Snapshot | None:
    """Read the probably newest version like `find_snapshot`, and remember it for `latest_for_read`."""
    read = find_tagged(store, snapshot_id)
    if read is None:
        return None
    found, tag = read
    store.cache.latest_snapshots.put(store.paths.version_root, found)
    if tag is not None:
        store.cache.get(_tagged(store, snapshot_id, tag), lambda: (found,))
        if store.cache.version_counts.get(store.paths.version_root) is None:
            store.cache.version_counts.put(store.paths.version_root, 1)
    return found


def find_tagged(store: TableStore, snapshot_id: int) -> tuple[Snapshot, str | None] | None:
    """Read one version like `find_snapshot`. Return it with the ETag of its file; None for a storage without ETags."""
    path = store.paths.snapshot(snapshot_id)
    try:
        data, tag = store.io.read_tagged(path)
    except FileNotFoundError:
        return None
    return _decoded(path, snapshot_id, data), tag


def _tagged(store: TableStore, snapshot_id: int, tag: str | None) -> str:
    """Return a version's name in the cache. It contains the ETag: a number may be used again for other content."""
    return f"{store.paths.snapshot(snapshot_id)}?{tag}"


def _last(store: TableStore, snapshot_id: int) -> Snapshot | None:
    """Read a version if the next number is free. Else return None.

    Check the next number first. Expiry removes or marks a version before it removes the next one. So if the next
    version has expired, this one is gone or has a mark.
    """
    found = find_latest(store, snapshot_id) if _is_free(store, snapshot_id + 1) else None
    return None if found is None or found.is_expiring else found


def _is_free(store: TableStore, snapshot_id: int) -> bool:
    """Return whether no version has a number, not even an unreadable one."""
    try:
        return find_snapshot(store, snapshot_id) is None
    except UnreadableFileError:
        return False


def earliest_snapshot(store: TableStore) -> Snapshot | None:
    """Return the oldest version that still exists, or None for a table without versions."""
    hint = _read_hint(store, store.paths.earliest_hint)
    if hint is not None:
        with suppress(FileNotFoundError):
            return _read(store, hint)
    return _listed(store, 0)


def first_snapshots(store: TableStore) -> tuple[Snapshot | None, Snapshot | None]:
    """Return the oldest version that still exists, and the version after it. A session that remembers a number from the
    hint reads both in parallel.
    """
    numbers, root = store.cache.earliest_numbers, store.paths.version_root
    number = numbers.get(root) or _read_hint(store, store.paths.earliest_hint)
    if number is not None:
        found = side_by_side(store.io, partial(find_snapshot, store), range(number - 1, number + 2))
        if found[0] is None and found[1] is not None:  # the number is not of an earlier table of the same name
            return found[1], found[2]
    earliest = earliest_snapshot(store)
    if earliest is None:
        return None, None
    if numbers.get(root) is not None:
        numbers.put(root, earliest.id)
    return earliest, find_snapshot(store, earliest.id + 1)


def hinted_latest(store: TableStore) -> int | None:
    """Return the number of the latest version in the hint, which may be outdated."""
    return _read_hint(store, store.paths.latest_hint)


def read_snapshot(store: TableStore, snapshot_id: int) -> Snapshot:
    """Read one version by its number. Raises `SnapshotNotFoundError`, which lists the versions."""
    try:
        return _read(store, snapshot_id)
    except FileNotFoundError:
        raise SnapshotNotFoundError(
            f"Table {store.name} has no snapshot {snapshot_id}: {describe_snapshots(store)}."
        ) from None


def find_snapshot(store: TableStore, snapshot_id: int) -> Snapshot | None:
    """Read one version by its number. Return None if it does not exist."""
    try:
        return _read(store, snapshot_id)
    except FileNotFoundError:
        return None


def snapshot_ids(store: TableStore) -> list[int]:
    """Return the numbers of all snapshot files, ascending, even of versions before a gap."""
    found = (parse_snapshot_id(f.name) for f in store.io.list(store.paths.snapshot_dir))
    return sorted(n for n in found if n is not None)


def history_ids(store: TableStore) -> list[int]:
    """Return the numbers of all versions, ascending and without gaps.

    A listing may miss a file that is created meanwhile, and show a later one. So a gap counts only if a second listing
    also shows it.
    """
    ids = snapshot_ids(store)
    found = without_gaps(ids)
    return found if len(found) == len(ids) else without_gaps(snapshot_ids(store))


def without_gaps(ids: Sequence[int]) -> list[int]:
    """Return the last run of ascending numbers without a gap."""
    after_gap = (i for i in range(len(ids) - 1, 0, -1) if ids[i - 1] != ids[i] - 1)
    return list(ids[next(after_gap, 0) :])


def list_snapshots(store: TableStore) -> list[Snapshot]:
    """Return all versions, ascending. Versions that expire meanwhile are left out."""
    return existing_snapshots(store, history_ids(store))


def existing_snapshots(store: TableStore, ids: Iterable[int]) -> list[Snapshot]:
    """Read versions by their numbers, in parallel. Versions that do not exist are left out."""
    found = side_by_side(store.io, lambda n: find_snapshot(store, n), ids)
    return [s for s in found if s is not None]


def write_hints(store: TableStore, snapshot_id: int) -> None:
    """Write the latest version as a hint; for the first version, also the earliest.

    This never raises: readers check hints."""
    store.cache.latest_numbers.put(store.paths.version_root, snapshot_id)
    write = partial(store.io.write_bytes, store.paths.latest_hint, str(snapshot_id).encode())
    with suppress(StorageError, FileNotFoundError):
        _, has_earliest = both(store.io, write, partial(_has_earliest_hint, store))
        if snapshot_id == 1 or not has_earliest:
            ids = history_ids(store)
            earliest = ids[0] if ids else snapshot_id
            store.io.write_bytes(store.paths.earliest_hint, str(earliest).encode())
            store.cache.earliest_numbers.put(store.paths.version_root, earliest)


def _has_earliest_hint(store: TableStore) -> bool:
    """Return whether the earliest version has a hint. The session checks this once. If the hint is lost later, readers
    list the versions instead; and the first version of a new table always writes the hint.
    """
    seen, root = store.cache.earliest_numbers, store.paths.version_root
    if seen.get(root) is None and (hint := _read_hint(store, store.paths.earliest_hint)) is not None:
        seen.put(root, hint)
    return seen.get(root) is not None


def describe_snapshots(store: TableStore) -> str:
    """Describe the existing versions, for messages."""
    ids = history_ids(store)
    return f"the snapshots {ids[0]} to {ids[-1]} exist" if ids else "it has no snapshots yet"


def reset_hints(store: TableStore, earliest: int, latest: int) -> None:
    """Write the earliest and the latest version as hints, after versions were removed. This never raises."""
    hints = ((store.paths.earliest_hint, earliest), (store.paths.latest_hint, latest))
    with suppress(StorageError, FileNotFoundError):
        side_by_side(store.io, lambda hint: store.io.write_bytes(hint[0], str(hint[1]).encode()), hints)
        store.cache.earliest_numbers.put(store.paths.version_root, earliest)


def _listed(store: TableStore, position: int) -> Snapshot | None:
    """Return the version at a position of the ascending list, or None if the list is empty.

    If the version disappears meanwhile, because it expires or is rolled back, list again."""
    for _ in range(_LOOKS):
        ids = history_ids(store)
        with suppress(FileNotFoundError):
            return _read(store, ids[position]) if ids else None
    return read_snapshot(store, ids[position])


def _read(store: TableStore, snapshot_id: int) -> Snapshot:
    path = store.paths.snapshot(snapshot_id)
    return _decoded(path, snapshot_id, store.io.read_bytes(path))


def _decoded(path: str, snapshot_id: int, data: bytes) -> Snapshot:
    snapshot = decode_snapshot(path, data)
    if snapshot.id != snapshot_id:
        raise CorruptFileError(path, f"it contains snapshot {snapshot.id}")
    return snapshot


def _read_hint(store: TableStore, path: str) -> int | None:
    try:
        match = _HINT.fullmatch(store.io.read_bytes(path, MOST_HINT))
    except (StorageError, FileNotFoundError, UnreadableFileError):
        return None
    return int(match[1]) if match and int(match[1]) > 0 else None
