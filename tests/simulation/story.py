"""A history told: what was done in which order, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tests.simulation.history import Fault, Setting
from tests.simulation.observer import ROOT
from tests.simulation.processes import Call
from tests.simulation.run import Outcome

_CHANGES = frozenset({"write", "create", "delete", "delete folder", "rename folder"})


def story(outcome: Outcome) -> str:
    """The table, the steps, what they did to the storage turn by turn, and what is wrong."""
    history = outcome.history
    lines = [f"Seed {history.seed}: {_table(history.setting)}", "", "Steps:"]
    for step in history.steps:
        result = outcome.results.get(step.number, "not reached")
        lines.append(f"  {step.number:>3}. {step.start:>9.2f} s  host {step.host}: {step.kind} - {result}")
        lines += [f"       its {_ordinal(fault)}: {fault}" for fault in step.faults]
    lines += ["", "Turns, with the calls that change something or go wrong:"]
    for number, calls in groupby(outcome.trace, key=lambda c: c.step):
        lines += _turn(number, list(calls))
    lines += ["", "What is wrong:", *(f"  - {problem}" for problem in outcome.problems)]
    return "\n".join(lines)


def _turn(step: int, calls: list[Call]) -> Iterator[str]:
    first, last = calls[0], calls[-1]
    yield f"  {first.moment:>9.2f} s  step {step}: calls {first.number} to {last.number}, the last is {_call(last)}"
    shown = [c for c in calls if c.outcome or (c.name in _CHANGES and "/manifest/" not in c.path)]
    yield from (f"                 {c.number:>3}. {_call(c)}" for c in shown)


def _ordinal(fault: Fault) -> str:
    return f"call {fault.call}" + (f" of {fault.on}" if fault.on else "")


def _call(call: Call) -> str:
    path = call.path.removeprefix(f"{ROOT}/")
    return f"{call.name} {path}" + (f": {call.outcome}" if call.outcome else "")


def _table(setting: Setting) -> str:
    skews = ", ".join(f"{s:+g} s" for s in setting.skews)
    return f"{setting.table}; races are decided by {setting.races.value}; clocks of the hosts: {skews}"
