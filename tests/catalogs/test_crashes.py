"""A process dies between any two steps of a statement: at each call of the storage, and around each of the database.

Whoever comes next runs the statement again, and then names, rows and folders agree and no row of a table is lost.
SQLite stands for all SQL databases, and of the many calls to a Hive metastore every fifth is tried, unless
PAIMON_SQL_CATALOG_CRASHES=all (`make campaign NAME=catalog-crashes`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from paimon_core.errors import AlreadyExistsError, NotFoundError, StorageError, TableExistsError, ViewExistsError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.schema_changes import AddColumn, SetOption
from paimon_sql.catalog.base import SupportsDatabases, SupportsRegistration, SupportsViews
from tests.catalogs.kinds import KINDS, OTHER_VIEW, SCHEMA, VIEW, Can, Place
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.hive_server import MOVES_FOLDERS
from tests.support.stored import insert, read

T, U = Identifier("db", "t"), Identifier("db", "u")
ROWS = [(1, "a"), (2, "b")]
EVERY = os.environ.get("PAIMON_SQL_CATALOG_CRASHES") == "all"
TRIED = KINDS if EVERY else ("filesystem", "sqlite", "hive", "rest")


@pytest.fixture(params=TRIED)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    return make_place(request.param)


class Steps:
    """Counts steps; the process dies at one of them, and after that does nothing more."""

    def __init__(self, last: int) -> None:
        self.last, self.done = last, 0

    def step(self) -> None:
        self.done += 1
        if self.last and self.done >= self.last:
            raise SimulatedCrash


class SteppingDatabase:
    """A catalog's database, with a step before and after each look-up and transaction."""

    def __init__(self, inner: Any, steps: Steps) -> None:
        self.inner, self.steps, self.settings = inner, steps, inner.settings

    def read(self, act: Callable[[Any], Any]) -> Any:
        return self._stepping(self.inner.read, act)

    def write(self, act: Callable[[Any], Any]) -> Any:
        return self._stepping(self.inner.write, act)

    def close(self) -> None:
        self.inner.close()

    def _stepping(self, run: Callable[..., Any], act: Callable[[Any], Any]) -> Any:
        self.steps.step()
        result = run(act)
        self.steps.step()
        return result


def step_through(metastore: Any, steps: Steps) -> None:
    """A step before and after each call to a metastore."""

    metastore.read, metastore.change = stepping(metastore.read, steps), stepping(metastore.change, steps)


def stepping(call: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """The same call, with a step before and after it."""

    def run(*arguments: object, **named: object) -> Any:
        steps.step()
        result = call(*arguments, **named)
        steps.step()
        return result

    return run


class CopyingIO(FaultyIO):
    """A storage that moves a folder as object stores do: each file is copied, then each is deleted."""

    steps: Steps

    def rename_dir(self, source: str, target: str) -> None:
        if self.inner.exists(target):
            raise FileExistsError(target)
        found = sorted(self._below(source))
        for path in found:
            self.steps.step()
            self.inner.write_bytes(target + path.removeprefix(source), self.inner.read_bytes(path))
        for path in found:
            self.steps.step()
            self.inner.delete(path)
        self.steps.step()
        self.inner.delete_dir(source)


def dying(place: Place, last: int, mode: str) -> tuple[SupportsDatabases, Callable[[], int]]:
    """A catalog of a process that dies at a step, and how many it has taken."""
    catalog: Any = place.catalog()
    if mode == "requests":
        steps = Steps(last)
        catalog.client._call = stepping(catalog.client._call, steps)
        return catalog, lambda: steps.done
    if mode == "storage":
        io = FaultyIO(LocalFileIO(), last, Fault.CRASH)
        return replace(catalog, io=io), lambda: io.calls
    steps = Steps(last)
    if mode == "copies":
        copying = CopyingIO(LocalFileIO())
        copying.steps = steps
        return replace(catalog, io=copying), lambda: steps.done
    if place.kind == "hive":
        step_through(catalog._metastore, steps)
    else:
        catalog.__dict__["_database"] = SteppingDatabase(catalog._database, steps)
    return catalog, lambda: steps.done


def crashes(place: Place, act: Callable[[SupportsDatabases], object], again: Callable[[], None], mode: str) -> int:
    """Let a process die at each step of a statement in turn, `again` each time; the number of steps."""
    for last in range(1, 400, 1 if EVERY or place.kind != "hive" else 5):
        catalog, done = dying(place, last, mode)
        try:
            act(catalog)
        except SimulatedCrash:
            place.expire_locks(catalog)
            again()
            continue
        finally:
            _close(catalog)
        again()
        return done()
    raise AssertionError("it never ends")


def _close(catalog: SupportsDatabases) -> None:
    close = getattr(catalog, "close", None)
    if close is not None:
        close()


def modes(place: Place) -> Iterator[str]:
    yield "requests" if place.kind == "rest" else "storage"
    if place.can(Can.LOCKS):
        yield from ("database", "copies")


@pytest.fixture
def fresh(place: Place) -> SupportsDatabases:
    catalog = place.catalog()
    catalog.create_database("db")
    return catalog


def test_create(place: Place, fresh: SupportsDatabases) -> None:
    def again() -> None:
        with suppress(TableExistsError):
            fresh.create_table(T, SCHEMA)
        assert fresh.list_tables("db") == ["t"] and place.folders() == {"db/t"}
        insert(fresh.load_table(T), ROWS)
        assert sorted(read(fresh.load_table(T))) == ROWS
        fresh.drop_table(T)

    for mode in modes(place):
        assert crashes(place, lambda c: c.create_table(T, SCHEMA), again, mode) >= (mode != "copies")


def test_drop(place: Place, fresh: SupportsDatabases) -> None:
    def again() -> None:
        fresh.drop_table(T, ignore_if_not_exists=True)
        assert fresh.list_tables("db") == [] and place.folders() == set()
        fresh.create_table(T, SCHEMA)
        insert(fresh.load_table(T), ROWS)

    for mode in modes(place):
        with suppress(TableExistsError):
            fresh.create_table(T, SCHEMA)
        crashes(place, lambda c: c.drop_table(T), again, mode)


def test_rename(place: Place, fresh: SupportsDatabases) -> None:
    fresh.create_table(T, SCHEMA)
    insert(fresh.load_table(T), ROWS)

    def again() -> None:
        there = [name for name in (T, U) if _loads(fresh, name)]
        assert len(there) == 1
        if there == [T]:
            fresh.rename_table(T, U)
        assert fresh.list_tables("db") == ["u"] and place.folders() == {"db/u"}
        assert sorted(read(fresh.load_table(U))) == ROWS
        with pytest.raises(NotFoundError):
            fresh.load_table(T)
        fresh.rename_table(U, T)

    for mode in modes(place):
        is_metastores = place.kind == "hive" and mode == "copies" and MOVES_FOLDERS
        assert (crashes(place, lambda c: c.rename_table(T, U), again, mode) > 1) is not is_metastores


@pytest.mark.parametrize("use", ["list", "create", "drop", "rename source", "rename target"])
def test_whoever_comes_after_a_rename(place: Place, fresh: SupportsDatabases, use: str) -> None:
    """Other statements than the same one also find what was begun."""

    def again() -> None:
        if use == "create":
            with suppress(AlreadyExistsError):
                fresh.create_table(U, SCHEMA)
        elif use == "drop":
            with suppress(NotFoundError):
                fresh.drop_table(T)
        elif use == "rename source":
            with suppress(NotFoundError):
                fresh.rename_table(T, Identifier("db", "v"))
        elif use == "rename target":
            with suppress(NotFoundError):
                fresh.rename_table(U, Identifier("db", "v"))
        for name in fresh.list_tables("db"):
            if _loads(fresh, Identifier("db", name)):
                assert sorted(read(fresh.load_table(Identifier("db", name)))) in (ROWS, [])
        names = fresh.list_tables("db")
        assert place.folders() == {f"db/{name}" for name in names}
        if use in ("list", "rename source", "rename target"):
            assert len(names) == 1
        for name in names:
            fresh.drop_table(Identifier("db", name))
        fresh.create_table(T, SCHEMA)
        insert(fresh.load_table(T), ROWS)

    fresh.create_table(T, SCHEMA)
    insert(fresh.load_table(T), ROWS)
    for mode in modes(place):
        crashes(place, lambda c: c.rename_table(T, U), again, mode)


def test_alter_and_drop_database(place: Place, fresh: SupportsDatabases) -> None:
    fresh.create_table(T, SCHEMA)

    def altered_again() -> None:
        fresh.alter_table(T, [SetOption("ours.note", "x")])
        assert fresh.load_table(T).schema.options["ours.note"] == "x"

    def dropped_again() -> None:
        if fresh.database_exists("db"):
            fresh.drop_database("db", cascade=True)
        assert fresh.list_databases() == ["default"] and place.folders() == set()
        fresh.create_database("db")
        fresh.create_table(T, SCHEMA)

    for mode in modes(place):
        crashes(place, lambda c: c.alter_table(T, [SetOption("ours.note", "y")]), altered_again, mode)
        crashes(place, lambda c: c.drop_database("db", cascade=True), dropped_again, mode)


def test_views(place: Place, fresh: SupportsDatabases) -> None:
    """A view is there as it was, or as it is to be; and the statement, run again, ends what was begun."""
    if not isinstance(fresh, SupportsViews):
        pytest.skip(f"a {place.kind} catalog keeps no views, as its kind declares")

    def created_again() -> None:
        with suppress(ViewExistsError):
            fresh.create_view(T, VIEW)
        assert (fresh.list_views("db"), fresh.load_view(T)) == (["t"], VIEW)
        fresh.drop_view(T)

    def replaced_again() -> None:
        assert fresh.load_view(T) in (VIEW, OTHER_VIEW)
        fresh.replace_view(T, VIEW)

    def renamed_again() -> None:
        assert all(fresh.load_view(Identifier("db", name)) == VIEW for name in fresh.list_views("db"))
        if fresh.view_exists(T):
            fresh.rename_view(T, U)
        assert (fresh.list_views("db"), fresh.load_view(U)) == (["u"], VIEW)
        fresh.rename_view(U, T)

    def dropped_again() -> None:
        fresh.drop_view(T, ignore_if_not_exists=True)
        assert fresh.list_views("db") == []
        fresh.create_view(T, VIEW)

    for mode in [m for m in modes(place) if m != "copies"]:
        steps = crashes(place, lambda c: c.create_view(T, VIEW), created_again, mode)  # type: ignore[attr-defined]
        assert steps > 0 or (place.can(Can.LOCKS) and mode == "storage")  # where the database alone is at work
        fresh.create_view(T, VIEW)
        crashes(place, lambda c: c.replace_view(T, OTHER_VIEW), replaced_again, mode)  # type: ignore[attr-defined]
        crashes(place, lambda c: c.rename_view(T, U), renamed_again, mode)  # type: ignore[attr-defined]
        crashes(place, lambda c: c.drop_view(T), dropped_again, mode)  # type: ignore[attr-defined]
        fresh.drop_view(T)


def test_files_that_are_in_one_folder_only_are_never_deleted(jdbc_place: Place) -> None:
    """A rename died in its middle on an object store, and both folders have got files of their own since."""
    catalog = jdbc_place.catalog()
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    folder, moved = jdbc_place.warehouse / "db.db" / "t", jdbc_place.warehouse / "db.db" / "u"
    dead, done = dying(jdbc_place, 4, "copies")
    with pytest.raises(SimulatedCrash):
        dead.rename_table(T, U)
    jdbc_place.expire_locks(dead)
    assert moved.exists() and done() == 4
    (folder / "late").write_text("1")
    (moved / "late too").write_text("2")
    if not list(moved.glob("schema/*")):
        (moved / "schema").mkdir(exist_ok=True)
        (moved / "schema" / "schema-0").write_bytes((folder / "schema" / "schema-0").read_bytes())
    before = sorted(p.relative_to(folder.parent) for p in folder.parent.rglob("*"))
    with pytest.raises(StorageError, match="each folder has files that the other lacks"):
        catalog.drop_table(T)
    assert sorted(p.relative_to(folder.parent) for p in folder.parent.rglob("*")) == before
    (moved / "late too").unlink()
    assert sorted(read(catalog.load_table(T))) == ROWS
    catalog.drop_table(T)
    assert jdbc_place.folders() == set()


def test_a_folder_that_has_lost_its_row(jdbc_place: Place) -> None:
    catalog = jdbc_place.catalog()
    assert isinstance(catalog, SupportsRegistration)
    catalog.create_database("db")
    elsewhere = replace(jdbc_place, options={**jdbc_place.options, "catalog-key": "elsewhere"}).catalog()
    elsewhere.create_database("db", ignore_if_exists=True)
    elsewhere.create_table(T, SCHEMA)
    insert(elsewhere.load_table(T), ROWS)
    with pytest.raises(TableExistsError, match=r"CALL sys\.repair\('db\.t'\)"):
        catalog.create_table(T, SCHEMA)
    assert (catalog.list_tables("db"), catalog.unregistered_tables("db")) == ([], ["t"])
    catalog.register_table(T)
    catalog.register_table(T)
    assert sorted(read(catalog.load_table(T))) == ROWS and catalog.unregistered_tables("db") == []
    with pytest.raises(NotFoundError, match="no schema file"):
        catalog.register_table(U)
    catalog.alter_table(T, [AddColumn(("w",), INT)])
    elsewhere.drop_table(T)
    with pytest.raises(NotFoundError, match="known to the catalog, but .* has no schema file"):
        catalog.load_table(T)
    with pytest.raises(TableExistsError):
        catalog.create_table(T, SCHEMA)
    catalog.drop_table(T)
    catalog.create_table(T, SCHEMA)


def _loads(catalog: SupportsDatabases, table: Identifier) -> bool:
    try:
        catalog.load_table(table)
    except NotFoundError:
        return False
    return True
