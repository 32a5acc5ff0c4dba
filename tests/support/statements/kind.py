"""What the table of statements has a row of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.faulty_io import Fault
from tests.support.place import Place

Run = Callable[[Place], Any]


@dataclass(frozen=True)
class Statement:
    """One statement, and the place it is run in.

    What is true of it:
    - `commits`: it is one commit. Where it fails and yet is visible, that is a `CommitUnknownError`; else it may be any
      `StorageError`, which means that nobody knows.
    - `steps`: it changes several things one after the other, each of which is as before or as after.
    - `upkeep`: what follows the commit and does not let it fail, or may stop half-way: see `Sight` for the parts.
    - `leaves`: what may stay where it fails, a regular expression of table and part.
    - `cuts`: it removes the latest versions one by one, so the table may be at any of them where it stops.
    - `mends`: it takes a table over. Where it fails, the old one or the new one is whole, and a second call ends it.
    - `counts`: of several tables those that cannot be changed are counted in its answer, and it does not fail.
    - `unseen`: faults that nobody can see.
    - `repeatable`: run again after it had its effect, it changes nothing more.
    """

    name: str
    prepare: Run
    run: Run
    commits: bool = True
    steps: bool = False
    cuts: bool = False
    mends: bool = False
    counts: bool = False
    upkeep: frozenset[str] = field(default_factory=frozenset)
    leaves: str = ""
    unseen: frozenset[Fault] = field(default_factory=frozenset)
    repeatable: bool = True
    procedure: str | None = None


HIDDEN = frozenset({"rows"})  # rows of tables that show them when they are compacted
LAYOUT = frozenset({"files", "snapshots"})  # the parts that a compaction behind an INSERT changes
