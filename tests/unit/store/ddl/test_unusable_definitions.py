"""Definitions of tables that could not be used: CREATE TABLE and ALTER TABLE refuse them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import (
    BranchNotFoundError,
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    UnsupportedFeatureError,
)
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import create_branch, delete_branch
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, parse_type
from paimon_core.store.ddl.column_lists import COLUMN_LISTS
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption, apply_changes
from paimon_sql.catalog.filesystem import FileSystemCatalog

FIELDS = tuple(DataField(id=i, name=n, type=parse_type("INT")) for i, n in enumerate("kpvws"))
KEYED = {"primary-key": "k,p", "bucket": "2"}
# the options of a table that may be, and of one that may not
LISTS = [
    ({"bucket": "2", "bucket-key": "{}"}, "v,w"),
    ({**KEYED, "bucket-key": "{}"}, "k,p"),
    ({"upsert-key": "{}"}, "v,w"),
    ({**KEYED, "sequence.field": "{}"}, "v,w"),
    ({"clustering.columns": "{}"}, "v,w"),
    ({**KEYED, "changelog-producer.row-deduplicate-ignore-fields": "{}"}, "v,w"),
    ({**KEYED, "merge-engine": "partial-update", "fields.s.sequence-group": "{}"}, "v,w"),
    ({"file-index.bloom-filter.columns": "{}"}, "v,w"),
]


def made(options: dict[str, str]) -> TableSchema:
    return new_table_schema(FIELDS, options=options)


def filled(options: dict[str, str], text: str) -> dict[str, str]:
    return {key: value.format(text) for key, value in options.items()}


def changed(schema: TableSchema, options: dict[str, str]) -> TableSchema:
    """A schema with other options, as ALTER TABLE of a table without rows makes it."""
    return apply_changes(schema, [SetOption(k, v) for k, v in options.items()], 0, has_snapshots=False)


@pytest.mark.parametrize(("options", "columns"), LISTS)
@pytest.mark.parametrize("bad", ["{0},{0}", "{0}, {0}", "{0},", ",{0}", "{0},,{1}", "{0},nope", ","])
def test_a_list_of_columns_has_each_once(options: dict[str, str], columns: str, bad: str) -> None:
    first, second = columns.split(",")
    assert made(filled(options, columns)).options
    with pytest.raises(InvalidOptionError) as caught:
        made(filled(options, bad.format(first, second)))
    key = next(k for k, v in options.items() if v == "{}")
    assert key in str(caught.value)
    assert "column ''" not in str(caught.value)


@pytest.mark.parametrize(("options", "columns"), LISTS)
def test_alter_refuses_what_create_refuses(options: dict[str, str], columns: str) -> None:
    first = columns.split(",")[0]
    before = made({k: v for k, v in options.items() if k in ("primary-key", "merge-engine")})
    given = {k: v for k, v in filled(options, f"{first},{first}").items() if k not in ("primary-key", "merge-engine")}
    with pytest.raises(InvalidOptionError):
        changed(before, given)


@pytest.mark.parametrize("key", ["fields.s,s.sequence-group", "fields.s,.sequence-group"])
def test_columns_in_the_name_of_an_option(key: str) -> None:
    with pytest.raises(InvalidOptionError, match="s"):
        made({**KEYED, "merge-engine": "partial-update", key: "v"})


def test_every_list_is_looked_at() -> None:
    """A list that no table of `LISTS` has is refused, too."""
    for key in COLUMN_LISTS:
        with pytest.raises(PaimonError):
            made({**KEYED, key: "v,v"})


def test_what_another_engine_wrote_stays() -> None:
    """A table with such an option can be altered otherwise."""
    old = replace(made({"upsert-key": "v"}), options={"upsert-key": "v,v", "scan.mode": "from-snapshot"})
    assert apply_changes(old, [SetOption("write-only", "true")], 0, has_snapshots=True).options["write-only"] == "true"
    assert len(apply_changes(old, [AddColumn(("more",), parse_type("INT"))], 0, has_snapshots=True).fields) == 6
    with pytest.raises(InvalidOptionError):
        apply_changes(old, [SetOption("upsert-key", "w,w")], 0, has_snapshots=True)


MODES = {
    "from-snapshot": "scan.snapshot-id",
    "from-snapshot-full": "scan.snapshot-id",
    "from-timestamp": "scan.timestamp-millis",
    "from-file-creation-time": "scan.file-creation-time-millis",
    "from-creation-timestamp": "scan.creation-time-millis",
    "incremental": "incremental-between",
}


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_needs_its_companion(mode: str) -> None:
    alone = {"scan.mode": mode}
    with pytest.raises(InvalidOptionError, match=f"'{mode}' needs"):
        made(alone)
    with pytest.raises(InvalidOptionError, match=f"'{mode}' needs"):
        changed(made({}), alone)
    both = {**alone, MODES[mode]: "1,2" if mode == "incremental" else "1"}
    assert made(both).options == both
    assert changed(made({}), both).options == both


@pytest.mark.parametrize(
    "options",
    [
        {"scan.mode": "latest", "scan.snapshot-id": "1"},
        {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1", "scan.tag-name": "a"},
        {"scan.snapshot-id": "1", "scan.tag-name": "a"},
    ],
)
def test_what_says_two_things_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError):
        made(options)


@pytest.mark.parametrize("text", ["nope", "2024-02-30", "1717200000000", "2024-06-01 08:00:00 Nowhere/Town"])
def test_a_moment_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"'scan\.timestamp' cannot be"):
        made({"scan.timestamp": text})
    with pytest.raises(InvalidOptionError, match=r"'scan\.timestamp' cannot be"):
        changed(made({}), {"scan.timestamp": text})
    for right in ("2024-06-01", "2024-06-01 08:00:00.5", "2024-06-01 08:00:00 GMT+8"):
        assert made({"scan.timestamp": right}).options == {"scan.timestamp": right}


@pytest.mark.parametrize("key", ["video-frame-field"])
def test_columns_that_would_be_plain_are_refused(key: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=key):
        made({key: "v"})
    with pytest.raises(UnsupportedFeatureError, match=key):
        changed(made({}), {key: "v"})


@pytest.mark.parametrize("key", ["scan.fallback-branch", "scan.primary-branch"])
def test_a_branch_that_is_read_must_exist(tmp_path: Path, key: str) -> None:
    catalog = FileSystemCatalog(LocalFileIO(), str(tmp_path))
    catalog.create_database("d")
    table = Identifier("d", "t")
    with pytest.raises(BranchNotFoundError, match=f"'{key}' cannot be 'b'"):
        catalog.create_table(table, made({key: "b"}))
    assert not catalog.table_exists(table)
    with pytest.raises(BranchNotFoundError):
        catalog.stage_create(table, made({key: "b"}))
    catalog.create_table(table, made({}))
    create_branch(catalog.load_table(table).store, "b")
    catalog.alter_table(table, [SetOption(key, "b")])
    assert catalog.load_table(table).schema.options == {key: "b"}
    catalog.stage_replace(table, made({key: "b"})).publish()
    store = catalog.load_table(table).store
    assert store.options.values == {key: "b"}
    with pytest.raises(InvalidOptionError, match="cannot be renamed: .* Unset this option first"):
        rename_branch(store, "b", "c")
    with pytest.raises(InvalidOptionError, match="cannot be deleted: .* Unset this option first"):
        delete_branch(store, "b")
    catalog.alter_table(table, [RemoveOption(key)])
    rename_branch(catalog.load_table(table).store, "b", "c")
    delete_branch(catalog.load_table(table).store, "c")


@pytest.mark.parametrize(
    ("column", "default", "said"),
    [
        ("INT", "abc", "'abc' is not a valid INT"),
        ("DATE", "2024-13-01", "'2024-13-01' is not a valid DATE"),
        ("TIMESTAMP(6)", "soon", "'soon' is not a valid TIMESTAMP"),
        ("TINYINT", "300", "'300' is not a valid TINYINT"),
        ("TIME(3)", "25:00", "'25:00' is not a valid TIME"),
        ("DOUBLE", "1.x", "'1.x' is not a valid DOUBLE"),
        ({"type": "ARRAY", "element": "INT"}, "ARRAY(1, x)", "'x' is not a valid INT"),
    ],
)
def test_a_default_that_is_not_valid_is_refused_in_words_of_sql(column: object, default: str, said: str) -> None:
    field = DataField(id=0, name="c", type=parse_type(column), default=default)
    with pytest.raises(InvalidSchemaError, match=said) as caught:
        new_table_schema([field])
    assert not re.search(r"int\d+|date32|timestamp\[|scalar|arrow", str(caught.value), re.IGNORECASE)


@pytest.mark.parametrize("name", ["lance", "blob", "nope"])
def test_formats_that_are_named_can_be_written(name: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        made({"file.format": name})
    named = str(caught.value).partition("writes ")[2].rstrip(".").split(", ")
    assert len(named) > 1
    for other in named:
        assert made({"file.format": other}).options == {"file.format": other}


DATED = (*FIELDS, DataField(id=5, name="day", type=parse_type("STRING")))
FORMATTER, PATTERN, DONE = (
    f"partition.{name}" for name in ("timestamp-formatter", "timestamp-pattern", "mark-done-action")
)
UNUSABLE = [
    *(
        (FORMATTER, text)
        for text in ("nope", "yyyy-MM-dd'T", "yyyy}", "{yyyy}", "yyyy#", "yyyy]", "ddd", "MMMMMM", "pp")
    ),
    *((PATTERN, text) for text in ("nope", "$nope", "$DAY", "$day $hour", "$", "2024-13-01")),
    *((DONE, text) for text in ("nope", "success-file,nope", "done partition")),
]
USABLE = [
    *((FORMATTER, text) for text in ("yyyyMMdd", "yyyy-MM-dd HH:mm[:ss]", "d MMM uuuu", "yyyy''MM", "'day 'D", "ppH")),
    *((PATTERN, text) for text in ("$day", "$day 00:00:00", "2024-01-01", "")),
    *((DONE, text) for text in ("success-file", "done-partition, mark-event", "HTTP-REPORT", "http_report", "custom")),
]


def dated(options: dict[str, str]) -> TableSchema:
    return new_table_schema(DATED, ("day",), options)


@pytest.mark.parametrize(("key", "text"), UNUSABLE)
def test_options_of_partitions_that_nothing_could_use_are_refused(key: str, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=re.escape(f"'{key}' cannot be {text!r}")):
        dated({key: text})
    with pytest.raises(InvalidOptionError, match=re.escape(f"'{key}' cannot be {text!r}")):
        changed(dated({}), {key: text})


@pytest.mark.parametrize(("key", "text"), USABLE)
def test_options_of_partitions_that_java_can_use_are_taken(key: str, text: str) -> None:
    assert dated({key: text}).options == {key: text}
    assert changed(dated({}), {key: text}).options == {key: text}


def test_a_pattern_is_read_by_its_formatter() -> None:
    both = {PATTERN: "20240101", FORMATTER: "yyyyMMdd"}
    assert dated(both).options == both
    with pytest.raises(InvalidOptionError, match=PATTERN):
        changed(dated(both), {FORMATTER: "yyyy-MM-dd"})


@pytest.mark.parametrize(("key", "text"), UNUSABLE)
def test_options_of_partitions_that_another_engine_wrote_stay(key: str, text: str) -> None:
    old = replace(dated({}), options={key: text})
    assert apply_changes(old, [SetOption("write-only", "true")], 0, has_snapshots=True).options[key] == text
    with pytest.raises(InvalidOptionError):
        apply_changes(old, [SetOption(key, f"{text}?nope]")], 0, has_snapshots=True)


# values that each write or each read would refuse, and other values of the same options
_BLOOM = {"file-index.bloom-filter.columns": "v"}
_FAR = {"data-file.external-paths": "file:///far,s3://b/far"}
VALUES = [
    (_BLOOM, "file-index.bloom-filter.v.fpp", ("0", "1", "2", "-0.5"), ("0.01",)),
    (_BLOOM, "file-index.bloom-filter.v.items", ("0", "-5", "2147483647"), ("1",)),
    ({}, "incremental-between", ("x", "1", "1,2,3", ",2", "1,"), ("1,2", "tag-a, tag-b")),
    ({}, "incremental-between-timestamp", ("x,y", "1", "2024-13-01,2025-01-01"), ("1,2", "2024-01-01, 2024-01-02")),
    ({}, "incremental-to-auto-tag", ("x", "2024-01-32", ""), ("2024-01-31",)),
    ({"tag.creation-period": "hourly"}, "incremental-to-auto-tag", ("2024-01-31",), ("2024-01-31 07",)),
    ({"data-file.external-paths.strategy": "round-robin"}, "data-file.external-paths", ("rel", "/far"), ("s3://b",)),
    (_FAR, "data-file.external-paths.strategy", ("specific-fs",), ("none", "round-robin")),
    (
        {**_FAR, "data-file.external-paths.strategy": "specific-fs", "data-file.external-paths.specific-fs": "s3"},
        "data-file.external-paths.specific-fs",
        ("oss", ""),
        ("S3", "file"),
    ),
    ({}, "consumer-id", ("a/b", "..", ""), ("me",)),
    ({"partition": "p"}, "manifest-sort.partition-field", ("nope", "v", "P"), ("p", "")),
    ({}, "sink.process-time-zone", ("Mars", "+99"), ("Asia/Shanghai", "+08:00", "PST")),
]


@pytest.mark.parametrize(("options", "key", "bad", "good"), VALUES)
def test_a_value_that_nothing_could_use(
    options: dict[str, str], key: str, bad: tuple[str, ...], good: tuple[str, ...]
) -> None:
    before = made(options)
    for value in good:
        assert made(options | {key: value}).options[key] == value
        assert changed(before, {key: value}).options[key] == value
    for value in bad:
        with pytest.raises(PaimonError):
            made(options | {key: value})
        with pytest.raises(PaimonError):
            changed(before, {key: value})
        kept = replace(before, options={**before.options, key: value})  # another engine made it
        assert (
            apply_changes(kept, [AddColumn(("w2",), parse_type("INT"))], 0, has_snapshots=False).options[key] == value
        )
