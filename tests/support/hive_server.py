"""A Hive metastore that a test process starts for itself: in a folder of its own, on a free port.

The jars of PySpark have Hive 2.3 with Derby, an SQL database in the same process; nothing is downloaded. Derby's tables
for locks are made first: the metastore makes the other tables itself.

PAIMON_SQL_HIVE_JARS is the class path of another version, as `scripts/jars hive 4.0.1` prints it. Then there are no
tables for locks, and tests that need them are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, wait_until

_ATTEMPTS = 3
_TAKEN = "Could not create ServerSocket"  # in the log of a metastore
_JARS = os.environ.get("PAIMON_SQL_HIVE_JARS")
_OF_LATER_VERSIONS = {
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
}
HAS_LOCKS = _JARS is None
MOVES_FOLDERS = "hive-4" in (_JARS or "")  # it moves the folders of renamed tables, unless the client has done so
_QUICK = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
_LOCK_TABLES = """
CREATE SCHEMA APP;
CREATE TABLE TXNS (TXN_ID bigint PRIMARY KEY, TXN_STATE char(1) NOT NULL, TXN_STARTED bigint NOT NULL,
  TXN_LAST_HEARTBEAT bigint NOT NULL, TXN_USER varchar(128) NOT NULL, TXN_HOST varchar(128) NOT NULL,
  TXN_AGENT_INFO varchar(128), TXN_META_INFO varchar(128), TXN_HEARTBEAT_COUNT integer);
CREATE TABLE TXN_COMPONENTS (TC_TXNID bigint REFERENCES TXNS (TXN_ID), TC_DATABASE varchar(128) NOT NULL,
  TC_TABLE varchar(128), TC_PARTITION varchar(767), TC_OPERATION_TYPE char(1) NOT NULL);
CREATE TABLE NEXT_TXN_ID (NTXN_NEXT bigint NOT NULL);
INSERT INTO NEXT_TXN_ID VALUES (1);
CREATE TABLE HIVE_LOCKS (HL_LOCK_EXT_ID bigint NOT NULL, HL_LOCK_INT_ID bigint NOT NULL, HL_TXNID bigint,
  HL_DB varchar(128) NOT NULL, HL_TABLE varchar(128), HL_PARTITION varchar(767), HL_LOCK_STATE char(1) NOT NULL,
  HL_LOCK_TYPE char(1) NOT NULL, HL_LAST_HEARTBEAT bigint NOT NULL, HL_ACQUIRED_AT bigint,
  HL_USER varchar(128) NOT NULL, HL_HOST varchar(128) NOT NULL, HL_HEARTBEAT_COUNT integer, HL_AGENT_INFO varchar(128),
  HL_BLOCKEDBY_EXT_ID bigint, HL_BLOCKEDBY_INT_ID bigint, PRIMARY KEY (HL_LOCK_EXT_ID, HL_LOCK_INT_ID));
CREATE TABLE NEXT_LOCK_ID (NL_NEXT bigint NOT NULL);
INSERT INTO NEXT_LOCK_ID VALUES (1);
CREATE TABLE AUX_TABLE (MT_KEY1 varchar(128) NOT NULL, MT_KEY2 bigint NOT NULL, MT_COMMENT varchar(255),
  PRIMARY KEY (MT_KEY1, MT_KEY2));
"""


def _jars() -> str | None:
    try:
        import pyspark  # noqa: PLC0415  heavy
    except ImportError:
        return None
    folder = Path(pyspark.__file__).parent / "jars"
    return f"{folder}/*" if list(folder.glob("hive-metastore-*.jar")) else None


@dataclass
class HiveServer:
    """One metastore; `start` and `stop` may be called again and again."""

    folder: Path
    port: int
    java: str
    jars: str
    process: subprocess.Popen[bytes] | None = None
    settings: dict[str, str] = field(default_factory=dict)
    java_options: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    opened: list[Any] = field(default_factory=list, repr=False)  # the connections of clients

    @property
    def uri(self) -> str:
        return f"thrift://{self.host}:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """Return the options of a catalog in this metastore."""
        return {"metastore": "hive", "uri": self.uri}

    @property
    def warehouse(self) -> Path:
        """Return the folder of the tables of the database `default`."""
        return self.folder / "warehouse"

    def prepare(self) -> None:
        """Make the metastore's database, with the tables for locks."""
        script = self.folder / "locks.sql"
        script.write_text(f"CONNECT 'jdbc:derby:{self._database};create=true';\n{_LOCK_TABLES}")
        command = [self.java, *_QUICK, "-cp", self.jars, "org.apache.derby.tools.ij", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if done.returncode or "rows inserted" not in done.stdout and "row inserted" not in done.stdout:
            raise RuntimeError(f"Derby's tables for locks were not made: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    @property
    def _database(self) -> Path:
        return self.folder / "metastore_db"

    def start(self) -> None:
        given = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self._database};create=true",
            "datanucleus.schema.autoCreateAll": "true",
            **({"datanucleus.connectionPoolingType": "hikaricp"} if HAS_LOCKS else {}),
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": str(self.warehouse),
            "hive.async.log.enabled": "false",
            **self.settings,
        }
        flags = [part for k, v in given.items() for part in ("--hiveconf", f"{k}={v}")]
        if self._answers():
            raise RuntimeError(f"No metastore: another process listens on port {self.port}")
        log = (self.folder / "log").open("ab")
        written = len(self._log())
        self.process = subprocess.Popen(
            [
                *(self.java, *_QUICK, *self.java_options, "-Dderby.system.durability=test"),
                *("-cp", f"{self.folder / 'conf'}{os.pathsep}{self.jars}"),
                *("org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.port), *flags),
            ],
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env={k: v for k, v in os.environ.items() if k not in ("HIVE_CONF_DIR", "HADOOP_CONF_DIR")},
        )
        log.close()
        try:
            wait_until(lambda: self._answers() or self._failed(written), self._log)
            if self._failed(written):
                raise RuntimeError(f"No metastore: {self._log()[-2000:]}")
        except BaseException:
            self.stop()
            raise

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _failed(self, written: int) -> bool:
        """Return whether the metastore has ended, or could not bind its port. `written` is the length of the log at the
        start.
        """
        assert self.process is not None
        return self.process.poll() is not None or _TAKEN in self._log()[written:]

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def freeze(self) -> None:
        """Stop the process until `thaw`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop at once, like a machine that fails."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None

    def _close(self) -> None:
        for transport in self.opened:
            transport.close()
        self.opened.clear()

    def remove(self) -> None:
        self._close()
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self) -> Any:
        """Return a plain Thrift client, for calls that a catalog does not make."""
        from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes  # noqa: PLC0415  an extra
        from thrift.protocol import TBinaryProtocol  # noqa: PLC0415
        from thrift.transport import TSocket, TTransport  # noqa: PLC0415

        transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", self.port))
        transport.open()
        self.opened.append(transport)
        client: Any = ThriftHiveMetastore.Client(TBinaryProtocol.TBinaryProtocol(transport))
        if not HAS_LOCKS:  # Hive 4 has another call for that
            client.get_table = lambda database, name: (
                client.get_table_req(ttypes.GetTableRequest(dbName=database, tblName=name)).table
            )
        return client

    def free_locks(self) -> None:
        """Release all locks, and requests that wait for them."""
        from pymetastore.hive_metastore import ttypes  # noqa: PLC0415  an extra

        if not HAS_LOCKS:
            return
        client = self.client()
        for lock in client.show_locks(ttypes.ShowLocksRequest()).locks:
            client.unlock(ttypes.UnlockRequest(lockid=lock.lockid))

    def clear(self) -> None:
        """Drop all databases and tables, and delete the files of `default`."""
        self._close()
        client = self.client()
        for database in client.get_all_databases():
            for table in client.get_all_tables(database):
                client.drop_table(database, table, False)
            if database != "default":
                client.drop_database(database, False, True)
        shutil.rmtree(self.warehouse, ignore_errors=True)
        self.warehouse.mkdir()


def start_hive(prepare: Callable[[HiveServer], None] = lambda _: None) -> HiveServer | str:
    """Return a running metastore, or the reason why it cannot run. `prepare` may change its settings, and put files
    that the metastore finds by name into its folder `conf`.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        return "there is no Java on this machine for a Hive metastore"
    jars = _JARS or _jars()
    if jars is None:
        return "this PySpark has no jars of the Hive metastore"
    server = HiveServer(Path(tempfile.mkdtemp(prefix="paimon-sql-hive-", dir="/tmp")), free_port(), java, jars)
    server.warehouse.mkdir()
    (server.folder / "conf").mkdir()
    try:
        if HAS_LOCKS:
            server.prepare()
        else:
            server.settings.update(_OF_LATER_VERSIONS)
        prepare(server)
        _start(server)
    except BaseException:
        server.remove()
        raise
    return server


def _start(server: HiveServer) -> None:
    """Start a metastore on a free port. Try another port if it was taken meanwhile, or if the metastore did
    not start.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            server.start()
            return
        except (RuntimeError, AssertionError):
            if attempt == _ATTEMPTS:
                raise
        server.port = free_port()
