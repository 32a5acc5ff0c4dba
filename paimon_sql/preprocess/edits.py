"""Edits of a statement by character offset, and the mapping of offsets in the edited text to the written text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.lexing import Token, Tokens

Position = tuple[int, int]  # the line, from 1, and the column, from 0
_SPAN = itemgetter(0, 1)  # of an edit


class Edit(NamedTuple):
    """A replacement of the characters [start, end) of a text; an insertion if both are equal."""

    start: int
    end: int
    text: str

    @classmethod
    def replace(cls, first: Token, last: Token, text: str) -> Edit:
        return cls(first.start, last.end + 1, text)

    @classmethod
    def at(cls, tokens: Tokens, index: int, text: str, count: int = 1) -> Edit:
        """Return the edit that replaces `count` tokens from an index on."""
        return cls(*tokens.span(index, count), text)

    @classmethod
    def before(cls, token: Token, text: str) -> Edit:
        return cls(token.start, token.start, text)

    @classmethod
    def after(cls, token: Token, text: str) -> Edit:
        return cls(token.end + 1, token.end + 1, text)


def splice(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits to a text. Line breaks are kept, so that line numbers in Spark's messages are right for the
    written text.
    """
    pieces: list[str] = []
    position, has_lines = 0, "\n" in text
    for edit in _apart(edits):
        start, end, new = edit
        pieces += text[position:start], new
        if has_lines and end > start:
            pieces.append("\n" * _lost_lines(text, edit))
        position = end
    return "".join(pieces) + text[position:]


def offset_before(text: str, edits: Iterable[Edit], offset: int) -> int:
    """Return the offset in a text for an offset in the result of `splice`. For an offset inside of an edit, return the
    edit's beginning.
    """
    shift = 0
    for start, end, grown in growths(text, edits):
        if offset < start + shift:
            break
        if offset < start + shift + grown:
            return start
        shift += grown - (end - start)
    return offset - shift


def growths(text: str, edits: Iterable[Edit]) -> list[tuple[int, int, int]]:
    """Return each edit as the characters that it removes, [start, end), and the number of characters that it writes
    instead.
    """
    return [(e.start, e.end, len(e.text) + _lost_lines(text, e)) for e in _apart(edits)]


def _apart(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits in order. An edit inside of an earlier one is left out, such as an edit of a name in a removed
    part.
    """
    position = 0
    for edit in sorted(edits, key=_SPAN):
        if edit.start >= position:
            position = edit.end
            yield edit


def _lost_lines(text: str, edit: Edit) -> int:
    return max(0, text.count("\n", edit.start, edit.end) - edit.text.count("\n"))


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A statement and its edits. If `is_elsewhere`, it has no edits because its table is in another catalog."""

    written: str
    edits: Sequence[Edit] = ()
    is_elsewhere: bool = False

    @property
    def text(self) -> str:
        """Return the text for Spark; the same string if nothing changes."""
        return splice(self.written, self.edits) if self.edits else self.written

    def offset(self, offset: int) -> int:
        """Return the offset in the written statement for an offset in the text for Spark."""
        return offset_before(self.written, self.edits, offset)

    def growths(self) -> list[tuple[int, int, int]]:
        """Return each edit as the characters that it removes, [start, end), and the number of characters that it writes
        instead.
        """
        return growths(self.written, self.edits)

    def position(self, position: Position) -> Position:
        """Return the line and column in the written statement for a line and column in the text for Spark."""
        line, column = position
        offset = sum(len(part) + 1 for part in self.text.split("\n")[: line - 1]) + column
        return self.position_at(self.offset(offset))

    def position_at(self, offset: int) -> Position:
        """Return the line and column of an offset in the written statement."""
        before = self.written[:offset]
        return before.count("\n") + 1, len(before) - before.rfind("\n") - 1
