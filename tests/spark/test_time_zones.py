"""Moments as texts, in whatever zone the session and the machine are."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paimon_core.spec.paths import unescape_path_name
from paimon_core.time_zones import SHORT_NAMES, time_zone
from paimon_sql.procedures import PROCEDURES
from tests.support.surroundings import SESSION_ZONE, machine_zone

pytestmark = pytest.mark.spark

# the zone of the machine, None for that of the tests, and what the session says of its own
SURROUNDINGS = [
    ("Asia/Shanghai", None),
    ("America/Los_Angeles", None),
    ("Asia/Kolkata", "SET TIME ZONE LOCAL"),
    ("America/New_York", "SET TIME ZONE 'Asia/Tokyo'"),
    (None, "SET TIME ZONE INTERVAL 8 HOURS"),
    (None, "SET TIME ZONE INTERVAL '-03:30:15' HOUR TO SECOND"),
    (None, f"SET {SESSION_ZONE}=+08:00"),
    (None, f"SET {SESSION_ZONE}=UTC+8"),
    (None, f"SET {SESSION_ZONE}=Z"),
    ("Europe/Paris", f"SET {SESSION_ZONE}=CST"),
]


def _one(spark: Any, query: str) -> Any:
    return spark.sql(query).first()[0]


def test_zones_are_named_as_spark_names_them(spark: Any) -> None:
    # Java 17 has 13 names of Unix System V, which the tz database gave up
    known = [z for z in spark._jvm.java.time.ZoneId.getAvailableZoneIds() if not z.startswith("SystemV/")]
    assert SHORT_NAMES.keys() == set(spark._jvm.java.time.ZoneId.SHORT_IDS)
    spelled = ["+08:00", "+8", "+08:00:30", "-0330", "+8:00", "+08:5", "GMT+8", "UTC-03:30", "UT+1", "Z", "GMT", "UT"]
    moments = [datetime(year, month, 1, 12) for year in (2000, 2024) for month in (1, 7)]
    names = spark.createDataFrame([(name,) for name in (*known, *SHORT_NAMES, *spelled)], "zone STRING")
    shown = spark.createDataFrame([(m.replace(tzinfo=UTC),) for m in moments], "moment TIMESTAMP").crossJoin(names)
    rows = shown.selectExpr("zone", "unix_micros(moment)", "unix_micros(from_utc_timestamp(moment, zone))").collect()
    assert len(rows) > 2000
    offsets = [time_zone(name).utcoffset(_wall(name, before)) for name, before, _ in rows]
    pairs = zip(rows, offsets, strict=True)
    assert [row for row, ours in pairs if timedelta(microseconds=row[2] - row[1]) != ours] == []


def _wall(name: str, micros: int) -> datetime:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return moment.astimezone(time_zone(name)).replace(tzinfo=None)


def test_every_way_to_name_a_moment_is_in_the_session_s_zone(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    for value in (1, 2):
        spark.sql(f"INSERT INTO t VALUES ({value})")
    folder = Path(warehouse, "default.db", "t", "snapshot")
    made = [json.loads((folder / f"snapshot-{n}").read_text())["timeMillis"] for n in (1, 2)]
    wrong = {}
    for machine, statement in SURROUNDINGS:
        with nullcontext() if machine is None else machine_zone(spark, machine):
            spark.conf.unset(SESSION_ZONE)
            if statement is not None:
                spark.sql(statement)
            found = _doors(spark, made)
            wrong |= {(machine, statement): d} if (d := {k: v for k, v in found.items() if v is not True}) else {}
    assert wrong == {}


def _doors(spark: Any, made: list[int]) -> dict[str, Any]:
    """By the name of a way to name a moment, whether it means what Spark means."""
    first, last, hour_ago, in_an_hour = (
        _one(spark, f"SELECT date_format(timestamp_millis({m}), 'yyyy-MM-dd HH:mm:ss.SSS')")
        for m in (*made, made[0] - 3_600_000, made[1] + 3_600_000)
    )
    spark.sql("CALL sys.create_tag('t', 'kept', 1)")
    shown = "SELECT date_format({}, 'yyyy-MM-dd HH:mm:ss.SSS') FROM t${}"
    count = "SELECT count(*) FROM "
    times = f"'{first}', '{last}'"
    found = {
        "$snapshots": _one(spark, shown.format("commit_time", "snapshots ORDER BY snapshot_id")) == first,
        "$tags": _one(spark, shown.format("commit_time", "tags")) == first,
        "$schemas": hour_ago < _one(spark, shown.format("update_time", "schemas")) < first,
        "TIMESTAMP AS OF": _one(spark, f"{count} t TIMESTAMP AS OF '{first}'") == 1,
        "scan.timestamp": _one(spark, f"{count} t WITH ('scan.timestamp' = '{first}')") == 1,
        "option": spark.read.option("scan.timestamp", first).table("t").count() == 1,
        "between": _one(spark, f"{count} paimon_incremental_between_timestamp('t', {times})") == 1,
        "expire_snapshots": _one(spark, f"CALL sys.expire_snapshots(`table` => 't', older_than => '{first}')") == 0,
        "remove_orphan_files": _one(
            spark, f"CALL sys.remove_orphan_files(`table` => 't', older_than => '{hour_ago}', dry_run => true)"
        )
        == 0,
        "expire_tags none": _one(spark, f"CALL sys.expire_tags('t', '{hour_ago}')") == "No expired tags.",
        "expire_tags": _one(spark, f"CALL sys.expire_tags('t', '{in_an_hour}')") == "kept",
    }
    spark.sql("CALL sys.delete_tag('t', 'kept')")
    return found


def test_a_partition_is_named_as_sql_names_it(spark: Any) -> None:
    spark.sql("CREATE TABLE p (k INT, ts TIMESTAMP) PARTITIONED BY (ts)")
    texts = ", ".join(f"({k}, TIMESTAMP '2024-06-01 {8 * k:02}:00:00 UTC')" for k in range(3))
    wrong = {}
    for machine, statement in SURROUNDINGS[:2] + SURROUNDINGS[3:6]:
        with nullcontext() if machine is None else machine_zone(spark, machine):
            spark.conf.unset(SESSION_ZONE)
            if statement is not None:
                spark.sql(statement)
            spark.sql(f"INSERT OVERWRITE p VALUES {texts}")
            named = [row[0] for row in spark.sql("SHOW PARTITIONS p").collect()]
            shown = [row[0] for row in spark.sql("SELECT partition FROM p$partitions").collect()]
            found = {
                "$partitions": sorted(s.removesuffix(".000000") for s in shown)
                == sorted(unescape_path_name(n) for n in named),
                "max_pt": _one(spark, "SELECT k FROM p WHERE ts = sys.max_pt('p')") == 2,
                "drop_partition": spark.sql(f"CALL sys.drop_partition('p', '{named[1]}')").count() == 1
                and sorted(row[0] for row in spark.sql("SHOW PARTITIONS p").collect()) == [named[0], named[2]],
            }
            wrong |= {(machine, statement): d} if (d := {k: v for k, v in found.items() if v is not True}) else {}
    assert wrong == {}


def test_a_column_that_is_no_longer_a_moment_is_local_in_the_session_s_zone(spark: Any) -> None:
    """Older files are converted in tasks, whose machine may be elsewhere."""
    spark.sql("CREATE TABLE a (k INT, s TIMESTAMP, n TIMESTAMP, i STRUCT<f: TIMESTAMP>)")
    moment = "TIMESTAMP '2024-03-10 07:30:00.5 UTC'"
    spark.sql(f"INSERT INTO a VALUES (1, {moment}, {moment}, named_struct('f', {moment}))")
    for column, kind in (("s", "STRING"), ("n", "TIMESTAMP_NTZ"), ("i.f", "STRING")):
        spark.sql(f"ALTER TABLE a ALTER COLUMN {column} TYPE {kind}")
    with machine_zone(spark, "Asia/Tokyo"):
        for zone, hour in (("America/New_York", "03"), ("+08:00", "15"), ("UTC", "07")):
            spark.conf.set(SESSION_ZONE, zone)
            text = f"2024-03-10 {hour}:30:00.5"
            row = spark.sql("SELECT s, CAST(n AS STRING) AS n, i.f AS f FROM a WHERE k > 0").first()
            assert [value.rstrip("0") for value in row] == [text, text, text]
        spark.conf.set(SESSION_ZONE, "America/New_York")
        spark.sql("UPDATE a SET k = 2 WHERE k = 1")
        spark.sql("CALL sys.compact('a')")
    spark.conf.set(SESSION_ZONE, "UTC")
    assert spark.sql("SELECT s FROM a").first()[0].rstrip("0") == "2024-03-10 03:30:00.5"  # as it was rewritten


def test_a_condition_on_partitions_takes_wall_clocks_that_a_zone_skips_or_repeats(spark: Any) -> None:
    spark.conf.set(SESSION_ZONE, "America/New_York")
    spark.sql("CREATE TABLE n (k INT, n TIMESTAMP_NTZ) PARTITIONED BY (n) TBLPROPERTIES ('primary-key' = 'k,n')")
    skipped, repeated = "TIMESTAMP_NTZ '2026-03-08 02:30:00'", "TIMESTAMP_NTZ '2026-11-01 01:30:00'"
    for k in (1, 2):
        spark.sql(f"INSERT INTO n VALUES ({k}, {skipped}), ({k}, {repeated})")
    compacted = "SELECT DISTINCT partition FROM n$files WHERE level > 0"
    for wall, known in ((skipped, ["{2026-03-08 02:30:00.000000}"]), (repeated, None)):
        spark.sql(f"""CALL sys.compact(`table` => 'n', where => "n = {wall}")""")
        found = [row[0] for row in spark.sql(compacted).collect()]
        assert found == known if known else len(found) == 2


def test_partitions_are_skipped_as_rows_are_filtered_where_a_zone_skips_and_repeats_hours(
    spark: Any, tmp_path: Path
) -> None:
    """Files of Spark's own without partitions give the same rows."""
    walls = [f"2026-03-08 {t}" for t in ("01:59:59.999999", "02:30:00", "03:30:00")]
    walls += [f"2026-11-01 {t}" for t in ("00:30:00", "01:30:00", "02:30:00")]
    moments = [f"TIMESTAMP '{w}'" for w in (*walls, "2026-11-01 05:30:00 UTC", "2026-11-01 06:30:00 UTC")]
    conditions = [f"{c} {op} {m}" for m in moments[1::2] for c in ("ts", "n") for op in ("=", "<", ">=")]
    conditions += [f"n = TIMESTAMP_NTZ '{w}'" for w in walls]
    conditions += ["d = DATE '2026-11-01'", "hour(ts) = 1", "hour(n) = 2", "ts < DATE '2026-03-09'", "n IS NULL"]
    conditions += ["d > TIMESTAMP '2026-03-08 12:00:00'", "date_trunc('hour', ts) = TIMESTAMP '2026-11-01 01:00:00'"]
    asked = " UNION ALL ".join(f"SELECT {i}, k FROM {{t}} WHERE {c}" for i, c in enumerate(conditions))
    with machine_zone(spark, "America/New_York"):
        spark.conf.unset(SESSION_ZONE)
        rows = ", ".join(f"({k}, {m}, CAST({m} AS TIMESTAMP_NTZ), DATE({m}))" for k, m in enumerate(moments))
        wall = ", ".join(f"({10 + k}, NULL, TIMESTAMP_NTZ '{w}', NULL)" for k, w in enumerate(walls))
        made = spark.sql(f"SELECT * FROM VALUES {rows}, {wall}, (99, NULL, NULL, NULL) AS v(k, ts, n, d)")
        made.write.parquet(str(tmp_path / "own"))
        spark.read.parquet(str(tmp_path / "own")).createOrReplaceTempView("own")
        for column in ("ts", "n"):
            spark.sql(f"CREATE TABLE by_{column} PARTITIONED BY ({column}) AS SELECT * FROM own")
        for zone in (None, "Asia/Tokyo"):
            if zone is not None:
                spark.conf.set(SESSION_ZONE, zone)
            own, *found = (sorted(map(tuple, spark.sql(asked.format(t=t)).collect())) for t in ("own", "by_ts", "by_n"))
            assert found == [own, own], zone


# arguments that name partitions or moments, or that count time
_IN_A_ZONE = {
    *("older_than", "partition", "partitions", "where"),
    *("expiration_time", "partition_idle_time", "time_retained", "timestamp_formatter"),
}
_EARLY, _LATE = "2024-06-01 01:00:00", "2024-06-01 05:00:00"
_NAMED, _WHERE = f"partitions => 'ts={_LATE}'", f"where => \"ts = '{_LATE}'\""


def _partitioned(spark: Any, name: str, options: str = "'bucket' = '-1'") -> None:
    """Two files in each of two partitions."""
    spark.sql(f"CREATE OR REPLACE TABLE {name} (k INT, ts TIMESTAMP) PARTITIONED BY (ts) TBLPROPERTIES ({options})")
    for k in (1, 2):
        spark.sql(f"INSERT INTO {name} VALUES ({k}, TIMESTAMP '{_EARLY}'), ({k}, TIMESTAMP '{_LATE}')")


def _files(spark: Any, name: str) -> dict[str, int]:
    query = f"SELECT substr(partition, 2, 19) AS p, count(*) AS n FROM `{name}$files` GROUP BY p"
    return {row.p: row.n for row in spark.sql(query).collect()}


def _chosen(spark: Any, call: str, options: str = "'bucket' = '-1'") -> bool:
    """Whether a call leaves one file in the late partition, and two in the other."""
    _partitioned(spark, "c", options)
    spark.sql(f"CALL sys.{call}").collect()
    return _files(spark, "c") == {_EARLY: 2, _LATE: 1}


def _rescaled(spark: Any, chosen: str) -> bool:
    """Whether the late partition gets the table's new number of buckets, and the other keeps its files."""
    _partitioned(spark, "c", "'bucket' = '1', 'bucket-key' = 'k'")
    spark.sql("ALTER TABLE c SET TBLPROPERTIES ('bucket' = '2')")
    query = "SELECT substr(partition, 2, 19) AS p, file_path FROM `c$files`"
    before = {row.file_path: row.p for row in spark.sql(query).collect()}
    spark.sql(f"CALL sys.rescale(`table` => 'c', bucket_num => 2, {chosen})").collect()
    after = {row.file_path for row in spark.sql(query).collect()}
    return {path for path, partition in before.items() if partition == _EARLY} == before.keys() & after


def _copied(spark: Any, call: str) -> bool:
    _partitioned(spark, "c")
    spark.sql("DROP TABLE IF EXISTS copied")
    spark.sql(f"CALL sys.{call}").collect()
    found = {(r.k, r.text) for r in spark.sql("SELECT k, CAST(ts AS STRING) AS text FROM copied").collect()}
    return found == {(1, _LATE), (2, _LATE)}


def _indexed(spark: Any) -> tuple[bool, bool]:
    """Whether an index of one partition is created, and whether it is dropped by the same text only."""
    _partitioned(spark, "c", "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'")
    index = "`table` => 'c', index_column => 'k', index_type => 'btree'"
    spark.sql(f"CALL sys.create_global_index({index}, {_NAMED})")
    created = {r[0][1:20] for r in spark.sql("SELECT partition FROM `c$table_indexes`").collect()} == {_LATE}
    texts = (f"ts={_EARLY}", f"ts={_LATE}")
    left = []
    for text in texts:
        spark.sql(f"CALL sys.drop_global_index({index}, partitions => '{text}')")
        left.append(_one(spark, "SELECT count(*) FROM `c$table_indexes`") > 0)
    return created, left == [True, False]


def _marked(spark: Any, warehouse: str) -> bool:
    _partitioned(spark, "c", "'partition.mark-done-action' = 'success-file'")
    spark.sql(f"CALL sys.mark_partition_done(`table` => 'c', {_NAMED})")
    utc = f"to_utc_timestamp('{_LATE}', current_timezone())"
    name = _one(spark, f"SELECT replace(date_format({utc}, 'yyyy-MM-dd HH:mm'), ' ', 'T')")
    (found,) = Path(warehouse, "default.db", "c").glob("*/_SUCCESS")
    return unescape_path_name(found.parent.name) == f"ts={name}"


def _drawn(spark: Any) -> bool:
    spark.sql(
        "CREATE OR REPLACE TABLE drawn (k INT, ts TIMESTAMP) PARTITIONED BY (ts) "
        "TBLPROPERTIES ('primary-key' = 'k,ts', 'bucket' = '1')"
    )
    spark.sql(f"INSERT INTO drawn VALUES (1, TIMESTAMP '{_EARLY}'), (1, TIMESTAMP '{_LATE}')")
    call = f"CALL sys.picture(`table` => 'drawn', kind => 'lsm', partition => 'ts={_LATE}.000000')"
    picture = spark.sql(call).first().picture
    return _LATE in picture and _EARLY not in picture


def _expired_partitions(spark: Any) -> bool:
    """Moments, dates and hours of the session, 90 and 30 minutes old."""
    wrong = []
    for name, columns, value, more in (
        ("m", "ts TIMESTAMP", "{}", ""),
        ("n", "ts TIMESTAMP_NTZ", "CAST({} AS TIMESTAMP_NTZ)", ""),
        ("d", "ts STRING", "date_format({}, 'yyyyMMdd HHmmss')", ", timestamp_formatter => 'yyyyMMdd HHmmss'"),
    ):
        spark.sql(f"CREATE OR REPLACE TABLE {name} (k INT, {columns}) PARTITIONED BY (ts)")
        for minutes in (90, 30):
            moment = value.format(f"date_trunc('SECOND', now() - INTERVAL {minutes} MINUTES)")
            spark.sql(f"INSERT INTO {name} SELECT {minutes}, {moment}")
        spark.sql(f"CALL sys.expire_partitions(`table` => '{name}', expiration_time => '1 h'{more})").collect()
        if [row.k for row in spark.table(name).collect()] != [30]:
            wrong.append(name)
    return not wrong


def _expired_versions(spark: Any) -> dict[str, bool]:
    """Changelogs and tags that are seconds old, before and after an hour ago and an hour from now."""
    kept = "'changelog.num-retained.min' = '1', 'changelog.num-retained.max' = '9'"
    spark.sql(
        "CREATE OR REPLACE TABLE v (k INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'changelog-producer' ="
        f" 'input', 'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '1', {kept})"
    )
    for k in range(3):
        spark.sql(f"INSERT INTO v VALUES ({k})")
    for tag in ("new", "other"):
        spark.sql(f"CALL sys.create_tag(`table` => 'v', tag => '{tag}', time_retained => '1 h')")
    spark.sql("CALL sys.replace_tag(`table` => 'v', tag => 'other', time_retained => '1 h')")
    spark.sql(
        "CALL sys.create_tag_from_timestamp(`table` => 'v', tag => 'third', timestamp => 1, time_retained => '1 h')"
    )
    ago, soon = (
        _one(spark, f"SELECT date_format(now() {sign} INTERVAL 30 MINUTES, 'yyyy-MM-dd HH:mm:ss')") for sign in "-+"
    )
    least = "retain_min => 1"
    expired = [
        _one(spark, f"CALL sys.expire_changelogs(`table` => 'v', {least}, older_than => '{t}')") for t in (ago, soon)
    ]
    tags = [
        sorted(row[0] for row in spark.sql(call).collect())
        for call in (
            "CALL sys.expire_tags('v')",
            f"CALL sys.expire_tags('v', '{ago}')",
            f"CALL sys.expire_tags('v', '{soon}')",
        )
    ]
    orphans = _one(spark, f"CALL sys.remove_orphan_files(`table` => 'v', older_than => '{ago}', dry_run => true)")
    snapshots = _one(spark, f"CALL sys.expire_snapshots(`table` => 'v', {least}, older_than => '{ago}')")
    none = ["No expired tags."]
    is_tagged = tags == [none, none, ["new", "other", "third"]]
    return {
        "expire_changelogs": expired[0] == 0 and expired[1] > 0,
        "remove_orphan_files": orphans == 0,
        "expire_snapshots": snapshots == 0,
        **dict.fromkeys(("create_tag", "create_tag_from_timestamp", "replace_tag", "expire_tags"), is_tagged),
    }


def _every_procedure(spark: Any, warehouse: str) -> dict[str, bool]:
    created, dropped = _indexed(spark)
    named = [f"compact(`table` => 'c', {chosen})" for chosen in (_NAMED, _WHERE)]
    idle = [f"compact(`table` => 'c', partition_idle_time => '{time}')" for time in ("1 h", "1 ms")]
    compacted = [_chosen(spark, call) for call in (*named, *idle)]
    clone = "database => 'default', `table` => 'c', target_database => 'default', target_table => 'copied'"
    found = {
        "compact": compacted == [True, True, False, False] and _files(spark, "c") == {_EARLY: 1, _LATE: 1},
        "rescale": all(_rescaled(spark, chosen) for chosen in (_NAMED, _WHERE)),
        "create_global_index": created,
        "drop_global_index": dropped,
        "copy": _copied(spark, f"copy(source_table => 'c', target_table => 'copied', {_WHERE})"),
        "clone": _copied(spark, f"clone({clone}, {_WHERE})"),
        "mark_partition_done": _marked(spark, warehouse),
        "expire_partitions": _expired_partitions(spark),
        "picture": _drawn(spark),
    }
    _partitioned(spark, "c")
    spark.sql("ALTER TABLE c SET TBLPROPERTIES ('file-index.bloom-filter.columns' = 'k')")
    found["rewrite_file_index"] = spark.sql(f"CALL sys.rewrite_file_index(`table` => 'c', {_WHERE})").first() == (1, 2)
    spark.sql(f"CALL sys.drop_partition(`table` => 'c', {_NAMED})")
    found["drop_partition"] = _files(spark, "c") == {_EARLY: 2}
    return found | _expired_versions(spark)


@pytest.mark.parametrize(
    ("machine", "session"),
    [("America/New_York", None), ("Asia/Shanghai", None), ("Asia/Shanghai", "America/New_York")],
)
def test_every_procedure_takes_partitions_and_moments_in_the_session_s_zone(
    spark: Any, warehouse: str, machine: str, session: str | None
) -> None:
    with machine_zone(spark, machine):
        spark.conf.unset(SESSION_ZONE)
        if session is not None:
            spark.conf.set(SESSION_ZONE, session)
        found = _every_procedure(spark, warehouse)
    assert [name for name, holds in found.items() if holds is not True] == []
    takes = {name for name, p in PROCEDURES.items() if _IN_A_ZONE & {a.name for a in p.parameters}}
    assert takes - found.keys() == {"compact_chain_table"}  # chain tables are partitioned by texts
