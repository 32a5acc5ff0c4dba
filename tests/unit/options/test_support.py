"""The registry of all options: their types, when they may change, and values that do not work."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.options import TABLE_OPTIONS, Change, TableOptions
from paimon_core.options.support import (
    NEW,
    OPTIONS,
    READ,
    WRITE,
    Feature,
    change_of,
    check_option_types,
    in_own_spelling,
    may_be_shredded,
    unsupported_values,
)


def refused(features: Iterable[Feature], *, keyed: bool = False, **options: str) -> list[tuple[str, str]]:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return [(key, value) for key, value, _ in unsupported_values(features, spelled, keyed=keyed)]


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("bucket", "many", "a whole number"),
        ("read.batch-size", "1.5", "a whole number"),
        ("page-size", "0", "a size in bytes of 1 or more"),
        ("sort-engine", "quick", "one of min-heap, loser-tree"),
        ("lookup.cache.high-priority-pool-ratio", "1", "a number from 0 to below 1"),
        ("write.compaction-skip", "perhaps", "true or false"),
    ],
)
def test_values_of_another_type_are_refused(key: str, value: str, meant: str) -> None:
    check_option_types(TableOptions({}))
    with pytest.raises(InvalidOptionError, match=f"^Option '{key}' cannot be '{value}': it must be {meant}"):
        check_option_types(TableOptions({"unknown": "?", key: value}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("write-only", " false"),
        ("auto-create", "TRUE\t"),
        ("bucket", " 1"),
        ("lookup.cache-rows", "5 "),
        ("merge-engine", " deduplicate"),
        ("sort-spill-threshold", " 2"),
        ("metadata.stats-mode", "full "),
    ],
)
def test_blanks_that_java_refuses_are_read_and_not_written(key: str, value: str) -> None:
    given = TableOptions({key: value})
    assert given[OPTIONS[key]] == TableOptions({key: value.strip()})[OPTIONS[key]]
    with pytest.raises(InvalidOptionError, match=f"Set it to '{value.strip()}'"):
        check_option_types(given)


@pytest.mark.parametrize(("key", "value"), [("page-size", " 64 kb "), ("primary-key", "a, b "), ("unknown", " x")])
def test_blanks_that_java_takes_are_written(key: str, value: str) -> None:
    check_option_types(TableOptions({key: value}))


@pytest.mark.parametrize(
    "key",
    [
        *("PRIMARY-KEY", "Write-Only", "sort-Engine", "variant.infershreddingschema"),
        *("fields.v.Aggregate-Function", "FIELDS.v.distinct", "fields.a,b.SEQUENCE-GROUP", "fields.v.Stats-Mode"),
        *("file-index.bloom-filter.COLUMNS", "File-Index.bitmap.columns"),
    ],
)
def test_keys_in_another_case_are_refused_in_new_schemas(key: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"Option '{key}' has no effect in this spelling: write '(?i:{key})'"):
        check_option_types(TableOptions({key: "x"}))
    check_option_types(TableOptions({key: "x"}), kept={key: "y"})


def test_keys_of_statements_are_found_in_any_case() -> None:
    given = {"SCAN.Snapshot-Id": "1", "Fields.A.default-value": "x", "fields.B.Stats-Mode": "full", "Unknown": "y"}
    expected = {"scan.snapshot-id": "1", "fields.A.default-value": "x", "fields.B.stats-mode": "full", "Unknown": "y"}
    assert in_own_spelling(given) == expected
    assert in_own_spelling({"scan.snapshot-id": "1", "Scan.snapshot-id": "2"}) == {"scan.snapshot-id": "1"}


@pytest.mark.parametrize("key", ["metadata.stats-mode", "fields.v.stats-mode", "changelog-file.stats-mode"])
@pytest.mark.parametrize("value", ["some", "", "truncate(0)", "truncate( 16 )", "TRUNCATE(x)"])
def test_statistics_that_no_file_could_have_are_refused(key: str, value: str) -> None:
    check_option_types(TableOptions({key: "Truncate(8)"}))
    with pytest.raises(InvalidOptionError, match=r"it must be none, counts, truncate\(N\) or full"):
        check_option_types(TableOptions({key: value}))


def test_options_of_other_engines_have_types_only() -> None:
    others = [o for o in OPTIONS.values() if not o.supported]
    assert len(others) > 80 and not {o.key for o in others} & {o.key for o in TABLE_OPTIONS}
    with pytest.raises(InvalidOptionError, match="it must be true or false\\.$"):
        TableOptions({"auto-create": "?"})[OPTIONS["auto-create"]]


def test_when_options_change() -> None:
    known = {
        "path": Change.NEVER,
        "bucket-key": Change.EMPTY,
        "ignore-delete": Change.ONE_WAY,
        "write-only": Change.FREE,
    }
    assert {key: change_of(key) for key in known} == known
    assert change_of("no option") is Change.FREE
    assert {o.key for o in TABLE_OPTIONS if o.change is Change.NEVER} == {
        "partition",
        "path",
        "primary-key",
        "type",
    }


def test_values_that_do_not_work() -> None:
    assert refused(READ, type="view") == [("type", "view")] == refused(WRITE, type="View ")
    assert refused(NEW, type="view") == []
    assert refused(WRITE, file__format="avro", bucket="3") == [] == refused(READ, file__format="lance")
    assert refused(WRITE, file__format="lance") == [("file.format", "lance")]
    assert refused(READ, primary_key__nullable="true") == []
    assert refused(READ, keyed=True, primary_key__nullable="true") == [("primary-key.nullable", "true")]
    assert refused(READ, fields__m__map__storage_layout="columns") == [("fields.m.map.storage-layout", "columns")]


def test_shredded_maps() -> None:
    assert may_be_shredded(TableOptions({"fields.m.map.storage-layout": " Shared-Shredding"}))
    assert not may_be_shredded(TableOptions({"fields.m.map.storage-layout": "default"}))
