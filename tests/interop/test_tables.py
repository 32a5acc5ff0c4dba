"""Every kind of table, written by the engines alternately: after each step the other engine reads what a dictionary
holds, and in the end both read all earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.interop.engines import ENGINES, Engines, other
from tests.support.comparison import difference
from tests.support.java_oracle import JavaOracle

Row = tuple[int, str, int, int | None]
COLUMNS = ("k", "s", "p", "v")
DDL = "CREATE TABLE t (k INT NOT NULL, s STRING NOT NULL, p INT NOT NULL, v BIGINT)"
# name: primary key, buckets, whether it is partitioned
KINDS: dict[str, tuple[tuple[str, ...], int, bool]] = {
    "append": ((), -1, False),
    "append_partitioned": ((), -1, True),
    "one_bucket": (("k",), 1, False),
    "composite_key": (("s", "k"), 3, False),
    "partitioned": (("p", "s", "k"), 3, True),
}
WORDS = ("", "a", "é", "日本語 with more than eight bytes", "\U0001f680")


@dataclass(slots=True)
class Model:
    """What the table should hold."""

    keys: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)

    def insert(self, new: Sequence[Row]) -> None:
        replaced = set(map(self._key, new))
        self.rows = [r for r in self.rows if not self.keys or self._key(r) not in replaced] + list(new)

    def remove(self, gone: Callable[[Row], bool]) -> None:
        self.rows = [r for r in self.rows if not gone(r)]

    def cells(self) -> list[list[object]]:
        return [list(r) for r in self.rows]

    def _key(self, row: Row) -> tuple[object, ...]:
        return tuple(row[COLUMNS.index(k)] for k in self.keys)


@dataclass(slots=True)
class Scenario:
    """A table and its model, changed together; `history` has the model's rows per snapshot."""

    engines: Engines
    model: Model
    partitioned: bool
    random: Random
    snapshots: Path
    history: dict[int, list[list[object]]] = field(default_factory=dict)

    def new_rows(self) -> list[Row]:
        chosen = self.random.sample(range(40), 12)
        return [(k, WORDS[k % len(WORDS)], k % 3, self.random.choice((None, k, -(2**40)))) for k in chosen]

    def insert(self, engine: str) -> None:
        rows = self.new_rows()
        self.engines.run(engine, f"INSERT INTO t {values(rows)}")
        self.model.insert(rows)

    def delete(self, engine: str) -> None:
        """Java keeps rows of kind -D in separate files."""
        self.engines.run(engine, "DELETE FROM t WHERE k % 4 = 1")
        self.model.remove(lambda r: r[0] % 4 == 1)

    def compact(self, engine: str) -> None:
        self.engines.run(engine, f"CALL sys.compact(table => '{self.engines.database}.t')")

    def overwrite(self, engine: str) -> None:
        rows = self.new_rows()
        self.engines.run(engine, f"INSERT OVERWRITE t {values(rows)}")
        self.model.rows = []
        self.model.insert(rows)

    def overwrite_partition(self, engine: str) -> None:
        rows = [r for r in self.new_rows() if r[2] == 1]
        self.engines.run(engine, f"INSERT OVERWRITE t PARTITION (p = 1) SELECT k, s, v FROM ({values(rows)})")
        self.model.remove(lambda r: r[2] == 1)
        self.model.insert(rows)

    def overwrite_dynamically(self, engine: str) -> None:
        rows = [r for r in self.new_rows() if r[2] != 0]
        mode = "spark.sql.sources.partitionOverwriteMode"
        self.engines.run(engine, f"SET {mode} = dynamic", f"INSERT OVERWRITE t {values(rows)}", f"RESET {mode}")
        self.model.remove(lambda r: r[2] != 0)
        self.model.insert(rows)

    def truncate(self, engine: str) -> None:
        self.engines.run(engine, "TRUNCATE TABLE t")
        self.model.rows = []

    def check(self, engine: str) -> None:
        """`engine` reads what the model says."""
        snapshot = max(int(p.name.removeprefix("snapshot-")) for p in self.snapshots.glob("snapshot-*"))
        problem = difference(self.model.cells(), self.engines.rows(engine, "SELECT * FROM t"))
        assert problem is None, f"{engine} of snapshot {snapshot}: {problem}"
        self.history[snapshot] = self.model.cells()

    def steps(self, first: str) -> Iterator[tuple[str, Callable[[str], None]]]:
        """Who does what."""
        second = other(first)
        yield first, self.insert
        yield second, self.insert
        yield first, self.insert
        if self.model.keys:
            yield "java", self.delete
        yield second, self.compact
        yield first, self.insert
        if self.partitioned:
            yield second, self.overwrite_partition
            yield first, self.overwrite_dynamically
        else:
            yield second, self.truncate
        yield second, self.insert
        yield first, self.compact
        yield second, self.overwrite
        yield first, self.insert


def values(rows: Sequence[Row]) -> str:
    texts = (f"({k}, '{s}', {p}, CAST({'NULL' if v is None else v} AS BIGINT))" for k, s, p, v in rows)
    return f"SELECT * FROM VALUES {', '.join(texts)} AS (k, s, p, v)"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ENGINES)
def test_engines_write_alternately(engines: Engines, java: tuple[JavaOracle, str], first: str, kind: str) -> None:
    keys, buckets, partitioned = KINDS[kind]
    options = {"bucket": str(buckets), "write-only": str(first == "java").lower()}
    if keys:
        options["primary-key"] = ",".join(keys)
    properties = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    engines.run(first, f"{DDL} {'PARTITIONED BY (p)' if partitioned else ''} TBLPROPERTIES ({properties})")
    snapshots = Path(java[1], f"{engines.database}.db", "t", "snapshot")
    scenario = Scenario(engines, Model(keys), partitioned, Random(kind), snapshots)
    for engine, act in scenario.steps(first):
        act(engine)
        scenario.check(other(engine))
    engines.same_metadata("t")
    travel(engines, scenario.history)


def travel(engines: Engines, history: dict[int, list[list[object]]]) -> None:
    """Read each version by number and by commit time."""
    times = dict(engines.rows("ours", "SELECT snapshot_id, CAST(commit_time AS STRING) FROM `t$snapshots`"))
    versions = [f"TIMESTAMP AS OF '{times[n]}'" if n % 2 else f"VERSION AS OF {n}" for n in history]
    parts = [f"SELECT {n} AS n, * FROM t {version}" for n, version in zip(history, versions, strict=True)]
    engines.both(" UNION ALL ".join(parts), [[n, *row] for n, rows in history.items() for row in rows])
