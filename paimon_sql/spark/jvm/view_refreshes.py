"""Materialized views that keep their old rows until a pipeline has the new ones.

A pipeline empties the table of a view, and appends the rows of its query later. Emptying the table is put off, and the
append becomes an overwrite. So readers see either the old or the new rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError


@dataclass(frozen=True, slots=True)
class DefinedTable:
    """A table that a running pipeline defines: as a view, or as a streaming table. Each run has a number."""

    run: str
    name: str
    is_view: bool


def runs_of_view(table: str, found: Iterable[DefinedTable]) -> frozenset[str]:
    """Return the runs that define a table as a view. Return no runs if one run defines the table as something else. The
    truncation of a view is put off.
    """
    own = _of(table, found)
    return frozenset(d.run for d in own) if all(d.is_view for d in own) else frozenset()


def check_truncation(table: str, found: Iterable[DefinedTable]) -> None:
    """Raise `UnsupportedFeatureError` if one run defines the table as a view, and another run as a streaming table. The
    first run would remove rows that the other one is adding.
    """
    if len({d.is_view for d in _of(table, found)}) > 1:
        raise UnsupportedFeatureError(
            f"Table {table} cannot be refreshed: of the pipelines that run now, one defines it as a materialized view "
            "and another one as a streaming table. Nothing was removed. Let one pipeline define the table."
        )


def replaces_rows(table: str, runs: Collection[str], found: Iterable[DefinedTable]) -> bool:
    """Return whether rows that a pipeline appends to a table replace its rows. `runs` defined the table as a view when
    its truncation was put off.

    Raises `UnsupportedFeatureError` if that is unknown: another run defines a streaming table of this name, or the runs
    have ended.
    """
    own = _of(table, found)
    if not runs or (own and not any(d.run in runs for d in own)):  # the run has failed before it appended rows
        return False
    if not own or not all(d.is_view for d in own):
        raise UnsupportedFeatureError(
            f"Table {table} is refreshed as a materialized view, and another pipeline defines it as a streaming table, "
            "or the pipeline was stopped. Nothing was written. Let one pipeline define the table, and run it again."
        )
    return True


def _of(table: str, found: Iterable[DefinedTable]) -> list[DefinedTable]:
    """Return the definitions of a table. A catalog may keep names in another case, as Hive does."""
    given = list(found)
    return [d for d in given if d.name == table] or [d for d in given if d.name.lower() == table.lower()]
