"""The settings of a server: its ports, users and limits, and the settings of Spark that follow from these."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError

_HIVE = "hive.server2."
_SPARK_HIVE = f"spark.hadoop.{_HIVE}"
_CONNECT = "spark.connect.grpc.binding."


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server. A port of None turns its protocol off. `insecure` lets a server listen beyond this
    machine without a password or without TLS. `read_only` refuses statements that may write. A session may run
    `session_statements` side by side, and an answer may have `result_rows`. `statement_timeout` and `drain` are in
    seconds. A limit of 0 means no limit.
    """

    host: str = "127.0.0.1"
    thrift: int | None = None
    connect: int | None = None
    other_ports: int = 0  # Spark Connect may take one of so many following ports if another program has its port
    health: int | None = None
    users: Path | None = None
    ldap: str | None = None
    ldap_base: str | None = None
    keystore: Path | None = None
    keystore_password: str = ""
    token: str = ""
    rest: int | None = None
    rest_tokens: Path | None = None
    tls_certificate: Path | None = None  # for --rest
    tls_key: Path | None = None
    insecure: bool = False
    read_only: bool = False
    session_statements: int = 0
    result_rows: int = 0
    statement_timeout: int = 0
    drain: int = 30

    @property
    def is_local(self) -> bool:
        """Return whether only clients on this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def check(settings: ServerSettings) -> None:
    """Raise `InvalidOptionError` for settings with which a server must not start."""
    if settings.thrift is None and settings.connect is None and settings.rest is None:
        raise InvalidOptionError("Nothing to serve: give --thrift PORT, --connect PORT or --rest PORT.")
    if settings.users and settings.ldap:
        raise InvalidOptionError("Give either a file of users (--users) or a directory (--ldap), not both.")
    if settings.users:
        _check_private(settings.users)
    if settings.keystore and not settings.keystore.is_file():
        raise InvalidOptionError(f"There is no keystore {settings.keystore}.")
    _check_rest(settings)
    if settings.is_local or settings.insecure:
        return
    if settings.thrift is not None and not (settings.users or settings.ldap):
        raise _open_to_all(settings, "--thrift requires no password: give --users FILE or --ldap URL")
    if settings.thrift is not None and not settings.keystore:
        raise _open_to_all(settings, "--thrift sends passwords and rows unencrypted: give --tls-keystore FILE")
    if settings.rest is not None and not settings.rest_tokens:
        raise _open_to_all(settings, "--rest requires no token: give --rest-tokens FILE")
    if settings.rest is not None and not settings.tls_certificate:
        raise _open_to_all(settings, "--rest sends tokens unencrypted: give --tls-certificate FILE and --tls-key FILE")
    if settings.connect is not None:
        raise _open_to_all(
            settings,
            "--connect does not support TLS: give --token-file, and listen on 127.0.0.1 behind a proxy that ends TLS",
        )


def spark_settings(settings: ServerSettings) -> dict[str, str]:
    """Return the settings that Spark must be started with."""
    made = {
        "spark.scheduler.mode": "FAIR",
        "spark.sql.thriftServer.catalogMetadata.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if settings.statement_timeout:
        made["spark.sql.thriftServer.queryTimeout"] = f"{settings.statement_timeout}s"
    if settings.thrift is not None:
        made |= {f"{_SPARK_HIVE}{key}": value for key, value in _thrift(settings).items()}
    if settings.connect is not None:
        made |= {f"{_CONNECT}address": settings.host, f"{_CONNECT}port": str(settings.connect)}
        if settings.other_ports:
            made["spark.connect.grpc.port.maxRetries"] = str(settings.other_ports)
        if settings.read_only:  # a compressed plan could not be checked before it runs
            made["spark.connect.session.planCompression.threshold"] = "-1"
        if settings.token:
            made["spark.connect.authenticate.token"] = settings.token
    return made


def java_properties(settings: ServerSettings) -> dict[str, str]:
    """Return the settings that HiveServer2 reads only from properties of the JVM."""
    if settings.users:
        return {
            f"{_HIVE}custom.authentication.class": "PasswordFile",
            "paimon_sql.users": str(settings.users.absolute()),
        }
    if settings.ldap:
        base = {f"{_HIVE}authentication.ldap.baseDN": settings.ldap_base} if settings.ldap_base else {}
        return {f"{_HIVE}authentication.ldap.url": settings.ldap, **base}
    return {}


def _thrift(settings: ServerSettings) -> Mapping[str, str]:
    made = {
        "transport.mode": "binary",
        "thrift.bind.host": settings.host,
        "thrift.port": str(settings.thrift),
        "enable.doAs": "false",
        "authentication": "CUSTOM" if settings.users else "LDAP" if settings.ldap else "NONE",
    }
    if settings.keystore:
        made |= {
            "use.SSL": "true",
            "keystore.path": str(settings.keystore.absolute()),
            "keystore.password": settings.keystore_password,
        }
    return made


def _check_rest(settings: ServerSettings) -> None:
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise InvalidOptionError("--tls-certificate and --tls-key go together: both are PEM files.")
    for file in (settings.tls_certificate, settings.tls_key):
        if file is not None and not file.is_file():
            raise InvalidOptionError(f"There is no file {file}.")
    if settings.rest_tokens:
        _check_private(settings.rest_tokens)


def _check_private(users: Path) -> None:
    try:
        mode = users.stat().st_mode
    except OSError as error:
        raise InvalidOptionError(f"The file of users {users} cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise InvalidOptionError(f"Other users of this machine can read the file of users {users}: chmod 600 {users}.")


def _open_to_all(settings: ServerSettings, reason: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"A server on {settings.host} can be reached from other machines, and {reason}. --insecure starts it anyway."
    )
