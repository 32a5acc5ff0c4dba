"""A cursor to read the tokens of one statement, and edits of its text by character offset."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from paimon_sql.preprocess.lexing import Token, Tokens

_PLACE = itemgetter(0, 1)  # of an edit
_EXPLAIN_MODES = ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
_LITERALS = frozenset("'\"`0123456789")  # what the symbol of one begins with


class Edit(NamedTuple):
    """Replaces the characters [start, end) of a text; an insertion where both are equal."""

    start: int
    end: int
    text: str

    @classmethod
    def replace(cls, first: Token, last: Token, text: str) -> Edit:
        return cls(first.start, last.end + 1, text)

    @classmethod
    def at(cls, tokens: Tokens, index: int, text: str, count: int = 1) -> Edit:
        """Replaces the token of an index, or several from there on."""
        return cls(tokens.starts[index], tokens.ends[index + count - 1], text)

    @classmethod
    def before(cls, token: Token, text: str) -> Edit:
        return cls(token.start, token.start, text)

    @classmethod
    def after(cls, token: Token, text: str) -> Edit:
        return cls(token.end + 1, token.end + 1, text)


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made; line breaks stay, so that the lines in Spark's messages are those of the text."""
    pieces: list[str] = []
    position, has_lines = 0, "\n" in text
    for edit in sorted(edits, key=_PLACE):
        start, end, new = edit
        pieces += text[position:start], new
        if has_lines and end > start:
            pieces.append("\n" * _lost_lines(text, edit))
        position = end
    return "".join(pieces) + text[position:]


def place_before(text: str, edits: Iterable[Edit], place: int) -> int:
    """Where in a text stood what is at a place of the text that `splice` makes: in an edit, where that begins."""
    shift = 0
    for start, end, grown in growths(text, edits):
        if place < start + shift:
            break
        if place < start + shift + grown:
            return start
        shift += grown - (end - start)
    return place - shift


def growths(text: str, edits: Iterable[Edit]) -> list[tuple[int, int, int]]:
    """Each edit as the characters that it takes away, [start, end), and the number that `splice` puts there."""
    return [(e.start, e.end, len(e.text) + _lost_lines(text, e)) for e in sorted(edits, key=_PLACE)]


def _lost_lines(text: str, edit: Edit) -> int:
    return max(0, text.count("\n", edit.start, edit.end) - edit.text.count("\n"))


class Cursor:
    """A reading position in the tokens of one statement, past a leading EXPLAIN."""

    def __init__(self, tokens: Tokens, index: int = 0):
        self.tokens, self.index = tokens, index
        self._symbols = tokens.symbols
        if index == 0 and self.take("EXPLAIN") and self.symbol() in _EXPLAIN_MODES:
            self.index += 1

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.index + ahead
        return self.tokens[index] if index < len(self._symbols) else None

    def symbol(self, ahead: int = 0) -> str:
        """The word in upper case or the sign; empty for literals and quoted names, and past the end."""
        index = self.index + ahead
        if index >= len(self._symbols):
            return ""
        symbol = self._symbols[index]
        return "" if symbol[0] in _LITERALS else symbol

    def at_name(self, ahead: int = 0) -> bool:
        index = self.index + ahead
        return index < len(self._symbols) and self.tokens.is_name(index)

    def at_string(self, ahead: int = 0) -> bool:
        index = self.index + ahead
        return index < len(self._symbols) and self.tokens.is_string(index)

    def names(self, first: int) -> list[str]:
        """The names among the tokens from one on that are read."""
        return [self.tokens[index].text for index in range(first, self.index) if self.tokens.is_name(index)]

    def replaced(self, first: int, text: str) -> Edit:
        """The edit of the tokens from one on that are read."""
        return Edit.at(self.tokens, first, text, self.index - first)

    @property
    def last(self) -> Token:
        """The token just read."""
        return self.tokens[self.index - 1]

    def at_end(self) -> bool:
        return self.index >= len(self._symbols) or self._symbols[self.index] == ";"

    def next(self) -> Token:
        self.index += 1
        return self.tokens[self.index - 1]

    def take(self, *symbols: str) -> bool:
        """Reads these symbols, all or none."""
        if self._symbols[self.index : self.index + len(symbols)] != list(symbols):
            return False
        self.index += len(symbols)
        return True

    def take_any(self, *symbols: str) -> bool:
        """Reads one of these symbols."""
        return any(self.take(candidate) for candidate in symbols)

    def take_name(self) -> bool:
        """Reads a name of one or more parts, or an IDENTIFIER(...) clause."""
        if self.symbol() == "IDENTIFIER" and self.symbol(1) == "(":
            self.index += 1
            self.skip_parentheses()
            return True
        if not self.at_name():
            return False
        self.index += 1
        while self.symbol() == "." and self.at_name(1):
            self.index += 2
        return True

    def take_text(self) -> str | None:
        """Reads a string; a quote doubled in it makes two tokens side by side."""
        if not self.at_string():
            return None
        text = self.next().text
        while self.at_string() and self.tokens.starts[self.index] == self.tokens.ends[self.index - 1]:
            text += f"'{self.next().text}"
        return text

    def skip_parentheses(self) -> None:
        """From an opening parenthesis to behind the closing one, or to the end where it is missing."""
        self.index = self.tokens.closings.get(self.index, len(self._symbols) - 1) + 1
