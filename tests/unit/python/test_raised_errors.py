"""Errors that public methods raise for wrong arguments, bad files (damaged, deleted or unreadable) and dropped tables.

They are errors of `paimon_core.errors`, or a `TypeError` that says what to pass."""

from __future__ import annotations

import inspect
import logging
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import FunctionType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.errors import InternalError, PaimonError
from paimon_sql.pictures.show import ShownPicture, TablePictures
from paimon_sql.python.catalog import PaimonCatalog, open_catalog, open_table
from paimon_sql.python.dataset import TableDataset
from paimon_sql.python.following import ChangeBatch, Follower
from paimon_sql.python.planned_write import PlannedWrite, WrittenPart
from paimon_sql.python.reading import ScanSplit
from paimon_sql.python.scan import TableScan
from paimon_sql.python.table import PaimonTable
from paimon_sql.shell.tables import TABLE_COMMANDS, run_table_command
from tests.support.faulty_io import FaultyIO

DAY = date(2026, 1, 1)
ROWS = [{"id": i, "day": DAY, "v": str(i), "n": i} for i in range(20)]
ROW = [{"id": 3, "day": DAY, "v": "z", "n": 1}]
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("v", pa.string()), ("n", pa.int32())])
TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


def fill(folder: Path) -> None:
    """Make the tables: `keyed` with a branch, a tag and a consumer, `marked` with deletion vectors, `assigned` with
    dynamic buckets, `indexed` with a global index, `orc` and `avro`, and `plain` with vectors."""
    lake = open_catalog(str(folder), time_zone="UTC")
    lake.create_database("shop")
    logged = {"bucket": "1", "changelog-producer": "input", "write-only": "true"}
    keyed = lake.create_table(
        "shop.keyed", SCHEMA, primary_key=["day", "id"], partitioned_by="day", options={**logged, "file.format": "avro"}
    )
    keyed.upsert(ROWS)
    keyed.upsert(ROWS[:5])
    lake.call("create_tag", table="shop.keyed", tag="one", snapshot=1)
    lake.call("create_branch", table="shop.keyed", branch="b", tag="one")
    for batch in keyed.follow("me"):
        batch.acknowledge()
    marks = {"bucket": "1", "deletion-vectors.enabled": "true", "file-index.bloom-filter.columns": "n"}
    marked = lake.create_table("shop.marked", SCHEMA, primary_key="id", options=marks)
    marked.upsert(ROWS)
    marked.upsert(ROWS[:3])
    lake.create_table("shop.assigned", SCHEMA, primary_key="id", options={"bucket": "-1"}).upsert(ROWS)
    lake.create_table("shop.indexed", SCHEMA, options=TRACKED).append(ROWS)
    lake.call("create_global_index", table="shop.indexed", index_column="id", index_type="btree")
    lake.create_table("shop.orc", SCHEMA, options={"file.format": "orc"}).append(ROWS)
    vectors = SCHEMA.append(pa.field("vector", pa.list_(pa.float32())))
    plain = lake.create_table("shop.plain", vectors, partitioned_by="day")
    plain.append([{**row, "vector": [1.0, 2.0]} for row in ROWS])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "lake"
    fill(folder)
    return folder


@dataclass(frozen=True)
class World:
    """A copy of the tables, for the calls of one test."""

    saved: Path
    folder: Path

    def lake(self) -> PaimonCatalog:
        """Return a catalog that has read nothing yet."""
        return open_catalog(str(self.folder), time_zone="UTC")

    def restore(self) -> PaimonCatalog:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.saved, self.folder)
        return self.lake()


@pytest.fixture
def world(filled: Path, tmp_path: Path) -> Iterator[World]:
    log = logging.getLogger("paimon_core")
    before = log.level
    log.setLevel(logging.CRITICAL)
    made = World(filled, tmp_path / "lake")
    made.restore()
    yield made
    log.setLevel(before)


# -- what may be raised -----------------------------------------------------------------------------------------------
def said_by(act: Callable[[], object]) -> str | None:
    """Return the message of the error that a call raises, None without one. Fails for errors that are not ours."""
    try:
        used(act())
    except InternalError as error:
        pytest.fail(f"{error}\n{error.__notes__}")
    except PaimonError as error:
        str(error).encode()
        return str(error)
    except TypeError as error:
        assert " must be " in str(error) or " has no argument " in str(error), error
        return str(error)
    return None


def used(found: object) -> None:
    """Read what a method returns: some errors come as late as that."""
    if isinstance(found, PaimonCatalog):
        found.list_databases()
    elif isinstance(found, PaimonTable):
        found.scan().to_arrow()
    elif isinstance(found, TableScan):
        found.explain()
        found.to_arrow()
    elif isinstance(found, ScanSplit):
        found.to_arrow()
    elif isinstance(found, pa.RecordBatchReader):
        found.read_all()
    elif isinstance(found, PlannedWrite):
        found.commit([found.write(ROW)])
    elif isinstance(found, ShownPicture):
        repr(found)
    elif isinstance(found, Follower | list | Iterator):
        for part in found:
            used(part)
    elif isinstance(found, ChangeBatch):
        found.to_arrow()
        found.acknowledge()


# -- wrong arguments --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Case:
    """A method of an object, with arguments that are right."""

    of: Callable[[PaimonCatalog], Any]
    arguments: Mapping[str, Any]


def case(of: Callable[[PaimonCatalog], Any], **arguments: Any) -> Case:
    return Case(of, arguments)


def the_catalog(lake: PaimonCatalog) -> PaimonCatalog:
    return lake


def keyed(lake: PaimonCatalog) -> PaimonTable:
    return lake.table("shop.keyed")


def plain(lake: PaimonCatalog) -> PaimonTable:
    return lake.table("shop.plain")


def scanned(lake: PaimonCatalog) -> TableScan:
    return keyed(lake).scan()


def dataset(lake: PaimonCatalog) -> TableDataset:
    return scanned(lake).to_dataset()


def planned(lake: PaimonCatalog) -> PlannedWrite:
    return plain(lake).plan_write()


def pictures(lake: PaimonCatalog) -> TablePictures:
    return keyed(lake).pictures


def picture(lake: PaimonCatalog) -> ShownPicture:
    return pictures(lake).lsm()


def split(lake: PaimonCatalog) -> ScanSplit:
    return scanned(lake).plan()[0]


def batch(lake: PaimonCatalog) -> ChangeBatch:
    return next(keyed(lake).follow())


ID_IS_1, READ = pc.field("id") == 1, {"columns": ["id"], "where": "id = 1"}
FILTERED = {"columns": ["id"], "filter": ID_IS_1}
NEAREST: dict[str, Any] = {"column": "vector", "vector": [1.0, 2.0], "k": 1, "metric": "l2", "options": {}}
MATCHING: dict[str, Any] = {"column": "v", "query": {"match": {"query": "a"}}, "k": 1}
CASES: dict[type, dict[str, Case]] = {
    PaimonCatalog: {
        "list_databases": case(the_catalog),
        "database_exists": case(the_catalog, name="shop"),
        "database_properties": case(the_catalog, name="shop"),
        "create_database": case(the_catalog, name="new", properties={"a": "b"}, if_not_exists=True),
        "drop_database": case(the_catalog, name="new", cascade=True, if_exists=True),
        "list_tables": case(the_catalog, database="shop"),
        "list_views": case(the_catalog, database="shop"),
        "list_functions": case(the_catalog, database="shop"),
        "table_exists": case(the_catalog, name="shop.keyed"),
        "table": case(the_catalog, name="shop.keyed"),
        "create_table": case(
            the_catalog,
            name="shop.new",
            schema=SCHEMA,
            primary_key=["id"],
            partitioned_by=[],
            options={"bucket": "1"},
            comment="c",
            if_not_exists=True,
        ),
        "rename_table": case(the_catalog, name="shop.plain", new_name="shop.other"),
        "drop_table": case(the_catalog, name="shop.plain", if_exists=True),
        "inspect": case(the_catalog, name="tables"),
        "sql": case(the_catalog, query="SELECT * FROM shop.keyed"),
        "call": case(the_catalog, procedure="compact", table="shop.keyed"),
        "identifier": case(the_catalog, name="shop.keyed"),
        "close": case(the_catalog),
    },
    PaimonTable: {
        "scan": case(keyed, **READ, limit=3, options={"scan.mode": "latest"}, version=1, branch="main"),
        "search": case(plain, **READ, **NEAREST),
        "search_text": case(plain, **READ, **MATCHING),
        "changes": case(keyed, **READ, since=0, until=2, limit=1, options={}),
        "follow": case(keyed, **READ, consumer="me", after=None, options={}, wait=0),
        "append": case(plain, data=ROW, options={}),
        "upsert": case(keyed, data=ROW, options={}),
        "overwrite": case(plain, data=ROW, partition={"day": DAY}, where=None, dynamic=False, options={}),
        "plan_write": case(plain, overwrite=True, partition={"day": DAY}, where=None, dynamic=False, options={}),
        "delete": case(keyed, where="id = 1", options={}),
        "update": case(keyed, assignments={"v": "'q'"}, where="id = 1", options={}),
        "merge": case(
            keyed,
            source=ROW,
            on=["id", "day"],
            when_matched="update",
            when_not_matched="insert",
            when_not_matched_by_source="delete",
            options={},
        ),
        "inspect": case(keyed, name="files"),
        "alter": case(
            plain,
            rename={"v": "w"},
            drop="vector",
            types={"id": pa.int64()},
            add={"q": pa.int32()},
            options={"write-only": "true"},
            comment="c",
        ),
    },
    TableScan: {
        **{name: case(scanned) for name in ("to_batches", "to_arrow", "to_dataset", "count", "explain", "plan")},
        "to_pandas": case(scanned, ignore_metadata=True),
        "to_polars": case(scanned, lazy=True),
        "nearest": case(lambda lake: plain(lake).scan(), **NEAREST),
        "matching": case(lambda lake: plain(lake).scan(), **MATCHING),
        "to_batches_of": case(scanned, splits=[]),
        "split": case(scanned, json="{}"),
    },
    ScanSplit: {name: case(split) for name in ("to_batches", "to_arrow")},
    Follower: {},
    ChangeBatch: {name: case(batch) for name in ("to_batches", "to_arrow", "acknowledge")},
    PlannedWrite: {
        "in_parts": case(planned),
        "write": case(planned, data=ROW),
        "part": case(planned, text="{}"),
        "commit": case(planned, parts=[]),
        "abort": case(planned, parts=[]),
    },
    WrittenPart: {},
    TableDataset: {
        "scan_of": case(dataset, **FILTERED),
        "scanner": case(dataset, **FILTERED),
        "to_batches": case(dataset, **FILTERED),
        "to_table": case(dataset, **FILTERED),
        "head": case(dataset, num_rows=1, **FILTERED),
        "count_rows": case(dataset, filter=ID_IS_1),
        **{n: case(dataset) for n in ("filter", "get_fragments", "join", "join_asof", "replace_schema")},
        **{n: case(dataset) for n in ("sort_by", "take")},
    },
    TablePictures: {
        "lsm": case(pictures, partition="day=2026-01-01", bucket=0, after="compact"),
        "timeline": case(pictures, after="expire_snapshots"),
        **{name: case(pictures) for name in ("files", "partitions", "branches", "schemas", "all")},
        "chosen": case(pictures, kind="lsm"),
    },
    ShownPicture: {
        "to_svg": case(picture),
        "to_html": case(picture),
        "to_png": case(picture),
        "save": case(picture, path="p"),
    },
}
METHODS = [(kind, name) for kind, cases in CASES.items() for name in cases]
TEXTS = ("", "no such", "a$b.c", "\0", "\ud800", "(", "no = 1", "id = 'x'", "v = 1/0")
LISTS: tuple[Any, ...] = ([None], ["no"], ["id", "id"], [["id"]], [{}], ("x", "update"), (1, 2, 3))
DICTS: tuple[dict[Any, Any], ...] = ({1: 2}, {"id": object()}, {"id": "no +"}, {"bucket": "x"}, {"ivf.nprobe": "x"})
TYPES = (pa.schema([("id", pa.int8()), ("id", pa.int8())]), pa.schema([("x", pa.float16())]), {"id": pa.float16()})
ARROWS = (pa.table({"id": ["a"]}), pa.table({"id": [1], "ID": [1]}), pc.field("no") == 1, pc.field("id"))
OTHERS = (object(), None, True, -1, 2**70, math.nan, b"x", datetime(9999, 12, 31, tzinfo=UTC))
WRONG = (*TEXTS, *LISTS, *DICTS, *TYPES, *ARROWS, *OTHERS)


def public_methods(kind: type) -> set[str]:
    return {n for n, member in vars(kind).items() if isinstance(member, FunctionType) and not n.startswith("_")}


def test_every_public_method_has_a_case() -> None:
    assert {kind: public_methods(kind) for kind in CASES} == {kind: set(cases) for kind, cases in CASES.items()}
    for kind, name in METHODS:
        parameters = inspect.signature(getattr(kind, name)).parameters.values()
        named = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        assert named - {"self", "part"} <= set(CASES[kind][name].arguments), (kind, name)


@pytest.mark.parametrize(("kind", "name"), METHODS, ids=lambda value: getattr(value, "__name__", value))
def test_wrong_arguments(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    wanted, lake = CASES[kind][name], world.lake()

    def call(arguments: Mapping[str, Any]) -> str | None:
        nonlocal lake
        try:
            found = wanted.of(lake)
        except PaimonError:  # an earlier call has changed the tables
            lake = world.restore()
            found = wanted.of(lake)
        return said_by(lambda: getattr(found, name)(**arguments))

    call(wanted.arguments)
    errors = set[str | None]()
    for argument in wanted.arguments:
        for wrong in WRONG:
            if argument != "wait" or not isinstance(wrong, int | float) or wrong < 0:  # a follower waits so long
                errors.add(call({**wanted.arguments, argument: wrong}))
    assert not wanted.arguments or len(errors) > 1


def test_wrong_arguments_of_functions(world: World) -> None:
    for name in ("warehouse", "metastore", "time_zone", "cache_enabled", "nothing"):
        given = {"warehouse": str(world.folder), "metastore": "filesystem"}
        for wrong in WRONG:
            said_by(lambda given=given, name=name, wrong=wrong: open_catalog(**{**given, name: wrong}))  # type: ignore[misc]
    for name in ("path", "time_zone"):
        table = {"path": str(world.folder / "shop.db" / "keyed")}
        for wrong in WRONG:
            said_by(lambda given=table, name=name, wrong=wrong: open_table(**{**given, name: wrong}))  # type: ignore[misc]


def test_types_of_arguments_are_named(world: World) -> None:
    lake: Any = world.lake()
    table: Any = keyed(lake)
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: table.scan("id"), "PaimonTable.scan: columns must be a list of names, or None, not .* of type str"),
        (lambda: table.scan(limit="1"), "PaimonTable.scan: limit must be a whole number, or None, not .* str"),
        (lambda: table.scan(snapshot=1), "scan has no argument 'snapshot'; it has version, tag, timestamp, branch"),
        (lambda: table.scan(version=None), "version must be the id of a snapshot or the name of a tag"),
        (lambda: lake.table(b"shop.keyed"), "PaimonCatalog.table: name must be a text, not a value of type bytes"),
        (lambda: open_table(world.folder), "open_table: path must be a text, not .* PosixPath"),  # type: ignore[arg-type]
    )
    for call, message in calls:
        with pytest.raises(TypeError, match=message):
            call()


# -- damaged files ----------------------------------------------------------------------------------------------------
READS: dict[str, Callable[[PaimonTable], object]] = {
    "scan": lambda table: table.scan(),
    "filter": lambda table: table.scan(["v"], "id = 3 AND n = 3"),
    "version": lambda table: table.scan(version=1),
    "count": lambda table: table.scan().count(),
    "changes": lambda table: table.changes(0),
    "follow": lambda table: table.follow("me"),
    "dataset": lambda table: table.scan().to_dataset().head(2),
    "pictures": lambda table: repr(table.pictures),
    "catalog": lambda table: PaimonCatalog(table.catalog).inspect("tables"),
}
INSPECTED = ("files", "tags", "branches", "consumers", "table_indexes", "schemas")
WRITES: dict[str, Callable[[PaimonTable], object]] = {
    "write": lambda table: (table.upsert if table.primary_key else table.append)(ROW),
    "delete": lambda table: table.delete("id = 3"),
    "update": lambda table: table.update({"v": "'u'"}, "id < 4"),
    "overwrite": lambda table: table.overwrite(ROW),
    "alter": lambda table: table.alter(add={"q": pa.int8()}),
    "compact": lambda table: PaimonCatalog(table.catalog).call("compact", table=table.name),
    "expire": lambda table: PaimonCatalog(table.catalog).call("expire_snapshots", table=table.name, retain_max=1),
}
KINDS = {
    "data file in Parquet": "marked/bucket-0/data-*.parquet",
    "data file in Avro": "keyed/day=*/bucket-0/data-*",
    "data file in ORC": "orc/bucket-0/data-*",
    "changelog": "keyed/day=*/bucket-0/changelog-*",
    "file index": "marked/bucket-0/*.index",
    "deletion vectors": "marked/index/*",
    "hash index": "assigned/index/*",
    "global index": "indexed/index/*",
    "index manifest": "marked/manifest/index-manifest-*",
    "manifest": "keyed/manifest/manifest-[!l]*",
    "manifest list": "keyed/manifest/manifest-list-*",
    "snapshot": "keyed/snapshot/snapshot-2",
    "hint": "keyed/snapshot/LATEST",
    "schema": "keyed/schema/schema-0",
    "tag": "keyed/tag/*",
    "consumer": "keyed/consumer/*",
}


UNNEEDED = ("hint", "hash index", "file index", "tag")  # by reads, which may pass over their damage


def inspect_all(table: PaimonTable) -> None:
    for name in INSPECTED:
        table.inspect(name)


def damages(data: bytes) -> Iterator[bytes | None]:
    """Yield a file that is cut off, with flipped bits, and with other content; None if it is deleted."""
    yield None
    for size in (0, len(data) // 2, len(data) - 1):
        yield data[:size]
    for place in (len(data) // 9, len(data) // 2, len(data) * 7 // 8):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        yield bytes(flipped)
    yield from (b"{}", b"\xff\xfe\0junk" * 20, b"[" * 100_000)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(world: World, kind: str) -> None:
    path = sorted((world.folder / "shop.db").glob(KINDS[kind]))[0]
    name, errors = KINDS[kind].partition("/")[0], set[str | None]()
    original = path.read_bytes()
    for damage in damages(original):
        put(path, damage)
        for read in (*READS.values(), inspect_all):
            errors.add(said_by(lambda read=read: read(world.lake().table(f"shop.{name}"))))  # type: ignore[misc]
        path.write_bytes(original)
    assert len(errors) > 1 or kind in UNNEEDED


@pytest.mark.parametrize("kind", KINDS)
def test_writes_to_tables_with_damaged_files(world: World, kind: str) -> None:
    name = KINDS[kind].partition("/")[0]
    for number, write in enumerate(WRITES.values()):
        lake = world.restore()
        path = sorted((world.folder / "shop.db").glob(KINDS[kind]))[0]
        put(path, list(damages(path.read_bytes()))[number * 3 % 10])
        said_by(lambda write=write, lake=lake: write(lake.table(f"shop.{name}")))  # type: ignore[misc]


def put(path: Path, damage: bytes | None) -> None:
    path.unlink(missing_ok=True)
    if damage is not None:
        path.write_bytes(damage)


# -- tables that are gone, storages that refuse -----------------------------------------------------------------------
def test_tables_that_are_dropped_meanwhile(world: World) -> None:
    for act in (*READS.values(), *WRITES.values()):
        lake = world.restore()
        table = keyed(lake)
        lake.drop_table("shop.keyed")
        if act not in (READS["catalog"], READS["pictures"]):
            assert said_by(lambda act=act, table=table: act(table)), act  # type: ignore[misc]
    lake = world.restore()
    started: list[Any] = [keyed(lake).scan(), split(lake), batch(lake), dataset(lake)]
    lake.drop_table("shop.keyed")
    for value in started:
        read = value.to_table if isinstance(value, TableDataset) else value.to_arrow
        assert "data-" in (said_by(read) or ""), value


def test_storages_that_refuse(world: World) -> None:
    """Each call to the storage fails once, in each of the reads and writes."""
    for act in (*READS.values(), *WRITES.values()):
        table, moment = keyed(world.restore()), 0
        while True:
            moment += 1
            faulty = FaultyIO(table.inner.store.io, moment)
            store = replace(table.inner.store, io=faulty)
            failing = replace(table, inner=replace(table.inner, store=store))
            said_by(lambda act=act, failing=failing: act(failing))  # type: ignore[misc]
            if faulty.calls < moment or moment > 12:
                break
        assert moment > 1 or act in (READS["catalog"], WRITES["alter"], WRITES["compact"], WRITES["expire"])


def test_closed_catalogs(world: World) -> None:
    lake = world.lake()
    table = keyed(lake)
    lake.close()
    assert said_by(lambda: table.scan()) is None
    assert said_by(lake.list_databases) is None


# -- the command line -------------------------------------------------------------------------------------------------
def test_commands_without_spark(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = ("-w", str(world.folder))
    tables = {c: [c, *warehouse, "shop.no"] for c in ("head", "schema", "count", "picture", "doctor")}
    wrong = [
        *tables.values(),
        ["head", *warehouse, "shop.keyed", "--columns", "no"],
        ["head", *warehouse, "shop.keyed", "--where", "no ="],
        ["head", *warehouse, "shop.keyed", "--version", "99"],
        ["head", *warehouse, "shop.keyed", "-n", "-1"],
        ["head", str(tmp_path / "no" / "table")],
        ["count", *warehouse, "shop.keyed", "--where", "v = 1/0"],
        ["inspect", *warehouse, "shop.keyed$no"],
        ["inspect", *warehouse, "sys.no"],
        ["query", *warehouse, "SELECT no FROM shop.keyed"],
        ["query", *warehouse, "DROP TABLE shop.keyed"],
        ["call", *warehouse, "no"],
        ["call", *warehouse, "compact", "table=shop.no"],
        ["picture", *warehouse, "shop.keyed", "--out", str(tmp_path / "no" / "p.svg")],
        ["picture", *warehouse, "shop.keyed", "--bucket", "99"],
        ["head", "--metastore", "no", "shop.keyed"],
        ["head", *warehouse, "--time-zone", "no", "shop.keyed"],
    ]
    assert {words[0] for words in wrong} == set(TABLE_COMMANDS)
    for words in wrong:
        assert run_table_command(words) == 1, words
        assert "Traceback" not in (said := capsys.readouterr().err)
        assert said.strip(), words
    put(next((world.folder / "shop.db" / "keyed" / "manifest").glob("manifest-list-*")), b"junk")
    for words in (["head", *warehouse, "shop.keyed"], ["inspect", *warehouse, "shop.keyed$files"]):
        assert run_table_command(words) in (0, 1), words
