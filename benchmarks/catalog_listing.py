"""Listing the tables of a database that has many, and opening one of them, in each kind of catalog.

    catalog_listing.py [--tables 10000] [--kinds filesystem sqlite postgresql mariadb hive rest] [--rounds 5]

Prints the best of some rounds in seconds, and the floor in the same rounds: the bare query, call or listing of folders
that the answer cannot be had without. A REST server is one of ours in this process, before SQLite. Kinds whose server
is not on this machine are left out. The tables of a metastore are made one call each, which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.hive import entries
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.rest import paths
from tests.support.hive_server import HiveServer, start_hive
from tests.support.rest_server import RestServer
from tests.support.sql_servers import SqlServer, start_mariadb, start_postgres

KINDS = ("filesystem", "sqlite", "postgresql", "mariadb", "hive", "rest")
SCHEMA = new_table_schema([DataField(id=0, name="k", type=INT)])
FIRST = Identifier("db", "t00000")


@dataclass(frozen=True)
class Subject:
    """A catalog with many tables, and the bare calls that its answers need."""

    catalog: Any
    bare_listing: Callable[[], object]
    bare_opening: Callable[[], object]


def names(count: int) -> list[str]:
    return [f"t{n:05}" for n in range(count)]


def started(catalog: Any) -> Any:
    """A catalog with the database, and the first table: the only one that is opened."""
    catalog.create_database("db")
    catalog.create_table(FIRST, SCHEMA)
    return catalog


def on_disk(warehouse: str, count: int) -> Subject:
    catalog = started(load_catalog({"warehouse": warehouse}))
    folder = Path(warehouse, "db.db")
    schema = folder / FIRST.table / "schema" / "schema-0"
    for name in names(count)[1:]:
        (folder / name / "schema").mkdir(parents=True)
        os.link(schema, folder / name / "schema" / "schema-0")

    def listing() -> None:
        for name in os.listdir(folder):
            os.listdir(folder / name / "schema")

    return Subject(catalog, listing, schema.read_bytes)


def in_sql(options: Mapping[str, str], count: int) -> Subject:
    catalog = started(load_catalog(options))
    database, key = catalog._database, catalog.settings.catalog_key

    def fill(connection: Any) -> None:
        for name in names(count)[1:]:
            rows.insert_table(connection, key, Identifier("db", name))

    database.write(fill)
    listing = "SELECT table_name FROM paimon_tables WHERE database_name = 'db'"

    def query(statement: str) -> Callable[[], object]:
        return lambda: database.read(lambda c: c.exec_driver_sql(statement).fetchall())

    return Subject(catalog, query(listing), query(f"{listing} AND table_name = '{FIRST.table}'"))


def in_a_metastore(server: HiveServer, warehouse: str, count: int) -> Subject:
    catalog = started(load_catalog({**server.options, "warehouse": warehouse}))
    metastore = catalog._metastore

    def make(name: str) -> None:
        place = entries.Place(f"{warehouse}/db.db/{name}", is_external=False)
        table = entries.new_entry(Identifier("db", name), SCHEMA, place, catalog.settings, zones=False)
        metastore.change("create_table", table)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, names(count)[1:]))
    client = server.client()
    return Subject(catalog, lambda: client.get_all_tables("db"), lambda: client.get_table("db", FIRST.table))


def at_a_server(behind: Subject, stack: ExitStack) -> Subject:
    options = stack.enter_context(RestServer.over(behind.catalog)).options()
    catalog: Any = load_catalog(options)
    address = f"{options['uri']}{paths.database(catalog._server.prefix, 'db', 'tables')}"

    def listing() -> None:
        with urllib.request.urlopen(f"{address}?maxResults=1000") as answer:  # this process
            answer.read()

    def opening() -> None:
        with urllib.request.urlopen(f"{address}/{FIRST.table}") as answer:
            answer.read()

    return Subject(catalog, listing, opening)


@contextmanager
def subject(kind: str, count: int) -> Iterator[Subject | str]:
    """A catalog of a kind; or why there is none."""
    with ExitStack() as stack:
        warehouse = stack.enter_context(tempfile.TemporaryDirectory())
        sqlite = {"metastore": "jdbc", "warehouse": warehouse}
        if kind == "filesystem":
            yield on_disk(warehouse, count)
        elif kind == "sqlite":
            yield in_sql(sqlite, count)
        elif kind == "rest":
            yield at_a_server(in_sql(sqlite, count), stack)
        else:
            server: SqlServer | HiveServer | str
            server = {"hive": start_hive, "postgresql": start_postgres, "mariadb": start_mariadb}[kind]()
            if isinstance(server, str):
                yield server
                return
            stack.callback(server.remove)
            if isinstance(server, HiveServer):
                yield in_a_metastore(server, warehouse, count)
            else:
                yield in_sql({**server.options, "warehouse": warehouse}, count)


def best(rounds: int, *acts: Callable[[], object]) -> list[float]:
    """The least seconds of each of some calls, which are made in turn."""
    taken: list[list[float]] = [[] for _ in acts]
    for _ in range(rounds):
        for times, act in zip(taken, acts, strict=True):
            begun = time.perf_counter()
            act()
            times.append(time.perf_counter() - begun)
    return [min(times) for times in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"{args.tables:,} tables, seconds: the best of {args.rounds} rounds, and the floor in the same rounds")
    for kind in args.kinds:
        with subject(kind, args.tables) as found:
            if isinstance(found, str):
                print(f"{kind:12} left out: {found}")
                continue
            catalog = found.catalog
            assert len(catalog.list_tables("db")) == args.tables
            listed, bare = best(args.rounds, partial(catalog.list_tables, "db"), found.bare_listing)
            opened, row = best(args.rounds * 4, partial(catalog.load_table, FIRST), found.bare_opening)
            print(
                f"{kind:12} list {listed:7.3f}  floor {bare:7.3f}    open {opened:8.5f}  floor {row:8.5f}", flush=True
            )


if __name__ == "__main__":
    main()
