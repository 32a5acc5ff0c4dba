"""A statement as it is written, as Spark parses it, and places in the one for places in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.preprocess.tokens import Edit, growths, place_before, splice

Position = tuple[int, int]  # the line, from 1, and the column, from 0


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A statement and the edits to it."""

    written: str
    edits: Sequence[Edit] = ()

    @property
    def text(self) -> str:
        """What Spark parses; the very same string where nothing has to change."""
        return splice(self.written, self.edits) if self.edits else self.written

    def place(self, place: int) -> int:
        """Where in the written statement is what Spark found at a character of the text."""
        return place_before(self.written, self.edits, place)

    def growths(self) -> list[tuple[int, int, int]]:
        """Each edit as the characters that it takes away, [start, end), and the number that it puts there."""
        return growths(self.written, self.edits)

    def position(self, position: Position) -> Position:
        """The same of a line and column."""
        line, column = position
        place = sum(len(part) + 1 for part in self.text.split("\n")[: line - 1]) + column
        return self.position_at(self.place(place))

    def position_at(self, place: int) -> Position:
        """Line and column of a character of the written statement."""
        before = self.written[:place]
        return before.count("\n") + 1, len(before) - before.rfind("\n") - 1
