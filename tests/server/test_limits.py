"""A server that only reads, with limits, TLS and users of an LDAP server: what clients of both doors may do there."""

from __future__ import annotations

import datetime
import hashlib
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
import thrift_sasl
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12
from cryptography.x509.oid import NameOID
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TTransportException

from paimon_sql.shell.serving import KEYSTORE_PASSWORD
from tests.support.ldap_server import ldap_server
from tests.support.served import PASSWORD, PATIENCE, USER, Server, answer, served
from tests.support.stored import create_table, insert

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
]

STATEMENTS, ROWS = 2, 1000
SECONDS = 60  # far more than other statements take on a busy machine; two tests wait as long
WRITES = {
    "INSERT": "INSERT INTO t VALUES (2, 'b')",
    "INSERT OVERWRITE": "INSERT OVERWRITE t VALUES (2, 'b')",
    "DELETE": "DELETE FROM t WHERE k = 1",
    "UPDATE": "UPDATE t SET v = 'x'",
    "MERGE": "MERGE INTO t USING (SELECT 1 AS k, 'c' AS v) AS s ON t.k = s.k WHEN MATCHED THEN DELETE",
    "TRUNCATE": "TRUNCATE TABLE t",
    "CREATE TABLE": "CREATE TABLE u (k INT)",
    "CTAS": "CREATE TABLE u AS SELECT * FROM t",
    "REPLACE": "CREATE OR REPLACE TABLE t AS SELECT 1 AS k",
    "ALTER": "ALTER TABLE t ADD COLUMN w INT",
    "DROP": "DROP TABLE t",
    "RENAME": "ALTER TABLE t RENAME TO u",
    "CREATE DATABASE": "CREATE DATABASE d",
    "DROP DATABASE": "DROP DATABASE `default` CASCADE",
    "CREATE VIEW": "CREATE VIEW w AS SELECT 1 AS k",
    "CALL": "CALL sys.compact(table => 'default.t')",
    "tag": "ALTER TABLE t CREATE TAG now",
    "ANALYZE": "ANALYZE TABLE t COMPUTE STATISTICS",
    "COPY": "COPY INTO '{folder}/out' FROM t FILE_FORMAT = (TYPE = PARQUET)",
    "directory": "INSERT OVERWRITE DIRECTORY '{folder}/out' USING parquet SELECT 1 AS k",
    "files of Spark's own": "CREATE TABLE spark_catalog.default.plain (k INT) USING parquet",
    "catalog": "CREATE CATALOG other WITH ('type' = 'paimon', 'warehouse' = '{folder}/other')",
}
CONNECT_CLIENT = """
import json, sys, threading, time, urllib.request
from pyspark.sql import SparkSession
from pyspark.errors import PySparkException
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
def report(name, run):
    try:
        print(name, run())
    except PySparkException as error:
        print(name, error.getCondition(), error.getSqlState())
report("read", lambda: sorted(tuple(r) for r in spark.table("t").collect()))
report("view", lambda: spark.table("t").createTempView("mine") or spark.sql("FROM mine SELECT count(*)").first()[0])
report("insert", lambda: spark.sql("INSERT INTO t VALUES (3, 'c')"))
report("append", lambda: spark.table("t").writeTo("t").append())
report("create", lambda: spark.table("t").write.saveAsTable("u"))
report("files", lambda: spark.range(3).write.parquet(sys.argv[2] + "/out"))
report("call", lambda: spark.sql("CALL sys.compact(table => 'default.t')"))
report("catalog", lambda: spark.catalog.createTable("u", schema=spark.range(1).schema))
report("stream", lambda: spark.readStream.format("rate").load().writeStream.format("noop")
     .option("checkpointLocation", sys.argv[2] + "/checkpoint").start())
report("rows", lambda: len(spark.range(1000).collect()))
report("more rows", lambda: spark.range(1001).collect())
report("rows later", lambda: spark.range(1000000).count())
slow = "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = 1"
def running():
    with urllib.request.urlopen(sys.argv[3]) as answer:
        return json.load(answer)["statements"]
while running():  # the server releases a statement some time after its last row
    time.sleep(0.1)
others = [threading.Thread(target=report, args=("beside", lambda: spark.sql(slow).collect())) for _ in range(2)]
for other in others:
    other.start()
while running() < len(others) and all(other.is_alive() for other in others):
    time.sleep(0.1)
report("third", lambda: spark.range(1).count())
for other in others:
    other.join()
for i in range(5):
    report("after", lambda: spark.range(1).count())
spark.stop()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a table, as a server that only reads can make none."""
    made = tmp_path_factory.mktemp("server")
    insert(create_table(str(made / "warehouse"), primary_key="k", bucket="1"), [(1, "a")])
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    certificate(folder)
    options = ["--read-only", "--session-statements", STATEMENTS, "--result-rows", ROWS]
    options += ["--statement-timeout", SECONDS, "--tls-keystore", folder / "keystore.p12", "--ldap-base", "ou=people"]
    with (
        ldap_server({f"uid={USER},ou=people": PASSWORD}) as ldap,
        served(folder, *options, "--ldap", ldap, passwords=False, **{KEYSTORE_PASSWORD: "changeit"}) as found,
    ):
        yield found


def certificate(folder: Path) -> None:
    """A key and its own certificate for this machine: `keystore.p12`, `trusted.p12` and `trusted.pem`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    lock = BestAvailableEncryption(b"changeit")
    (folder / "keystore.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"server", key, signed, None, lock))
    trusted = pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(signed, b"server")], lock)
    (folder / "trusted.p12").write_bytes(trusted)
    (folder / "trusted.pem").write_bytes(signed.public_bytes(Encoding.PEM))


def client(server: Server, folder: Path, password: str = PASSWORD) -> Any:
    socket = TSSLSocket("localhost", server.thrift, cert_reqs=ssl.CERT_REQUIRED, ca_certs=str(folder / "trusted.pem"))
    asked = {"host": "localhost", "sasl_auth": "PLAIN", "username": USER, "password": password}
    transport = thrift_sasl.TSaslClientTransport(lambda: hive.get_installed_sasl(**asked), "PLAIN", socket)
    return hive.connect(thrift_transport=transport, username=USER)


def contents(folder: Path) -> dict[str, str]:
    files = [p for p in folder.joinpath("warehouse").rglob("*") if p.is_file()]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_statements_that_write_are_refused(server: Server, folder: Path) -> None:
    before = contents(folder)
    with client(server, folder) as made, made.cursor() as cursor:
        for name, statement in WRITES.items():
            said = error_of(cursor, statement.format(folder=folder))
            assert "PAIMON_READ_ONLY" in said and "25006" in said, name
        assert answer(cursor, "SELECT k, v FROM t") == [(1, "a")]
    assert contents(folder) == before and not (folder / "out").exists() and not (folder / "other").exists()


def error_of(cursor: Any, statement: str) -> str:
    """What a statement is refused with; nothing where it is not."""
    try:
        answer(cursor, statement)
    except OperationalError as error:
        return str(error)
    return ""


def test_statements_that_read_are_not(server: Server, folder: Path) -> None:
    reads = [
        "SHOW TABLES", "SHOW CATALOGS", "SHOW CREATE TABLE t", "DESCRIBE EXTENDED t", "SELECT * FROM t$snapshots",
        "EXPLAIN SELECT * FROM t", "EXPLAIN INSERT INTO t VALUES (2, 'b')", "SET spark.sql.shuffle.partitions = 3",
        "USE `default`", "CREATE TEMPORARY VIEW mine AS SELECT * FROM t", "SELECT * FROM mine", "DROP VIEW mine",
        "REFRESH TABLE t",
        "DECLARE x INT DEFAULT 1", "SET VAR x = 2", "SELECT x",
        "CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN 2 * x", "SELECT twice(k) FROM t",
    ]  # fmt: skip
    with client(server, folder) as made, made.cursor() as cursor:
        for statement in reads:
            answer(cursor, statement)


def test_answers_of_too_many_rows_are_refused(server: Server, folder: Path) -> None:
    with client(server, folder) as made, made.cursor() as cursor:
        assert len(answer(cursor, f"SELECT * FROM range({ROWS})")) == ROWS
        with pytest.raises(OperationalError) as refused:
            answer(cursor, f"SELECT * FROM range({ROWS + 1})")
        assert "PAIMON_LIMIT_EXCEEDED" in str(refused.value) and "54000" in str(refused.value)
        assert answer(cursor, f"SELECT count(*) FROM range({ROWS + 1})") == [(ROWS + 1,)]


def test_a_session_runs_so_many_statements(server: Server, folder: Path) -> None:
    slow = "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = 1"
    with client(server, folder) as made, made.cursor() as first, made.cursor() as second, made.cursor() as third:
        first.execute(slow, async_=True)
        second.execute(slow, async_=True)
        with pytest.raises(OperationalError, match="PAIMON_LIMIT_EXCEEDED"):
            third.execute("SELECT 1")
        with client(server, folder) as another, another.cursor() as fourth:
            assert answer(fourth, "SELECT 1") == [(1,)]
        until = time.monotonic() + PATIENCE
        for cursor in (first, second):
            while (status := cursor.poll()).operationState == ttypes.TOperationState.RUNNING_STATE:
                assert time.monotonic() < until
                time.sleep(0.5)
            assert status.operationState == ttypes.TOperationState.TIMEDOUT_STATE, status
        assert answer(third, "SELECT 1") == [(1,)]


def test_a_client_of_spark_connect(server: Server, folder: Path) -> None:
    before = contents(folder)
    command = [sys.executable, "-c", CONNECT_CLIENT, server.remote, str(folder), server.health_address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    refused = ["insert", "append", "create", "files", "call", "catalog", "stream"]
    limit = "PAIMON_LIMIT_EXCEEDED 54000"
    assert done.stdout.splitlines() == [
        "read [(1, 'a')]", "view 1", *(f"{name} PAIMON_READ_ONLY 25006" for name in refused),
        "rows 1000", f"more rows {limit}", "rows later 1000000", f"third {limit}",
        f"beside {limit}", f"beside {limit}", *["after 1"] * 5,
    ], done.stderr[-3000:]  # fmt: skip
    assert contents(folder) == before and not (folder / "out").exists()
    log = server.wait_for("rows=1000 closed")
    assert "rows=1000 closed" in log and "rows=1 closed" in log


def test_beeline_with_tls(server: Server, folder: Path) -> None:
    url = f"jdbc:hive2://localhost:{server.thrift}/default;ssl=true;sslTrustStore={folder}/trusted.p12"
    url += ";trustStorePassword=changeit"
    beeline = [str(Path(pyspark.__file__).parent / "bin" / "beeline"), "--silent=true", "--outputformat=csv2"]
    command = [*beeline, "-u", url, "-n", USER, "-p", PASSWORD, "-e", "SELECT v, 40 + 2 AS n FROM t;"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and "a,42" in done.stdout, done.stderr


def test_who_may_not_come_in(server: Server, folder: Path) -> None:
    for password in ("wrong", ""):
        with pytest.raises(TTransportException):
            client(server, folder, password)
    with pytest.raises((TTransportException, OSError)):  # without TLS
        server.client()
