"""The tokens of a Spark statement.

Nearly every statement is plain: one pattern splits it into tokens as sqlglot does, in a fiftieth of the time, and a
`Token` is made only of what a rule looks at. A text with anything else in it, such as `r'…'`, `1e3` or `${x}`, goes
through sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import ClassVar, NamedTuple, overload

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

# a pattern of comments that Spark ends where we do; hints are none
COMMENT = r"--[^\n\\]*+\n|/\*(?!\+)(?>(?:(?!/\*|\*/).)*)\*/"
HINT = "/*+"
_DOLLAR_QUOTE = re.compile(r"\$[A-Za-z]*\$")  # opens a $$string$$, which the tokenizer does not know
_CONTINUED_COMMENT = re.compile(r"--[^\r\n]*\\\n")  # Spark's comment goes on behind a backslash at its end


class SparkTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Spark's lexer without its grammar: no compound keywords and operators, hints are tokens, `$` is part of words."""

    KEYWORDS: ClassVar = {HINT: TokenType.HINT}
    HINT_START = ""  # a hint would be skipped as a comment
    COMMANDS: ClassVar[set[TokenType]] = set()  # SHOW and its like would swallow the rest of the statement
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    SINGLE_TOKENS: ClassVar = {symbol: kind for symbol, kind in Spark.Tokenizer.SINGLE_TOKENS.items() if symbol != "$"}


# Tokens, in upper case, that are the same whatever stands beside them; a comment here ends where sqlglot ends it.
_PLAIN = re.compile(
    r"""([(),.=;<>!\[\]:*+%|&^~]|[A-Z_][\w$]*+(?!['"`])"""
    r"""|'(?>(?:[^'\\]++|\\.)*)'|"(?>(?:[^"\\]++|\\.)*)"|`[^`]*+`(?!`)"""
    r"""|[0-9]++(?>(?:\.[0-9]*+)?)(?![\w.$'"`])"""
    r"""|-(?!-)|/(?!\*)|/\*\+"""
    r"""|--[^\r\n]*+|/\*(?!\+)(?>(?:(?!/\*|\*/).)*)\*/)"""
    r"""|\S.*+""",  # from what is not plain to the end
    re.DOTALL,
)
_HAS_COMMENT = re.compile(r"--|/\*(?!\+)")
_KINDS = MappingProxyType(
    SparkTokenizer.SINGLE_TOKENS
    | dict.fromkeys("0123456789", TokenType.NUMBER)
    | {"'": TokenType.STRING, '"': TokenType.STRING, "`": TokenType.IDENTIFIER}
)
_QUOTES = MappingProxyType(
    {TokenType.STRING: "'", TokenType.RAW_STRING: "'", TokenType.IDENTIFIER: "`", TokenType.NUMBER: ""}
)
_SIGNS = frozenset(SparkTokenizer.SINGLE_TOKENS) - {"`"}
_NAME_STARTS = frozenset("`_ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Token(NamedTuple):
    """A word, a literal without its quotes, a quoted name without them or a sign; its end is its last character."""

    source: str
    start: int
    end: int
    token_type: TokenType
    text: str


class Tokens(Sequence[Token]):
    """The tokens of a text, each made when it is asked for.

    Their symbols are in upper case: words, signs, and literals and quoted names, which begin with a digit or a quote.
    """

    def __init__(self, symbols: list[str], starts: list[int], ends: list[int], make: Callable[[int], Token]):
        self.symbols, self.starts, self.ends, self._make = symbols, starts, ends, make

    def __len__(self) -> int:
        return len(self.symbols)

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...

    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(len(self)))]
        return self._make(index if index >= 0 else index + len(self))

    def __iter__(self) -> Iterator[Token]:
        return map(self._make, range(len(self)))

    def is_name(self, index: int) -> bool:
        first = self.symbols[index][0]
        return first in _NAME_STARTS or (first not in _SIGNS and self[index].token_type is TokenType.VAR)

    def is_string(self, index: int) -> bool:
        return self.symbols[index][0] in "'\""

    def places(self, *symbols: str) -> list[int]:
        """The indexes of the tokens with one of these symbols."""
        wanted = frozenset(symbols)
        return [index for index, symbol in enumerate(self.symbols) if symbol in wanted]

    @cached_property
    def closings(self) -> Mapping[int, int]:
        """The index of each parenthesis that is closed, and of the one that closes it."""
        opened: list[int] = []
        found: dict[int, int] = {}
        for index in self.places("(", ")"):
            if self.symbols[index] == "(":
                opened.append(index)
            elif opened:
                found[opened.pop()] = index
        return found


def tokenize(text: str) -> Tokens | None:
    """The tokens of a text, comments left out; None where the text has no such tokens."""
    if "--" in text and _CONTINUED_COMMENT.search(text):
        return None
    tokens, is_whole = scan(text)
    if not is_whole or ("$" in text and any(map(_DOLLAR_QUOTE.match, tokens.symbols))):
        return None
    return tokens


def scan(text: str) -> tuple[Tokens, bool]:
    """The tokens up to the first character that begins none, such as a quote never closed; whether these are all."""
    if (plain := _plain(text)) is not None:
        return plain, True
    tokenizer = SparkTokenizer(dialect="spark")
    try:
        found, is_whole = tokenizer.tokenize(text), True
    except TokenError:
        found, is_whole = tokenizer.tokens, False
    tokens = [Token(text, t.start, t.end, t.token_type, t.text) for t in found]
    starts, ends = [token.start for token in tokens], [token.end + 1 for token in tokens]
    return Tokens([_symbol(token) for token in tokens], starts, ends, tokens.__getitem__), is_whole


def _plain(text: str) -> Tokens | None:
    """The tokens of a plain text; None for others."""
    upper = text.upper()
    if len(upper) != len(text):
        return None
    pieces = _PLAIN.split(upper)  # blanks and tokens in turn
    if None in pieces[-2:]:
        return None
    bounds = list(accumulate(map(len, pieces)))
    starts, ends, symbols = bounds[::2], bounds[1::2], pieces[1::2]
    if _HAS_COMMENT.search(text):
        kept = [i for i, s in enumerate(symbols) if s == HINT or not s.startswith(("--", "/*"))]
        starts, ends, symbols = [starts[i] for i in kept], [ends[i] for i in kept], [symbols[i] for i in kept]

    def make(index: int) -> Token:
        start, end = starts[index], ends[index]
        spelled = text[start:end]
        kind = TokenType.HINT if spelled == HINT else _KINDS.get(spelled[0], TokenType.VAR)
        if spelled[0] in "'\"`":
            spelled = spelled[1:-1] if "\\" not in spelled or spelled[0] == "`" else _unescaped(spelled)
        return Token(text, start, end - 1, kind, spelled)

    return Tokens(symbols, starts, ends, make)


def _unescaped(string: str) -> str:
    return str(SparkTokenizer(dialect="spark").tokenize(string)[0].text)


def _symbol(token: Token) -> str:
    if token.token_type in (TokenType.VAR, TokenType.HINT):
        return token.text.upper()
    if token.start == token.end and token.token_type is not TokenType.NUMBER:
        return token.text
    quote = _QUOTES.get(token.token_type, "0")
    return f"{quote}{token.text.upper()}{quote}"
