"""A shell of its own in surroundings as users have them: all that a JVM takes from its machine when it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.served import PATIENCE
from tests.support.surroundings import COMBINATIONS, LOCALES, MACHINES, SESSIONS, UMASKS, VARIABLE, Surroundings

pytestmark = pytest.mark.spark

COLUMNS = "k INT, s STRING, b BOOLEAN, dec DECIMAL(10, 2), d DATE, n TIMESTAMP_NTZ, p TIMESTAMP"
ROWS = (
    "(1, 'İi', true, 1.50BD, DATE '2024-02-29', TIMESTAMP_NTZ '2024-03-10 02:30:00', TIMESTAMP '2024-06-01 08:00:00'),"
    "(2, 'ü %20', NULL, NULL, DATE '1969-12-31', NULL, TIMESTAMP '2024-06-01 16:00:00')"
)
# without the text of p: `$partitions` shows digits of the precision
SCRIPT = f"""
CREATE DATABASE `Ünits I`;
CREATE TABLE `Ünits I`.t ({COLUMNS}) PARTITIONED BY (p);
CREATE TABLE spark_catalog.default.plain ({COLUMNS}) USING PARQUET PARTITIONED BY (p);
INSERT INTO `Ünits I`.t VALUES {ROWS};
INSERT INTO spark_catalog.default.plain VALUES {ROWS};
SELECT count(*) AS of_both FROM (SELECT * FROM spark_catalog.default.plain INTERSECT ALL SELECT * FROM `Ünits I`.t);
SELECT k, CAST(p AS STRING) AS text, p FROM `Ünits I`.t ORDER BY k;
SELECT partition FROM `Ünits I`.t$partitions ORDER BY partition;
CALL sys.create_tag('`Ünits I`.t', 'kept');
SELECT count(*) AS of_one_clock FROM `Ünits I`.t$tags AS g, `Ünits I`.t$snapshots AS s, `Ünits I`.t$files AS f
WHERE g.commit_time = s.commit_time AND abs(unix_seconds(CAST(s.commit_time AS TIMESTAMP)) - unix_seconds(now())) < 1800
AND abs(unix_seconds(CAST(f.creation_time AS TIMESTAMP)) - unix_seconds(now())) < 1800;
CALL sys.drop_partition('`Ünits I`.t', 'p=2024-06-01 08:00:00');
SELECT k FROM `Ünits I`.t;
CREATE TABLE numbers (v INT);
INSERT INTO numbers SELECT s FROM VALUES ('no number') AS given(s);
SELECT count(*) AS nulls FROM numbers WHERE v IS NULL;
"""
EXPECTED = [
    ["of_both", "2"],
    ["k,text,p", "1,2024-06-01 08:00:00,2024-06-01 08:00:00", "2,2024-06-01 16:00:00,2024-06-01 16:00:00"],
    ["partition", "p=2024-06-01 08:00:00.000000", "p=2024-06-01 16:00:00.000000"],
    ["result", "true"],
    ["of_one_clock", "2"],
    ["result", "true"],
    ["k", "2"],
]
# where ANSI mode comes from, and whether Spark takes it for on: in the environment only the word `false` counts
ANSI_MODES = (
    ({"spark.sql.ansi.enabled": "TRUE"}, {}, True),
    ({}, {"SPARK_ANSI_SQL_MODE": "false"}, False),
    ({"spark.sql.ansi.enabled": "False"}, {}, False),
    ({}, {"SPARK_ANSI_SQL_MODE": "FALSE"}, True),
)


def test_a_shell_with_all_that_a_machine_gives_it(tmp_path: Path) -> None:
    """The gate has one combination; the campaign has all."""
    number = int(os.environ.get(VARIABLE, "0"))
    given, (setting, variable, is_ansi) = Surroundings.numbered(number), ANSI_MODES[number % len(ANSI_MODES)]
    script, conf = tmp_path / "script.sql", tmp_path / "conf"
    script.write_text(SCRIPT, encoding="utf-8")
    conf.mkdir()
    lines = (
        {
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.sources.partitionOverwriteMode": "STATIC",
            "spark.ui.enabled": "False",
            "spark.sql.warehouse.dir": (tmp_path / "plain").as_uri(),
            "spark.driver.extraJavaOptions": f"-Duser.language={given.locale[:2]} -Duser.country={given.locale[3:]}",
        }
        | setting
        | ({} if given.session is None else {"spark.sql.session.timeZone": given.session})
    )
    (conf / "spark-defaults.conf").write_text("\n".join(f"{k} {v}" for k, v in lines.items()))
    command = [sys.executable, "-m", "paimon_sql", "-w", str(given.warehouse(tmp_path)), "--output", "csv"]
    done = subprocess.run(
        [*command, "--master", "local[2]", "-f", str(script)],
        env=os.environ | variable | {"TZ": given.machine, "SPARK_CONF_DIR": str(conf), "PYTHONUTF8": "1"},
        cwd="/proc/self",  # where nobody can write
        umask=given.umask,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode != 0) == is_ansi, done.stderr[-3000:]
    assert ("CAST_INVALID_INPUT" in done.stderr) == is_ansi, done.stderr[-3000:]
    expected = EXPECTED if is_ansi else [*EXPECTED, ["nulls", "1"]]
    assert done.stdout.replace("\r", "").split() == [
        word for block in expected for line in block for word in line.split()
    ]


def test_the_combinations_have_every_value() -> None:
    made = [Surroundings.numbered(number) for number in range(COMBINATIONS)]
    assert {s.machine for s in made} == set(MACHINES) and {s.session for s in made} == set(SESSIONS)
    assert {s.locale for s in made} == set(LOCALES) and {s.umask for s in made} == set(UMASKS)
    assert {s.capitals for s in made} == {s.odd_path for s in made} == {s.fixed_folder for s in made} == {True, False}
    assert [s.session for s in made].count(None) == COMBINATIONS // 2
