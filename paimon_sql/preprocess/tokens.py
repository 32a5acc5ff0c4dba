"""Tokens of a Spark statement, a cursor to read them, and edits of the text by character offset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import ClassVar, NamedTuple

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

_DOLLAR_QUOTE = re.compile(r"\$[A-Za-z]*\$")  # opens a $$string$$, which the tokenizer does not know
_CONTINUED_COMMENT = re.compile(r"--[^\r\n]*\\\n")  # Spark's comment goes on behind a backslash at its end
_PLACE = itemgetter(0, 1)  # of an edit
# a pattern of comments that Spark ends where we do; hints are none
COMMENT = r"--[^\n\\]*+\n|/\*(?!\+)(?>(?:(?!/\*|\*/).)*)\*/"
_EXPLAIN_MODES = ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")


class SparkTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Spark's lexer without its grammar: no compound keywords and operators, hints are tokens, `$` is part of words."""

    KEYWORDS: ClassVar = {"/*+": TokenType.HINT}
    HINT_START = ""  # a hint would be skipped as a comment
    COMMANDS: ClassVar[set[TokenType]] = set()  # SHOW and its like would swallow the rest of the statement
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    SINGLE_TOKENS: ClassVar = {symbol: kind for symbol, kind in Spark.Tokenizer.SINGLE_TOKENS.items() if symbol != "$"}


class Edit(NamedTuple):
    """Replaces the characters [start, end) of a text; an insertion where both are equal."""

    start: int
    end: int
    text: str

    @classmethod
    def replace(cls, first: Token, last: Token, text: str) -> Edit:
        return cls(first.start, last.end + 1, text)

    @classmethod
    def before(cls, token: Token, text: str) -> Edit:
        return cls(token.start, token.start, text)

    @classmethod
    def after(cls, token: Token, text: str) -> Edit:
        return cls(token.end + 1, token.end + 1, text)


def tokenize(text: str) -> list[Token] | None:
    """The tokens of a text, comments left out; None where the text has no such tokens."""
    if _CONTINUED_COMMENT.search(text):
        return None
    tokens, is_whole = scan(text)
    if not is_whole or any(token.text[:1] == "$" and _DOLLAR_QUOTE.match(token.text) for token in tokens):
        return None
    return tokens


def scan(text: str) -> tuple[list[Token], bool]:
    """The tokens up to the first character that begins none, such as a quote never closed; whether these are all."""
    tokenizer = SparkTokenizer(dialect="spark")
    try:
        return tokenizer.tokenize(text), True
    except TokenError:
        return tokenizer.tokens, False


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


def symbol(token: Token) -> str:
    """The word in upper case or the punctuation character; empty for literals and quoted names."""
    if token.token_type is TokenType.VAR:
        return str(token.text).upper()
    return token.text if token.start == token.end and token.token_type is not TokenType.NUMBER else ""


def is_name(token: Token) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)


def is_string(token: Token | None) -> bool:
    return token is not None and token.token_type in (TokenType.STRING, TokenType.RAW_STRING)


class Cursor:
    """A reading position in the tokens of one statement, past a leading EXPLAIN."""

    def __init__(self, tokens: Sequence[Token]):
        self.tokens, self.index = tokens, 0
        if self.take("EXPLAIN") and self.symbol() in _EXPLAIN_MODES:
            self.index += 1

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.index + ahead
        return self.tokens[index] if index < len(self.tokens) else None

    def symbol(self, ahead: int = 0) -> str:
        """See `symbol`; empty past the end."""
        token = self.peek(ahead)
        return symbol(token) if token else ""

    @property
    def last(self) -> Token:
        """The token just read."""
        return self.tokens[self.index - 1]

    def at_end(self) -> bool:
        return self.peek() is None or self.symbol() == ";"

    def next(self) -> Token:
        self.index += 1
        return self.tokens[self.index - 1]

    def take(self, *symbols: str) -> bool:
        """Reads these symbols, all or none."""
        for ahead, expected in enumerate(symbols):
            if self.symbol(ahead) != expected:
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
        token = self.peek()
        if token is None or not is_name(token):
            return False
        self.index += 1
        while self.symbol() == "." and (part := self.peek(1)) and is_name(part):
            self.index += 2
        return True

    def take_text(self) -> str | None:
        """Reads a string; a quote doubled in it makes two tokens side by side."""
        if not is_string(self.peek()):
            return None
        text = str(self.next().text)
        while (token := self.peek()) and is_string(token) and token.start == self.last.end + 1:
            text += f"'{self.next().text}"
        return text

    def skip_parentheses(self) -> None:
        """From an opening parenthesis to behind the closing one, or to the end where it is missing."""
        depth = 0
        while self.peek():
            depth += {"(": 1, ")": -1}.get(symbol(self.next()), 0)
            if depth == 0:
                return
