"""One table that Spark's own spark-sql with the jar, a Python driver and Java's connector change in turns."""

from __future__ import annotations

from pathlib import Path

from tests.interop.engines import Engines
from tests.support.java_oracle import JavaOracle
from tests.support.jvm_programs import programs_with_jar

_MADE = """
USE paimon.{database};
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO t VALUES (1, 'door'), (2, 'door');
"""
_CHANGED = """
USE paimon.{database};
MERGE INTO t USING (SELECT 2 AS id, 'merged' AS v UNION ALL SELECT 5, 'merged') s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *;
CALL sys.compact(table => '{database}.t');
SELECT id, v FROM t ORDER BY id;
"""


def test_one_table_in_turns(engines: Engines, java: tuple[JavaOracle, str], tmp_path: Path) -> None:
    programs = programs_with_jar(tmp_path / "programs")

    def door(script: str) -> list[list[str]]:
        (programs.folder / "script.sql").write_text(script.format(database=engines.database))
        ended = programs.run(f"spark-sql $(paimon-sql spark-options -w {java[1]}) -f script.sql")
        assert ended.status == 0, ended.err
        return [line.split() for line in ended.out.splitlines() if line]

    assert door(_MADE) == []
    engines.run("java", "INSERT INTO t VALUES (2, 'java'), (3, 'java')")
    engines.run("ours", "UPDATE t SET v = 'python' WHERE id = 3", "INSERT INTO t VALUES (4, 'python')")
    found = [["1", "door"], ["2", "merged"], ["3", "python"], ["4", "python"], ["5", "merged"]]
    assert door(_CHANGED) == [["true"], *found]
    engines.run("java", "DELETE FROM t WHERE id = 1", "ALTER TABLE t ADD COLUMN w INT")
    engines.run("ours", "INSERT INTO t VALUES (6, 'python', 6)")
    engines.both("SELECT id, v FROM t", [[int(id_), v] for id_, v in found[1:]] + [[6, "python"]])
    engines.same_metadata("t")
