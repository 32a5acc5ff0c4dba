"""What a history may be about. A history of everything seldom has three steps that belong together at one moment, which
most mistakes need; so half of the seeds stand for histories of few kinds of steps, tables and faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.simulation.history import Fault, FaultKind, Races


@dataclass(frozen=True, slots=True)
class Theme:
    """`tables` begin with one of these names (none: all), `kinds` are steps with their weights, and each step after
    `first` has one of `faults` with the probability `rate`. Before these the hosts rest for `rest` seconds; between
    them pass up to twice as many seconds as one of `gaps`, which a history chooses."""

    kinds: Mapping[str, float]
    tables: tuple[str, ...] = ("",)
    races: tuple[Races, ...] = tuple(Races)
    first: tuple[str, ...] = ("insert", "insert")
    faults: tuple[Fault, ...] = ()
    rate: float = 0.0
    rest: float = 0.0
    skews: tuple[float, ...] = (0.0,)
    hosts: tuple[int, ...] = (2, 2, 3)
    gaps: tuple[float, ...] = (0.05, 0.1, 0.3)


def _each(kind: FaultKind, calls: Mapping[str, int], *seconds: float) -> tuple[Fault, ...]:
    """Faults of the first calls of these names: `snapshot` behind a name are those of files of that folder."""
    return tuple(
        Fault(n, kind, s, on) for on, most in calls.items() for n in range(1, most + 1) for s in seconds or (0,)
    )


_SLOWLY = _each(FaultKind.SLOW, {"create snapshot": 2, "list": 3, "read snapshot": 3}, 0.2, 0.6)
_TOO_SLOWLY = _each(FaultKind.SLOW, {"create snapshot": 2, "create tag": 1, "list": 4, "delete snapshot": 2}, 300.0)
_SLOW_TAGS = _each(FaultKind.SLOW, {"create tag": 1}, 0.6, 2.0, 300.0)
_SLOW_COPIES = _each(FaultKind.SLOW, {"write snapshot": 2}, 0.6, 2.0)
_NO_ANSWER = (
    *_each(FaultKind.LATE, {"create snapshot": 2}, 0.05, 0.3, 1.0),
    *_each(FaultKind.OUTAGE_AFTER, {"create snapshot": 2}, 0.015, 0.05, 2.0),
    *_each(FaultKind.FAILS_AFTER, {"create snapshot": 2}),
    *_each(FaultKind.TWICE, {"create snapshot": 1}),
)
_DEATHS = _each(FaultKind.CRASH, {"delete": 6, "delete snapshot": 3, "write snapshot": 2, "create": 2, "write": 8})
_FOLDERS = tuple(
    f
    for kind in (FaultKind.CRASH, FaultKind.CRASH_AFTER, FaultKind.FAILS, FaultKind.FAILS_AFTER, FaultKind.REFUSED)
    for f in _each(kind, {"delete folder": 6, "rename folder": 2, "create": 1, "list": 4})
)
_OLD_HINTS = (
    *_each(FaultKind.CRASH, {"write snapshot": 2}),
    *_each(FaultKind.FAILS, {"write snapshot": 2}),
    *_each(FaultKind.SLOW, {"write snapshot": 2}, 0.6, 2.0),
)
_UNQUEUED = (Races.ATOMIC, Races.ATOMIC, Races.LOCK)
_CHANGES = {"insert": 5.0, "delete": 2.0, "update": 2.0, "merge": 1.0}
_VECTORS = (
    "append, deletion",
    "append, Avro",
    "data evolution",
    "keyed, deletion",
    "keyed, wide",
    "keyed, merge",
    "loo",
)

THEMES: Mapping[str, Theme] = {
    "answers that are lost": Theme(
        {"insert": 6, "delete": 2, "compact": 1, "read": 2}, races=_UNQUEUED[:2], faults=_NO_ANSWER, rate=0.6
    ),
    "new keys": Theme({"insert": 8, "update": 1, "delete": 1, "compact": 1}, ("dynamic",), first=("insert",)),
    "rollbacks": Theme(
        {"insert": 6, "rollback": 4, "create tag": 1, "rollback to tag": 2, "read": 2},
        races=_UNQUEUED,
        faults=(*_SLOWLY, *_DEATHS[:9]),
        rate=0.4,
    ),
    "old hints": Theme(
        {"insert": 6, "read": 6, "compact": 1, "read changes": 1, "delete": 1}, faults=_OLD_HINTS, rate=0.5
    ),
    "expiry": Theme(
        {"insert": 5, "expire": 5, "read": 2, "travel": 2, "create tag": 1, "compact": 1, "stream": 1},
        faults=(*_DEATHS, *_SLOWLY),
        rate=0.3,
    ),
    "old files": Theme(
        {"remove orphans": 6, "insert": 1, "create tag": 3, "rename tag": 4, "replace tag": 2, "expire": 4}
        | {"create branch": 1, "rename branch": 1, "rollback to tag": 1, "delete tag": 1},
        races=_UNQUEUED,
        first=("insert", "create tag", "insert", "insert", "insert", "expire"),  # a tag of what has expired
        faults=_each(FaultKind.SLOW, {"list": 3, "read snapshot": 1, "read tag": 3, "create tag": 1}, 0.3, 1.0),
        rate=0.6,
        rest=100_000.0,
    ),
    "new files": Theme(
        {"remove orphans": 6, "insert": 6, "update": 2, "delete": 1, "compact": 1},
        races=_UNQUEUED,
        faults=_each(
            FaultKind.SLOW, {"write manifest": 3, "create snapshot": 1, "list": 2, "exists snapshot": 3}, 1.0, 3.0
        ),
        rate=0.8,
        skews=(0.0, 2 * 86_400.0, 2 * 86_400.0, -3600.0),
    ),
    "tags": Theme(
        {
            "create tag": 4,
            "expire": 4,
            "insert": 4,
            "replace tag": 1,
            "rename tag": 1,
            "delete tag": 1,
            "expire tags": 1,
        }
        | {"create short tag": 2, "rollback to tag": 1, "read": 1},
        races=_UNQUEUED,
        faults=(*_TOO_SLOWLY, *_SLOWLY, *4 * _SLOW_TAGS),
        rate=0.6,
    ),
    "branches": Theme(
        {"create branch": 2, "insert into branch": 6, "fast forward": 4, "delete branch": 3, "rename branch": 1}
        | {"insert": 3, "expire": 1, "rollback": 1, "read": 2},
        races=_UNQUEUED,
        first=("insert", "create branch", "insert into branch", "insert"),
        faults=(*_SLOWLY, *_TOO_SLOWLY, *4 * _SLOW_COPIES),
        rate=0.4,
    ),
    "merged branches": Theme(
        {"create branch": 1, "insert into branch": 6, "merge branch": 5, "delete branch": 1, "insert": 3, "read": 2}
        | {"fast forward": 1, "remove orphans": 1, "read changes": 1},
        ("append",),
        first=("insert", "create branch", "insert into branch"),
        faults=(*_SLOWLY, *_NO_ANSWER),
        rate=0.3,
    ),
    "keys across partitions": Theme(
        _CHANGES | {"insert": 8.0, "compact": 2, "read": 2, "read by key": 1},
        ("keys across",),
        faults=_SLOWLY,
        rate=0.2,
    ),
    "levels": Theme(
        {"insert": 3, "delete": 5, "compact lightly": 5, "read": 2, "update": 1},
        ("keyed", "input", "partial", "lookup"),
        first=("insert wide", "compact", "insert"),
    ),
    "vectors": Theme(_CHANGES | {"delete": 8.0, "compact": 3.0, "read": 1.0}, _VECTORS, faults=_SLOWLY, rate=0.2),
    "schemas": Theme(
        _CHANGES | {"add column": 2, "drop column": 1, "set option": 2, "rescale": 2, "compact": 3, "read": 2},
        faults=_SLOWLY,
        rate=0.2,
    ),
    "changelogs": Theme(
        _CHANGES | {"compact": 3, "read changes": 5, "stream": 3, "expire": 2, "expire changelogs": 2, "overwrite": 1},
        ("lookup", "full", "input", "first-row"),
        faults=_SLOWLY,
        rate=0.2,
    ),
    "global indexes": Theme(
        _CHANGES | {"create global index": 4, "drop global index": 1, "read by key": 4, "compact": 3, "sort": 1},
        ("data evolution",),
        faults=_SLOWLY,
        rate=0.2,
    ),
    "partitions": Theme(
        _CHANGES | {"overwrite": 3, "truncate": 3, "compact": 2, "read": 2, "rescale": 1},
        ("append, partitions", "append, expiring", "keyed, partitions", "keyed, expiring", "dynamic buckets, part"),
        faults=_SLOWLY,
        rate=0.2,
    ),
    "partitions that expire": Theme(
        {"expire partitions": 5, "insert": 6, "update": 1, "compact": 1, "read": 2, "overwrite": 1, "expire": 1},
        ("append, partitions", "keyed, partitions", "dynamic buckets, part"),
        first=("insert", "insert"),
        faults=_SLOWLY,
        rate=0.5,
        rest=3.0,
    ),
    "purged tables": Theme(
        {"purge": 3, "insert": 5, "create tag": 2, "create branch": 1, "insert into branch": 2, "compact": 1, "read": 2}
        | {"stream": 1, "delete": 1},
        faults=(*_DEATHS, *_NO_ANSWER),
        rate=0.4,
        hosts=(1,),
    ),
    "tables that come and go": Theme(
        {"drop and create": 4, "rename and back": 3, "insert": 5, "create tag": 1, "create branch": 1, "read": 2}
        | {"insert into branch": 1, "compact": 1, "remove orphans": 1, "delete": 1},
        faults=(*_DEATHS, *_FOLDERS),
        rate=0.5,
        hosts=(1,),
    ),
    "chains": Theme(
        {"insert changes": 6, "make full": 4, "read chain": 3, "expire chain": 2, "remove orphans": 1},
        ("chain",),
        first=("insert changes", "insert changes"),
        faults=(*_DEATHS, *_NO_ANSWER),
        rate=0.3,
        hosts=(1,),
    ),
    "new columns": Theme(
        {"compact": 4, "update": 2, "delete": 1, "add column": 4, "insert": 5, "read": 1},
        faults=_each(FaultKind.SLOW, {"read snapshot": 1, "read": 3, "list": 2}, 0.6, 2.0),
        rate=0.6,
    ),
    "compactors": Theme(
        _CHANGES | {"compact": 6, "compact manifests": 3, "sort": 1, "read": 2, "expire": 1}, faults=_SLOWLY, rate=0.3
    ),
}
