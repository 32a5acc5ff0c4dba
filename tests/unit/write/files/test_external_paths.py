"""Data files outside of their table: where new ones go, that they are read, compacted, expired and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.scan.read import read_split
from paimon_core.spec.paths import data_file_path
from paimon_core.store.external.paths import entropy_folders, external_roots
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from tests.support.stored import compact, create_table, insert, open_table, write


def rows(table: Table) -> list[tuple[object, ...]]:
    batches = (b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k", "v"]))
    return sorted(row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True))


def external(root: Path, **more: str) -> Table:
    paths = f"file://{root}/one, file:{root}/two/"
    options = {"data-file.external-paths": paths, "data-file.external-paths.strategy": "round-robin", "bucket": "1"}
    return create_table(str(root / "wh"), primary_key="k", **options | more)


def names(root: Path) -> set[str]:
    return {p.name for p in root.rglob("data-*.parquet")}


def test_files_take_turns(tmp_path: Path) -> None:
    table = external(tmp_path, target_file_size="1 b", file__block_size="1 b", write_only="true")
    insert(table, [(k, "a") for k in range(4)])
    live = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    assert {f.external_path for f in live} == {
        f"file:{tmp_path}/{part}/bucket-0/{f.file_name}"
        for part in ("one", "two")
        for f in live
        if f.external_path is not None and f"/{part}/" in f.external_path
    }
    assert len(names(tmp_path / "one")) == len(names(tmp_path / "two")) == 2 and not names(tmp_path / "wh")
    assert rows(open_table(str(tmp_path / "wh"))) == [(k, "a") for k in range(4)]
    insert(table, [(1, "b")])
    compact(Table(table.store.with_options({"target-file-size": "1 mb", "write-only": "false"})))
    assert rows(table) == [(0, "a"), (1, "b"), (2, "a"), (3, "a")]
    (one,) = live_files(table.store, table.latest_snapshot()).values()
    assert Path(data_file_path("", one.file)).is_file()


def test_what_is_not_committed_goes(tmp_path: Path) -> None:
    table = external(tmp_path)
    messages = write(table, [(1, "a")])
    assert len(names(tmp_path)) == 1
    table.abort(messages)
    assert names(tmp_path) == set()


def test_paths_that_are_not_used(tmp_path: Path) -> None:
    """Without a strategy files stay in the table; one of a storage chooses among the paths."""
    table = external(tmp_path, **{"data-file.external-paths.strategy": "none"})
    insert(table, [(1, "a")])
    assert len(names(tmp_path / "wh")) == 1
    picked = {
        "data-file.external-paths": f"s3://b/x, file:{tmp_path}/one",
        "data-file.external-paths.strategy": "specific-fs",
    }
    store = table.store.with_options(picked | {"data-file.external-paths.specific-fs": "FILE"})
    assert external_roots(store) == [f"{tmp_path}/one"]
    for wrong, error, what in (
        ({"data-file.external-paths.specific-fs": "oss"}, InvalidOptionError, "should not be empty"),
        ({"data-file.external-paths.specific-fs": "s3"}, UnsupportedFeatureError, "another storage than the table"),
        ({"data-file.external-paths": "/plain"}, InvalidOptionError, "scheme should not be null"),
    ):
        with pytest.raises(error, match=what):
            external_roots(table.store.with_options(picked | wrong))
    with pytest.raises(UnsupportedFeatureError, match="nearest"):
        Table(table.store.with_options({"data-file.external-paths.strategy": "nearest"})).check_writable()


def test_folders_of_a_hash(tmp_path: Path) -> None:
    """As Java named them; file indexes stand beside."""
    for name, folders in (
        ("data-2f263ef1-16cf-4371-aff6-a7507dc21b42-0.parquet", "0011/1111/1111/01110111/"),
        ("data-46640b37-4576-4ae1-9d61-e74dd2608df9-0.parquet", "0100/0111/0001/10010001/"),
        ("data-95ba4058-4959-4985-8554-d2305aea1c9e-0.parquet", "1000/0101/0111/11100011/"),
    ):
        assert entropy_folders(name) == folders
    strategy = {"data-file.external-paths.strategy": "entropy-inject"}
    index = {"file-index.bitmap.columns": "v", "file-index.in-manifest-threshold": "1 b"}
    table = external(tmp_path, **strategy, **index)
    insert(table, [(1, "a")])
    (path,) = tmp_path.rglob("data-*.parquet")
    assert str(path.parent).endswith(f"/bucket-0/{entropy_folders(path.name)[:-1]}")
    assert [p.suffix for p in path.parent.iterdir() if p != path] == [".index"]
    insert(table, [(1, "b")])
    compact(table)
    assert rows(table) == [(1, "b")]


def test_weights(tmp_path: Path) -> None:
    strategy = {"data-file.external-paths.strategy": "weight-robin"}
    weights = {"data-file.external-paths.weights": "1, 1000000000"}
    table = external(tmp_path, **strategy, **weights, target_file_size="1 b", file__block_size="1 b")
    insert(table, [(k, "a") for k in range(4)])
    assert len(names(tmp_path / "two")) == 4
    with pytest.raises(InvalidOptionError, match="should be the same"):
        insert(Table(table.store.with_options({"data-file.external-paths.weights": "1"})), [(9, "b")])
