"""The two engines of the interop tests on one warehouse: ours and Java's, with the same words for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.support.comparison import cells, difference
from tests.support.java_oracle import Answer

ENGINES = ("ours", "java")


class Engine(Protocol):
    def sql(self, text: str) -> Answer:
        """Run one statement."""


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """A PySpark session of this process."""

    session: Any

    def sql(self, text: str) -> Answer:
        frame = self.session.sql(text)
        return Answer(columns=frame.columns, types=[t for _, t in frame.dtypes], rows=cells(frame.collect()))


@dataclass(frozen=True, slots=True)
class Engines:
    """Both engines, in one current database that no other test uses."""

    by_name: dict[str, Engine]
    database: str

    def run(self, engine: str, *statements: str) -> None:
        for statement in statements:
            self.by_name[engine].sql(statement)

    def rows(self, engine: str, query: str) -> list[Any]:
        return self.by_name[engine].sql(query).rows

    def both(self, query: str, expected: Sequence[Any] | None = None) -> list[Any]:
        """The rows of a query. Fails where the engines differ in columns, types or rows, or from what is expected."""
        ours, java = (self.by_name[name].sql(query) for name in ENGINES)
        assert (ours.columns, ours.types) == (java.columns, java.types), query
        if expected is not None:
            problems = [difference(expected, answer.rows) for answer in (ours, java)]
            assert problems == [None, None], f"{query}\n    ours: {problems[0]}\n    java: {problems[1]}"
        problem = difference(java.rows, ours.rows)
        assert problem is None, f"{query}\n    ours against java: {problem}"
        return ours.rows

    def same_metadata(self, table: str, *, of_binary: str | None = None) -> None:
        """`$snapshots` and `$files` are equal by column; `of_binary`: one whose bounds Java prints as an address."""
        self.both(f"SELECT * FROM `{table}$snapshots`")
        bounds = ("min_value_stats", "max_value_stats")
        shown = ", ".join(f"regexp_replace({b}, '{of_binary}=[^,}}]*', '') AS {b}" if of_binary else b for b in bounds)
        self.both(f"SELECT * EXCEPT ({', '.join(bounds)}), {shown} FROM `{table}$files`")


def other(engine: str) -> str:
    return ENGINES[1 - ENGINES.index(engine)]
