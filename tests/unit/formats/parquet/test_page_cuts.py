"""A look-up of a key decodes only the pages that may have it, and finds the rows that reading all pages finds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError
from paimon_core.expressions.predicate import And, Compare, In, Predicate
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet import data_files, page_cuts
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.parquet.footer import column_chunks, file_end, read_footer, row_groups
from paimon_core.formats.parquet.page_checks import checked_footer
from paimon_core.formats.parquet.page_cuts import pages_of_group
from paimon_core.formats.parquet.thrift import I32, I64, Fields, decode, encode
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    RowType,
    parse_type,
)
from tests.support.examples import examples

IO = LocalFileIO()
ROWS, PAGE = 100, 10
_OFFSETS, _BOUNDS = (4, 5), (6, 7)  # ColumnChunk


def fields_of(*types: DataType) -> list[DataField]:
    return [DataField(id=i, name=f"c{i}", type=t) for i, t in enumerate(types)]


def write(path: Path, fields: list[DataField], columns: list[Any], **options: str) -> None:
    given = {"parquet.page.row.count.limit": str(PAGE)} | {k.replace("__", "."): v for k, v in options.items()}
    writer = ParquetFileWriter(OutputFile(IO, str(path)), fields, TableOptions(given))
    writer.write(pa.table(columns, schema=arrow_schema(fields)))
    writer.close()


def read(path: Path, fields: list[DataField], predicate: Predicate | None = None) -> list[tuple[Any, ...]]:
    """Return the rows that a file gives for a predicate; rows that do not match may be among them."""
    request = ReadRequest(str(path), tuple(fields), predicate)
    return [row for b in ParquetFormat().read(IO, request) for row in zip(*(c.to_pylist() for c in b), strict=True)]


@pytest.fixture
def cut_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of the cuts that are made."""
    found, cut = list[int](), page_cuts.PagesOfGroup.cut

    def noted(self, names, run):  # type: ignore[no-untyped-def]
        made = cut(self, names, run)
        if made is not None:
            found.append(pq.ParquetFile(pa.BufferReader(made)).metadata.num_rows)
        return made

    monkeypatch.setattr(page_cuts.PagesOfGroup, "cut", noted)
    return found


KEYS: list[tuple[DataType, Callable[[int], Any], Callable[[int], Any]]] = [
    (BIGINT, lambda i: 3 * i - 50, lambda i: 3 * i - 50),
    (INT, lambda i: i - 9, lambda i: i - 9),
    (STRING, lambda i: f"k{i:04}", lambda i: f"k{i:04}"),
    (DATE, lambda i: date.fromordinal(719163 + i), lambda i: i),
    (parse_type("DECIMAL(9, 2)"), lambda i: Decimal(i) / 4, lambda i: Decimal(i) / 4),
    (parse_type("DECIMAL(30, 2)"), lambda i: Decimal(i) / 4, lambda i: Decimal(i) / 4),
    (parse_type("TIMESTAMP(6)"), lambda i: datetime(1970, 1, 1, 0, i % 60, i // 60), lambda i: (60000 * i, 0)),
    (parse_type("VARBINARY(9)"), lambda i: b"%04d" % i, lambda i: b"%04d" % i),
]


@pytest.mark.parametrize("key", KEYS, ids=[str(t) for t, _, _ in KEYS])
@pytest.mark.parametrize("dictionary", ["true", "false"])
def test_a_key_of_any_type_decodes_one_page(
    key: tuple[DataType, Callable[[int], Any], Callable[[int], Any]],
    dictionary: str,
    tmp_path: Path,
    cut_rows: list[int],
) -> None:
    data_type, value, constant = key
    fields, path = fields_of(data_type, DOUBLE, STRING), tmp_path / "f.parquet"
    rows = 50 if "TIMESTAMP" in str(data_type) else ROWS
    columns = [[value(i) for i in range(rows)], [i / 7 for i in range(rows)], [f"v{i % 3}" for i in range(rows)]]
    write(path, fields, columns, parquet__enable__dictionary=dictionary)
    for i in (0, 9, 10, 37, rows - 1):
        cut_rows.clear()
        found = read(path, fields, Compare("c0", "=", constant(i)))
        assert found == [(value(i), i / 7, f"v{i % 3}")]
        assert cut_rows == [PAGE, PAGE]  # of keys, and of all columns
    assert read(path, fields, Compare("c0", "=", constant(10**4 if "TIMESTAMP" not in str(data_type) else 59))) == []


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.lists(st.one_of(st.none(), st.integers(0, 40)), min_size=1, max_size=70),
    others=st.integers(1, 20),
    wanted=st.lists(st.integers(-1, 41), min_size=1, max_size=4),
    limit=st.integers(1, 30),
)
def test_rows_are_those_of_the_whole_file(
    keys: list[int | None], others: int, wanted: list[int], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fields, path = fields_of(INT, INT, STRING), tmp_path_factory.mktemp("cuts") / "f.parquet"
    columns = [keys, [i % others for i in range(len(keys))], [None if i % 4 == 0 else str(i) for i in range(len(keys))]]
    write(path, fields, columns, parquet__page__row__count__limit=str(limit))
    rows = list(zip(*columns, strict=True))
    assert read(path, fields, In("c0", tuple(wanted))) == [r for r in rows if r[0] in wanted]
    both = And((Compare("c0", "=", wanted[0]), Compare("c1", "=", 0)))
    assert read(path, fields, both) == [r for r in rows if r[0] == wanted[0] and r[1] == 0]


def test_pages_that_begin_in_other_rows(tmp_path: Path, cut_rows: list[int]) -> None:
    """Long values have more pages than keys have."""
    rows, fields, path = 5000, fields_of(INT, INT, STRING), tmp_path / "f.parquet"
    values = [f"{i}" * 10 for i in range(rows)]
    options = {"parquet__page__size": "9000", "parquet__page__row__count__limit": "2000"}
    write(path, fields, [list(range(rows)), [0] * rows, values], **options)
    opened = pq.ParquetFile(path)
    footer = checked_footer(pa.OSFile(str(path)), opened.schema, 1)
    assert footer is not None
    starts = [page.starts for n in ("c0", "c2") if (page := pages_of_group(footer, 0, n)) is not None]
    assert starts[0] != starts[1]
    for i in (0, 2015, 4999):
        cut_rows.clear()
        found = read(path, fields, Compare("c0", "=", i))
        assert (found, cut_rows) == ([(i, 0, values[i])], [1000 if i == rows - 1 else 2000])  # of keys only
        with_both = And((Compare("c0", "=", i), Compare("c2", "=", values[i])))
        assert read(path, fields, with_both) == [(i, 0, values[i])]


def test_nested_columns_are_read_with_the_key(tmp_path: Path) -> None:
    fields, path = (
        fields_of(
            INT, CollectionType(kind=Kind.ARRAY, element=INT), RowType(fields=(DataField(id=9, name="a", type=INT),))
        ),
        tmp_path / "f.parquet",
    )
    lists, rows = [[i] * (i % 4) for i in range(ROWS)], [{"a": i} for i in range(ROWS)]
    write(path, fields, [list(range(ROWS)), lists, rows])
    for i in (0, 15, 99):
        assert read(path, fields, Compare("c0", "=", i)) == [(i, lists[i], rows[i])]


def test_a_group_without_cuts_is_decoded_once_for_many_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields, path = fields_of(INT, CollectionType(kind=Kind.ARRAY, element=INT)), tmp_path / "f.parquet"
    write(path, fields, [list(range(ROWS)), [[i] for i in range(ROWS)]])
    decoded, batches = list[tuple[str, ...]](), data_files._Opened.batches

    def noted(self, size, groups, names):  # type: ignore[no-untyped-def]
        decoded.append(tuple(names))
        return batches(self, size, groups, names)

    monkeypatch.setattr(data_files._Opened, "batches", noted)
    keys = (5, 25, 45, 65, 85)
    assert read(path, fields, In("c0", keys)) == [(k, [k]) for k in keys]
    assert [names for names in decoded if "c1" in names] == [("c0", "c1")]


def test_files_without_an_index_and_of_other_types(tmp_path: Path, cut_rows: list[int]) -> None:
    fields, path = fields_of(INT, STRING), tmp_path / "f.parquet"
    table = pa.table([list(range(ROWS)), [str(i) for i in range(ROWS)]], schema=arrow_schema(fields))
    for options in (
        {"write_page_index": False, "store_schema": False},
        {"write_page_index": True, "store_schema": True},  # Arrow's metadata may give columns other types
    ):
        pq.write_table(table, path, max_rows_per_page=PAGE, **options)
        assert read(path, fields, Compare("c0", "=", 42)) == [(42, "42")]
    assert cut_rows == []


def test_old_columns_of_a_file_have_the_types_of_the_file(tmp_path: Path) -> None:
    fields, path = fields_of(INT, INT), tmp_path / "f.parquet"
    write(path, fields, [list(range(ROWS)), list(range(ROWS))])
    wider = [fields[0], DataField(id=1, name="renamed", type=BIGINT), DataField(id=7, name="new", type=STRING)]
    assert read(path, wider, Compare("c0", "=", 42)) == [(42, 42, None)]


def test_only_some_pages_are_read_of_the_file(tmp_path: Path) -> None:
    """Damage in other pages is not seen."""
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    opened = pq.ParquetFile(path)
    footer = checked_footer(pa.OSFile(str(path)), opened.schema, 1)
    assert footer is not None
    for name in ("c0", "c1"):
        chunk = next(c for c in footer.footer.groups[0].chunks if c.name == name)
        with path.open("r+b") as file:
            file.seek(chunk.start)
            file.write(b"\xff" * 40)  # in the first page
    assert [r[0] for r in read(path, fields, Compare("c0", "=", 42))] == [42]
    with pytest.raises(CorruptFileError):
        read(path, fields, Compare("c0", "=", 2))


# -- hostile indexes --------------------------------------------------------------------------------------------------
def with_index(path: Path, column: int, place: tuple[int, int], change: Callable[[Fields], None]) -> None:
    """Change an index of the pages of a column."""
    data = path.read_bytes()
    footer, start = read_footer(pa.BufferReader(data))
    chunk = column_chunks(row_groups(footer)[0])[column]
    offset, size = (chunk[n][1] for n in place)
    index = decode(data[offset : offset + size])
    change(index)
    new = encode(index)
    chunk[place[0]], chunk[place[1]] = (I64, start), (I32, len(new))
    path.write_bytes(data[:start] + new + file_end(footer))


def moved(number: int, by: int) -> Callable[[Fields], None]:
    """Change a field of the second page."""

    def change(index: Fields) -> None:
        page = index[1][1].values[1]
        page[number] = page[number][0], page[number][1] + by

    return change


@pytest.mark.parametrize("column", [0, 1], ids=["key", "value"])
@pytest.mark.parametrize(
    "change",
    [moved(1, 1), moved(1, 10**9), moved(2, 1), moved(2, -(10**6)), moved(3, 100), moved(3, -20), lambda i: i.pop(1)],
    ids=["later", "outside", "longer", "negative", "more-rows", "fewer-rows", "empty"],
)
def test_a_wrong_index_of_pages_is_an_error(column: int, change: Callable[[Fields], None], tmp_path: Path) -> None:
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    with_index(path, column, _OFFSETS, change)
    with pytest.raises(CorruptFileError):
        read(path, fields, Compare("c0", "=", 15))


@pytest.mark.parametrize("column", [0, 1], ids=["key", "value"])
def test_an_index_with_a_page_without_rows_is_not_used(column: int, tmp_path: Path) -> None:
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    with_index(path, column, _OFFSETS, moved(3, -10))
    assert [r[0] for r in read(path, fields, Compare("c0", "=", 15))] == [15]


def test_indexes_longer_than_a_reader_takes_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of long values are long, in sound files, too."""
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    monkeypatch.setattr(page_cuts, "_LARGEST", 16)
    assert [r[0] for r in read(path, fields, Compare("c0", "=", 15))] == [15]


def test_rows_of_pages_are_those_of_the_index(tmp_path: Path) -> None:
    """Pages of ten rows that an index calls pages of nine and eleven would give a key the values of another."""
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    for column in (0, 1):
        with_index(path, column, _OFFSETS, moved(3, -1))
    with pytest.raises(CorruptFileError, match="have other rows than their index"):
        read(path, fields, Compare("c0", "=", 15))


def test_an_index_of_values_with_too_few_pages_is_an_error(tmp_path: Path) -> None:
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.random.default_rng(1).random(ROWS)])
    with_index(path, 0, _BOUNDS, lambda index: index[2][1].values.pop())
    with pytest.raises(CorruptFileError, match="another number of pages"):
        read(path, fields, Compare("c0", "=", 15))


def test_few_values_are_read_at_once(tmp_path: Path, cut_rows: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "_FEW_ROWS", 4)
    fields, path = fields_of(BIGINT, DOUBLE), tmp_path / "f.parquet"
    write(path, fields, [np.arange(ROWS), np.arange(ROWS) / 2])
    assert read(path, fields, In("c0", (11, 12, 19, 55, 71))) == [(k, k / 2) for k in (11, 12, 19, 55, 71)]
    assert cut_rows == [PAGE] * 6
