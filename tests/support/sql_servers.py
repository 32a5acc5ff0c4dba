"""Servers of SQL databases that a test process starts for itself: in a folder of their own, on a free port.

They need Debian's `postgresql` and `mariadb-server`. They refuse to run as root, so root runs them as the users of
these packages.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.certificates import self_signed
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE

PASSWORD = "pass-w0rd/of:a@server"


def _find(name: str, *folders: str) -> str | None:
    places = [*folders, *os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/usr/bin"]
    return shutil.which(name, path=os.pathsep.join(places))


def _postgres_folder() -> str:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name.split(".")[0]))
    return str(found[-1]) if found else ""


@dataclass
class SqlServer:
    """One server; `start` and `stop` may be called again and again."""

    kind: str  # as in a URI
    folder: Path
    port: int
    user: str
    command: list[str]
    setup: Callable[[SqlServer], None] = field(repr=False)
    account: str | None = None  # the account of the system that it runs under
    process: subprocess.Popen[bytes] | None = None

    @property
    def options(self) -> dict[str, str]:
        """Return the options of a catalog in an empty database."""
        return self.options_of("paimon")

    def options_of(self, database: str) -> dict[str, str]:
        uri = f"jdbc:{self.kind}://127.0.0.1:{self.port}/{database}"
        return {"metastore": "jdbc", "uri": uri, "jdbc.user": self.user, "jdbc.password": PASSWORD}

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            self.command,
            stdout=log,
            stderr=log,
            user=self.account,
            group=self.account,
            extra_groups=[] if self.account else None,
        )
        log.close()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.setup(self)
                return
            except Exception as error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.stop()
                    said = (self.folder / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"{self.command[0]} did not start: {error}\n{said}") from error
                time.sleep(0.1)

    def stop(self) -> None:
        """Stop at once, like a machine that fails."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT if self.kind == "postgresql" else signal.SIGKILL)
            self.process.wait(PATIENCE)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, statement: str, database: str | None = None) -> list[Any]:
        """Return the rows of an administrator's statement."""
        if self.kind == "postgresql":
            import psycopg  # noqa: PLC0415  an extra

            target = {"host": "127.0.0.1", "port": self.port, "user": self.user, "password": PASSWORD}
            with psycopg.connect(**target, dbname=database or "postgres", autocommit=True) as connection:  # type: ignore[arg-type]
                found = connection.execute(statement)  # type: ignore[arg-type]
                return found.fetchall() if found.description else []
        import pymysql  # noqa: PLC0415

        made = pymysql.connect(
            host="127.0.0.1", port=self.port, user=self.user, password=PASSWORD, database=database, autocommit=True
        )
        try:
            with made.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            made.close()

    def new_database(self) -> str:
        """Return the name of a new database."""
        name = f"d{uuid.uuid4().hex[:12]}"
        self.query(f"CREATE DATABASE {name}")
        return name


def _folder(account: str | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-server-", dir="/tmp"))
    if account is not None:
        shutil.chown(folder, account)
    return folder


def _run(command: list[str], account: str | None, env: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        capture_output=True,
        user=account,
        group=account,
        extra_groups=[] if account else None,
        env={**os.environ, **(env or {})},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {(done.stderr + done.stdout).decode(errors='replace')[-2000:]}")


def _certified(folder: Path, account: str | None) -> tuple[Path, Path]:
    """Return a certificate for a server's name, not its address, and its own key."""
    made = self_signed(folder, "DNS:localhost")
    for path in made:
        path.chmod(0o600)
        if account:
            shutil.chown(path, account)
    return made


def start_postgres(*, tls: bool = False) -> SqlServer | str:
    """Return a running PostgreSQL, with `tls` with `cert.pem` in its folder; or the reason why it cannot run."""
    initdb, postgres = _find("initdb", _postgres_folder()), _find("postgres", _postgres_folder())
    if initdb is None or postgres is None:
        return "there is no PostgreSQL on this machine: apt-get install postgresql"
    account = "postgres" if os.geteuid() == 0 else None
    folder, port = _folder(account), free_port()
    password = folder / "password"
    password.write_text(PASSWORD)
    if account:
        shutil.chown(password, account)
    data = str(folder / "data")
    made = ["-D", data, "-U", "admin", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-sync"]
    _run([initdb, *made, "--locale=C.UTF-8"], account)
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": "200",
    }
    if tls:
        files = zip(("ssl_cert_file", "ssl_key_file"), map(str, _certified(folder, account)), strict=True)
        settings |= {"ssl": "on", **dict(files)}
    flags = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]

    def setup(server: SqlServer) -> None:
        if not server.query("SELECT 1 FROM pg_database WHERE datname = 'paimon'"):
            server.query("CREATE DATABASE paimon")

    server = SqlServer(
        "postgresql", folder, port, "admin", [postgres, "-D", data, "-p", str(port), *flags], setup, account
    )
    server.start()
    return server


def start_mariadb(*, tls: bool = False) -> SqlServer | str:
    """Return a running MariaDB, with `tls` with `cert.pem` in its folder; or the reason why it cannot run. By default
    its databases compare names without case.
    """
    install, mariadbd = _find("mariadb-install-db"), _find("mariadbd")
    if install is None or mariadbd is None:
        return "there is no MariaDB on this machine: apt-get install mariadb-server"
    account = "mysql" if os.geteuid() == 0 else None
    folder, port = _folder(account), free_port()
    data = f"--datadir={folder / 'data'}"
    quick = ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M"]
    user = [f"--user={account}"] if account else []
    _run(
        [install, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db", *user, *quick],
        account,
    )
    start = folder / "start.sql"
    start.write_text(
        f"CREATE USER IF NOT EXISTS 'admin'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
        "GRANT ALL ON *.* TO 'admin'@'127.0.0.1' WITH GRANT OPTION;\n"
        "CREATE DATABASE IF NOT EXISTS paimon CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;\n"
    )
    listening = [
        f"--port={port}",
        "--bind-address=127.0.0.1",
        f"--socket={folder / 'socket'}",
        f"--pid-file={folder / 'pid'}",
    ]
    if tls:
        certificate, key = _certified(folder, account)
        quick += [f"--ssl-cert={certificate}", f"--ssl-key={key}"]
    more = ["--skip-name-resolve", f"--init-file={start}", "--character-set-server=utf8mb4", *quick]

    def setup(server: SqlServer) -> None:
        server.query("SELECT 1", "paimon")

    server = SqlServer(
        "mariadb", folder, port, "admin", [mariadbd, "--no-defaults", data, *listening, *more], setup, account
    )
    server.start()
    return server
