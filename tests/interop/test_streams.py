"""Streams of both engines over the same tables: each reads and follows what the other's wrote, and goes on with the
other's checkpoint.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.interop.engines import ENGINES, Engines, SparkEngine
from tests.support.java_oracle import JavaOracle, run_streams

LOG = {"read.changelog": "true"}
FROM_THE_START = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
FILE_BY_FILE = {"read.stream.maxFilesPerTrigger": "1"}
KEYED = "'primary-key' = 'k', 'bucket' = '2'"
TABLES = {
    "append": "",
    "keyed": f"TBLPROPERTIES ({KEYED})",
    "lookup": f"TBLPROPERTIES ({KEYED}, 'changelog-producer' = 'lookup')",
}
SINKS = TABLES | {
    "dynamic": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-1')",
    "postponed": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-2')",
    "full": f"TBLPROPERTIES ({KEYED}, 'changelog-producer' = 'full-compaction', 'full-compaction.delta-commits' = '1')",
}


def of_ours(ours: SparkEngine, table: str, checkpoint: Path, **options: str) -> list[list[Any]]:
    """What a query of ours reads."""
    rows: list[list[Any]] = []
    stream = ours.session.readStream.options(**options).table(table)
    writer = stream.writeStream.foreachBatch(lambda batch, _: rows.extend(map(list, batch.collect())))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return sorted(rows)


def written(ours: SparkEngine, source: str, table: str, checkpoint: Path, **options: str) -> str:
    """Have a query of ours write a table's changes to another one; its commit user."""
    rows = ours.session.readStream.options(**FROM_THE_START, **options).table(source)
    query = rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).toTable(table)
    assert query.awaitTermination(120)
    return str(query.id)


def test_java_reads_what_our_streams_wrote(engines: Engines, ours: SparkEngine, tmp_path: Path) -> None:
    engines.run("ours", "CREATE TABLE source (k INT, v STRING)")
    for values in ("(1, 'a'), (2, 'a')", "(2, 'b'), (3, 'b')", "(1, 'c'), (4, 'c')"):
        engines.run("ours", f"INSERT INTO source SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    for kind, options in SINKS.items():
        engines.run("ours", f"CREATE TABLE {kind} (k INT, v STRING) {options}")
        user = written(ours, "source", kind, tmp_path / kind, **FILE_BY_FILE)
        if kind == "postponed":
            engines.run("java", f"CALL sys.compact(table => '{kind}')")
        keyed = [[1, "c"], [2, "b"], [3, "b"], [4, "c"]]
        append = [[1, "a"], [1, "c"], [2, "a"], [2, "b"], [3, "b"], [4, "c"]]
        engines.both(f"SELECT * FROM {kind} ORDER BY k, v", append if kind == "append" else keyed)
        engines.same_metadata(kind)
        made = (
            f"SELECT commit_identifier FROM `{kind}$snapshots` WHERE commit_user = '{user}' AND commit_kind = 'APPEND'"
        )
        engines.both(made, [[0], [1], [2]])
        if "changelog-producer" in options:
            (last,) = engines.both(f"SELECT max(snapshot_id) FROM `{kind}$snapshots`")
            log = f"SELECT * FROM paimon_incremental_query('`{kind}$audit_log`', '0', '{last[0]}')"
            assert len(engines.both(log)) == 8, kind


def test_what_our_streams_are_remembered_by_outlives_javas_upkeep(
    engines: Engines, ours: SparkEngine, java: tuple[JavaOracle, str], tmp_path: Path
) -> None:
    """Java expires the snapshots and looks for orphans; a replayed epoch is still not committed again."""
    engines.run("ours", "CREATE TABLE source (k INT, v STRING)", "INSERT INTO source VALUES (1, 'a')")
    engines.run("ours", "CREATE TABLE t (k INT, v STRING)")
    user = written(ours, "source", "t", tmp_path / "at")
    engines.run("java", "INSERT INTO t VALUES (2, 'b')", "INSERT INTO t VALUES (3, 'c')")
    engines.run("java", "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    for file in Path(java[1]).glob(f"{engines.database}.db/t/stream/**/*"):
        os.utime(file, (0, 0))
    older = "older_than => '2020-01-01 00:00:00', dry_run => false"
    engines.run("java", f"CALL sys.remove_orphan_files(table => '{engines.database}.t', {older})")
    assert engines.rows("ours", f"SELECT * FROM t$snapshots WHERE commit_user = '{user}'") == []
    for name in ("0", ".0.crc"):
        (tmp_path / "at" / "commits" / name).unlink()
    written(ours, "source", "t", tmp_path / "at")
    engines.both("SELECT * FROM t ORDER BY k", [[1, "a"], [2, "b"], [3, "c"]])


@pytest.mark.parametrize("kind", TABLES)
def test_ours_follows_what_both_write(engines: Engines, ours: SparkEngine, tmp_path: Path, kind: str) -> None:
    engines.run("java", f"CREATE TABLE t (k INT, v STRING) {TABLES[kind]}")
    assert of_ours(ours, "t", tmp_path, **LOG) == []
    expected: list[list[Any]] = []
    for number, engine in enumerate(ENGINES):
        engines.run(engine, f"INSERT INTO t VALUES (1, '{number}'), ({number + 2}, 'x')")
        expected += [["+I", number + 2, "x"]]
    if kind == "lookup":
        expected += [["+I", 1, "0"], ["-U", 1, "0"], ["+U", 1, "1"]]
    else:
        expected += [["+I", 1, "0"], ["+I", 1, "1"]]
    assert of_ours(ours, "t", tmp_path, **LOG) == sorted(expected)


FIRST = [["+I", k, "a"] for k in (1, 2, 3, 4)]  # what our stream writes, then Java's
SECOND = {
    "append": [["+I", k, "b"] for k in (3, 4, 5)],
    "keyed": [["+I", k, "b"] for k in (3, 4, 5)],
    "lookup": [["+I", 5, "b"], *([n, k, v] for k in (3, 4) for n, v in (("-U", "a"), ("+U", "b")))],
}


def test_streams_take_turns(engines: Engines, ours: SparkEngine, java: tuple[JavaOracle, str], tmp_path: Path) -> None:
    """For each kind of table: a stream of ours writes, then one of Java's, then ours again; queries of both follow,
    and each goes on with the other's checkpoint."""
    base, folder = f"paimon.{engines.database}", f"{java[1]}/{engines.database}.db"
    engines.run("ours", "CREATE TABLE a (k INT, v STRING)", "CREATE TABLE b (k INT, v STRING)")
    engines.run("ours", "INSERT INTO a VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'a')")
    engines.run("ours", "INSERT INTO b VALUES (3, 'b'), (4, 'b'), (5, 'b')")
    queries: list[dict[str, Any]] = []
    for kind, options in TABLES.items():
        engines.run("ours", f"CREATE TABLE {kind} (k INT, v STRING) {options}")
        written(ours, "a", kind, tmp_path / f"{kind}-written")
        assert of_ours(ours, kind, tmp_path / f"{kind}-ours", **LOG) == FIRST
        log = {"table": f"{base}.`{kind}$audit_log`"}
        queries += [
            log | {"checkpoint": str(tmp_path / f"{kind}-java")},
            {"table": f"{base}.b", "into": f"{folder}/{kind}", "checkpoint": str(tmp_path / f"{kind}-java-written")},
            log | {"checkpoint": str(tmp_path / f"{kind}-ours")},
        ]
    single = {"options": FROM_THE_START | FILE_BY_FILE, "checkpoint": str(tmp_path / "files")}
    queries.append({"table": f"{base}.keyed"} | single)
    answers = iter(run_streams(java[1], queries))
    engines.run("ours", "INSERT INTO a VALUES (9, 'c')")
    for kind, changes in SECOND.items():
        assert next(answers)["rows"] == FIRST  # which our stream wrote
        next(answers)
        assert next(answers)["rows"] == sorted(changes)  # with our checkpoint
        assert of_ours(ours, kind, tmp_path / f"{kind}-java", **LOG) == sorted(changes)  # with Java's
        written(ours, "a", kind, tmp_path / f"{kind}-written")
        assert of_ours(ours, kind, tmp_path / f"{kind}-ours", **LOG) == [["+I", 9, "c"]]
        (rows,) = engines.both(f"SELECT count(*) FROM {kind} WHERE k < 9")
        assert rows == [7 if kind == "append" else 5]
        every = of_ours(ours, kind, tmp_path / f"{kind}-all", **LOG, **FROM_THE_START)
        assert [r for r in every if r[1] < 9] == sorted(FIRST + changes)

    cut_after(tmp_path / "files", 0)
    with pytest.raises(Exception, match=r"is at split 0 of the 2 splits of snapshot 1 .*Trigger.AvailableNow"):
        of_ours(ours, "keyed", tmp_path / "files")


def cut_after(checkpoint: Path, batch: int) -> None:
    """The checkpoint of a query as it was behind one of its batches."""
    later = [f for f in checkpoint.glob("*/*") if re.fullmatch(r"\.?(\d+)(\.crc)?", f.name)]
    for file in later:
        if int(re.findall(r"\d+", file.name)[0]) > batch:
            file.unlink()
    *_, offset = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    assert json.loads(offset)["snapshotId"] == 1 and json.loads(offset)["index"] == 0
