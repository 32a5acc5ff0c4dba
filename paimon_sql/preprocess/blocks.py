"""The statements and conditions inside of `BEGIN … END`, found in its tokens by the grammar of Spark's SQL scripts."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.lexing import NO_NAMES, Tokens

_LABELLED = frozenset({"BEGIN", "WHILE", "REPEAT", "LOOP", "FOR"})
_NESTED = frozenset({"BEGIN", "IF", "CASE", "WHILE", "REPEAT", "LOOP", "FOR"})
_CONDITIONS = {"IF": "THEN", "ELSEIF": "THEN", "WHEN": "THEN", "WHILE": "DO", "FOR": "DO", "UNTIL": "END"}
_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
_TRANSACTION = (["TRANSACTION"], ["WORK"], ["TRAN"])
_ENDS = frozenset({";", "", *_NESTED})
_BEFORE_NAMES = frozenset({"AS", ".", ",", "(", "=", "<", ">", "FROM", "JOIN", "INTO", "TABLE", "UPDATE", "SET"})

Span = tuple[int, int]  # the index of the first token, and the index after the last one


@dataclass(frozen=True, slots=True)
class Block:
    """A `BEGIN … END`: the index after its END, and the spans of the statements and conditions in it, in order.
    `is_whole` is False if its END is missing.
    """

    end: int
    parts: tuple[Span, ...]
    is_whole: bool = True


def read_block(tokens: Tokens, first: int = 0, *, strict: bool = False) -> Block | None:
    """Return the block that begins at a token; None if no block begins there. In Spark's grammar a `;` ends each
    statement of a block, so an END inside of a statement is a name. If no END remains for the block itself, a `;` is
    missing before it. Such a block counts as whole only without `strict`.
    """
    symbols = tokens.symbols
    if first >= len(symbols) or symbols[first] != "BEGIN":
        return None
    behind = first + 1 + (symbols[first + 1 : first + 2] in _TRANSACTION)
    if symbols[behind : behind + 1] in ([";"], []):
        return None  # BEGIN of a transaction in other databases
    block = _Reader(tokens, first).read()
    return block if block.is_whole or strict else _Reader(tokens, first, is_lenient=True).read()


class _Reader:
    """Reads one block; `opened` is the number of blocks, loops and cases that are still open."""

    def __init__(self, tokens: Tokens, first: int, *, is_lenient: bool = False) -> None:
        self.tokens, self.symbols, self.index, self.opened = tokens, tokens.symbols, first, 0
        self.is_lenient = is_lenient
        self.parts: list[Span] = []

    def read(self) -> Block:
        while self.index < len(self.symbols):
            self._step()
            if not self.opened:
                return Block(self.index, tuple(self.parts))
        return Block(self.index, tuple(self.parts), is_whole=False)

    def _symbol(self, ahead: int = 0) -> str:
        index = self.index + ahead
        return self.symbols[index] if index < len(self.symbols) else ""

    def _step(self) -> None:
        """Read what begins here: a statement, or a word that opens, divides or closes a block."""
        symbol = self._symbol()
        if symbol not in NO_NAMES and self._symbol(1) == ":" and self._symbol(2) in _LABELLED:
            self.index += 2
            symbol = self._symbol()
        if symbol == "END":
            self._close()
        elif symbol == "DECLARE" and self._symbol(2) == "HANDLER":
            self._handler()
        elif symbol in _NESTED or symbol in _CONDITIONS or symbol in ("ELSE", ";"):
            self._open(symbol)
        else:
            self._statement()

    def _open(self, symbol: str) -> None:
        self.opened += symbol in _NESTED
        self.index += 1
        if symbol == "BEGIN":
            self.index += 2 if self._symbol() == "NOT" else int(self._symbol() == "ATOMIC")
        elif symbol == "CASE" and self._symbol() != "WHEN":
            self._part(self._until("WHEN"))
        elif symbol in _CONDITIONS:
            self.index += self._loop_variable() if symbol == "FOR" else 0
            end = _CONDITIONS[symbol]
            self._part(self._until(end))
            self.index += end != "END"  # this END also closes the REPEAT

    def _close(self) -> None:
        self.opened -= 1
        self.index += 2 if self._symbol(1) in _NESTED else 1
        if self.opened and self._symbol() not in NO_NAMES:
            self.index += 1  # the END of a block may repeat its label
        if self.opened and self._symbol() == ";":
            self.index += 1

    def _loop_variable(self) -> int:
        """Return the number of tokens of `x AS`, before the query of a FOR."""
        count = 0
        while self._symbol(count) not in NO_NAMES and self._symbol(count) not in _QUERIES:
            if self._symbol(count + 1) == "AS":
                return count + 2
            if self._symbol(count + 1) != ".":
                break
            count += 2
        return 0

    def _handler(self) -> None:
        """Read `DECLARE … HANDLER FOR` and its conditions, up to the statement or block that handles them."""
        self.index += 4
        while True:
            words = {"SQLSTATE": 3 if self._symbol(1) == "VALUE" else 2, "NOT": 2}
            self.index += words.get(self._symbol(), 1)
            while self._symbol() == ".":
                self.index += 2
            if self._symbol() != ",":
                return
            self.index += 1

    def _statement(self) -> None:
        """Read an ordinary statement with its `;`. If the reader is lenient, stop before an END that may close the
        block.
        """
        first, depth = self.index, 0
        while self.index < len(self.symbols) and self.symbols[self.index] != ";":
            symbol = self.symbols[self.index]
            if self.is_lenient and symbol == "END" and not depth and self._may_close():
                break
            depth += (symbol == "CASE") - (symbol == "END" and depth > 0)
            self.index += 1
        if first < self.index:
            self.parts.append((first, self.index))
        self.index += self._symbol() == ";"

    def _may_close(self) -> bool:
        return self._symbol(1) in _ENDS and self._symbol(-1) not in _BEFORE_NAMES

    def _part(self, end: int) -> None:
        if self.index < end:
            self.parts.append((self.index, end))
        self.index = end

    def _until(self, word: str) -> int:
        """Return the index of a word outside of parentheses and of CASE … END; the end of the text if it is missing."""
        index, depth = self.index, 0
        while index < len(self.symbols):
            symbol = self.symbols[index]
            if symbol == word and not depth:
                break
            depth += (symbol == "CASE") - (symbol == "END" and depth > 0)
            index = self.tokens.closings.get(index, index) + 1 if symbol == "(" else index + 1
        return index


def spans_of_statements(tokens: Tokens) -> Sequence[tuple[int, int, bool]]:
    """Return the span of each statement of a text, without its `;`, as the index of its first token and the index after
    its last. The third value is whether the `;`, or the END of a block, is present.
    """
    found: list[tuple[int, int, bool]] = []
    first, symbols = 0, tokens.symbols
    semicolons = iter(tokens.indexes(";"))
    end = next(semicolons, len(symbols))
    while first < len(symbols):
        block = read_block(tokens, first)
        behind = first if block is None else block.end
        while end < behind:
            end = next(semicolons, len(symbols))
        if first < end:
            is_closed = end < len(symbols) and (block is None or block.is_whole)
            found.append((first, end, is_closed))
        first, end = end + 1, next(semicolons, len(symbols))
    return found
