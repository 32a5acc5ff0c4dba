"""Tables whose files are of several formats: by option, by level, without the keys that the values repeat."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from paimon_core.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.registry import format_name
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BucketState
from paimon_core.spec.stats import ColumnStats, decode_stats
from paimon_core.spec.types import INT, STRING, CollectionType, Kind, TimeType
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.files.data_files import DataFileWriter, FileRole
from paimon_core.write.writer import open_writer
from tests.support.data import Live, files_of, make_batch, make_store, read_rows


def written(store: TableStore, rows: list[tuple[object, ...]], live: Live | None = None, start: int = 0) -> Live:
    writer = open_writer(store, sequence_start=start)
    writer.write(make_batch(store, rows))
    return files_of(writer.finish(), live)


def only_file(live: Live) -> DataFileMeta:
    ((file,),) = live.values()
    return file


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_files_of_all_formats_are_one_table(tmp_path: Path, keys: tuple[str, ...]) -> None:
    store = make_store(tmp_path, {"k": INT, "v": STRING}, keys=keys, **({"bucket": "1"} if keys else {}))
    live: Live = {}
    for i, name in enumerate(("parquet", "orc", "avro")):
        live = written(store.with_options({"file.format": name}), [(i, name), (9, name)], live, start=10 * i)
    (files,) = live.values()
    assert [format_name(f.file_name) for f in files] == ["parquet", "orc", "avro"]
    rows = sorted(read_rows(store, live))
    names = ["avro"] if keys else ["avro", "orc", "parquet"]
    assert rows == [(0, "parquet"), (1, "orc"), (2, "avro"), *((9, n) for n in names)]
    assert read_rows(store, live, columns=["v"])[0] == ("parquet",)


def test_levels_have_their_format_and_codec(tmp_path: Path) -> None:
    options = {
        "file__format__per__level": "0:avro,5:orc",
        "file__compression__per__level": "0:snappy, 5:zlib",
        "file__suffix__include__compression": "true",
        "metadata__stats_mode__per__level": "0:none",
    }
    store = make_store(tmp_path, {"k": INT, "v": STRING}, keys=["k"], bucket="1", **options)
    live = written(store, [(1, "a"), (2, "b")])
    assert only_file(live).file_name.endswith(".snappy.avro")
    assert only_file(live).value_stats_cols == ()
    live = written(store, [(2, "B")], live, start=2)
    ((partition, bucket), files) = next(iter(live.items()))
    message = compact_bucket(store, BucketState(partition, bucket, 1, tuple(files)), Strategy.FULL)
    assert message is not None
    live = files_of([message], live)
    assert only_file(live).file_name.endswith(".zlib.orc")
    assert only_file(live).value_stats_cols is None
    assert read_rows(store, live) == [(1, "a"), (2, "B")]


BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1931, 5, 4, 3, 2, 1, 7)
WHOLE = datetime(1969, 12, 31, 23, 59, 59, 999_000), datetime(2024, 5, 4, 3, 2, 1, 7)


@pytest.mark.parametrize("keys", [(), ("k",)])
@pytest.mark.parametrize("codec", ["zstd", "zlib"])
def test_times_that_orc_cannot_hold_are_put_into_parquet_files(
    tmp_path: Path, keys: tuple[str, ...], codec: str
) -> None:
    """Java refuses ORC files with microseconds before 1970 as pyarrow writes them, and reads its own as other times."""
    options = {"file.format": "orc", "file.compression": codec, "bucket": "1"} | ({} if keys else {"bucket-key": "k"})
    moments = CollectionType(Kind.ARRAY, element=TimeType(Kind.TIMESTAMP, True, 6))
    store = make_store(tmp_path, {"k": INT, "t": TimeType(Kind.TIMESTAMP, True, 6), "n": moments}, keys=keys)
    store = store.with_options(options)
    live: Live = {}
    rows = [
        *((i, t, [None, t]) for i, t in enumerate((*WHOLE, None))),
        *((9 + i, WHOLE[0], [t]) for i, t in enumerate(BEFORE_1970)),
    ]
    for i, row in enumerate(rows):
        live = written(store, [row], live, start=i)
    (files,) = live.values()
    assert [format_name(f.file_name) for f in files] == ["orc"] * 3 + ["parquet"] * 2
    assert sorted(read_rows(store, live)) == sorted(rows)
    if keys:
        ((partition, bucket), files) = next(iter(live.items()))
        message = compact_bucket(store, BucketState(partition, bucket, 1, tuple(files)), Strategy.FULL)
        assert message is not None
        assert read_rows(store, files_of([message], live)) == rows


def test_an_orc_file_ends_where_rows_come_that_it_cannot_hold(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "t": TimeType(Kind.TIMESTAMP, True, 6)}, file__format="orc")
    store = store.with_options({"target-file-row-num": "3"})
    writer = DataFileWriter(store, store.bucket_dir(EMPTY_ROW, 0), FileRole())
    rows = list(enumerate((WHOLE[0], BEFORE_1970[0], WHOLE[1], WHOLE[1], WHOLE[1])))
    for row in rows:
        writer.write(make_batch(store, [row]))
        writer.flush()
    writer.roll()
    assert [(format_name(f.file_name), f.row_count) for f in writer.finished] == [
        ("orc", 1),
        ("parquet", 3),
        ("orc", 1),
    ]
    assert [(f.min_sequence_number, f.max_sequence_number) for f in writer.finished] == [(0, 0), (1, 3), (4, 4)]
    assert read_rows(store, {(EMPTY_ROW, 0): writer.finished}) == rows


def test_a_patch_of_some_columns_is_one_file(tmp_path: Path) -> None:
    """Its rows are found by their number in the file: it does not end before all of them are written."""
    store = make_store(tmp_path, {"k": INT, "t": TimeType(Kind.TIMESTAMP, True, 6)}, file__format="orc")
    writer = DataFileWriter(store, store.bucket_dir(EMPTY_ROW, 0), FileRole(columns=("k", "t")))
    writer.write(make_batch(store, [(1, WHOLE[0])]))
    writer.flush()
    writer.write(make_batch(store, [(2, BEFORE_1970[0])]))
    with pytest.raises(InvalidDataError, match="'t' has times before 1970 with microseconds, which ORC"):
        writer.flush()
    writer.abort()


@pytest.mark.parametrize("option", ["file.block-size", "parquet.block.size"])
def test_row_groups_are_as_large_as_asked_for(tmp_path: Path, option: str) -> None:
    rows = [(i, "x" * 100) for i in range(1000)]
    asked: dict[str, str]
    for asked, groups in (({}, 1), ({option: "20000"}, 3)):
        folder = tmp_path / str(groups)
        folder.mkdir()
        store = make_store(folder, {"k": INT, "v": STRING}).with_options(asked)
        written(store, rows)
        (path,) = folder.rglob("*.parquet")
        assert pq.ParquetFile(path).num_row_groups == groups


def test_thin_files_leave_the_keys_to_the_values(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": STRING}, keys=["k"], bucket="1", data_file__thin_mode="true")
    live = written(store, [(2, "b"), (1, "a")])
    file = only_file(live)
    path = Path(store.bucket_dir(b"\0\0\0\0" + bytes(8), 0)) / file.file_name
    assert pq.read_schema(path).names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]
    assert decode_stats([INT], file.key_stats) == (ColumnStats(1, 2, 0),)
    live = written(store, [(1, "A")], live, start=2)
    assert sorted(read_rows(store, live)) == [(1, "A"), (2, "b")]


def test_statistics_cover_all_columns_where_they_are_not_dense(tmp_path: Path) -> None:
    columns = {"k": INT, "a": CollectionType(Kind.ARRAY, True, INT)}
    dense, wide = (make_store(tmp_path, columns, metadata__stats_dense_store=flag) for flag in ("true", "false"))
    assert only_file(written(dense, [(1, [2])])).value_stats_cols == ("k",)
    file = only_file(written(wide, [(1, [2])]))
    assert file.value_stats_cols is None
    found = decode_stats(wide.schema.types(("k", "a")), file.value_stats)
    assert found == (ColumnStats(1, 1, 0), ColumnStats())


@pytest.mark.parametrize("name", ["zstd", "gzip", "none"])
def test_names_tell_the_codec_where_asked(tmp_path: Path, name: str) -> None:
    store = make_store(tmp_path, {"k": INT}, file__suffix__include__compression="true", file__compression=name)
    ending = {"zstd": ".zst.parquet", "gzip": ".gz.parquet", "none": ".parquet"}[name]
    assert only_file(written(store, [(1,)])).file_name.endswith(f"-0{ending}")


def test_levels_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    keyed = {"keys": ["k"], "bucket": "1"}
    with pytest.raises(InvalidOptionError, match=r"file\.format\.per\.level"):
        written(make_store(tmp_path, {"k": INT}, **keyed, file__format__per__level="zero:orc"), [(1,)])
    with pytest.raises(UnsupportedFeatureError, match="lance"):
        written(make_store(tmp_path, {"k": INT}, **keyed, file__format__per__level="0:lance"), [(1,)])
