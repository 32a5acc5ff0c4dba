"""Files that are damaged, hostile or of another table: reading ends with rows or with an error of ours, in bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import CorruptFileError, PaimonError, UnfamiliarFormError
from paimon_core.scan.changes.read import read_changes
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.types import INT
from tests.fuzz.files.corpus import BLOB_KINDS, KINDS, Case, make_corpus
from tests.fuzz.files.judge import REFUSED, ROWS, judge
from tests.fuzz.files.mutants import Mutant, Mutants
from tests.support.stored import Row, compact, create_table, insert, open_table, read

MUTANTS = (100, 2000)  # the gate has the first number
MENDED = [  # seed and number
    *((3, n) for n in (8596, 11368, 15862, 18458, 18790, 23477)),
    *((2, n) for n in (17668, 28193, 29890, 31658, 32410, 36554, 42746, 46064, 61222, 65384, 71306, 75212, 79702)),
    *((2, n) for n in (91567, 93818, 94381, 95179, 98903, 111122, 113750)),
    *((20261125, n) for n in (17820, 21348, 73619)),
]
HARMLESS = {"hint"}  # what is wrong in a hint is passed over
WITHOUT_ROW_COUNT = "text_"  # a folder of files has no metadata that says how many rows there are


@pytest.mark.parametrize("count", MUTANTS)
def test_mutants(count: int) -> None:
    """The nightly campaign does it with a hundred thousand."""
    command = [sys.executable, "-m", "tests.fuzz", "files", "--count", str(count), "--seed", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert f"{count} mutants of seed 2" in done.stdout


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def test_every_file_of_the_corpus_is_read(corpus: tuple[Case, ...]) -> None:
    """An empty one in its place is refused by name: none of them stands there unread."""
    assert {c.kind for c in corpus} == set(KINDS)
    unread = []
    for case in corpus:
        case.read(case.root)
        if case.kind in HARMLESS or case.root.name.startswith(WITHOUT_ROW_COUNT):
            continue
        case.path.write_bytes(b"")
        try:
            case.read(case.root)
            unread.append(case.name)
        except CorruptFileError as e:
            assert case.path.name in str(e)
        case.path.write_bytes(case.content)
    assert unread == []


def test_the_same_number_is_the_same_mutant(corpus: tuple[Case, ...], tmp_path: Path) -> None:
    mutants, again = Mutants(corpus, 3), Mutants(corpus, 3)
    assert [mutants[n] for n in range(200)] == [again[n] for n in range(200)]
    assert len({mutants[n].content for n in range(200)}) > 150
    # names of files are as random as their writers make them, and are the same in another run
    assert {c.name for c in make_corpus(tmp_path)} == {c.name for c in corpus}


@pytest.mark.parametrize(("seed", "number"), MENDED)
def test_what_campaigns_found_is_refused(corpus: tuple[Case, ...], seed: int, number: int) -> None:
    (outcome,) = judge(Mutants(corpus, seed), [number])
    assert not outcome.is_finding, outcome


def test_damaged_files_of_blobs_are_refused_or_read(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, BLOB_KINDS)
    assert {c.kind for c in corpus} == set(BLOB_KINDS)
    for case in corpus:
        case.read(case.root)
        case.path.write_bytes(b"")
        with pytest.raises(PaimonError, match=case.path.name):
            case.read(case.root)
        case.path.write_bytes(case.content)
    outcomes = list(judge(Mutants(corpus, 1, BLOB_KINDS), range(90)))
    assert [o for o in outcomes if o.is_finding] == []
    assert {o.result for o in outcomes} == {ROWS, REFUSED}


def loop(root: Path) -> None:
    while True:
        pass


def swallow(root: Path) -> None:
    bytearray(b"x") * 2**29


def wrong_name(root: Path) -> None:
    raise CorruptFileError("another file", "it is damaged")


def claim(root: Path) -> None:
    pa.allocate_buffer(2**50)


FAULTS = {
    "crash": lambda root: os.abort(),
    "hang": loop,
    "memory": swallow,
    "KeyError": lambda root: {}["x"],
    "ArrowMemoryError": claim,
    "unnamed": wrong_name,
    "rows": lambda root: None,
}


def test_every_fault_is_found(tmp_path: Path) -> None:
    """The judge itself: readers that crash, hang, take too much memory or raise what is not ours."""

    class Faults(Mutants):
        def __getitem__(self, number: int) -> Mutant:
            path = tmp_path / "t" / f"f{number}"
            path.parent.mkdir(exist_ok=True)
            case = Case("schema", path, path.parent, list(FAULTS.values())[number], b"")
            return Mutant(number, case, "", b"damaged")

    found = list(judge(Faults((), 0), range(len(FAULTS))))
    assert [(o.number, o.result) for o in found] == list(enumerate(FAULTS))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with keys, compacted once, then upserted."""
    folder = tmp_path_factory.mktemp("damaged")
    table = create_table(str(folder), primary_key="k", bucket="1", file__compression="none")
    insert(table, [(k, "old") for k in range(50)])
    compact(table)
    insert(table, [(k, f"new {k}") for k in range(25, 75)])
    return folder


@pytest.fixture
def rows(warehouse: Path) -> list[Row]:
    return read(open_table(str(warehouse)))


@pytest.fixture
def data_file(warehouse: Path, rows: list[Row]) -> Iterator[Path]:
    """The youngest data file, which a test may change."""
    path = max(warehouse.glob("default.db/t/bucket-*/data-*.parquet"), key=lambda p: p.stat().st_mtime_ns)
    content = path.read_bytes()
    yield path
    path.write_bytes(content)
    assert read(open_table(str(warehouse))) == rows


@pytest.mark.parametrize("missing", ["_SEQUENCE_NUMBER", "_VALUE_KIND"])
def test_a_data_file_of_another_table(warehouse: Path, data_file: Path, missing: str) -> None:
    """It is whole, and has not what a row of a table with keys has."""
    pq.write_table(pq.read_table(data_file).drop_columns([missing]), data_file)
    with pytest.raises(UnfamiliarFormError, match=f"{data_file.name} .*its column {missing} is missing"):
        read(open_table(str(warehouse)))


@pytest.mark.parametrize("kind", [-1, 4, 127])
def test_unknown_row_kinds(warehouse: Path, data_file: Path, kind: int) -> None:
    table = pq.read_table(data_file)
    kinds = pa.array([0] * (table.num_rows - 1) + [kind], pa.int8())
    index = table.schema.get_field_index("_VALUE_KIND")
    pq.write_table(table.set_column(index, table.schema.field(index), kinds), data_file)
    opened = open_table(str(warehouse))
    split = opened.plan(opened.latest_snapshot()).splits[0]
    with pytest.raises(UnfamiliarFormError, match=f"{data_file.name} .*some of its rows have an unknown _VALUE_KIND"):
        list(read_changes(opened.store, split, ["k"], None, retracts=True))


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "csv", "json"])
@pytest.mark.parametrize("more", [False, True])
def test_files_of_other_rows_than_metadata_says(file_format: str, more: bool, tmp_path: Path) -> None:
    """Whole files, of the same table: without a count, rows that are gone would not be missed."""
    table = create_table(str(tmp_path), file__format=file_format)
    insert(table, [(1, "a"), (2, "b")])
    insert(table, [(3, "c")])
    two, one = sorted(tmp_path.glob("default.db/t/bucket-*/data-*"), key=lambda p: p.stat().st_mtime_ns)
    source, target = (two, one) if more else (one, two)
    target.write_bytes(source.read_bytes())
    with pytest.raises(CorruptFileError, match=f"{target.name} is corrupt: it has {1 + more} rows, but metadata lists"):
        read(open_table(str(tmp_path)))


def test_a_partition_of_another_table(tmp_path: Path) -> None:
    """A manifest whose entries are in partitions, of a table without."""
    table = create_table(str(tmp_path))
    with pytest.raises(
        UnfamiliarFormError, match=r"t/manifest/\* .*the partition of a file is not a partition of the table"
    ):
        table.store.bucket_dir(encode_row([INT], [1]), 0)


def test_hints_are_only_hints(warehouse: Path, rows: list[Row]) -> None:
    for name in ("LATEST", "EARLIEST"):
        hint = warehouse / "default.db/t/snapshot" / name
        content = hint.read_bytes()
        for damage in (b"", b"x", b"-1", b"0", b"1", b"999", b"9" * 400, b"\xff\x00", content + b"\n"):
            hint.write_bytes(damage)
            assert read(open_table(str(warehouse))) == rows, (name, damage)
        hint.unlink()
        assert read(open_table(str(warehouse))) == rows
        hint.write_bytes(content)


def test_files_that_are_not_the_tables_are_ignored(warehouse: Path, rows: list[Row]) -> None:
    root = warehouse / "default.db/t"
    strays = ["snapshot/snapshot-x", "snapshot/snapshot-", "snapshot/.snapshot-9.0.tmp", "snapshot/snapshot-007x"]
    strays += ["schema/schema-x", "schema/.schema-1.tmp", "manifest/nothing", "bucket-0/data-stray.parquet", "stray"]
    for name in strays:
        (root / name).write_bytes(b"stray")
    assert read(open_table(str(warehouse))) == rows
    for name in strays:
        (root / name).unlink()
