"""Generated columns in options of schemas, and the changes that they forbid."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from paimon_core.errors import InvalidDataError, InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.errors import UnsupportedFeatureError as Unsupported
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DATE, INT, STRING, DataType, Kind, LengthType, TimeType
from paimon_core.store.ddl.constraints import checks_of
from paimon_core.store.ddl.generated_columns import (
    GeneratedColumn,
    generated_of,
    refuse_generated_option,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    UpdateColumnDefault,
    UpdateColumnType,
    apply_changes,
)
from tests.support.tables import fields

LTZ = TimeType(Kind.TIMESTAMP_LTZ)
DAY = GeneratedColumn("dt", "CAST(ts AS DATE)", ("ts",), "UTC")


def schema(*made: GeneratedColumn, types: dict[str, DataType] | None = None, **options: str) -> TableSchema:
    given = {k.replace("_", "-"): v for k, v in options.items()} | {g.key: g.value for g in made}
    return new_table_schema(fields(**{"id": INT, "ts": LTZ, "dt": DATE, "s": STRING} | (types or {})), options=given)


def test_a_schema_keeps_generated_columns() -> None:
    kept = schema(DAY).options
    assert generated_of(kept) == (DAY,)
    (check,) = checks_of(kept)
    assert (check.condition, check.columns) == ("`dt` <=> (CAST(ts AS DATE))", ("dt", "ts"))
    assert RowRules.of(schema(DAY)).made_anew(["id"]) == RowRules.of(schema(DAY)).made_anew(["ts", "dt"]) == ()
    assert RowRules.of(schema(DAY)).made_anew(["id", "ts"]) == ("dt",)
    assert RowRules.of(schema(DAY, primary_key="id,dt")).made_anew(["ts"]) == ()


@pytest.mark.parametrize(
    ("made", "types", "says"),
    [
        (replace(DAY, name="x"), {}, "'x' cannot be generated"),
        (replace(DAY, columns=("x",)), {}, "cannot be made from 'x'"),
        (replace(DAY, columns=("dt",)), {}, "names a generated column"),
        (DAY, {"ts": replace(LTZ, precision=3)}, "'ts' is of type TIMESTAMP"),
        (replace(DAY, name="s"), {"s": LengthType(Kind.VARCHAR, length=3)}, "'s' is of type VARCHAR"),
        (replace(DAY, columns=("s",)), {"s": LengthType(Kind.CHAR, length=3)}, "'s' is of type CHAR"),
    ],
)
def test_refused_definitions(made: GeneratedColumn, types: dict[str, DataType], says: str) -> None:
    with pytest.raises((InvalidSchemaError, Unsupported), match=says):
        schema(made, types=types)


def test_tables_without_generated_columns() -> None:
    for engine in ("aggregation", "partial-update"):
        with pytest.raises(Unsupported, match="merged from several written rows"):
            schema(DAY, primary_key="id", merge_engine=engine)
    with pytest.raises(Unsupported, match="programs write its files"):
        schema(DAY, type="format-table")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (DropColumn(("ts",)), "'ts' cannot be dropped: the column 'dt' is GENERATED"),
        (RenameColumn(("ts",), "m"), "'ts' cannot be renamed"),
        (RenameColumn(("dt",), "m"), "'dt' cannot be renamed: it is GENERATED"),
        (UpdateColumnType(("ts",), STRING), "'ts' cannot be given another type"),
        (UpdateColumnType(("dt",), STRING), "'dt' cannot be given another type"),
        (UpdateColumnDefault(("dt",), "DATE '2024-01-01'"), "'dt' cannot be given a default"),
    ],
)
def test_refused_changes(change: SchemaChange, says: str) -> None:
    with pytest.raises(PaimonError, match=says):
        apply_changes(schema(DAY), [change], 0)


def test_other_changes() -> None:
    kept = apply_changes(schema(DAY), [DropColumn(("s",)), AddColumn(("t",), INT), RenameColumn(("id",), "key")], 0)
    assert generated_of(kept.options) == (DAY,)
    assert generated_of(apply_changes(schema(DAY), [DropColumn(("dt",))], 0).options) == ()
    plain = apply_changes(schema(DAY), [RemoveOption(DAY.key), RenameColumn(("ts",), "m")], 0)
    assert (plain.options, plain.field_by_name["m"].type) == ({}, LTZ)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"expression": " "}',
        '{"expression": "x", "columns": [1]}',
        '{"expression": "x", "zone": "Nowhere/Else"}',
        '{"expression": "java_method(\'java.lang.System\', \'exit\', 1)", "columns": []}',
    ],
)
def test_an_option_of_a_hostile_schema_does_not_reach_spark(text: str) -> None:
    with pytest.raises(Unsupported, match="does not understand as a generated column"):
        generated_of({"generated-column.dt": text})


def test_the_option_is_not_set() -> None:
    with pytest.raises(InvalidOptionError, match="write GENERATED ALWAYS AS"):
        refuse_generated_option(["x", DAY.key])


@pytest.mark.parametrize(
    ("kept", "session", "offset"),
    [
        ("UTC", UTC, 0),
        ("UTC", ZoneInfo("Etc/UTC"), 0),
        ("+02:00", timezone(timedelta(hours=2)), 7_200_000_000),
        ("Europe/Berlin", ZoneInfo("Europe/Berlin"), None),
    ],
)
def test_zones(kept: str, session: tzinfo, offset: int | None) -> None:
    made = replace(DAY, zone=kept)
    assert made.offset == offset
    RowRules.of(schema(made)).in_zone(session, "t")
    RowRules.of(schema(replace(made, zone=""))).in_zone(None, "t")
    with pytest.raises(InvalidDataError, match=rf"is computed in the time zone {kept.replace('+', '.')}"):
        RowRules.of(schema(made)).in_zone(ZoneInfo("Asia/Tokyo"), "t")
