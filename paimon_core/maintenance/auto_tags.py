"""Tags that commits create: one per period of time (`process-time`, `watermark`), or one per commit (`batch`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

from paimon_core.errors import InvalidOptionError, TagExistsError, UnreadableFileError
from paimon_core.io.side_by_side import batched_side_by_side
from paimon_core.maintenance.tags import create_tag, delete_tags, replace_tag
from paimon_core.options import (
    SINK_PROCESS_TIME_ZONE,
    TAG_AUTOMATIC_COMPLETION,
    TAG_AUTOMATIC_CREATION,
    TAG_BATCH_CUSTOMIZED_NAME,
    TAG_CREATION_DELAY,
    TAG_DEFAULT_TIME_RETAINED,
    TAG_NUM_RETAINED_MAX,
    TableOptions,
)
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import find_snapshot, history_ids, latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tag_periods import TagPeriod, tag_period
from paimon_core.store.tags import readable_tags, require_tag, tag_names
from paimon_core.time_zones import time_zone

_LOG = logging.getLogger(__name__)
_BATCH_PREFIX = "batch-write-"


def create_automatic_tags(store: TableStore) -> None:
    """Create the tags that are due, and remove the tags above `tag.num-retained-max`."""
    mode = store.options[TAG_AUTOMATIC_CREATION]
    if mode == "batch":
        _tag_batch(store)
    elif mode != "none":
        _tag_periods(store, tag_period(store.options), _clock(store.options, mode))


def _tag_batch(store: TableStore) -> None:
    latest = latest_snapshot(store)
    if latest is None:
        return
    day = _moment(latest.time_millis, _zone(store.options))
    name = store.options[TAG_BATCH_CUSTOMIZED_NAME] or f"{_BATCH_PREFIX}{day:%Y-%m-%d}"
    retained = _default_retained(store.options)
    try:
        create_tag(store, name, latest, retained)
    except TagExistsError:
        replace_tag(store, name, latest, retained)
    _keep_newest(store, tag_names(store))


def _tag_periods(store: TableStore, period: TagPeriod, clock: Callable[[Snapshot], datetime | None]) -> None:
    delay = timedelta(milliseconds=store.options[TAG_CREATION_DELAY])
    made = sorted((b, n) for n in tag_names(store) if (b := period.begin(n)) is not None)
    due = made[-1][0] + period.length if made else None  # the period that gets the next tag
    first = _after_tag(store, made[-1][1]) if made else 0
    for snapshot in _snapshots_from(store, first):
        moment = clock(snapshot)
        if moment is None or (due is not None and moment - delay < due + period.length):
            continue
        begin = period.last_complete(moment)
        if store.options[TAG_AUTOMATIC_COMPLETION] and due is not None:
            begin = due
        try:
            create_tag(store, period.name(begin), snapshot, _default_retained(store.options))
        except TagExistsError:
            continue
        due = begin + period.length
        _keep_newest(store, [n for n in tag_names(store) if period.begin(n) is not None])


def _after_tag(store: TableStore, name: str) -> int:
    """Return the first snapshot after a tag. Return 0 if the tag cannot be read: the tag's name then gives the time."""
    try:
        return require_tag(store, name).snapshot.id + 1
    except UnreadableFileError as error:
        _LOG.warning("Tag %r of table %s is skipped: %s", name, store.name, error, extra=store.log_fields())
        return 0


def _snapshots_from(store: TableStore, first: int) -> Iterator[Snapshot]:
    ids = [number for number in history_ids(store) if number >= first]
    found = batched_side_by_side(store.io, partial(find_snapshot, store), ids)
    return (snapshot for snapshot in found if snapshot is not None)


def _keep_newest(store: TableStore, names: list[str]) -> None:
    most = store.options[TAG_NUM_RETAINED_MAX]
    if most is None or len(names) <= most:
        return
    among = sorted((t for t in readable_tags(store) if t.name in set(names)), key=lambda t: (t.snapshot.id, t.name))
    delete_tags(store, [t.name for t in among[: len(among) - max(1, most)]])


def _clock(options: TableOptions, mode: str) -> Callable[[Snapshot], datetime | None]:
    zone = _zone(options)
    if mode == "watermark":
        return lambda s: None if s.watermark is None else _moment(s.watermark, zone)
    return lambda s: _moment(s.time_millis, zone)


def _moment(millis: int, zone: tzinfo | None) -> datetime:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)).astimezone(zone).replace(tzinfo=None)


def _zone(options: TableOptions) -> tzinfo | None:
    """Return the zone of `sink.process-time-zone`, None for the process's own zone."""
    name = options[SINK_PROCESS_TIME_ZONE]
    try:
        return time_zone(name) if name else None
    except InvalidOptionError as e:
        raise InvalidOptionError(f"Option '{SINK_PROCESS_TIME_ZONE.key}' cannot be {name!r}: {e}") from e


def _default_retained(options: TableOptions) -> timedelta | None:
    millis = options[TAG_DEFAULT_TIME_RETAINED]
    return None if millis is None else timedelta(milliseconds=millis)
