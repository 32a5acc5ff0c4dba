from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimon_core.errors import InvalidNameError, UnfamiliarFormError
from paimon_core.options import DATA_FILE_DIRECTORY, PARTITION_DEFAULT_NAME, TableOptions
from paimon_core.spec.paths import (
    MAX_NAME_BYTES,
    TablePaths,
    check_name,
    data_file_path,
    escape_path_name,
    parse_schema_id,
    parse_snapshot_id,
    unescape_path_name,
)
from paimon_core.spec.types import (
    DataField,
    DataType,
)
from paimon_core.spec.value_texts import partition_spec
from tests.support.golden import GOLDEN_DATABASE
from tests.support.golden_files import entries, metadata_files
from tests.unit.spec.test_manifest import BARE, FULL

PATHS = TablePaths("s3://b/w/db.db/t")


def column(data_type: DataType, name: str = "p") -> DataField:
    return DataField(id=0, name=name, type=data_type)


def test_paths() -> None:
    assert PATHS.schema(3) == "s3://b/w/db.db/t/schema/schema-3"
    assert PATHS.snapshot(2**60) == f"s3://b/w/db.db/t/snapshot/snapshot-{2**60}"
    assert PATHS.latest_hint == "s3://b/w/db.db/t/snapshot/LATEST"
    assert PATHS.earliest_hint == "s3://b/w/db.db/t/snapshot/EARLIEST"
    assert PATHS.manifest("manifest-x-0") == "s3://b/w/db.db/t/manifest/manifest-x-0"
    assert PATHS.bucket_dir({}, 0) == "s3://b/w/db.db/t/bucket-0"
    assert PATHS.bucket_dir({"a": "1", "b": "x/y"}, 12) == "s3://b/w/db.db/t/a=1/b=x%2Fy/bucket-12"
    assert PATHS.bucket_dir({"a=b": ".."}, -2) == "s3://b/w/db.db/t/a%3Db=../bucket-postpone"
    assert TablePaths("/t", "data/inner").bucket_dir({"p": "x"}, 0) == "/t/data/inner/p=x/bucket-0"
    assert data_file_path("/t/bucket-0", BARE) == "/t/bucket-0/data-y-0.parquet"
    assert data_file_path("/t/bucket-0", FULL) == "s3://bucket/x"


@given(st.integers(0, 2**63 - 1))
def test_ids_are_parsed_back(number: int) -> None:
    assert parse_snapshot_id(f"snapshot-{number}") == parse_schema_id(f"schema-{number}") == number


@pytest.mark.parametrize(
    "name",
    ["", "LATEST", "snapshot-", "snapshot--1", "snapshot-1.tmp", "xsnapshot-1", "snapshot-1\n", "snapshot-٣"]
    + ["schema-x", "snapshot-" + "9" * 20, "schema-" + "9" * 20, "snapshot-0x1"]
    + ["snapshot-007", "schema-00", "schema-07", "snapshot-9223372036854775808", "schema-9999999999999999999"],
)
def test_other_names_have_no_id(name: str) -> None:
    assert parse_snapshot_id(name) is None
    assert parse_schema_id(name) is None


def test_golden_ids() -> None:
    assert all(parse_snapshot_id(p.name) is not None for p in metadata_files("*/snapshot/snapshot-*"))
    assert all(parse_schema_id(p.name) is not None for p in metadata_files("*/schema/schema-*"))


def test_golden_files_lie_where_they_should() -> None:
    """Entries may name files that are deleted, but every file is where one says."""
    expected = set()
    for table, schema, e in entries():
        options = TableOptions(schema.options)
        spec = partition_spec(schema.partition_fields, e.partition, options[PARTITION_DEFAULT_NAME])
        paths = TablePaths(str(GOLDEN_DATABASE / table), options[DATA_FILE_DIRECTORY])
        expected.add(Path(data_file_path(paths.bucket_dir(spec, e.bucket), e.file)))
    tables = {p.relative_to(GOLDEN_DATABASE).parts[0] for p in expected}
    found = {p for t in tables for p in (GOLDEN_DATABASE / t).rglob("*.parquet")}
    assert len(found) > 200
    assert found - expected == set()


def test_golden_partitions_with_special_characters() -> None:
    folders = {p.name.removeprefix("p=") for p in (GOLDEN_DATABASE / "part_special").glob("p=*")}
    values = {"1", ".hidden", "_under", "a b", 'a"b', "a#b?c*", "a%b", "a'b", "a/b", "a:b", "a=b", "a\\b", "a,b"}
    assert folders == {escape_path_name(v) for v in values | {"{a}", "ä日🚀"}}


@given(st.text())
@example("%25%2F%")
@example("".join(map(chr, range(300))))
def test_escaping_both_ways(text: str) -> None:
    escaped = escape_path_name(text)
    assert unescape_path_name(escaped) == text
    assert not set(escaped) & set("/\\=:?#*\"'{}[]^\x7f\x00\n")


@pytest.mark.parametrize(
    "name", ["t", "T 1", "größe", "日本", "a.b", "-", "a=b", "%2F", "..a", "x" * MAX_NAME_BYTES, "ä" * 100]
)
def test_names_that_can_be_folders(name: str) -> None:
    assert check_name("table", name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty"),
        (" ", "empty"),
        ("\t\n", "empty"),
        ("\u3000", "empty"),
        (".", "blanks around it"),
        ("..", "blanks around it"),
        (" a", "blanks around it"),
        ("a\n", "blanks around it"),
        ("a/b", "contains '/'"),
        ("/", "contains '/'"),
        ("../a", "contains '/'"),
        ("a\\b", "contains"),
        ("a\0", "contains"),
        ("a\nb", "contains"),
        ("a\x7fb", "contains"),
        ("\x9b31m", "contains"),
        ("a\ud800b", "contains"),
        ("a$b", "system table"),
        ("$", "system table"),
        ("x" * 300, "longer than 200 bytes"),
        ("ä" * 101, "longer than 200 bytes"),
    ],
)
def test_hostile_names(name: str, problem: str) -> None:
    with pytest.raises(InvalidNameError, match=problem) as caught:
        check_name("database", name)
    assert str(caught.value).startswith("The database name ")
    assert str(caught.value).encode()


@given(st.text(st.characters(codec=None)))
@example("\ud800")
def test_a_name_is_a_folder_or_refused(name: str) -> None:
    try:
        check_name("table", name)
    except InvalidNameError:
        return
    path = Path("/w") / name
    assert (path.parent, path.name) == (Path("/w"), name)
    assert len(path.name.encode()) <= 200


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", "\ud800"])
def test_names_in_metadata_do_not_lead_out(name: str) -> None:
    with pytest.raises(
        UnfamiliarFormError, match="metadata lists this file, but its name is not a file name"
    ) as caught:
        PATHS.manifest(name)
    assert caught.value.path.startswith("s3://b/w/db.db/t/manifest/")
    with pytest.raises(UnfamiliarFormError, match="not a file name"):
        data_file_path("/t/bucket-0", replace(BARE, file_name=name))
