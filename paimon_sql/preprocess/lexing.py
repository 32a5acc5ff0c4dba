"""The tokens of a Spark statement, made by sqlglot's tokenizer, in Python or compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, overload

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from paimon_core.lazy import cached_property

HINT = "/*+"
_DOLLAR_QUOTE = re.compile(r"\$[A-Za-z]*\$")  # opens a $$string$$, which the tokenizer does not support
_OPAQUE = re.compile(  # where a $$string$$ may not begin, and such a string
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
    r"""|(?<![\w$])(?P<tag>\$[A-Za-z]*\$)(?:.*?(?P<close>(?P=tag))|.*)""",
    re.DOTALL,
)
_CONTINUED_COMMENT = re.compile(r"--[^\r\n]*\\\n")  # Spark's comment goes on behind a backslash at its end


class SparkTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Spark's lexer without its grammar: no compound keywords and operators, hints are tokens, `$` is part of words."""

    KEYWORDS: ClassVar = {HINT: TokenType.HINT}
    HINT_START = ""  # a hint would be skipped as a comment
    COMMANDS: ClassVar[set[TokenType]] = set()  # SHOW and its like would swallow the rest of the statement
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    SINGLE_TOKENS: ClassVar = {symbol: kind for symbol, kind in Spark.Tokenizer.SINGLE_TOKENS.items() if symbol != "$"}


# the symbols of literals and of names in backquotes
STRING, NUMBER, QUOTED_NAME, _OTHER = "'", "0", "`", "X''"
_MARKS = {
    **{kind: _OTHER for kind in TokenType if kind.name.endswith("_STRING")},
    TokenType.NUMBER: NUMBER,
    TokenType.STRING: STRING,
    TokenType.RAW_STRING: STRING,
    TokenType.IDENTIFIER: QUOTED_NAME,
}
# the symbols of tokens other than words and names in backquotes, and of the end
NO_NAMES = frozenset({*SparkTokenizer.SINGLE_TOKENS, HINT, STRING, NUMBER, _OTHER, ""} - {QUOTED_NAME})


class Token(NamedTuple):
    """A word, a literal without its quotes, a quoted name without them or a sign; its end is its last character."""

    source: str
    start: int
    end: int
    text: str


class Tokens(Sequence[Token]):
    """The tokens of a text, each created on access.

    Their `symbols` are words in upper case, signs, and one mark each for strings, quoted names and other literals. A
    `;` inside of a hint, which ends no statement, has the mark of other literals.
    """

    def __init__(self, text: str, found: Sequence[Any]):
        self._text, self._found = text, found
        self.symbols = [_MARKS[t.token_type] if t.token_type in _MARKS else t.text.upper() for t in found]
        if HINT in self.symbols and ";" in self.symbols:
            self._mark_semicolons_of_hints()

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...

    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        if isinstance(index, slice):
            return [self._token(token) for token in self._found[index]]
        return self._token(self._found[index])

    def __iter__(self) -> Iterator[Token]:
        return map(self._token, self._found)

    def _token(self, found: Any) -> Token:
        return Token(self._text, found.start, found.end, found.text)

    def _mark_semicolons_of_hints(self) -> None:
        """Marks each `;` between a `/*+` and the next `*/`, or the end of the text."""
        is_inside = False
        for index, symbol in enumerate(self.symbols):
            if symbol == HINT:
                is_inside = True
            elif symbol == "/" and is_inside and self.symbols[index - 1] == "*":
                is_inside = self.start(index) != self.end(index - 1)
            elif symbol == ";" and is_inside:
                self.symbols[index] = _OTHER

    def text(self, index: int) -> str:
        """The text of a token."""
        return str(self._found[index].text)

    def start(self, index: int) -> int:
        """The offset of a token's first character."""
        return int(self._found[index].start)

    def end(self, index: int) -> int:
        """The offset behind a token's last character."""
        return int(self._found[index].end) + 1

    def span(self, index: int, count: int = 1) -> tuple[int, int]:
        """The offsets of the first character of `count` tokens and behind their last one."""
        return self._found[index].start, self._found[index + count - 1].end + 1

    def is_name(self, index: int) -> bool:
        return self.symbols[index] not in NO_NAMES

    def is_string(self, index: int) -> bool:
        return self.symbols[index] == STRING

    def indexes(self, *symbols: str) -> list[int]:
        """The indexes of the tokens with one of these symbols."""
        wanted = frozenset(symbols)
        return [index for index, symbol in enumerate(self.symbols) if symbol in wanted]

    @cached_property
    def closings(self) -> Mapping[int, int]:
        """The index of each parenthesis that is closed, and of the one that closes it."""
        opened: list[int] = []
        found: dict[int, int] = {}
        for index in self.indexes("(", ")"):
            if self.symbols[index] == "(":
                opened.append(index)
            elif opened:
                found[opened.pop()] = index
        return found


def tokenize(text: str) -> Tokens | None:
    """Return the tokens of a text without comments; None if Spark reads other tokens, or cannot read the text."""
    if "--" in text and _CONTINUED_COMMENT.search(text):
        return None
    tokens, is_whole = scan(text)
    if not is_whole or ("$" in text and any(map(_DOLLAR_QUOTE.match, tokens.symbols))):
        return None
    return tokens


def scan(text: str) -> tuple[Tokens, bool]:
    """The tokens up to the first character that begins none, such as a quote never closed; whether these are all."""
    tokenizer = SparkTokenizer(dialect="spark")
    try:
        return Tokens(text, tokenizer.tokenize(text)), True
    except TokenError:
        return Tokens(text, tokenizer.tokens), False


def without_dollar_strings(text: str) -> str:
    """A text of the same length with a string in quotes for each $$string$$: for the places of statements, as code in
    such a string has tokens of another language. One that is never closed becomes a quote that is never closed."""
    return _OPAQUE.sub(_quoted, text) if _DOLLAR_QUOTE.search(text) else text


def _quoted(found: re.Match[str]) -> str:
    if found["tag"] is None:
        return found[0]
    end = "'" if found["close"] else " "
    return f"'{' ' * (len(found[0]) - 2)}{end}"
