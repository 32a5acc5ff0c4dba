"""Reset, remove and expire consumers."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.arrow.patterns import Pattern
from paimon_core.errors import ConsumerNotFoundError
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.store.consumers import consumer_files, delete_consumer, list_consumers, write_consumer
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore


def reset_consumer(store: TableStore, consumer_id: str, next_snapshot: int | None) -> None:
    """Set the next snapshot of a consumer. With None, delete the consumer.

    Raises `SnapshotNotFoundError`, `InvalidNameError`, and `ConsumerNotFoundError`, which lists the consumers."""
    if next_snapshot is not None:
        with upkeep_turn(store) as held:  # so that the snapshot does not expire meanwhile
            read_snapshot(held, next_snapshot)
            write_consumer(held, consumer_id, next_snapshot)
        return
    known = list(consumer_files(store))
    if consumer_id not in known:
        names = ", ".join(known) or "none"
        raise ConsumerNotFoundError(f"Table {store.name} has no consumer {consumer_id!r}; its consumers: {names}.")
    delete_consumer(store, consumer_id)


def clear_consumers(store: TableStore, including: str | None, excluding: str | None) -> list[str]:
    """Delete the consumers with an id that matches the first regular expression and not the second. Return their
    ids."""
    known = list(consumer_files(store))
    taken = _matching("includingConsumers", including, known) or [True] * len(known)
    kept = _matching("excludingConsumers", excluding, known) or [False] * len(known)
    cleared = [c for c, take, keep in zip(known, taken, kept, strict=True) if take and not keep]
    for consumer_id in cleared:
        delete_consumer(store, consumer_id)
    return cleared


def expire_consumers(store: TableStore, older_than: int) -> None:
    """Delete the consumers that have not read since `older_than` (epoch milliseconds)."""
    for consumer_id, file in consumer_files(store).items():
        if file.modified < older_than and consumer_id in list_consumers(store):
            delete_consumer(store, consumer_id)


def _matching(argument: str, pattern: str | None, known: Sequence[str]) -> list[bool] | None:
    return Pattern.of(argument, pattern).matches(known) if pattern and pattern.strip() else None
