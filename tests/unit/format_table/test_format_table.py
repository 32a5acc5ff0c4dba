"""Format tables without Spark: what is written is read, overwrites replace what they say, other files are let be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.changes import Overwrite
from paimon_core.errors import (
    InvalidDataError,
    InvalidOptionError,
    InvalidSchemaError,
    StorageError,
    StorageRefusedError,
    UnsupportedFeatureError,
)
from paimon_core.expressions.predicate import And, Compare, IsNull, Or
from paimon_core.format_table.options import check_format_schema, format_options
from paimon_core.format_table.scan import FORMAT_SPLIT, read_format_split
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import STAGED_FILES, FormatTableWriter, StagedFiles
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.schema import encode_schema
from paimon_core.spec.types import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    parse_type,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.time_zones import time_zone
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.tables import fields

Rows = list[dict[str, Any]]
DATE, DECIMAL = parse_type("DATE"), parse_type("DECIMAL(6, 2)")


def table(root: Path, columns: dict[str, DataType], *keys: str, **options: str) -> FormatTable:
    given = {"type": "format-table", "file.format": "csv"} | {k.replace("_", "."): v for k, v in options.items()}
    schema = new_table_schema(fields(**columns), partition_keys=keys, options=given)
    check_format_schema(schema)
    (root / "schema").mkdir(exist_ok=True)
    (root / "schema" / "schema-0").write_bytes(encode_schema(schema))
    return FormatTable.of(TableStore.of(LocalFileIO(), str(root), schema))


def insert(target: FormatTable, rows: Rows, overwrite: Overwrite | None = None) -> None:
    writer = FormatTableWriter(target.store)
    if rows:
        writer.write(pa.RecordBatch.from_pylist(rows, arrow_schema(target.schema.fields)))
    staged = STAGED_FILES.encode(StagedFiles(tuple(writer.finish())))
    target.commit(STAGED_FILES.decode(staged).files, overwrite)


def read(target: FormatTable, predicate: Any = None, *columns: str) -> Rows:
    names = columns or tuple(f.name for f in target.schema.fields)
    splits = [FORMAT_SPLIT.decode(FORMAT_SPLIT.encode(s)) for s in target.plan(predicate).splits]
    batches = [b for s in splits for b in read_format_split(target.store, s, names, predicate)]
    return sorted((r for b in batches for r in b.to_pylist()), key=str)


@pytest.mark.parametrize("name", ["csv", "json", "orc", "parquet"])
@pytest.mark.parametrize("layout", ["true", "false"])
def test_rows_come_back(tmp_path: Path, name: str, layout: str) -> None:
    columns = {"p": STRING, "k": INT, "d": DATE, "m": DECIMAL}
    options = {"file.format": name, "format-table.partition-path-only-value": layout, "target-file-size": "1 b"}
    target = table(tmp_path, columns, "p", "d", **options)
    texts = ["a", "b/c=%d", None, "_x", ".y", "schemas", "é"]
    texts = texts if layout == "false" else [t for t in texts if t not in ("_x", ".y")]
    schema = arrow_schema(target.schema.fields)
    days = pa.array([19_000, None, -1], pa.int32()).cast(pa.date32()).to_pylist()
    amounts = pa.array(["1.50", None], pa.string()).cast(pa.decimal128(6, 2)).to_pylist()
    rows = [{"p": t, "k": i, "d": days[i % 3], "m": amounts[i % 2]} for i, t in enumerate(texts * 3)]
    insert(target, rows[:10])
    insert(target, rows[10:])
    assert read(target) == sorted(pa.RecordBatch.from_pylist(rows, schema).to_pylist(), key=str)
    wanted = Or((Compare("p", "=", "b/c=%d"), And((IsNull("p"), Compare("d", "<", 0)))))
    found = [r for r in rows if r["p"] == "b/c=%d" or (r["p"] is None and r["d"] is not None and r["d"].year < 1970)]
    assert read(target, wanted, "k") == sorted(({"k": r["k"]} for r in found), key=str)
    assert read(target, None, "d", "p") == sorted(({"d": r["d"], "p": r["p"]} for r in rows), key=str)
    assert target.partitions().num_rows == len({(r["p"], r["d"]) for r in rows})


def test_overwrites_replace_what_they_say(tmp_path: Path) -> None:
    target = table(tmp_path, {"k": INT, "a": INT, "b": STRING}, "a", "b")

    def row(k: int, a: int, b: str | None) -> dict[str, Any]:
        return {"k": k, "a": a, "b": b}

    insert(target, [row(1, 1, "x"), row(2, 1, "y"), row(3, 2, "x"), row(4, 2, None)])
    insert(target, [row(5, 2, "z")], Overwrite(predicate=Compare("a", "=", 2)))
    assert read(target) == [row(1, 1, "x"), row(2, 1, "y"), row(5, 2, "z")]
    insert(target, [row(6, 1, "y")], Overwrite(dynamic=True))
    insert(target, [], Overwrite(dynamic=True))
    assert read(target) == [row(1, 1, "x"), row(5, 2, "z"), row(6, 1, "y")]
    insert(target, [], Overwrite(predicate=And((Compare("a", "=", 9), Compare("b", "=", "n")))))
    assert (tmp_path / "a=9" / "b=n").is_dir()
    target.truncate(Compare("a", "=", 1))
    assert read(target) == [row(5, 2, "z")]
    insert(target, [row(7, 3, "q")], Overwrite())
    assert read(target) == [row(7, 3, "q")]
    target.truncate()
    assert read(target) == [] and target.partitions().num_rows == 7
    assert (tmp_path / "schema" / "schema-0").exists()


def test_an_aborted_write_leaves_nothing(tmp_path: Path) -> None:
    target = table(tmp_path, {"k": INT})
    writer = FormatTableWriter(target.store)
    writer.write(pa.record_batch({"k": pa.array([1], pa.int32())}))
    target.abort(writer.finish())
    other = FormatTableWriter(target.store)
    other.write(pa.record_batch({"k": pa.array([1], pa.int32())}))
    other.finish()
    assert read(target) == []  # hidden until it is committed
    other.abort()
    assert [f.name for f in tmp_path.iterdir()] == ["schema"]


def test_an_overwrite_that_dies_loses_no_rows(tmp_path: Path) -> None:
    """Until its files have their final paths all old rows are there, then all new ones."""
    old, new = ([{"k": k, "p": p} for k, p in rows] for rows in ([(1, 1), (2, 2)], [(3, 1), (4, 3)]))
    seen, calls = set(), 0
    while True:
        calls += 1
        root = tmp_path / str(calls)
        root.mkdir()
        target = table(root, {"k": INT, "p": INT}, "p")
        insert(target, old)
        writer = FormatTableWriter(target.store)
        writer.write(pa.RecordBatch.from_pylist(new, arrow_schema(target.schema.fields)))
        files, faulty = writer.finish(), FaultyIO(LocalFileIO(), calls, Fault.CRASH)
        try:
            FormatTable(replace(target.store, io=faulty)).commit(files, Overwrite())
            break
        except SimulatedCrash:
            found = read(target)
        assert all(r in found for r in old) or all(r in found for r in new)
        seen.add(len(found))
    assert read(target) == new and seen >= {2, 4}


def test_a_replacing_definition_that_dies_loses_no_rows(tmp_path: Path) -> None:
    """The process dies before each call in turn: all rows of the old definition are there, or all of the new one."""
    seen, calls = set(), 0
    while True:
        calls += 1
        root = tmp_path / str(calls)
        root.mkdir()
        old = table(root, {"k": INT})
        insert(old, [{"k": 1}])
        writer = FormatTableWriter(old.store)
        writer.write(pa.RecordBatch.from_pylist([{"k": 2}], arrow_schema(old.schema.fields)))
        files, published = writer.finish(), list[int]()
        target = FormatTable(replace(old.store, io=FaultyIO(LocalFileIO(), calls, Fault.CRASH)))
        try:
            target.commit_definition(files, partial(published.append, 1), replaced=target)
            break
        except SimulatedCrash:
            found = tuple(r["k"] for r in read(old))
        assert found in ((1,), (1, 2)) and (published or found == (1,))
        seen.add(found)
    assert read(old) == [{"k": 2}] and seen == {(1,), (1, 2)}


def test_rows_that_can_be_read_are_not_told_as_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = table(tmp_path, {"k": INT})
    writer = FormatTableWriter(target.store)
    writer.write(pa.record_batch({"k": pa.array([1], pa.int32())}))
    files = writer.finish()

    def refuse(_: LocalFileIO, path: str) -> None:
        raise StorageRefusedError(f"Cannot write {path}: no space.")

    monkeypatch.setattr(LocalFileIO, "sync", refuse)
    with pytest.raises(StorageError, match="New rows of table .* can be read") as raised:
        target.commit(files)
    assert type(raised.value) is StorageError
    assert read(target) == [{"k": 1}]


def test_files_of_others(tmp_path: Path) -> None:
    target = table(tmp_path, {"k": INT, "v": STRING, "n": BIGINT}, header="true", sep=";", nullValue="nil")
    (tmp_path / "000000_0").write_text("k;v;n\n1;a;2\nnil;nil;nil\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "part-0.csv").write_text('k;v;n\n2;"x;y";3;more;even\n3\n4;b;what\n')
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "part-1.csv").write_text("k;v;n\n9;9;9\n")
    (tmp_path / ".part-0.csv.crc").write_text("9;9;9\n")
    (tmp_path / "empty.csv").write_text("")
    assert [tuple(r.values()) for r in read(target)] == sorted(
        [(1, "a", 2), (None, None, None), (2, "x;y", 3), (3, None, None), (4, "b", None)],
        key=lambda r: str(dict(zip("kvn", r, strict=True))),
    )
    dropping = target.with_options({"csv.mode": "dropmalformed"})
    assert {r["k"] for r in read(dropping)} == {1, None, 2, 3}
    with pytest.raises(Exception, match=r"part-0\.csv"):
        read(target.with_options({"csv.mode": "failfast"}))


def test_a_value_behind_a_bad_one_is_null(tmp_path: Path) -> None:
    target = table(tmp_path, {"a": INT, "b": INT, "c": INT})
    (tmp_path / "f.csv").write_text("1,x,3\n4,5,6\n")
    assert [tuple(r.values()) for r in read(target)] == [(1, None, None), (4, 5, 6)]
    assert read(target, None, "c") == [{"c": 3}, {"c": 6}]


def test_folders_that_are_no_partitions(tmp_path: Path) -> None:
    target = table(tmp_path, {"k": INT, "p": INT}, "p")
    for folder in ("p=1", "q=1", "p=", "plain", "_p=2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.csv").write_text("7\n")
    assert read(target) == [{"k": 7, "p": 1}]
    (tmp_path / "p=one").mkdir()
    with pytest.raises(InvalidDataError, match="folder's p is not a valid INT"):
        target.partitions()


def test_a_value_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    options = {"format-table.partition-path-only-value": "true"}
    target = table(tmp_path, {"k": INT, "p": STRING}, "p", **options)
    for value in ("..", ".", "schema"):
        with pytest.raises(InvalidDataError, match="folder's name"):
            insert(target, [{"k": 1, "p": value}])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"file.format": "avro"}, UnsupportedFeatureError),
        ({"csv.field-delimiter": "||"}, InvalidOptionError),
        ({"quote": ","}, InvalidOptionError),
        ({"csv.line-delimiter": ""}, InvalidOptionError),
        ({"file.format": "text"}, UnsupportedFeatureError),
        ({"file.format": "text", "lineSep": ""}, UnsupportedFeatureError),
        ({"metastore.partitioned-table": "true"}, UnsupportedFeatureError),
        ({"primary-key": "k"}, InvalidSchemaError),
    ],
)
def test_what_no_format_table_has(tmp_path: Path, options: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        table(tmp_path, {"k": INT, "v": STRING}, **options)


def test_options_of_others() -> None:
    given = format_options({"file.format": "orc", "file.compression": "lz4", "format-table.file.compression": "zlib"})
    assert given.values["file.compression"] == "zlib"
    assert format_options({}).values["file.compression"] == "snappy"
    assert format_options({"file.format": "csv", "seq": "|", "delimiter": ";"}).values["csv.field-delimiter"] == "|"


def test_names_of_partition_columns_in_another_case(tmp_path: Path) -> None:
    """As Spark reads folders, and each partition once however its folders spell it."""
    target = table(tmp_path, {"k": INT, "Pt": INT, "sub": STRING}, "Pt", "sub")
    insert(target, [{"k": k, "Pt": k // 2, "sub": "A"} for k in (2, 3, 4)])
    (tmp_path / "Pt=1").rename(tmp_path / "PT=01")
    (tmp_path / "PT=01" / "sub=A").rename(tmp_path / "PT=01" / "SUB=A")
    exact = replace(target, case_sensitive=True)
    assert [r["k"] for r in read(target)] == [2, 3, 4]
    assert [r["k"] for r in read(target, Compare("Pt", "=", 1))] == [2, 3]
    assert [r["k"] for r in read(exact)] == [4]
    insert(target, [{"k": 5, "Pt": 1, "sub": "A"}, {"k": 6, "Pt": 1, "sub": "a"}])
    assert [r["k"] for r in read(target)] == [2, 3, 4, 5, 6]
    assert target.partitions().to_pylist() == [{"Pt": 1, "sub": "A"}, {"Pt": 1, "sub": "a"}, {"Pt": 2, "sub": "A"}]
    insert(target, [{"k": 7, "Pt": 1, "sub": "A"}], Overwrite(dynamic=True))
    assert [r["k"] for r in read(target)] == [4, 6, 7]
    (tmp_path / "Pt=2").rename(tmp_path / "pt=2")
    insert(target, [{"k": 8, "Pt": 2, "sub": "b"}], Overwrite(predicate=Compare("Pt", "=", 2)))
    assert [r["k"] for r in read(target)] == [6, 7, 8]
    (tmp_path / "Pt=1").rename(tmp_path / "pT=1")
    target.truncate(Compare("Pt", "=", 1))
    assert [r["k"] for r in read(target)] == [8]


def write_mixed_case(root: Path, name: str, columns: dict[str, Any]) -> None:
    rows = pa.table(columns)
    if name == "orc":
        po.write_table(rows, root / f"f.{name}")
    else:
        pq.write_table(rows, root / f"f.{name}")


@pytest.mark.parametrize("name", ["orc", "parquet"])
def test_names_of_columns_in_another_case(tmp_path: Path, name: str) -> None:
    inner = RowType(fields=(DataField(id=5, name="deep", type=INT), DataField(id=6, name="b", type=STRING)))
    nested = CollectionType(Kind.ARRAY, element=inner)
    columns = {"event_name": STRING, "r": inner, "l": nested, "missing": INT}
    target = table(tmp_path, columns, **{"file.format": name})
    struct = {"Deep": 1, "b": "x"}
    write_mixed_case(tmp_path, name, {"Event_Name": ["e", "f"], "R": [struct, None], "l": [[struct], []]})
    found = {"deep": 1, "b": "x"}
    assert read(target) == [
        {"event_name": "e", "r": found, "l": [found], "missing": None},
        {"event_name": "f", "r": None, "l": [], "missing": None},
    ]
    assert [r["event_name"] for r in read(target, Compare("event_name", "=", "f"))] == ["f"]
    (split,) = target.plan().splits
    exact = [
        row
        for batch in read_format_split(target.store, split, ["event_name", "r", "l"], case_sensitive=True)
        for row in batch.to_pylist()
    ]
    hidden = {"deep": None, "b": "x"}
    assert exact == [{"event_name": None, "r": None, "l": [hidden]}, {"event_name": None, "r": None, "l": []}]


def of(**types: Any) -> RowType:
    return RowType(fields=tuple(DataField(id=50 + i, name=n, type=t) for i, (n, t) in enumerate(types.items())))


FOUND = pa.struct([("BB", pa.string()), ("Aa", pa.int32())])
NAMED = of(aa=INT, bb=STRING)
# the type of a column, the type in the file, and the value in the file and in the table
NESTED: dict[str, tuple[DataType, pa.DataType, Any, Any]] = {
    "in another order": (
        of(aa=INT, bb=STRING, new=INT),
        FOUND,
        {"BB": "z", "Aa": 4},
        {"aa": 4, "bb": "z", "new": None},
    ),
    "values of maps": (
        MapType(key=STRING, value=NAMED),
        pa.map_(pa.string(), FOUND),
        [("x", {"Aa": 1, "BB": "q"}), ("y", None)],
        [("x", {"aa": 1, "bb": "q"}), ("y", None)],
    ),
    "keys of maps": (
        MapType(key=of(aa=INT), value=INT),
        pa.map_(pa.struct([("AA", pa.int32())]), pa.int32()),
        [({"AA": 1}, 2)],
        [({"aa": 1}, 2)],
    ),
    "lists of lists": (
        CollectionType(Kind.ARRAY, element=CollectionType(Kind.ARRAY, element=of(r=NAMED))),
        pa.list_(pa.list_(pa.struct([("R", FOUND)]))),
        [[{"R": {"Aa": 1, "BB": None}}, None], None],
        [[{"r": {"aa": 1, "bb": None}}, None], None],
    ),
    "maps in structs": (
        of(mm=MapType(key=INT, value=CollectionType(Kind.ARRAY, element=of(zz=STRING)))),
        pa.struct([("MM", pa.map_(pa.int32(), pa.list_(pa.struct([("Zz", pa.string())]))))]),
        {"MM": [(1, [{"Zz": "u"}]), (2, None)]},
        {"mm": [(1, [{"zz": "u"}]), (2, None)]},
    ),
    "other letters": (of(ärger=INT), pa.struct([("ÄRGER", pa.int32())]), {"ÄRGER": 1}, {"ärger": 1}),
    "narrower types": (
        of(aa=BIGINT, bb=DOUBLE),
        pa.struct([("AA", pa.int32()), ("BB", pa.float32())]),
        {"AA": 1, "BB": 1.5},
        {"aa": 1, "bb": 1.5},
    ),
}


@pytest.mark.parametrize("name", ["orc", "parquet"])
@pytest.mark.parametrize("kind", NESTED)
def test_nested_names_in_another_case(tmp_path: Path, kind: str, name: str) -> None:
    column, found, given, value = NESTED[kind]
    target = table(tmp_path, {"k_id": INT, "v_col": column, "Pt": INT}, "Pt", **{"file.format": name})
    (tmp_path / "pt=1").mkdir()
    rows = {"V_Col": pa.array([given, None], found), "K_ID": pa.array([1, 2], pa.int32())}
    write_mixed_case(tmp_path / "pt=1", name, rows)
    first, second = {"k_id": 1, "v_col": value, "Pt": 1}, {"k_id": 2, "v_col": None, "Pt": 1}
    assert read(target) == [first, second]
    assert [r["k_id"] for r in read(target, Compare("k_id", ">", 1))] == [2]
    assert [r["k_id"] for r in read(target, IsNull("v_col"))] == [2]
    insert(target, [first])
    assert sorted(map(str, read(target))) == sorted(map(str, [first, first, second]))


@pytest.mark.parametrize("name", ["orc", "parquet"])
def test_two_names_that_differ_in_case(tmp_path: Path, name: str) -> None:
    target = table(tmp_path, {"ab": INT}, **{"file.format": name})
    write_mixed_case(tmp_path, name, {"Ab": pa.array([1], pa.int32()), "aB": pa.array([2], pa.int32())})
    with pytest.raises(InvalidDataError, match=rf"f\.{name} cannot be read by names: .*'Ab' and 'aB' both match 'ab'"):
        read(target)
    write_mixed_case(tmp_path, name, {"Ab": pa.array([1], pa.int32()), "ab": pa.array([2], pa.int32())})
    assert read(target) == [{"ab": 2}]
    inner = RowType(fields=(DataField(id=5, name="ab", type=INT),))
    (tmp_path / "nested").mkdir()
    target = table(tmp_path / "nested", {"r": inner}, **{"file.format": name})
    write_mixed_case(tmp_path / "nested", name, {"r": [{"Ab": 1, "aB": 2}]})
    with pytest.raises(InvalidDataError, match="'Ab' and 'aB' both match 'ab'"):
        read(target)


@pytest.mark.parametrize("machine", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partitions_by_an_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, legacy: str) -> None:
    """Paimon's spelling is in UTC, SQL's in the session's zone; where the machine is makes no difference."""
    monkeypatch.setenv("TZ", machine)
    instant = parse_type("TIMESTAMP(6) WITH LOCAL TIME ZONE")
    made = table(tmp_path, {"k": INT, "p": instant}, "p", **{"partition_legacy-name": legacy})
    target = FormatTable.of(replace(made.store, zone=time_zone("+08:00")))
    rows = [{"k": 1, "p": datetime(2024, 6, 1, tzinfo=UTC)}, {"k": 2, "p": datetime(2024, 6, 1, 8, tzinfo=UTC)}]
    insert(target, rows)
    spelled = "2024-06-01T00%3A00" if legacy == "true" else "2024-06-01 08%3A00%3A00.000000"
    assert (tmp_path / f"p={spelled}").is_dir()
    (tmp_path / "p=2024-06-01 20%3A00%3A00").mkdir()  # as Spark's own tables spell it
    (tmp_path / "p=2024-06-01 20%3A00%3A00" / "a.csv").write_text("3\n")
    assert read(target) == [*rows, {"k": 3, "p": datetime(2024, 6, 1, 12, tzinfo=UTC)}]
    assert read(target, Compare("p", "=", (1_717_200_000_000, 0))) == rows[:1]
