"""A row of the table of statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.faulty_io import Fault
from tests.support.place import Place

Run = Callable[[Place], Any]


@dataclass(frozen=True)
class Statement:
    """One statement, and the place that it runs in.

    Properties of the statement:

    - `commits`: it is one commit. If it fails although it is visible, it raises `CommitUnknownError`; otherwise it may
    raise any `StorageError`, which leaves the result open.

    - `steps`: it changes several things one after the other; each is as before or as after.

    - `upkeep`: the work after the commit, which does not make it fail, or may stop half-way: see `Sight` for the parts.

    - `leaves`: a regular expression of table and part, for things that may remain if it fails.

    - `cuts`: it removes the latest versions one by one, so the table may be at any of them if it stops.

    - `mends`: it takes over a table. If it fails, the old or the new table is whole, and a second call finishes it.

    - `counts`: it changes several tables. Its answer counts the tables that cannot be changed, and it does not fail.

    - `unseen`: faults without a visible effect.

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
