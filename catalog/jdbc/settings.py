"""The options of a JDBC catalog, under the names of Paimon's Java, and the parts of a `jdbc:` URI. No I/O.

Source: `CatalogOptions` and `JdbcCatalogOptions` of Paimon; the documentation of the JDBC drivers.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import parse_qsl, unquote

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import normalize
from paimon_core.options.option import integer
from paimon_core.secrets import without_secrets
from paimon_sql.catalog.leases import MetastoreSettings, metastore_options
from paimon_sql.catalog.option_values import option_value

_LOG = logging.getLogger(__name__)
_URI = re.compile(r"jdbc:(sqlite|postgresql|mysql|mariadb):(.*)", re.DOTALL)
_SERVER = re.compile(
    r"//(?P<host>\[[^\]]*\]|[^/:?,]*)(?::(?P<port>[0-9]{1,5}))?(?:/(?P<database>[^?]*))?(?:\?(?P<more>.*))?"
)
_PREFIX = "jdbc."
_DEFAULT_FILE = "paimon-catalog.sqlite"  # no `.db`, which ends the folders of databases
# Parameters of Java's drivers that have no effect here, because Python's drivers always behave as the parameter
# requests.
_NEEDLESS = frozenset(
    (
        *("autoReconnect", "characterEncoding", "useUnicode", "connectionCollation", "allowPublicKeyRetrieval"),
        *("rewriteBatchedStatements", "serverTimezone", "connectionTimeZone", "tcpKeepAlive", "reWriteBatchedInserts"),
        *("foreign_keys", "journal_mode", "synchronous"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSettings(MetastoreSettings):
    """The address of the database, the user, and the options of locks."""

    kind: str  # sqlite, postgresql or mysql
    host: str = ""
    port: int | None = None
    database: str = ""  # for SQLite, the path of the file
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(
        default_factory=dict, repr=False
    )  # parameters of the driver, under Java's names
    catalog_key: str = "jdbc"
    lock_key_length: int = 255

    @property
    def address(self) -> str:
        """The address of the database, for errors."""
        if self.kind == "sqlite":
            return self.database
        port = f":{self.port}" if self.port else ""
        return f"{self.kind}://{self.host}{port}/{self.database}"

    def parameter(self, *names: str) -> str | None:
        """Return the value of the first of these driver parameters that is set, or None."""
        return next((self.parameters[n] for n in names if n in self.parameters), None)

    def seconds(self, *names: str, unit: float) -> float | None:
        """Return a time of the driver's parameters in seconds.

        The parameter counts in units of `unit` seconds. None means no limit: the parameter is missing or 0. Raises
        `InvalidOptionError`."""
        given = self.parameter(*names)
        if given is None:
            return None
        try:
            return float(given) * unit or None
        except ValueError:
            raise InvalidOptionError(f"Option 'jdbc.{names[0]}' cannot be {given!r}: it must be a number.") from None


def read_settings(options: Mapping[str, str], *, locks: bool) -> JdbcSettings:
    """Return the settings in a catalog's options. `locks`: whether commits take locks if `lock.enabled` is not set.

    Raises `InvalidOptionError`.
    """
    uri = options.get("uri", "").strip() or _default_uri(options["warehouse"])
    where, parameters = _read_uri(uri)
    parameters |= {k.removeprefix(_PREFIX): v for k, v in options.items() if k.startswith(_PREFIX)}
    made = JdbcSettings(
        **where,
        user=parameters.pop("user", None),
        password=parameters.pop("password", None),
        parameters=parameters,
        catalog_key=options.get("catalog-key", "jdbc"),
        lock_key_length=option_value(options, "lock-key-max-length", integer, 255),
        **metastore_options(options, locks=locks),
    )
    if not made.catalog_key or len(made.catalog_key) > 100:
        raise InvalidOptionError(
            f"Option 'catalog-key' cannot be {made.catalog_key!r}: it must have 1 to 100 characters."
        )
    if made.pool_size < 1 or made.lock_key_length < 1:
        raise InvalidOptionError("Options 'client-pool-size' and 'lock-key-max-length' must be numbers above 0.")
    _check_parameters(made)
    return made


def tls_arguments(settings: JdbcSettings) -> dict[str, Any]:
    """Return the arguments for MySQL's driver that encrypt a connection. Raises `InvalidOptionError`."""
    mode = tls_mode(settings)
    if mode in (None, "allow", "prefer", "preferred"):
        return {}  # the server decides about encryption, and certificates are not verified
    if mode in ("disable", "disabled"):
        return {"ssl_disabled": True}
    context = ssl.create_default_context(cafile=settings.parameter("serverSslCert"))
    if mode in ("trust", "require", "required"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    else:
        context.check_hostname = mode != "verify-ca"
    return {"ssl": context}


def tls_mode(settings: JdbcSettings) -> str | None:
    """Return the required mode of encryption, or None if the options do not set one. Raises `InvalidOptionError`."""
    given = settings.parameter("sslmode", "sslMode")
    if given is None:
        asked = settings.parameter("ssl", "useSSL", "requireSSL")
        if asked is not None and asked.lower() in ("", "true"):
            return "verify-full"
        return "disable" if "useSSL" in settings.parameters else None
    mode, known = given.lower().replace("_", "-"), _TLS_MODES[settings.kind]
    if mode not in known:
        raise InvalidOptionError(f"Option 'jdbc.sslmode' cannot be {given!r}: it must be one of {', '.join(known)}.")
    return mode


def _default_uri(warehouse: str) -> str:
    """Return the URI of an SQLite file in the warehouse."""
    folder = normalize(warehouse)
    if "://" in folder:
        raise InvalidOptionError(
            f"A catalog with 'metastore' = 'jdbc' on {without_secrets(folder)} needs the option 'uri', such as "
            "jdbc:postgresql://host/database: the default is an SQLite file, which must be on a local disk."
        )
    return f"jdbc:sqlite:{folder}/{_DEFAULT_FILE}"


def _read_uri(uri: str) -> tuple[dict[str, Any], dict[str, str]]:
    match = _URI.fullmatch(uri)
    if match is None:
        raise InvalidOptionError(
            f"Option 'uri' cannot be {without_secrets(uri)!r}: it must begin with jdbc:sqlite:, jdbc:postgresql:, "
            "jdbc:mysql: or jdbc:mariadb:."
        )
    kind, rest = match.groups()
    if kind == "sqlite":
        return _read_file(uri, rest)
    server = _SERVER.fullmatch(rest if rest.startswith("//") else f"//localhost/{rest}")
    if server is None or "@" in (server["host"] or ""):
        raise InvalidOptionError(
            f"Option 'uri' cannot be {without_secrets(uri)!r}: it must be jdbc:{kind}://host:port/database, with the "
            "user in 'jdbc.user' and the password in 'jdbc.password'."
        )
    if not server["database"]:
        raise InvalidOptionError(f"Option 'uri' = {without_secrets(uri)!r} names no database: add /NAME.")
    where = {
        "kind": "mysql" if kind == "mariadb" else kind,
        "host": (server["host"] or "localhost").strip("[]"),
        "port": int(server["port"]) if server["port"] else None,
        "database": unquote(server["database"]),
    }
    return where, dict(parse_qsl(server["more"] or "", keep_blank_values=True))


def _read_file(uri: str, rest: str) -> tuple[dict[str, Any], dict[str, str]]:
    path, _, more = rest.removeprefix("file:").partition("?")
    if not path or ":memory:" in rest or "mode=memory" in more:
        raise InvalidOptionError(
            f"Option 'uri' = {uri!r} names no file: write jdbc:sqlite:/folder/file. A database in memory would "
            "end with the process."
        )
    if path.startswith(":resource:"):
        raise InvalidOptionError(f"Option 'uri' = {uri!r} names a resource of Java: write jdbc:sqlite:/folder/file.")
    return {"kind": "sqlite", "database": os.path.abspath(path)}, dict(parse_qsl(more))


_OF_ALL = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_TLS_MODES = {
    "postgresql": _OF_ALL,
    "mysql": (*_OF_ALL, "disabled", "preferred", "required", "verify-identity", "trust"),  # of both Java's drivers
}
_TIMES = ("connectTimeout", "socketTimeout")
_KNOWN = {
    "sqlite": frozenset(("busy_timeout",)),
    "postgresql": frozenset(
        (*_TIMES, "currentSchema", "ApplicationName", "ssl", "sslmode", "sslrootcert", "sslcert", "sslkey")
    ),
    "mysql": frozenset((*_TIMES, "sslMode", "sslmode", "ssl", "useSSL", "requireSSL", "serverSslCert")),
}


def _check_parameters(settings: JdbcSettings) -> None:
    """Raise `InvalidOptionError` for an invalid value. Log parameters that have no effect here."""
    if settings.kind in _TLS_MODES:
        tls_mode(settings)
    if unknown := sorted(set(settings.parameters) - _KNOWN[settings.kind] - _NEEDLESS):
        _LOG.warning(
            "Parameters of Java's driver that have no effect here: %s.", ", ".join(f"jdbc.{n}" for n in unknown)
        )
