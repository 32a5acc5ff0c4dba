"""The start of Python beside stock `spark-sql`: settings in `spark-defaults.conf`, the log, secrets, killed drivers."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from paimon_sql.catalog.load import load_catalog
from tests.support.jvm_programs import WAITS, programs_with_jar
from tests.support.rest_server import RestServer
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_LOG_SETTINGS = """
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c: %m%n%ex
logger.door.name = paimon_sql
logger.door.level = info
"""
_ON_EACH = """
CREATE DATABASE {0}.shop;
CREATE TABLE {0}.shop.t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO {0}.shop.t VALUES (1, 'a'), (2, '{0}');
ALTER TABLE {0}.shop.t RENAME TO shop.kept;
UPDATE {0}.shop.kept SET v = 'c' WHERE id = 1;
SELECT '{0}', id, v FROM {0}.shop.kept ORDER BY id;
"""


def _metastores(folder: Path, rest: RestServer, hive: str) -> Mapping[str, str]:
    """Return the words of `paimon-sql spark-options` by the name of the catalog."""
    return {
        "files": f"-w {folder}/files -c fs.s3a.secret.key=hidden-key",
        "office": f"-w {folder}/office --metastore jdbc --uri jdbc:sqlite:{folder}/o.db -c jdbc.password=hidden-word",
        "hives": f"-w {folder}/hives --metastore hive --uri {hive}",
        "server": f"--metastore rest --uri http://127.0.0.1:{rest.port} -c token={rest.tokens['writer']}",
    }


def test_each_metastore_by_spark_defaults(tmp_path: Path, hive_server: Any) -> None:
    """The printed lines go to `spark-defaults.conf`, also with secrets. The log says what was started, without them."""
    programs = programs_with_jar(tmp_path / "programs")
    conf, hive = programs.folder / "conf", hive_server()
    hive.clear()
    (conf / "log4j2.properties").write_text(_LOG_SETTINGS)
    python = programs.noted_python("python", 'echo "$@" > "$0.words"; env >> "$0.words"')
    served = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "served")})
    with RestServer.over(served, users=tmp_path / "users") as rest:
        metastores = _metastores(tmp_path, rest, hive.uri)
        for name, words in metastores.items():
            words = f"{words} --catalog {name} -c spark.pyspark.driver.python={python}"
            made = programs.run(f"paimon-sql spark-options --properties {words} >> conf/spark-defaults.conf")
            assert made.status == 0, made.err
        (programs.folder / "each.sql").write_text("".join(map(_ON_EACH.format, metastores)))
        ended = programs.run("spark-sql -f each.sql")
    served.close()  # type: ignore[attr-defined]
    assert ended.status == 0, ended.err
    assert [line.split("\t") for line in ended.out.splitlines() if line] == [
        [name, *row] for name in metastores for row in (["1", "c"], ["2", name])
    ]
    (started,) = python.ids()
    assert f"INFO paimon_sql.Door: Started Python {python} as process {started} for Paimon tables" in ended.err
    words = Path(f"{python}.words").read_text()
    assert words.startswith("-c import sys\n")
    for secret in ("hidden-key", "hidden-word", rest.tokens["writer"]):
        assert secret not in ended.err + ended.out + words
    given = [line for line in words.splitlines() if line.partition("=")[0] not in os.environ]
    assert re.search("(?i)secret|token", "\n".join(given)) is None  # of the channel to the driver


@pytest.mark.parametrize("moment", ["begun", "connected"])
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL], ids=lambda by: by.name)
def test_a_driver_is_killed_while_python_starts(tmp_path: Path, by: signal.Signals, moment: str) -> None:
    """No process stays, no port, and no file."""
    programs = programs_with_jar(tmp_path / "programs")
    python = programs.noted_python("python", WAITS)
    temporary = {"TMPDIR": tmp_path / "of-python", "JAVA_TOOL_OPTIONS": tmp_path / "of-java"}
    for folder in temporary.values():
        folder.mkdir()
    given = {"TMPDIR": str(temporary["TMPDIR"]), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={tmp_path}/of-java"}
    log = programs.folder / "log"
    command = f"spark-sql $(paimon-sql spark-options -w lake -c spark.pyspark.driver.python={python}) -e 'SELECT 1'"
    with programs.started(command, given) as driver:
        wait_until(lambda: python.ids() or driver.poll() is not None, log.read_text)
        (started,) = python.ids()
        process = psutil.Process(started)
        if moment == "connected":
            python.go_on()
            wait_until(lambda: _ports(process, psutil.CONN_ESTABLISHED), log.read_text)
        beside = [process, *process.children(recursive=True)]
        driver.send_signal(by)
        driver.wait(PATIENCE)
        python.go_on()
    ended, living = psutil.wait_procs(beside, PATIENCE)
    assert living == [], ended
    assert list(temporary["TMPDIR"].iterdir()) == []
    left = {re.sub("-?[0-9a-f]{8}-[0-9a-f-]{27}", "", path.name) for path in temporary["JAVA_TOOL_OPTIONS"].iterdir()}
    of_spark = {"_resources"} if by == signal.SIGTERM else {"_resources", "blockmgr", "spark"}
    assert left <= of_spark  # what `spark-sql` leaves without the jar, too
    assert not (programs.folder / "lake").exists()


def _ports(process: psutil.Process, status: str) -> list[Any]:
    return [c for c in process.net_connections("tcp") if c.status == status]
