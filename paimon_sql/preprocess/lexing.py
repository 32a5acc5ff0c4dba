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
# a string or a comment that is not closed ends with the text: no part of a text is searched again and again
_OPAQUE = re.compile(  # strings, names and comments, in which a $$string$$ cannot begin; and a $$string$$
    r"""'(?>(?:[^'\\]++|\\.)*)(?:'|\\?\Z)|"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)|`[^`]*+(?:`|\Z)|--[^\n]*+|/\*.*?(?:\*/|\Z)"""
    r"""|(?<![\w$])(?P<tag>\$[A-Za-z]*\$)(?:.*?(?P<close>(?P=tag))|.*)""",
    re.DOTALL,
)


class SparkTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Spark's lexer without its grammar: it does not join words or operators, hints are tokens, and `$` is a part of
    words.
    """

    KEYWORDS: ClassVar = {HINT: TokenType.HINT}
    HINT_START = ""  # otherwise a hint would be skipped as a comment
    COMMANDS: ClassVar[set[TokenType]] = set()  # else SHOW would swallow the rest of the statement
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
# the symbols of tokens that cannot be names, and of the end of the text
NO_NAMES = frozenset({*SparkTokenizer.SINGLE_TOKENS, HINT, STRING, NUMBER, _OTHER, ""} - {QUOTED_NAME})


class Token(NamedTuple):
    """A word, a sign, or a literal or quoted name without its quotes. `end` is the offset of its last character."""

    source: str
    start: int
    end: int
    text: str


class Tokens(Sequence[Token]):
    """The tokens of a text, each created on access.

    Their `symbols` are words in upper case, signs, and one mark each for strings, quoted names and other literals. A
    `;` inside of a hint does not end a statement, so it has the mark of other literals.
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
        """Mark each `;` between a `/*+` and the next `*/`, or the end of the text."""
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
        """Return the offset after a token's last character."""
        return int(self._found[index].end) + 1

    def span(self, index: int, count: int = 1) -> tuple[int, int]:
        """Return the offsets of the first character of `count` tokens and after their last one."""
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
        """The index of the closing parenthesis for each opening one that is closed."""
        opened: list[int] = []
        found: dict[int, int] = {}
        for index in self.indexes("(", ")"):
            if self.symbols[index] == "(":
                opened.append(index)
            elif opened:
                found[opened.pop()] = index
        return found


def tokenize(text: str) -> Tokens | None:
    """Return the tokens of a text without comments. Return None if Spark would read other tokens, or if the text cannot
    be divided into tokens.
    """
    if "--" in text and _continues_comment(text):
        return None
    tokens, is_whole = scan(text)
    if not is_whole or ("$" in text and any(map(_DOLLAR_QUOTE.match, tokens.symbols))):
        return None
    return tokens


def _continues_comment(text: str) -> bool:
    """Return whether a line that may have a comment ends with a backslash: in Spark, it continues on the next line."""
    lines = text.split("\n")[:-1]
    return any(line.endswith("\\") and "--" in line[line.rfind("\r") + 1 :] for line in lines)


def scan(text: str) -> tuple[Tokens, bool]:
    """Return the tokens up to the first character that begins no token, such as a quote that is never closed. The
    second value is whether these are all tokens of the text.
    """
    tokenizer = SparkTokenizer(dialect="spark")
    try:
        return Tokens(text, tokenizer.tokenize(text)), True
    except TokenError:
        return Tokens(text, tokenizer.tokens), False


def without_dollar_strings(text: str) -> str:
    """Replace each $$string$$ by a string in quotes of the same length, because code in such a string has tokens of
    another language. Offsets of statements remain right. A $$string$$ that is never closed becomes a quote that is
    never closed.
    """
    return _OPAQUE.sub(_quoted, text) if _DOLLAR_QUOTE.search(text) else text


def _quoted(found: re.Match[str]) -> str:
    if found["tag"] is None:
        return found[0]
    end = "'" if found["close"] else " "
    return f"'{' ' * (len(found[0]) - 2)}{end}"
