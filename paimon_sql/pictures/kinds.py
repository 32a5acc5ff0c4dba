"""The kinds of pictures, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from paimon_core.clock import now_millis
from paimon_core.errors import InvalidOptionError
from paimon_core.inspect.layout import file_sizes, partition_sizes
from paimon_core.inspect.lsm_map import has_lsm_trees, lsm_map
from paimon_core.inspect.schema_history import schema_history
from paimon_core.inspect.timeline import PlannedExpiry, refs, timeline
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.snapshot_expiry import expire_snapshots, retention_of
from paimon_core.maintenance.trial import tried
from paimon_core.store.features import check_seen_whole
from paimon_core.store.named_files import files_of
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_sql.pictures.lsm import draw_lsm
from paimon_sql.pictures.picture import WHOLE, Choice, Picture, PictureKind
from paimon_sql.pictures.sizes import draw_files, draw_partitions
from paimon_sql.pictures.versions import draw_refs, draw_schemas, draw_timeline

_STRATEGIES = {"compact": Strategy.FULL, "minor compact": Strategy.MINOR}
# by the kind of picture: the operations that it can show in advance
OPERATIONS: Mapping[PictureKind, tuple[str, ...]] = {
    PictureKind.LSM: tuple(_STRATEGIES),
    PictureKind.TIMELINE: ("expire_snapshots",),
}


def _lsm(store: TableStore, part: Choice) -> Picture:
    strategy = None if part.after is None else _STRATEGIES[part.after]
    return draw_lsm(store.name, lsm_map(store, part.partition, part.bucket, strategy))


def _timeline(store: TableStore, part: Choice) -> Picture:
    found = timeline(store)
    return draw_timeline(store.name, found if part.after is None else replace(found, expiry=_expiry(store)))


def _expiry(store: TableStore) -> PlannedExpiry:
    """Return the snapshots that `CALL sys.expire_snapshots` would remove now."""
    now, left = now_millis(), set[int]()

    def expire(trial: TableStore) -> None:
        expire_snapshots(trial, retention_of(trial.options, now), now)
        left.update(snapshot_ids(trial))

    found = tried(store, expire)
    return PlannedExpiry(frozenset(snapshot_ids(store)) - left, found.files, found.size)


_KINDS: dict[PictureKind, Callable[[TableStore, Choice], Picture]] = {
    PictureKind.LSM: _lsm,
    PictureKind.TIMELINE: _timeline,
    PictureKind.FILES: lambda store, _: draw_files(store.name, file_sizes(store)),
    PictureKind.PARTITIONS: lambda store, _: draw_partitions(store.name, partition_sizes(store)),
    PictureKind.BRANCHES: lambda store, _: draw_refs(store.name, refs(store)),
    PictureKind.SCHEMAS: lambda store, _: draw_schemas(store.name, schema_history(store)),
}


def kinds_of(store: TableStore) -> tuple[PictureKind, ...]:
    """Return the kinds of pictures that a table has: all kinds, but the LSM map only with a primary key."""
    return tuple(kind for kind in _KINDS if kind is not PictureKind.LSM or has_lsm_trees(store))


def draw(store: TableStore, kind: str, part: Choice = WHOLE) -> Picture:
    """Draw a table.

    Raises `InvalidOptionError` for an unknown kind, for an operation `after` that the kind cannot show, and for a
    partition or bucket if the kind is not "lsm"; `UnsupportedFeatureError` for the LSM map of a table without a primary
    key; `NoPrivilegeError` if the catalog's user may not see all rows; `CorruptFileError`, `StorageError`.
    """
    found = next((known for known in _KINDS if known == str(kind).lower()), None)
    if found is None:
        raise InvalidOptionError(f"kind cannot be {kind!r}: use one of {', '.join(_KINDS)}.")
    if part.after is not None and part.after not in OPERATIONS.get(found, ()):
        known = "; ".join(f"{kind}: {' or '.join(names)}" for kind, names in OPERATIONS.items())
        raise InvalidOptionError(
            f"A picture of {found} cannot show the table after {part.after!r}. Pictures show {known}."
        )
    if found is not PictureKind.LSM and replace(part, after=None) != WHOLE:
        raise InvalidOptionError(f"A picture of {found} shows the whole table: leave out partition and bucket.")
    check_seen_whole(store)  # names of keys and partitions show values
    with files_of(store):
        return _KINDS[found](store, part)
