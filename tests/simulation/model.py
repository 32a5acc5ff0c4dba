"""What rows a table must have: dictionaries, and what a statement does to them.

Rows of a table without keys are told apart by their `id`. A key has a list of changes, each with the moment of the
snapshot it was planned on and that of its own. Two statements that overlap may be merged in either order, for writers
number rows by what they have seen: a row is right if some order of its changes gives it that respects who had seen
whom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A row of the table of every history: `k` is the key, `p` the partition, `id` unlike any other row's."""

    k: int
    p: int
    id: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a statement that is committed does: it empties partitions (None: all), then removes rows, then adds some.

    `removed` are ids of rows; of tables with keys, keys. With `in_place` the added rows are new values of the removed
    ones, by their row ids: a row that another statement has deleted meanwhile stays deleted. Nothing is emptied of
    rows whose statements began at `spares_since` (seconds of the history) or later.
    """

    added: tuple[Row, ...] = ()
    removed: frozenset[Any] = frozenset()
    emptied: frozenset[int] | None = frozenset()
    in_place: bool = False
    spares_since: float | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """One change of a key: a row, or None where it is deleted. Moments count the snapshots of a history."""

    seen: int
    made: int
    row: Row | None


Merge = Callable[[Row | None, Row | None], Row | None]


def _deduplicate(_: Row | None, new: Row | None) -> Row | None:
    return new


def _partial_update(old: Row | None, new: Row | None) -> Row | None:
    if old is None or new is None:
        return new
    return Row(*(o if n is None else n for o, n in zip(old, new, strict=True)))


def _aggregation(old: Row | None, new: Row | None) -> Row | None:
    if old is None or new is None:
        return new
    return Row(new.k, new.p, (old.id or 0) + (new.id or 0), max(filter(None, (old.note, new.note)), default=None))


def _first_row(old: Row | None, new: Row | None) -> Row | None:
    return new if old is None or new is None else old


MERGES: Mapping[str, Merge] = {
    "deduplicate": _deduplicate,
    "partial-update": _partial_update,
    "aggregation": _aggregation,
    "first-row": _first_row,
}


@dataclass(frozen=True)
class State:
    """The rows of one snapshot: by key (and partition, unless keys cross partitions), or by id."""

    keyed: bool
    crosses: bool = False
    rows: Mapping[int, Row] = field(default_factory=dict)
    puts: Mapping[tuple[int, int], tuple[Put, ...]] = field(default_factory=dict)

    def after(self, effect: Effect, seen: int, made: int) -> State:
        """The rows after a statement. Raises `AssertionError` where it removes a row that is not there."""
        if not self.keyed:
            kept = {i: r for i, r in self.rows.items() if effect.emptied is not None and r.p not in effect.emptied}
            absent = effect.removed - kept.keys()
            assert effect.in_place or not absent, f"rows {sorted(absent)} were removed twice"
            kept = {i: r for i, r in kept.items() if i not in effect.removed}
            return State(False, rows=kept | {r.id: r for r in effect.added if r.id is not None and r.id not in absent})
        puts = {k: p for k, p in self.puts.items() if effect.emptied is not None and k[1] not in effect.emptied}
        changes: dict[tuple[int, int], Row | None] = {self._key(*k): None for k in effect.removed}
        for key, row in [*changes.items(), *((self._key(r.k, r.p), r) for r in effect.added)]:
            puts[key] = (*puts.get(key, ()), Put(seen, made, row))
        return State(True, self.crosses, puts=puts)

    def _key(self, k: int, p: int) -> tuple[int, int]:
        return k, 0 if self.crosses else p

    def wrong(self, found: Iterable[Row], merge: Merge, *, hides: bool) -> list[str]:
        """What is wrong with the rows that were read. With `hides` a key's last changes may not show yet."""
        rows = list(found)
        if not self.keyed:
            seen = {r.id: r for r in rows}
            twice = ["a row is there twice"] if len(seen) < len(rows) else []
            missing = [f"row {r} is missing" for i, r in self.rows.items() if seen.get(i) != r]
            return twice + missing + [f"row {r} should not be there" for i, r in seen.items() if i not in self.rows]
        by_key = {self._key(r.k, r.p): r for r in rows}
        problems = ["a key is there twice"] if len(by_key) < len(rows) else []
        for key in sorted(by_key.keys() | self.puts.keys()):
            allowed = outcomes(self.puts.get(key, ()), merge, hides=hides)
            if by_key.get(key) not in allowed:
                problems.append(f"key {key} has {by_key.get(key)}, and may have {sorted(allowed, key=str)}")
        return problems


@cache
def outcomes(puts: tuple[Put, ...], merge: Merge, *, hides: bool) -> frozenset[Row | None]:
    """The rows that a key may have."""
    found = set[Row | None]()
    for order in _orders(puts):
        row: Row | None = None
        if hides:
            found.add(row)
        for put in order:
            row = put.row if put.row is None else merge(row, put.row)
            if hides:
                found.add(row)
        found.add(row)
    return frozenset(found)


def _orders(puts: tuple[Put, ...]) -> Iterator[tuple[Put, ...]]:
    """All orders in which nothing comes before what it had seen."""
    if not puts:
        yield ()
    for put in puts:
        rest = tuple(p for p in puts if p is not put)
        if not any(p.made <= put.seen for p in rest):
            yield from ((put, *more) for more in _orders(rest))
