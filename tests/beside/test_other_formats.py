"""Delta's and Iceberg's tables in one session with ours: what names a table of theirs reaches them as it is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest

from tests.beside import formats_driver

JARS = os.environ.get("PAIMON_SQL_BESIDE_JARS", "")
pytestmark = pytest.mark.skipif(not JARS, reason="`make campaign NAME=beside` brings the jars")

OURS = {
    "CREATE DATABASE shop": None,
    "CREATE TABLE shop.t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')": None,
    "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')": None,
}
ICEBERG = {
    "CREATE DATABASE ice.i": None,
    "CREATE TABLE ice.i.t (id INT, v STRING) USING iceberg PARTITIONED BY (bucket(2, id))": None,
    "INSERT INTO ice.i.t VALUES (1, 'x'), (2, 'y'), (3, 'z')": None,
    "ALTER TABLE ice.i.t CREATE TAG x": None,
    "ALTER TABLE ice.i.t CREATE OR REPLACE TAG x RETAIN 3 DAYS": None,
    "ALTER TABLE ice.i.t CREATE BRANCH b": None,
    "UPDATE ice.i.t SET v = 'w' WHERE id = 1": None,
    "DELETE FROM ice.i.t WHERE id = 3": None,
    "MERGE INTO ice.i.t AS t USING shop.t AS s ON t.id = s.id AND s.id = 2 WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id + 10, s.v)": None,
    "SELECT * FROM ice.i.t ORDER BY id": [["1", "w"], ["2", "b"], ["11", "a"]],
    "SELECT count(*) FROM ice.i.t VERSION AS OF 'x'": [["3"]],
    "SELECT v FROM ice.i.t WITH ('branch' = 'b') WHERE id = 1": [["x"]],
    "SELECT count(*) FROM ice.i.t.snapshots": [["4"]],
    "ALTER TABLE ice.i.t DROP TAG x": None,
    "ALTER TABLE ice.i.t DROP BRANCH b": None,
    "ALTER TABLE ice.i.t REPLACE PARTITION FIELD bucket(2, id) WITH bucket(4, id)": None,
    "ALTER TABLE ice.i.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id": None,
    "ALTER TABLE ice.i.t ADD COLUMN n BIGINT AFTER id": None,
    "CALL ice.system.rewrite_manifests('i.t')": None,
    "CALL ice.system.expire_snapshots(table => 'i.t', retain_last => 100)": None,
    "SHOW TABLES IN ice.i": [["i", "t", "False"]],
    "SHOW COLUMNS IN ice.i.t": [["id"], ["n"], ["v"]],
    "USE ice.i": None,
    "ALTER TABLE t CREATE TAG here": None,
    "WITH s AS (SELECT 2 AS id) DELETE FROM t WHERE id IN (SELECT id FROM s)": None,
    "SELECT id FROM t ORDER BY id": [["1"], ["11"]],
}
DELTA = {
    "USE spark_catalog.default": None,
    "CREATE TABLE d (id INT, v STRING) USING delta": None,
    "INSERT INTO d VALUES (1, 'x'), (2, 'y'), (3, 'z')": None,
    "UPDATE d SET v = 'w' WHERE id = 1": None,
    "DELETE FROM d WHERE id = 3": None,
    "MERGE INTO d USING paimon.shop.t AS s ON d.id = s.id WHEN MATCHED AND s.id = 2 THEN UPDATE SET v = s.v": None,
    "SELECT * FROM spark_catalog.default.d ORDER BY id": [["1", "w"], ["2", "b"]],
    "SELECT count(*) FROM d VERSION AS OF 1": [["3"]],
    "DESCRIBE HISTORY d LIMIT 0": [],
    "OPTIMIZE d": None,
    "VACUUM d RETAIN 168 HOURS DRY RUN": None,
    "ALTER TABLE d SET TBLPROPERTIES ('a' = 'b')": None,
    "ALTER TABLE d ADD CONSTRAINT positive CHECK (id > 0)": None,
    "RESTORE TABLE d TO VERSION AS OF 1": None,
    "SELECT count(*) FROM d": [["3"]],
    "SHOW TABLES LIKE 'd'": [["default", "d", "False"]],
}
AFTERWARDS = {
    "USE paimon.shop": None,
    "ALTER TABLE t CREATE TAG y": None,
    "UPDATE t SET v = 'k' WHERE id = 1": None,
    "MERGE INTO t USING ice.i.t AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)": None,
    "CALL sys.compact(table => 'shop.t')": None,
    "SELECT * FROM t ORDER BY id": [["1", "k"], ["2", "b"], ["11", "a"]],
    "SELECT * FROM t VERSION AS OF 'y' ORDER BY id": [["1", "a"], ["2", "b"]],
    "SELECT tag_name FROM t$tags": [["y"]],
}
STATEMENTS = {**OURS, **ICEBERG, **DELTA, **AFTERWARDS}


@pytest.mark.parametrize("order", ["delta-iceberg", "iceberg-delta"])
def test_each_format_gets_its_statements(tmp_path: Path, order: str) -> None:
    (tmp_path / "statements.json").write_text(json.dumps(list(STATEMENTS)))
    jars = ",".join(file for pattern in JARS.split(":") for file in glob(pattern))
    words = [str(tmp_path / "tables"), jars, order, str(tmp_path / "statements.json")]
    run = subprocess.run([sys.executable, formats_driver.__file__, *words], capture_output=True, text=True, check=False)
    answers = dict(json.loads(line) for line in run.stdout.splitlines() if line.startswith("["))
    assert list(answers) == list(STATEMENTS), run.stderr[-3000:]
    assert {text: found for text, found in answers.items() if found and found[0][0] == "error"} == {}
    wrong = {text: answers[text] for text, rows in STATEMENTS.items() if rows is not None and answers[text] != rows}
    assert wrong == {}
