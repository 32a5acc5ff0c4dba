"""Tables whose files are of several formats: by option, by level, without the keys that the values repeat."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.formats.registry import format_name
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BucketState
from paimon_core.spec.stats import ColumnStats, decode_stats
from paimon_core.spec.types import INT, STRING, CollectionType, Kind
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
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
