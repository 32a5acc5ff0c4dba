"""What options of one write ask for."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import equals
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, parse_type
from paimon_sql.spark.write.write_options import (
    check_foreign,
    check_replaces_all,
    contradicts,
    is_insert,
    is_of_one_write,
    merge_options,
    of_overwrite,
    overwrites_partitions,
    static_partition,
    without_own,
)


@pytest.mark.parametrize(
    ("given", "dynamic"),
    [
        ({}, None),
        ({"bucket": "2"}, None),
        ({"dynamic-partition-overwrite": "true"}, True),
        ({"dynamic-partition-overwrite": "FALSE"}, False),
        ({"partitionOverwriteMode": "Dynamic"}, True),
        ({"partitionoverwritemode": " static "}, False),
        ({"PARTITIONOVERWRITEMODE": "DYNAMIC"}, True),
        ({"overwrite-mode": "dynamic"}, True),
        ({"overwrite-mode": "dynamic", "dynamic-partition-overwrite": "true"}, True),
    ],
)
def test_an_overwrite_is_dynamic_or_not(given: dict[str, str], dynamic: bool | None) -> None:
    assert overwrites_partitions(given) is dynamic
    assert bool(contradicts(given, dynamic=True)) == (dynamic is False)
    assert bool(contradicts(given, dynamic=False)) == (dynamic is True)


@pytest.mark.parametrize(
    "given",
    [
        {"dynamic-partition-overwrite": "yes"},
        {"partitionOverwriteMode": "partly"},
        {"partitionOverwriteMode": "dynamic", "dynamic-partition-overwrite": "false"},
    ],
)
def test_what_is_not_clear_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError):
        overwrites_partitions(given)


@pytest.mark.parametrize("key", ["replaceWhere", "overwriteSchema", "mergeSchema", "txnAppId", "txnVersion", "wap.id"])
def test_options_of_other_formats_are_refused_by_name(key: str) -> None:
    for spelled in (key, key.lower(), key.upper()):
        with pytest.raises(UnsupportedFeatureError, match=f"'{key}'"):
            check_foreign("d.t", {"bucket": "2", spelled: "p = 1"})


def test_a_table_that_is_replaced_keeps_no_rows() -> None:
    check_replaces_all("d.t", {"overwriteSchema": "true", "mergeSchema": "true", "bucket": "2"})
    with pytest.raises(UnsupportedFeatureError, match="'replaceWhere'"):
        check_replaces_all("d.t", {"ReplaceWhere": "p = 1"})


def test_what_asks_for_nothing_is_passed_over() -> None:
    check_foreign("d.t", {"mergeSchema": "false", "overwriteSchema": "False", "write.merge-schema": "true", "x": "y"})


def schema(*types: str) -> TableSchema:
    fields = tuple(DataField(id=i, name=f"p{i}", type=parse_type(t)) for i, t in enumerate(types))
    names = tuple(f.name for f in fields)
    return TableSchema(fields=fields, highest_field_id=len(fields), partition_keys=names)


def test_a_static_partition_travels_as_an_option() -> None:
    given = {"bucket": "2", **of_overwrite(False, {"P0": "01", "p2": None})}
    assert static_partition(schema("INT", "STRING", "DATE"), given, UTC) == equals(["p0", "p2"], [1, None])
    assert static_partition(schema("INT"), {"bucket": "2"}, UTC) is None
    assert without_own(given) == {"bucket": "2", "dynamic-partition-overwrite": "false"}
    assert is_insert(given) and not is_insert({"dynamic-partition-overwrite": "false"})


@pytest.mark.parametrize("name", ["p", "P"])
def test_a_static_partition_is_of_the_column_with_its_exact_name(name: str) -> None:
    fields = tuple(DataField(id=n, name=key, type=parse_type("INT")) for n, key in enumerate("pP"))
    table = TableSchema(fields=fields, highest_field_id=1, partition_keys=("p", "P"))
    assert static_partition(table, of_overwrite(False, {name: "1"}), UTC) == equals([name], [1])


def test_a_new_table_keeps_no_options_of_one_write() -> None:
    names = ["partitionOverwriteMode", "mergeSchema", "bucket", "dynamic-partition-overwrite"]
    assert [is_of_one_write(name) for name in names] == [True, True, False, False]


def test_a_static_partition_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="'p0' cannot be 'x'"):
        static_partition(schema("INT"), of_overwrite(False, {"p0": "x"}), UTC)


def test_moments_of_a_static_partition_are_in_the_zone() -> None:
    given = of_overwrite(False, {"p0": "1970-01-01 08:00:00"})
    local = schema("TIMESTAMP(3) WITH LOCAL TIME ZONE")
    assert static_partition(local, given, timezone(timedelta(hours=8))) == static_partition(
        local, of_overwrite(False, {"p0": "1970-01-01 00:00:00"}), UTC
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", '{"p0": 1}', '{"x": "1"}', '{"p0": []}', "[" * 100_000])
def test_a_user_s_own_text_as_a_static_partition_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"paimon-sql\.static-partition.* does not name a partition"):
        static_partition(schema("INT"), {"paimon-sql.static-partition": text}, UTC)


def test_options_that_let_rows_bring_columns_are_in_any_case() -> None:
    given = {"WRITE.Merge-Schema": "true", "write.merge-schema.explicit-cast": "true", "bucket": "2"}
    assert merge_options(given) == {"write.merge-schema": "true", "write.merge-schema.explicit-cast": "true"}
