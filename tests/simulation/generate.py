"""From a seed to a history."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.simulation.history import Fault, FaultKind, History, Races, Setting, Step
from tests.simulation.settings import SETTINGS
from tests.simulation.steps import STEPS
from tests.simulation.themes import THEMES, Theme

_SKEWS = (0.0, 0.4, -0.7, 90.0, -3600.0, 2 * 86_400.0, -2 * 86_400.0)
_GAPS = ((0.05, 20), (0.3, 20), (1.0, 6), (120.0, 1), (7200.0, 1), (90_000.0, 1))  # mean seconds, weight
_PAUSES = (0.05, 0.2, 0.6, 2.0, 300.0)  # an hour and more: see docs/upkeep.md on the age of orphans
_MOST_CALLS = 70
_OF_ANYTHING = sorted(n for n, s in SETTINGS.items() if not s.chain)  # chain tables take statements of their own
_ALTERS = frozenset({"add column", "drop column", "set option", "rescale"})
_EXPIRES = frozenset({"expire", "set option", "purge", "expire chain", "drop and create", "rename and back"})
# calls that decide something: most faults are of these, as one of many calls they would hardly ever be
_DECISIVE = ("create", "create", "create", "delete", "delete", "write", "list", "exists", "read")


def history_of(seed: int, table: str | None = None, theme: str | None = None) -> History:
    """The history of a seed; of a kind of table, and of a theme, if one is given. Odd seeds have themes."""
    dice = random.Random(seed)
    if theme is not None:
        return _themed(seed, dice, THEMES[theme], table)
    if seed % 2:
        return _themed(seed, dice, THEMES[dice.choice(sorted(THEMES))], table)
    setting = SETTINGS[dice.choice(_OF_ANYTHING)]
    if table is not None:
        setting = SETTINGS[table]
    hosts = dice.choice([1, 2, 2, 2, 3, 3, 4])
    races = dice.choice([Races.ATOMIC, Races.ATOMIC, Races.QUEUE, Races.LOCK])
    skewed = dice.random() < 0.4
    skews = tuple(dice.choice(_SKEWS) if skewed else 0.0 for _ in range(hosts))
    setting = replace(setting, races=races, skews=skews)
    return History(seed, setting, _within_limits(setting, _steps(dice, hosts)))


def _themed(seed: int, dice: random.Random, theme: Theme, table: str | None) -> History:
    of_chains = "chain" in theme.tables
    names = [n for n in sorted(SETTINGS) if n.startswith(theme.tables) and SETTINGS[n].chain == of_chains]
    setting = SETTINGS[dice.choice(names) if table is None else table]
    skews = tuple(dice.choice(theme.skews) for _ in range(dice.choice(theme.hosts)))
    setting = replace(setting, races=dice.choice(theme.races), skews=skews)
    kinds = dice.choices(list(theme.kinds), list(theme.kinds.values()), k=dice.randint(4, 10))
    rate, mean, start, steps = dice.choice([0.0, theme.rate]), dice.choice(theme.gaps), 0.0, []
    for number, kind in enumerate([*theme.first, *kinds], 1):
        is_first = number <= len(theme.first)
        start += 10.0 if is_first else dice.uniform(0, 2 * mean)
        start += theme.rest if number == len(theme.first) + 1 else 0.0
        faults = (dice.choice(theme.faults),) if not is_first and dice.random() < rate else ()
        steps.append(Step(number, dice.randrange(len(skews)), start, kind, dice.getrandbits(32), faults))
    return History(seed, setting, _within_limits(setting, tuple(steps)))


def _within_limits(setting: Setting, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without what is known not to hold; docs/reliability.md lists it."""
    kinds = {s.kind for s in steps}
    if kinds & _ALTERS:
        steps = tuple(s for s in steps if s.kind != "fast forward")
    if setting.races is Races.LOCK or kinds & _EXPIRES or "snapshot.num-retained.max" in setting.options:
        return tuple(map(_in_time, steps))
    return steps


def _in_time(step: Step) -> Step:
    """The step without requests that are done after they were reported as failed."""
    changed = (replace(f, kind=FaultKind.FAILS_AFTER) if f.kind is FaultKind.LATE else f for f in step.faults)
    return replace(step, faults=tuple(changed))


def _steps(dice: random.Random, hosts: int) -> tuple[Step, ...]:
    chosen = {name: kind.weight for name, kind in STEPS.items() if kind.weight}
    for kind in dice.sample(sorted(chosen), dice.randint(0, 12)):  # so that some histories have much of little
        if kind != "insert":
            del chosen[kind]
    kinds = dice.choices(list(chosen), list(chosen.values()), k=dice.randint(4, 14))
    faults, pauses = dice.choice([0.0, 0.2, 0.5]), dice.choice([0.0, 0.3, 0.7])
    first = ["insert", *dice.choice([[], ["create tag"], ["insert", "create tag", "create branch"], ["insert"]])]
    start, steps = 0.0, []
    for number, kind in enumerate([*first, *kinds], 1):
        mean = dice.choices([g for g, _ in _GAPS], [w for _, w in _GAPS])[0]
        start += 10.0 if number <= len(first) else dice.uniform(0, 2 * mean)  # the first steps are alone
        found = _faults(dice, faults, pauses) if number > len(first) else ()
        steps.append(Step(number, dice.randrange(hosts), start, kind, dice.getrandbits(32), found))
    return tuple(steps)


def _faults(dice: random.Random, faults: float, pauses: float) -> tuple[Fault, ...]:
    found: dict[tuple[str, int], Fault] = {}
    while dice.random() < pauses:
        _add(found, _call(dice), dice.choice([FaultKind.SLOW, FaultKind.SLOW_ANSWER]), dice.choice(_PAUSES))
    while dice.random() < faults:
        kind = dice.choice([k for k in FaultKind if k not in (FaultKind.SLOW, FaultKind.SLOW_ANSWER)])
        _add(found, _call(dice), kind, dice.choice([0.05, 0.3, 2.0, 400.0]) if "{" in kind.value else 0.0)
    return tuple(found.values())


def _call(dice: random.Random) -> tuple[str, int]:
    """The name and the number of a call."""
    if dice.random() < 0.3:
        return "", dice.randint(1, _MOST_CALLS)
    name = dice.choice(_DECISIVE)
    return name, dice.choice([1, 1, 2]) if name in ("create", "list") else dice.randint(1, 12)


def _add(found: dict[tuple[str, int], Fault], call: tuple[str, int], kind: FaultKind, seconds: float) -> None:
    found[call] = Fault(call[1], kind, seconds, call[0])
