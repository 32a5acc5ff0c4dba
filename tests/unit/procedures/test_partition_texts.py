"""A partition means the same in every text that names it, in whatever zone: what is shown can be written back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import unescape_path_name
from paimon_core.spec.types import BOOLEAN, DATE, DOUBLE, INT, STRING, DecimalType, Kind, TimeType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.time_zones import epoch_millis, time_zone
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

ZONES = (
    "UTC", "Asia/Shanghai", "America/New_York", "America/Los_Angeles", "Europe/London", "Asia/Kolkata",
    "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns", "+08:00", "-03:30:15",
)  # fmt: skip
MACHINES = ("UTC", "Asia/Tokyo", "America/New_York")
LTZ, NTZ = TimeType(Kind.TIMESTAMP_LTZ, precision=6), TimeType(Kind.TIMESTAMP, precision=6)
# before, in and behind changes of daylight saving of New York, London and Lord Howe; and long ago
MOMENTS = tuple(
    datetime.fromisoformat(text).replace(tzinfo=UTC)
    for text in (
        "2024-03-10 06:59:59.999999", "2024-03-10 07:00:00", "2024-11-03 03:29:59", "2024-11-03 05:30:00",
        "2024-10-27 00:30:00", "2024-04-06 14:45:00", "2024-06-01 00:00:00.5", "1969-12-31 23:59:59.999999",
        "1901-01-01 00:00:00",
    )
)  # fmt: skip
TABLE = Identifier("default", "t")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """This process in some zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def _partitioned(warehouse: str, **columns: tuple[Any, pa.DataType, Sequence[Any]]) -> Table:
    """A table with a row in each partition, by column: Paimon's type, Arrow's, and the values."""
    catalog = load_catalog({"warehouse": warehouse})
    types = {name: column[0] for name, column in columns.items()}
    catalog.create_table(TABLE, new_table_schema(fields(k=INT, **types), tuple(columns)))
    table = catalog.load_table(TABLE)
    arrays = [pa.array(values, arrow) for _, arrow, values in columns.values()]
    writer = open_writer(table.store, sequence_start=0)
    rows = pa.array(range(len(arrays[0])), pa.int32())
    writer.write(pa.record_batch([rows, *arrays], names=["k", *columns]))
    table.commit_or_abort(writer.finish(), CommitInfo(user="tester"))
    return catalog.load_table(TABLE)


def _call(warehouse: str, zone: str) -> Callable[..., Any]:
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", Tasks(), time_zone(zone))
    return lambda name, **given: PROCEDURES[name].call(context, given)


def _shown(table: Table, zone: str) -> list[str]:
    return table.system_table("partitions", time_zone(zone)).column("partition").to_pylist()


@pytest.mark.parametrize("zone", ZONES)
def test_moments_are_shown_in_the_session_s_zone_and_read_in_it(warehouse: str, machine: str, zone: str) -> None:
    table = _partitioned(warehouse, p=(LTZ, pa.timestamp("us", "UTC"), MOMENTS))
    walls = {f"{m.astimezone(time_zone(zone)):%Y-%m-%d %H:%M:%S.%f}": m for m in MOMENTS}
    assert sorted(_shown(table, zone)) == sorted(f"p={wall}" for wall in walls)
    shown = table.system_table("files", time_zone(zone)).column("partition").to_pylist()
    assert sorted(shown) == sorted(f"{{{wall}}}" for wall in walls)
    # bounds are what files store, in UTC in every zone, as in Java
    bounds = table.system_table("files", time_zone(zone)).select(["min_value_stats", "max_value_stats"])
    assert [sum("p=2024-03-10T07:00}" in text for text in column.to_pylist()) for column in bounds] == [1, 1]
    left = set(walls)
    for wall, moment in walls.items():
        assert epoch_millis(wall, time_zone(zone)) == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            milliseconds=1
        )
        assert _call(warehouse, zone)("drop_partition", table="t", partitions=f"p={wall}") == [(True,)]
        left.remove(wall)
        assert set(_shown(load_catalog({"warehouse": warehouse}).load_table(TABLE), zone)) == {f"p={w}" for w in left}


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_values_of_every_type_are_dropped_by_the_text_that_is_shown(warehouse: str, machine: str, zone: str) -> None:
    walls = [m.replace(tzinfo=None) for m in MOMENTS[:3]]
    table = _partitioned(
        warehouse,
        ltz=(LTZ, pa.timestamp("us", "UTC"), MOMENTS[:3]),
        ntz=(NTZ, pa.timestamp("us"), walls),
        day=(DATE, pa.date32(), [date(2024, 3, 10), date(1901, 1, 1), date(1970, 1, 1)]),
        text=(STRING, pa.string(), ["a/b", "ü", "2024-06-01 08:00:00"]),
        flag=(BOOLEAN, pa.bool_(), [True, False, True]),
        number=(DOUBLE, pa.float64(), [0.5, 1e10, -1.0]),
        amount=(DecimalType(precision=10, scale=2), pa.decimal128(10, 2), [1, 2, 3]),
    )
    shown = _shown(table, zone)
    assert len(shown) == 3
    for i, partition in enumerate(shown):
        spec = partition.replace("a/b", "a\0b").replace("/", ",").replace("\0", "/")
        assert _call(warehouse, zone)("drop_partition", table="t", partitions=spec) == [(True,)]
        assert _shown(load_catalog({"warehouse": warehouse}).load_table(TABLE), zone) == shown[i + 1 :]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_a_partition_is_done_in_its_folder(warehouse: str, machine: str, zone: str) -> None:
    day = datetime(2024, 6, 1, tzinfo=UTC)
    table = _partitioned(warehouse, p=(LTZ, pa.timestamp("us", "UTC"), [day]), d=(DATE, pa.date32(), [day.date()]))
    (shown,) = _shown(table, zone)
    _call(warehouse, zone)("mark_partition_done", table="t", partitions=shown.replace("/", ","))
    folder = table.store.bucket_dir(table.plan(table.latest_snapshot()).splits[0].partition, 0).rpartition("/")[0]
    assert table.store.io.exists(f"{folder}/_SUCCESS")


def test_partitions_expire_by_the_moment_they_stand_for(warehouse: str, machine: str) -> None:
    now = datetime.now(UTC)
    moments = [now - timedelta(hours=30), now - timedelta(hours=18)]
    _partitioned(warehouse, p=(LTZ, pa.timestamp("us", "UTC"), moments))
    gone = f"p={moments[0].astimezone(time_zone('+08:00')):%Y-%m-%d %H:%M:%S.%f}"
    assert _call(warehouse, "+08:00")("expire_partitions", table="t", expiration_time="1 d") == [(gone,)]


def test_all_times_of_a_table_are_of_one_clock(warehouse: str, machine: str) -> None:
    """Files and tags keep the wall clock of the machine, snapshots a moment: all are shown in the session's zone."""
    table = _partitioned(warehouse, p=(LTZ, pa.timestamp("us", "UTC"), MOMENTS[:1]))
    table.versions.create_tag("kept", table.latest_snapshot(), timedelta(days=1))
    now = datetime.now(UTC)
    for name in ZONES:
        zone = time_zone(name)
        shown = {
            "snapshots": "commit_time",
            "schemas": "update_time",
            "tags": "create_time",
            "files": "creation_time",
            "partitions": "last_update_time",
            "buckets": "last_update_time",
        }
        times = [table.system_table(t, zone).column(column)[0].as_py() for t, column in shown.items()]
        assert all(abs(t.replace(tzinfo=zone) - now) < timedelta(minutes=10) for t in times), (name, times)


@pytest.mark.parametrize("given", ["Ts", "ts", "TS"])
def test_manifests_are_sorted_by_a_column_in_any_case(warehouse: str, given: str) -> None:
    _partitioned(warehouse, Ts=(INT, pa.int32(), [2, 1]))
    _call(warehouse, "UTC")("drop_partition", table="t", partitions="Ts=2")  # a second manifest
    call = partial(_call(warehouse, "UTC"), "compact_manifest", table="t", manifest_sort_enabled=True)
    with pytest.raises(InvalidOptionError, match="the partition columns are Ts"):
        call(manifest_sort_partition_field="nope", options="MANIFEST.Full-Compaction-Threshold-Size=0 b")
    call(manifest_sort_partition_field=given, options="MANIFEST.Full-Compaction-Threshold-Size=0 b")


@pytest.mark.parametrize("given", ["Ts=1", "ts=1", "TS=1", "tS = 1;TS=1"])
def test_columns_of_partitions_are_found_in_any_case(warehouse: str, given: str) -> None:
    table = _partitioned(warehouse, Ts=(INT, pa.int32(), [1, 2]))
    call = _call(warehouse, "UTC")
    call("mark_partition_done", table="t", partitions=given)
    assert [p.parent.name for p in Path(table.store.root).glob("*/_SUCCESS")] == ["Ts=1"]
    call("drop_partition", table="t", partitions=given)
    assert _shown(table, "UTC") == ["Ts=2"]


def test_quoted_values_may_have_separators(warehouse: str) -> None:
    values = ["a,b", "x;y", "it's", "p=1", "a"]
    table, call = _partitioned(warehouse, p=(STRING, pa.string(), values)), _call(warehouse, "UTC")
    given = "p='a,b';p=\"x;y\" ; p='it''s';p='p=1'"
    call("mark_partition_done", table="t", partitions=given)
    marked = {unescape_path_name(p.parent.name) for p in Path(table.store.root).glob("*/_SUCCESS")}
    assert marked == {f"p={value}" for value in values[:-1]}
    call("drop_partition", table="t", partitions=given)
    assert _shown(table, "UTC") == ["p=a"]


@pytest.mark.parametrize("procedure", ["mark_partition_done", "drop_partition"])
def test_columns_in_another_case_are_not_guessed(warehouse: str, procedure: str) -> None:
    table = _partitioned(warehouse, Ts=(INT, pa.int32(), [1]), tS=(INT, pa.int32(), [2]))
    for given in ("TS=1", "ts=1,tS=2", "nope=1"):
        with pytest.raises(InvalidOptionError, match="Ts, tS"):
            _call(warehouse, "UTC")(procedure, table="t", partitions=given)
    exact = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", Tasks(), UTC, case_sensitive=True)
    with pytest.raises(InvalidOptionError, match="Ts, tS"):
        PROCEDURES[procedure].call(exact, {"table": "t", "partitions": "ts=1"})
    PROCEDURES[procedure].call(exact, {"table": "t", "partitions": "Ts=1,tS=2"})
    assert _shown(table, "UTC") == ([] if procedure == "drop_partition" else ["Ts=1/tS=2"])


def test_a_session_that_tells_cases_apart_takes_names_exactly(warehouse: str) -> None:
    _partitioned(warehouse, Ts=(INT, pa.int32(), [1]))
    exact = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", Tasks(), UTC, case_sensitive=True)
    for procedure in ("mark_partition_done", "drop_partition"):
        with pytest.raises(InvalidOptionError, match="columns are Ts"):
            PROCEDURES[procedure].call(exact, {"table": "t", "partitions": "ts=1"})
