"""Histories that showed a mistake, kept as JSON in `found/`: every gate runs them again, whatever seeds then mean."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.simulation.history import Fault, FaultKind, History, Races, Setting, Step

FOLDER = Path(__file__).parent / "found"


def to_text(history: History) -> str:
    """A history as JSON."""
    return json.dumps(asdict(history), indent=1, default=lambda kind: kind.name) + "\n"


def from_text(text: str) -> History:
    """The history that JSON stands for."""
    values = json.loads(text)
    setting = values["setting"]
    setting |= {"races": Races[setting["races"]], "skews": tuple(setting["skews"])}
    return History(values["seed"], Setting(**setting), tuple(_step(s) for s in values["steps"]))


def file_of(name: str) -> Path:
    """Where the history that shows a mistake is kept."""
    return FOLDER / f"{name.replace(':', '').replace(' ', '-')}.json"


def _step(values: dict[str, Any]) -> Step:
    faults = tuple(Fault(**f | {"kind": FaultKind[f["kind"]]}) for f in values["faults"])
    return Step(**values | {"faults": faults})
