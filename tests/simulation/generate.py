"""From a seed to a history."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.simulation.history import Fault, FaultKind, History, Races, Step
from tests.simulation.settings import SETTINGS
from tests.simulation.steps import STEPS

_SKEWS = (0.0, 0.4, -0.7, 90.0, -3600.0, 2 * 86_400.0, -2 * 86_400.0)
_GAPS = ((0.05, 20), (0.3, 20), (1.0, 6), (120.0, 1), (7200.0, 1), (90_000.0, 1))  # mean seconds, weight
_PAUSES = (0.05, 0.2, 0.6, 2.0, 300.0)  # an hour and more: see docs/upkeep.md on the age of orphans
_MOST_CALLS = 70


def history_of(seed: int, table: str | None = None) -> History:
    """The history of a seed; of a kind of table, if one is given."""
    dice = random.Random(seed)
    setting = SETTINGS[dice.choice(sorted(SETTINGS))]
    if table is not None:
        setting = SETTINGS[table]
    hosts = dice.choice([1, 2, 2, 2, 3, 3, 4])
    races = dice.choice([Races.ATOMIC, Races.ATOMIC, Races.QUEUE, Races.LOCK])
    skewed = dice.random() < 0.4
    skews = tuple(dice.choice(_SKEWS) if skewed else 0.0 for _ in range(hosts))
    setting = replace(setting, races=races, skews=skews)
    return History(seed, setting, _steps(dice, hosts))


def _steps(dice: random.Random, hosts: int) -> tuple[Step, ...]:
    chosen = {name: kind.weight for name, kind in STEPS.items()}
    for kind in dice.sample(sorted(chosen), dice.randint(0, 12)):  # so that some histories have much of little
        if kind != "insert":
            del chosen[kind]
    kinds = dice.choices(list(chosen), list(chosen.values()), k=dice.randint(4, 14))
    faults, pauses = dice.choice([0.0, 0.0, 0.15, 0.4]), dice.choice([0.0, 0.3, 0.8])
    first = ["insert", *dice.choice([[], ["create tag"], ["insert", "create tag", "create branch"], ["insert"]])]
    start, steps = 0.0, []
    for number, kind in enumerate([*first, *kinds], 1):
        mean = dice.choices([g for g, _ in _GAPS], [w for _, w in _GAPS])[0]
        start += 10.0 if number <= len(first) else dice.uniform(0, 2 * mean)  # the first steps are alone
        found = _faults(dice, faults, pauses) if number > len(first) else ()
        steps.append(Step(number, dice.randrange(hosts), start, kind, dice.getrandbits(32), found))
    return tuple(steps)


def _faults(dice: random.Random, faults: float, pauses: float) -> tuple[Fault, ...]:
    found: dict[int, Fault] = {}
    while dice.random() < pauses:
        kind = dice.choice([FaultKind.SLOW, FaultKind.SLOW_ANSWER])
        number = dice.randint(1, _MOST_CALLS)
        found[number] = Fault(number, kind, dice.choice(_PAUSES))
    if dice.random() < faults:
        kind = dice.choice([k for k in FaultKind if k not in (FaultKind.SLOW, FaultKind.SLOW_ANSWER)])
        number = dice.randint(1, _MOST_CALLS)
        found[number] = Fault(number, kind, dice.choice([0.05, 0.3, 2.0]) if kind.value.count("{") else 0.0)
    return tuple(sorted(found.values(), key=lambda f: f.call))
