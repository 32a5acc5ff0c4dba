"""Statements that nobody meant: the preprocessor takes each, refuses it by its own error, or leaves it to Spark.

A mutant is a statement of the tests' own with some changes. It is known by its number and the seed.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from paimon_sql.preprocess import PreprocessError, Rewriting, is_terminated, preprocess, rewrite, split_statements
from paimon_sql.preprocess.lexing import scan
from tests.conformance.test_conformance import CASES
from tests.sql.fixtures import plain_statements, rewrite_pairs

MILLISECONDS = 50  # of processor time that a statement of up to 10,000 characters may take
RATIO = 12  # of times, where a statement is ten times as long
_SCRIPTS = 4  # one statement in so many is also read as a script
_ODD = (
    *("'", '"', "`", "/*", "*/", "/*+", "--", "--\\\n", "\\", "$", "$$", "$a$", ";", "(", ")", "<", ">", "[", "]", ","),
    *(".", "\x00", "\n", "\r", "\ufeff", "\u2028", "\ud800", "ı", "İ", "漢", "\U0001f600", "{", "}", "?", ":", "@"),
    *("PRIMARY KEY", "AS", "WITH", "OPTIONS(", "ROW<", "ARRAY[", "MAP[", "UNNEST(", "EXPLAIN", "NOT ENFORCED", "SET"),
    *("1e999", "-0", "r'", "X'", "IDENTIFIER(", "t$files", "TIMESTAMP(", "MODIFY", "ADD (", "COMMENT", "EXECUTE"),
)
_BRACKETS = (("(", ")"), ("ARRAY<", ">"), ("ROW<a ", ">"), ("ARRAY[", "]"), ("/*", "*/"), ("'", "'"))


@cache
def corpus() -> tuple[str, ...]:
    """Statements of ours and of Spark's, from fixtures and conformance cases."""
    written = [text for pair in rewrite_pairs() for text in pair]
    steps = [step.get("sql") or step["query"] for case in CASES.values() for step in case["steps"]]
    return tuple(dict.fromkeys([*plain_statements(), *written, *steps]))


@cache
def _words(text: str) -> tuple[str, ...]:
    """The text divided before each of its tokens."""
    tokens, _ = scan(text)
    bounds = [0, *(token.start for token in tokens if token.start), len(text)]
    return tuple(text[start:end] for start, end in zip(bounds, bounds[1:], strict=False))


def mutant(seed: int, number: int) -> str:
    """A statement with one to four changes."""
    rng = random.Random(seed * 2**40 + number)
    words = list(_words(rng.choice(corpus())))
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        rng.choices(_CHANGES, _WEIGHTS)[0](rng, words)
    return "".join(words)


def _span(rng: random.Random, words: Sequence[str]) -> slice:
    first = rng.randrange(len(words) + 1)
    return slice(first, first + rng.choice((1, 1, 2, 5)))


def _delete(rng: random.Random, words: list[str]) -> None:
    del words[_span(rng, words)]


def _repeat(rng: random.Random, words: list[str]) -> None:
    span = _span(rng, words)
    words[span] = words[span] * rng.choice((2, 2, 3, 50))


def _swap(rng: random.Random, words: list[str]) -> None:
    if words:
        one, other = rng.randrange(len(words)), rng.randrange(len(words))
        words[one], words[other] = words[other], words[one]


def _put_odd(rng: random.Random, words: list[str]) -> None:
    words.insert(rng.randrange(len(words) + 1), rng.choice(_ODD) + rng.choice(("", " ")))


def _put_from_another(rng: random.Random, words: list[str]) -> None:
    other = _words(rng.choice(corpus()))
    words[_span(rng, words)] = other[_span(rng, other)]


def _end_as_another(rng: random.Random, words: list[str]) -> None:
    other = _words(rng.choice(corpus()))
    words[rng.randrange(len(words) + 1) :] = other[rng.randrange(len(other)) :]


def _cut(rng: random.Random, words: list[str]) -> None:
    text = "".join(words)
    words[:] = [text[: rng.randrange(len(text) + 1)]]


def _change_characters(rng: random.Random, words: list[str]) -> None:
    text = list("".join(words))
    for _ in range(rng.choice((1, 3, 10))):
        if text:
            at = rng.randrange(len(text))
            others = text[at].swapcase(), rng.choice(text), "", chr(rng.randrange(256)), rng.choice(_ODD)
            text[at] = rng.choice(others)
    words[:] = text


def _put_bytes(rng: random.Random, words: list[str]) -> None:
    text = rng.randbytes(rng.choice((1, 8, 64))).decode("utf-8", "surrogateescape")
    words.insert(rng.randrange(len(words) + 1), text)


def _nest(rng: random.Random, words: list[str]) -> None:
    opening, closing = rng.choice(_BRACKETS)
    span, depth = _span(rng, words), rng.choice((10, 100, 2000))
    words[span] = [opening * depth, *words[span], closing * rng.choice((depth, depth - 1, 0))]


def _lengthen(rng: random.Random, words: list[str]) -> None:
    kind = rng.choice(("{}", "`{}`", "'{}'", "--{}\n", "/*{}*/", "/*{}"))
    words.insert(rng.randrange(len(words) + 1), kind.format(rng.choice(("a", "é", "''", "\\", "$", "0")) * 50_000))


_RARE = {_nest: 1, _lengthen: 0.05}
_CHANGES: tuple[Callable[[random.Random, list[str]], None], ...] = (
    *(_delete, _repeat, _swap, _put_odd, _put_from_another, _end_as_another, _cut, _change_characters, _put_bytes),
    *_RARE,
)
_WEIGHTS = [_RARE.get(change, 10) for change in _CHANGES]


def fault(text: str) -> str | None:
    """What is wrong with what becomes of a statement, None where all is as promised."""
    try:
        found = preprocess(text)
        if isinstance(found, Rewriting):
            return _fault_of_edits(text, found)
    except PreprocessError as error:
        if not (1 <= error.line <= text.count("\n") + 1 and error.column >= 1):
            return f"refused at line {error.line}, column {error.column}, which it does not have"
    return None


def _fault_of_edits(text: str, found: Rewriting) -> str | None:
    if not found.edits:
        return None if found.text is text else "changed without an edit"
    end = len(found.text)
    if found.written is not text or found.offset(end) != len(text):
        return f"the end of what it becomes is at another place: {found.offset(end)}"
    return None if found.text.count("\n") >= text.count("\n") else "lines are lost"


def fault_of_script(text: str) -> str | None:
    """What is wrong with the statements that a script is divided into."""
    is_terminated(text)
    behind = 0
    for statement in split_statements(text):
        start = text.find(statement.text, behind)
        if start < 0 or not statement.text:
            return f"not a part of it: {statement.text[:200]!r}"
        behind = start + len(statement.text)
    return None


@dataclass(frozen=True)
class Finding:
    """A statement, and what is wrong with what becomes of it."""

    number: int
    text: str
    what: str

    def __str__(self) -> str:
        shown = self.text if len(self.text) < 400 else f"{self.text[:300]} ... {self.text[-80:]}"
        return f"{self.number}: {self.what}\n    {shown!r}"


def findings(seed: int, numbers: range) -> Iterator[Finding]:
    """What is wrong with mutants."""
    for number in numbers:
        text = mutant(seed, number)
        try:
            what = fault(text) or (None if number % _SCRIPTS else fault_of_script(text))
        except Exception as error:  # each is a finding
            what = f"{type(error).__name__}: {error}"
        if what:
            yield Finding(number, text, what)


def slow(seed: int, numbers: range) -> Iterator[Finding]:
    """Mutants that take too long."""
    for number in numbers:
        text = mutant(seed, number)
        enough = MILLISECONDS * max(1, len(text) / 10_000)
        if (took := milliseconds(text, enough)) > enough:
            yield Finding(number, text, f"takes {took:.0f} ms for {len(text)} characters")


def milliseconds(text: str, enough: float = 0) -> float:
    """Processor time that the preprocessor takes, the best of up to five runs: the first that is quick enough."""
    best = float("inf")
    for _ in range(5):
        started = time.thread_time()
        with suppress(PreprocessError):
            preprocess(text)
        best = min(best, (time.thread_time() - started) * 1000)
        if best <= enough:
            break
    return best


def pumped(seed: int, number: int, length: int) -> tuple[str, str, str]:
    """A mutant's beginning, some of its words again and again to about a length, and its end."""
    rng = random.Random(seed * 2**40 + number)
    words = list(_words(mutant(seed, number)[:1000]))
    span = _span(rng, words)
    item = "".join(words[span]) or "x"
    return "".join(words[: span.start]), item * (length // len(item) + 1), "".join(words[span.stop :])


def grows(seed: int, numbers: range) -> Iterator[Finding]:
    """Statements whose words repeat that take more than `RATIO` times as long where they are ten times as long."""
    for number in numbers:
        short, long = ("".join(pumped(seed, number, length)) for length in (10_000, 100_000))
        gc.disable()  # what it takes grows with all that lives
        try:
            took = milliseconds(long, MILLISECONDS)
            if took > MILLISECONDS and (ratio := took / milliseconds(short)) > RATIO:
                yield Finding(number, short, f"{ratio:.0f} times as long for ten times as much")
        finally:
            gc.enable()


def unchanged(folder: Path) -> tuple[int, list[Finding]]:
    """The number of statements in a folder of Spark's SQL scripts, and those that do not come back as they are."""
    scripts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.sql"))]
    texts = [statement.text for script in scripts for statement in split_statements(script)]
    return len(texts), [Finding(i, text, "changed") for i, text in enumerate(texts) if rewrite(text) is not text]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1_000_000, help="how many mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unchanged", type=Path, help="a folder of scripts, each of whose statements is Spark's")


def run(asked: argparse.Namespace) -> bool:
    """Whether anything was found; it is printed, and what it took."""
    started, found = time.process_time(), 0
    some = (range(asked.first, asked.first + count) for count in (asked.count, asked.count, asked.count // 100))
    parts = [find(asked.seed, numbers) for find, numbers in zip((findings, slow, grows), some, strict=True)]
    if asked.unchanged:
        count, changed = unchanged(asked.unchanged)
        print(f"{count} statements of {asked.unchanged} are to stay as they are")
        parts.insert(0, iter(changed))
    for finding in chain.from_iterable(parts):
        print(finding, flush=True)
        found += 1
    print(
        f"{asked.count} mutants of {len(corpus())} statements, seed {asked.seed}: {found} findings, "
        f"{time.process_time() - started:.0f} s of processor time, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"
    )
    return found > 0
