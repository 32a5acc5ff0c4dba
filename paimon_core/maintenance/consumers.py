"""Resetting, removing and expiring consumers."""

from __future__ import annotations

import re

from paimon_core.errors import ConsumerNotFoundError, InvalidOptionError
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.store.consumers import consumer_files, delete_consumer, list_consumers, write_consumer
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore


def reset_consumer(store: TableStore, consumer_id: str, next_snapshot: int | None) -> None:
    """Let a consumer go on at a snapshot; None: forget it. Raises `SnapshotNotFoundError`, `InvalidNameError`,
    `ConsumerNotFoundError` naming those that exist."""
    if next_snapshot is not None:
        with upkeep_turn(store) as held:  # the snapshot does not expire meanwhile
            read_snapshot(held, next_snapshot)
            write_consumer(held, consumer_id, next_snapshot)
        return
    known = list(consumer_files(store))
    if consumer_id not in known:
        names = ", ".join(known) or "none"
        raise ConsumerNotFoundError(f"Table {store.name} has no consumer {consumer_id!r}; its consumers: {names}.")
    delete_consumer(store, consumer_id)


def clear_consumers(store: TableStore, including: str | None, excluding: str | None) -> list[str]:
    """Forget the consumers whose ids match one regular expression and not the other; returns their ids."""
    keep = _pattern("excludingConsumers", excluding) if excluding and excluding.strip() else None
    take = _pattern("includingConsumers", including) if including and including.strip() else re.compile(".*")
    cleared = [c for c in consumer_files(store) if take.fullmatch(c) and not (keep and keep.fullmatch(c))]
    for consumer_id in cleared:
        delete_consumer(store, consumer_id)
    return cleared


def expire_consumers(store: TableStore, older_than: int) -> None:
    """Forget the consumers that have not read since `older_than` (epoch milliseconds)."""
    for consumer_id, file in consumer_files(store).items():
        if file.modified < older_than and consumer_id in list_consumers(store):
            delete_consumer(store, consumer_id)


def _pattern(argument: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as e:
        raise InvalidOptionError(f"{argument} cannot be {text!r}: it is no regular expression ({e}).") from e
