"""Merge engines, row by row in plain Python: the oracle of the tests of engines.

A row is (kind, values), a state is the merged row of a key. Kinds are 0 +I, 1 -U, 2 +U, 3 -D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]
Row = tuple[int, Values]
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
REFUSED = "refused"


class Refused(Exception):
    """Raised if the engine refuses such a row."""


def retracts(kind: int) -> bool:
    return kind in (UPDATE_BEFORE, DELETE)


@dataclass
class Function:
    """An aggregate function with the state of one key. Without `back` it cannot retract values."""

    merge: Callable[[Any, Any], Any]
    back: Callable[[Any, Any], Any] | None = None
    ignore_retract: bool = False

    def add(self, old: Any, new: Any) -> Any:
        return self.merge(old, new)

    def add_older(self, old: Any, new: Any) -> Any:
        return self.add(new, old)

    def retract(self, old: Any, gone: Any) -> Any:
        if self.ignore_retract:
            return old
        if self.back is None:
            raise Refused
        return self.back(old, gone)


@dataclass
class First(Function):
    """`first_value`, or `first_non_null_value`."""

    merge: Callable[[Any, Any], Any] = lambda old, new: old
    nulls: bool = True
    started: bool = False

    def add(self, old: Any, new: Any) -> Any:
        if not self.started and (self.nulls or new is not None):
            self.started = True
            return new
        return old


class Collect(Function):
    """`collect`, which takes older values as new ones."""

    def add_older(self, old: Any, new: Any) -> Any:
        return self.add(old, new)


def known(merge: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of two values that ignores NULL."""
    return lambda old, new: new if old is None else old if new is None else merge(old, new)


def subtract(old: Any, gone: Any) -> Any:
    if gone is None:
        return old
    return -gone if old is None else old - gone


def divide(old: Any, gone: Any) -> Any:
    return old if old is None or gone is None else int(old / gone)


def joined(old: Any, new: Any) -> Any:
    if new is None or not new.strip(" "):
        return old
    return new if old is None or not old.strip(" ") else f"{old},{new}"


def joined_distinct(old: Any, new: Any) -> Any:
    if new is None or not new.strip(" "):
        return old
    if old is None or not old.strip(" "):
        return new
    for part in new.split(","):
        if part.strip(" ") and part not in old.split(","):
            old += f",{part}"
    return old


def without(old: Any, gone: Any) -> Any:
    if old is None or not gone:
        return old
    retracted = list(gone)
    return [e for e in old if e not in retracted or retracted.remove(e)]  # type: ignore[func-returns-value]


FUNCTIONS: Mapping[str, Callable[[], Function]] = {
    "sum": lambda: Function(known(lambda a, b: a + b), subtract),
    "product": lambda: Function(known(lambda a, b: a * b), divide),
    "max": lambda: Function(known(max)),
    "min": lambda: Function(known(min)),
    "last_value": lambda: Function(lambda old, new: new, lambda old, gone: None),
    "last_non_null_value": lambda: Function(
        lambda old, new: old if new is None else new, lambda old, gone: old if gone is None else None
    ),
    "first_value": lambda: First(),
    "first_non_null_value": lambda: First(nulls=False),
    "listagg": lambda: Function(joined),
    "listagg distinct": lambda: Function(joined_distinct),
    "bool_and": lambda: Function(known(lambda a, b: a and b)),
    "bool_or": lambda: Function(known(lambda a, b: a or b)),
    "collect": lambda: Collect(known(lambda a, b: a + b), without),
    "merge_map": lambda: Function(
        known(lambda a, b: a | b),
        lambda old, gone: None if old is None else {k: v for k, v in old.items() if k not in (gone or {})},
    ),
    "primary-key": lambda: Function(lambda old, new: new, lambda old, gone: gone),
}


def deduplicate(rows: Sequence[Row], ignore_delete: bool = False) -> Row | None:
    kept = [r for r in rows if not (ignore_delete and retracts(r[0]))]
    return rows[0] if len(rows) == 1 else kept[-1] if kept else None


def first_row(rows: Sequence[Row], ignore_delete: bool = False) -> Row | None:
    if len(rows) == 1:
        return rows[0]
    if not ignore_delete and any(retracts(k) for k, _ in rows):
        raise Refused
    return next((r for r in rows if not retracts(r[0])), None)


def aggregate(rows: Sequence[Row], functions: Mapping[str, Function], remove_on_delete: bool = False) -> Row:
    if len(rows) == 1:
        return rows[0]
    state: Values = dict.fromkeys(functions)
    removed = False
    for kind, values in rows:
        removed = remove_on_delete and kind == DELETE
        if removed:
            state = dict(values)
            continue
        for name, function in functions.items():
            step = function.retract if retracts(kind) else function.add
            state[name] = step(state[name], values[name])
    return (DELETE if removed else INSERT), state


def counted(rows: Sequence[Row], column: str) -> int:
    """Return `count`: the values that rows add, less those that rows retract."""
    return sum(-1 if retracts(kind) else 1 for kind, values in rows if values[column] is not None)


@dataclass
class PartialUpdate:
    """`groups`: columns that order, and those they protect; `functions` of protected columns that have one."""

    columns: Sequence[str]
    groups: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)
    ignore_delete: bool = False
    remove_on_delete: bool = False
    removing: Sequence[int] = ()
    state: Values = field(default_factory=dict)

    def merge(self, rows: Sequence[Row]) -> Row:
        if len(rows) == 1:
            return rows[0]
        self.state = dict.fromkeys(self.columns)
        inserted = deleted = started = False
        for kind, values in rows:
            deleted = False
            if not retracts(kind):
                self._update(values)
                inserted = started = True
                continue
            if not started:
                self.state, started = dict(values), True
            if self.ignore_delete:
                continue
            if self.groups:
                deleted = self._retract(kind, values)
            elif not self.remove_on_delete:
                raise Refused
            elif kind == DELETE:
                self.state, deleted = dict(values), True
        return (DELETE if deleted or not inserted else INSERT), self.state

    def _newer(self, group: int, values: Values) -> bool | None:
        """Return whether a row is newer for a group; None if the row has no value for the group's order."""
        new, old = ([v[n] for n in self.groups[group][0]] for v in (values, self.state))
        if all(v is None for v in new):
            return None
        return [(v is not None, v or 0) for v in new] >= [(v is not None, v or 0) for v in old]

    def _update(self, values: Values) -> None:
        grouped = {n for sequence, protected in self.groups for n in (*sequence, *protected)}
        self.state |= {n: v for n, v in values.items() if n not in grouped and v is not None}
        for group, (sequence, protected) in enumerate(self.groups):
            newer = self._newer(group, values)
            if newer is None:
                continue
            for name in protected:
                function = self.functions.get(name)
                if function is not None:
                    step = function.add if newer else function.add_older
                    self.state[name] = step(self.state[name], values[name])
                elif newer:
                    self.state[name] = values[name]
            if newer:
                self.state |= {n: values[n] for n in sequence}

    def _retract(self, kind: int, values: Values) -> bool:
        newer = [self._newer(g, values) for g in range(len(self.groups))]
        if kind == DELETE and any(newer[g] for g in self.removing):
            self.state = dict(values)
            return True
        for group, (sequence, protected) in enumerate(self.groups):
            if newer[group] is None:
                continue
            for name in protected:
                function = self.functions.get(name)
                if function is not None:
                    self.state[name] = function.retract(self.state[name], values[name])
                elif newer[group]:
                    self.state[name] = None
            if newer[group]:
                self.state |= {n: values[n] for n in sequence}
        return False
