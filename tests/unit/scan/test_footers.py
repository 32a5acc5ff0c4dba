"""Both ways of reading a Parquet file give the same rows: engines get files whose columns are stored as they expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, InvalidDataError
from paimon_core.formats.parquet.plain_columns import has_plain_columns
from paimon_core.scan.footers import engines_read_alike
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import INT, STRING, parse_type
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store
from tests.support.examples import examples
from tests.support.foreign_files import FORMS, Form, read_alone, settings_of, stored_table, write_file

COLUMNS = {"k": INT, "v": STRING}
ROWS = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})


def alike(store: TableStore, split: DataSplit, *columns: str) -> bool:
    return engines_read_alike(store, [split], store.schema.select(columns or tuple(store.schema.field_by_name)))


def with_ids(table: pa.Table, ids: Mapping[str, int]) -> pa.Table:
    fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) if f.name in ids else f for f in table.schema]
    return table.cast(pa.schema(fields))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_engines_get_the_usual_forms_only(tmp_path: Path, form: Form) -> None:
    store = make_store(tmp_path, {"c": form.type})
    split = write_file(store, stored_table({"c": form}, range(3)), **form.settings)
    assert alike(store, split) is form.is_usual
    assert [value for (value,) in read_alone(store, split, ["c"])] == list(form.read)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    forms=st.lists(st.sampled_from([f for f in FORMS if "column_encoding" not in f.settings]), min_size=1, max_size=4),
    rows=st.lists(st.integers(0, 2), max_size=5),
    numbered=st.sets(st.integers(0, 3)),
    asked=st.sets(st.integers(0, 3)),
    upper=st.sets(st.integers(0, 3)),
    codec=st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
    group_size=st.integers(1, 3),
)
def test_what_engines_get_is_what_this_reader_gives(tmp_path: Path, **chosen: Any) -> None:
    """Of any mixture of forms, ids, names and codecs: the rows are right, and an engine gets none that is unusual."""
    forms: list[Form] = chosen["forms"]
    store = make_store(tmp_path, {f"c{i}": f.type for i, f in enumerate(forms)})
    names = {i: f"C{i}" if i in chosen["upper"] else f"c{i}" for i in range(len(forms))}
    columns = {names[i]: f for i, f in enumerate(forms)}
    ids = {names[i]: i for i in range(len(forms)) if i in chosen["numbered"]}
    stored = stored_table(columns, chosen["rows"], ids)
    split = write_file(
        store, stored, **settings_of(columns), compression=chosen["codec"], row_group_size=chosen["group_size"]
    )
    asked = [i for i in range(len(forms)) if i in chosen["asked"]] or [0]
    found = read_alone(store, split, [f"c{i}" for i in asked])
    assert found == [tuple(forms[i].read[r] for i in asked) for r in chosen["rows"]]
    if alike(store, split, *(f"c{i}" for i in asked)):
        file = pq.read_metadata(f"{split.bucket_dir}/{split.files[0].file_name}")
        assert not asked or all(forms[i].is_usual or settings_of(columns) for i in asked)
        assert not chosen["upper"].intersection(asked)
        chunks = [file.row_group(g).column(c) for g in range(file.num_row_groups) for c in range(file.num_columns)]
        assert "BROTLI" not in {c.compression for c in chunks}


def test_codecs_that_engines_lack(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
        assert alike(store, write_file(store, ROWS, compression=codec))
    one_of_both = write_file(store, ROWS, compression={"k": "zstd", "v": "brotli"})
    for split in (write_file(store, ROWS, compression="brotli"), one_of_both):
        assert not alike(store, split)
        assert read_alone(store, split, ["k", "v"]) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "names", [("K", "v"), ("k", "V"), ("k", "w"), ("k",), ("k", "v", "K"), ("k", "v", "V")], ids=",".join
)
def test_engines_find_columns_by_their_names(tmp_path: Path, names: tuple[str, ...]) -> None:
    columns = [ROWS.column(0), ROWS.column(1), ROWS.column(1)][: len(names)]
    store = make_store(tmp_path, COLUMNS)
    split = write_file(store, pa.Table.from_arrays(columns, names=list(names)))
    assert not alike(store, split)
    expected = [(1, None), (2, None)] if names in (("k",), ("k", "w")) else [(1, "a"), (2, "b")]
    assert read_alone(store, split, ["k", "v"]) == expected


def test_two_names_that_differ_in_case_are_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"abc": INT})
    split = write_file(store, pa.table({"ABC": [1], "Abc": [2]}))
    assert not alike(store, split)
    with pytest.raises(InvalidDataError, match=r"data-.*parquet cannot be read by names: .*'ABC' and 'Abc'"):
        read_alone(store, split, ["abc"])


def test_ids_come_before_names(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    for ids, expected, is_alike in (
        ({"k": 0, "v": 1}, "a", True),
        ({"k": 0}, "a", True),
        ({"k": 0, "v": 7}, None, False),
        ({"k": 1}, None, False),
    ):
        split = write_file(store, with_ids(ROWS, ids))
        assert alike(store, split) is is_alike
        if ids.get("k") == 0:
            assert read_alone(store, split, ["k", "v"])[0] == (1, expected)


def test_columns_that_nobody_asks_for_may_be_of_any_form(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    split = write_file(store, pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([None], pa.int32())}))
    assert alike(store, split, "k")
    assert not alike(store, split)


def test_a_look_is_kept_and_files_that_are_not_there_are_left_to_who_reads_them(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    split = write_file(store, ROWS)
    path = Path(split.bucket_dir, split.files[0].file_name)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])  # the engine's scan compares sizes before it starts
    assert alike(store, split)
    path.write_bytes(b"x" * len(whole))
    assert not alike(store, split)
    with pytest.raises(CorruptFileError):
        read_alone(store, split, ["k"])
    path.write_bytes(whole)
    assert alike(store, split)
    path.unlink()
    assert alike(store, split)
    assert len(store.cache.footers) == 1


def test_metadata_of_other_rows_is_noticed(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    split = write_file(store, ROWS)
    other = replace(split, files=(replace(split.files[0], row_count=3),))
    assert not alike(store, other)
    with pytest.raises(CorruptFileError, match="it has 2 rows, but metadata lists 3"):
        read_alone(store, other, ["k"])


def test_many_files_are_judged_by_each_footer(tmp_path: Path) -> None:
    store = make_store(tmp_path, COLUMNS)
    splits = [write_file(store, ROWS) for _ in range(5)]
    assert engines_read_alike(store, splits, store.schema.fields)
    splits.append(write_file(store, pa.table({"k": pa.array([1]), "v": ["a"]})))
    assert not engines_read_alike(store, splits, store.schema.fields)
    assert len(store.cache.shapes.known) == 2
    assert not has_plain_columns((), store.schema.fields)


def test_engines_get_each_column_of_files_that_this_library_writes(tmp_path: Path) -> None:
    types = {f"c{i}": t for i, t in enumerate(dict.fromkeys(f.type for f in FORMS))}
    types |= {"l": parse_type("TIMESTAMP(0)"), "v": parse_type("VARIANT")}
    for options in ({}, {"parquet.writer.version": "v2"}, {"file.compression": "lz4"}, {"file.compression": "none"}):
        store = make_store(tmp_path / str(len(options)), types).with_options(options)
        writer = open_writer(store, sequence_start=0)
        writer.write(make_batch(store, [(None,) * len(types)] * 3))
        ((_, files),) = files_of(writer.finish()).items()
        split = DataSplit(partition=EMPTY_ROW, bucket=0, bucket_dir=store.bucket_dir(EMPTY_ROW, 0), files=tuple(files))
        for name in types:
            assert alike(store, split, name), f"{types[name].sql()} {options}"
        assert alike(store, split)
