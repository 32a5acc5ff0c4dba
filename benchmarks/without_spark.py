"""Tables in Python without Spark, beside Paimon's own libraries for Python and others, in turn and on the same rows.

    without_spark.py [--rows 2000000] [--rounds 3] [--peers pypaimon pypaimon-rust pyarrow pyiceberg]

Each engine runs in a process and an environment of its own; pip makes the environments, which are kept in
~/.cache/paimon-sql. A work is timed within the process, except `fresh key`, which is a whole process. A ratio above 1
means that paimon-sql is faster. An engine without a figure cannot do the work, or fails at it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

OURS = "paimon-sql"
PACKAGES = {
    "pypaimon": ["pypaimon==2.1.0"],
    "pypaimon-rust": ["pypaimon-rust==0.4.0", "pyarrow", "numpy"],
    "pyarrow": ["pyarrow", "numpy"],
    "pyiceberg": ["pyiceberg[pyarrow,sql-sqlite]==0.12.0", "numpy"],
}
BATCHES = 5
TWO = ["id", "a"]
KEY = 4242


def rows_of(batch: int, rows: int, *, distinct: bool = False) -> Any:
    """Rows of five columns: sorted keys of a part of the key space; `distinct`: keys that no other batch has."""
    import numpy as np  # noqa: PLC0415  each engine imports its own
    import pyarrow as pa  # noqa: PLC0415

    random = np.random.default_rng(batch)
    first = batch * rows
    keys = np.arange(first, first + rows) if distinct else np.sort(random.choice(rows * 3, rows, replace=False))
    return pa.table(
        {
            "id": pa.array(keys, pa.int64()),
            "a": random.integers(0, 1000, rows, dtype=np.int32),
            "b": random.random(rows),
            "s": pa.array(random.integers(0, 100_000, rows)).cast(pa.string()),
            "batch": np.full(rows, batch, dtype=np.int32),
        },
        schema=pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                ("a", pa.int32()),
                ("b", pa.float64()),
                ("s", pa.string()),
                ("batch", pa.int32()),
            ]
        ),
    )


class Clock:
    """The seconds of works, and the numbers of rows that they gave."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, int] = {}

    def take(self, work: str, do: Callable[[], int | None]) -> None:
        """Time a work; a failure is printed, and leaves no figure."""
        began = time.perf_counter()
        try:
            found = do()
        except Exception as error:
            print(f"{work}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            return
        self.seconds[work] = time.perf_counter() - began
        if found is not None:
            self.rows[work] = found


# -- engines ----------------------------------------------------------------------------------------------------------
def run_ours(clock: Clock, lake: str, rows: int) -> None:
    import paimon_sql  # noqa: PLC0415

    catalog = paimon_sql.open_catalog(lake)
    merged, plain = catalog.table("b.merged"), catalog.table("b.plain")
    _reads(
        clock,
        lambda names: merged.scan(names).to_arrow().num_rows,
        lambda names: plain.scan(names).to_arrow().num_rows,
    )
    _keys(clock, lambda key: merged.scan(where=f"id = {key}").to_arrow().num_rows)
    clock.take("count", lambda: plain.scan().count())
    _writes(clock, rows, lambda name, data: _write_ours(catalog.table(f"b.{name}"), data))


def _write_ours(table: Any, data: Any) -> None:
    (table.upsert if table.primary_key else table.append)(data)


def run_pypaimon(clock: Clock, lake: str, rows: int) -> None:
    catalog = import_module("pypaimon").CatalogFactory.create({"warehouse": lake})

    def read(name: str, names: list[str] | None, key: int | None = None) -> int:
        builder = catalog.get_table(f"b.{name}").new_read_builder()
        if names is not None:
            builder = builder.with_projection(names)
        if key is not None:
            builder = builder.with_filter(builder.new_predicate_builder().equal("id", key))
        return int(builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows)

    _reads(clock, lambda names: read("merged", names), lambda names: read("plain", names))
    _keys(clock, lambda key: read("merged", None, key), times=2)
    _writes(clock, rows, lambda name, data: _write_batch(catalog.get_table(f"b.{name}"), data, [data]))


def run_rust(clock: Clock, lake: str, rows: int) -> None:
    rust = import_module("pypaimon_rust.datafusion")
    context = rust.SQLContext()
    context.register_catalog("paimon", {"warehouse": lake})

    def read(name: str, names: list[str] | None, where: str = "") -> int:
        found = context.sql(f"SELECT {', '.join(names or ['*'])} FROM paimon.b.{name} {where}")
        return sum(batch.num_rows for batch in found)

    _reads(clock, lambda names: read("merged", names), lambda names: read("plain", names))
    _keys(clock, lambda key: read("merged", None, f"WHERE id = {key}"))
    clock.take("count", lambda: read("plain", ["count(*)"]) and None)
    catalog = rust.PaimonCatalog({"warehouse": lake})
    _writes(clock, rows, lambda name, data: _write_batch(catalog.get_table(f"b.{name}"), data, data.to_batches()))


def _write_batch(table: Any, data: Any, parts: list[Any]) -> None:
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    for part in parts:
        write.write_arrow(part)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


def run_pyarrow(clock: Clock, lake: str, rows: int) -> None:
    import pyarrow.dataset as ds  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    files = sorted(str(path) for path in Path(lake, "b.db", "plain", "bucket-0").glob("data-*.parquet"))
    own = ["id", "a", "b", "s", "batch"]
    for work, names in (("append read, all columns", own), ("append read, 2 columns", TWO)):
        clock.take(work, lambda names=names: ds.dataset(files).to_table(columns=names).num_rows)  # type: ignore[misc]
    clock.take("count", lambda: ds.dataset(files).count_rows())
    data = rows_of(99, rows // 2)
    with tempfile.TemporaryDirectory() as folder:
        clock.take("append", lambda: pq.write_table(data, f"{folder}/x.parquet", compression="zstd"))


def run_pyiceberg(clock: Clock, lake: str, rows: int) -> None:
    from pyiceberg.catalog.sql import SqlCatalog  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
        catalog.create_namespace("b")
        data = [rows_of(batch, rows // BATCHES, distinct=True) for batch in range(BATCHES)]
        table = catalog.create_table("b.plain", schema=data[0].schema)
        for part in data:
            table.append(part)
        for work, names in (("append read, all columns", ("*",)), ("append read, 2 columns", tuple(TWO))):
            clock.take(work, lambda names=names: table.scan(selected_fields=names).to_arrow().num_rows)  # type: ignore[misc]
        clock.take("count", lambda: table.scan().count())
        other = catalog.create_table("b.other", schema=data[0].schema)
        more = rows_of(99, rows // 2)
        clock.take("append", lambda: other.append(more))


def _reads(clock: Clock, merged: Callable[[list[str] | None], int], plain: Callable[[list[str] | None], int]) -> None:
    for name, read in (("merge", merged), ("append", plain)):
        clock.take(f"{name} read, all columns", lambda read=read: read(None))  # type: ignore[misc]
        clock.take(f"{name} read, 2 columns", lambda read=read: read(TWO))  # type: ignore[misc]


def _keys(clock: Clock, read: Callable[[int], int], times: int = 20) -> None:
    """Time the look-up of a key in an open table."""

    def look_up() -> None:
        for i in range(times):
            read(KEY + 1000 * i)

    clock.take("warm key", look_up)
    if "warm key" in clock.seconds:
        clock.seconds["warm key"] /= times


def _writes(clock: Clock, rows: int, write: Callable[[str, Any], None]) -> None:
    data = rows_of(99, rows // 2)
    name = os.environ["ENGINE_TABLE"]
    clock.take("upsert", lambda: write(f"keyed_{name}", data))
    clock.take("append", lambda: write(f"appended_{name}", data))


ENGINES: dict[str, Callable[[Clock, str, int], None]] = {
    OURS: run_ours,
    "pypaimon": run_pypaimon,
    "pypaimon-rust": run_rust,
    "pyarrow": run_pyarrow,
    "pyiceberg": run_pyiceberg,
}
FRESH = {
    OURS: "import paimon_sql; t = paimon_sql.open_catalog({lake!r}).table('b.merged'); "
    "print(t.scan(where='id = {key}').to_arrow().num_rows)",
    "pypaimon": "from pypaimon import CatalogFactory; t = CatalogFactory.create({{'warehouse': {lake!r}}})"
    ".get_table('b.merged'); b = t.new_read_builder(); "
    "b = b.with_filter(b.new_predicate_builder().equal('id', {key})); "
    "print(b.new_read().to_arrow(b.new_scan().plan().splits()).num_rows)",
    "pypaimon-rust": "from pypaimon_rust.datafusion import SQLContext; c = SQLContext(); "
    "c.register_catalog('paimon', {{'warehouse': {lake!r}}}); "
    "print(sum(b.num_rows for b in c.sql('SELECT * FROM paimon.b.merged WHERE id = {key}')))",
}


# -- the run ----------------------------------------------------------------------------------------------------------
def environment(engine: str) -> str:
    """Return the Python of an engine, and make its environment."""
    if engine == OURS:
        return sys.executable
    folder = Path(os.environ.get("PAIMON_SQL_CACHE", Path.home() / ".cache" / "paimon-sql")) / f"bench-{engine}"
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES[engine]], check=True)
        (folder / "made").touch()
    return str(python)


def make_tables(lake: str, rows: int, engines: list[str], number: int) -> None:
    """Make the tables that all read, once, and for each round and engine the tables that it writes."""
    import paimon_sql  # noqa: PLC0415

    catalog = paimon_sql.open_catalog(lake)
    catalog.create_database("b", if_not_exists=True)
    schema = rows_of(0, 1).schema
    keyed = {"bucket": "1", "write-only": "true"}
    if number == 0:
        merged = catalog.create_table("b.merged", schema, primary_key="id", options=keyed)
        plain = catalog.create_table("b.plain", schema, options={"write-only": "true"})
        for batch in range(BATCHES):
            merged.upsert(rows_of(batch, rows // BATCHES))
            plain.append(rows_of(batch, rows // BATCHES, distinct=True))
    for engine in engines:
        catalog.create_table(f"b.keyed_{_table(engine, number)}", schema, primary_key="id", options=keyed)
        catalog.create_table(f"b.appended_{_table(engine, number)}", schema, options={"write-only": "true"})


def _table(engine: str, number: int) -> str:
    return f"{engine.replace('-', '_')}_{number}"


def measured(engine: str, lake: str, rows: int, number: int) -> tuple[Clock, float]:
    """Run the works of an engine in a new process, and a fresh look-up of a key; return its peak of memory in MB."""
    clock, python = Clock(), environment(engine)
    env = os.environ | {"ENGINE_TABLE": _table(engine, number), "PYTHONDONTWRITEBYTECODE": ""}
    command = [python, __file__, "--engine", engine, "--lake", lake, "--rows", str(rows)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    clock.seconds, clock.rows = json.loads(done.stdout.splitlines()[-1])
    peak = 0.0
    if engine in FRESH:
        program = FRESH[engine].format(lake=lake, key=KEY)
        program += "; print(open('/proc/self/status').read())"  # the peak that the parent had is not in it
        for _ in range(2):  # the first one writes bytecode
            began = time.perf_counter()
            done = subprocess.run([python, "-c", program], env=env, stdout=subprocess.PIPE, text=True, check=True)
            clock.seconds["fresh key"] = time.perf_counter() - began
        peak = int(done.stdout.partition("VmHWM:")[2].split()[0]) / 1024
    return clock, peak


@contextmanager
def _lake() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="without-spark-") as folder:
        yield f"{folder}/lake"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--lake", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        clock = Clock()
        ENGINES[given.engine](clock, given.lake, given.rows)
        print(json.dumps([clock.seconds, clock.rows]))
        return
    engines = [OURS, *given.peers]
    best: dict[tuple[str, str], float] = {}
    rows: dict[str, dict[str, int]] = {}
    peaks: dict[str, float] = {}
    with _lake() as lake:
        for number in range(given.rounds):
            make_tables(lake, given.rows, engines, number)
            for engine in engines:
                clock, peaks[engine] = measured(engine, lake, given.rows, number)
                for work, seconds in clock.seconds.items():
                    best[work, engine] = min(seconds, best.get((work, engine), seconds))
                for work, count in clock.rows.items():
                    rows.setdefault(work, {})[engine] = count
    _print(best, rows, peaks, engines)


def _print(
    best: dict[tuple[str, str], float],
    rows: dict[str, dict[str, int]],
    peaks: dict[str, float],
    engines: list[str],
) -> None:
    print(f"{'best of the rounds, seconds':28s} {OURS:>10s}" + "".join(f" {e:>14s} {'x':>6s}" for e in engines[1:]))
    for work in dict.fromkeys(w for w, _ in best):
        ours = best.get((work, OURS))
        line = f"{work:28s} {ours if ours is not None else float('nan'):10.3f}"
        for engine in engines[1:]:
            theirs = best.get((work, engine))
            ratio = theirs / ours if theirs is not None and ours else None
            line += f" {'-' if theirs is None else f'{theirs:.3f}':>14s} {'-' if ratio is None else f'{ratio:.2f}':>6s}"
        counts = set(rows.get(work, {}).values())
        print(line + (f"  DIFFERENT {rows[work]}" if len(counts) > 1 else ""))
    shown = (f"{engine} {peak:.0f} MB" for engine, peak in peaks.items() if peak)
    print(f"peak memory of a fresh key: {', '.join(shown)}")


if __name__ == "__main__":
    main()
