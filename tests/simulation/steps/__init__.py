"""What the steps of histories do, one function for each kind.

A function decides by the session's dice what the kind leaves open, tells the observer what its statement is to change,
and does it as a user's session does.
"""

from __future__ import annotations

from tests.simulation.steps import (
    chains,
    layouts,
    lifecycle,
    merging,
    reading,
    retention,
    rows,
    schemas,
    streams,
    upkeep,
    versions,
)
from tests.simulation.steps.registry import STEPS, NothingToDo

__all__ = ["STEPS", "NothingToDo"]
__all__ += [
    "chains",
    "layouts",
    "lifecycle",
    "merging",
    "reading",
    "retention",
    "rows",
    "schemas",
    "streams",
    "upkeep",
    "versions",
]
