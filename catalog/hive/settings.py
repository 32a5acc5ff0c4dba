"""The options of a Hive catalog, under the names of Paimon's Java and of Hive, from options or `hive-site.xml`.

Options win over the file. Source: `CatalogOptions`, `HiveCatalogOptions` of Paimon; `HiveConf` of Hive.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options.option import boolean, integer
from paimon_core.secrets import without_secrets
from paimon_sql.catalog.hive.hive_site import read_hive_site
from paimon_sql.catalog.leases import MetastoreSettings, metastore_options
from paimon_sql.catalog.option_values import option_value

_URI = re.compile(r"thrift://(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:?#@\s,\[\]]+)(?::(?P<port>[0-9]{1,5}))?/?")
_PORT = 9083
_TIME = re.compile(r"([0-9]{1,10})\s*(ms|msec|s|sec|m|min|h|hour|d|day)?", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNITS |= {"msec": 0.001, "sec": 1, "min": 60, "hour": 3600, "day": 86400}
_ANSWER_SECONDS = 600.0  # Hive's own default: some calls take long on a large metastore
_CONNECT_SECONDS = 10.0
_KERBEROS = re.compile(r"(?P<service>[^/@\s]+)/(?P<host>[^/@\s]+)@(?P<realm>[^/@\s]+)")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a metastore."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"thrift://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveSettings(MetastoreSettings):
    """The metastore's addresses, the user, and options of tables and locks."""

    addresses: tuple[Address, ...]
    user: str
    connect_seconds: float = _CONNECT_SECONDS
    answer_seconds: float = _ANSWER_SECONDS
    names_user: bool = True
    framed: bool = False
    compact: bool = False
    tls: bool = False
    certificates: str | None = None
    kerberos_principal: str | None = None  # None: no SASL
    location_in_properties: bool = False
    external: bool = False
    cascade: bool = True
    skip_statistics: bool = False
    batch: int = 300
    format_tables: bool = True

    @property
    def address(self) -> str:
        """The metastore's addresses, for errors."""
        return ",".join(map(str, self.addresses))


def hive_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a catalog, added to the properties of the `hive-site.xml` that they or the environment
    name.

    The options win. Raises `InvalidOptionError`.
    """
    folder = options.get("hive-conf-dir", "").strip() or os.environ.get("HIVE_CONF_DIR", "").strip()
    return {**(read_hive_site(folder) if folder else {}), **options}


def read_settings(given: Mapping[str, str], *, locks: bool) -> HiveSettings:
    """Return the settings in a catalog's `hive_options`.

    `locks`: whether commits take locks if `lock.enabled` is not set. Raises `InvalidOptionError`,
    `UnsupportedFeatureError`."""
    if given.get("hive.metastore.client.thrift.transport.mode", "binary").strip().lower() == "http":
        raise UnsupportedFeatureError(
            "A metastore with 'hive.metastore.client.thrift.transport.mode' = 'http' cannot be used: give the address "
            "of one that speaks binary Thrift in 'uri'."
        )
    made = HiveSettings(
        addresses=addresses_of(given.get("uri", "").strip() or given.get("hive.metastore.uris", "").strip()),
        user=os.environ.get("HADOOP_USER_NAME") or _user(),
        connect_seconds=option_value(given, "hive.metastore.client.connection.timeout", seconds_of, _CONNECT_SECONDS),
        answer_seconds=option_value(given, "hive.metastore.client.socket.timeout", seconds_of, _ANSWER_SECONDS),
        names_user=option_value(given, "hive.metastore.execute.setugi", boolean, True),
        framed=option_value(given, "hive.metastore.thrift.framed.transport.enabled", boolean, False),
        compact=option_value(given, "hive.metastore.thrift.compact.protocol.enabled", boolean, False),
        tls=option_value(given, "hive.metastore.use.SSL", boolean, False),
        certificates=given.get("hive.metastore.truststore.path"),
        kerberos_principal=_principal(given),
        location_in_properties=option_value(given, "location-in-properties", boolean, False),
        external=option_value(given, "table.type", _is_external, False),
        cascade=option_value(given, "alter-table-cascade", boolean, True),
        skip_statistics=option_value(given, "hive.skip-update-stats", boolean, False),
        batch=option_value(given, "hive.metastore.batch.retrieve.max", integer, 300),
        format_tables=option_value(given, "format-table.enabled", boolean, True),
        **metastore_options(given, locks=locks),
    )
    if made.pool_size < 1 or made.batch < 1 or made.connect_seconds <= 0 or made.answer_seconds <= 0:
        raise InvalidOptionError(
            "Options 'client-pool-size', 'hive.metastore.batch.retrieve.max', 'hive.metastore.client.socket.timeout' "
            "and 'hive.metastore.client.connection.timeout' must be above 0."
        )
    return made


def addresses_of(uris: str) -> tuple[Address, ...]:
    """Return the addresses in a text, with commas between them. Raises `InvalidOptionError`."""
    if not uris:
        raise InvalidOptionError(
            "A catalog with 'metastore' = 'hive' needs the option 'uri', such as thrift://host:9083 (several with "
            "commas between them), or 'hive-conf-dir', a folder with a hive-site.xml that has hive.metastore.uris."
        )
    found = []
    for uri in (part.strip() for part in uris.split(",")):
        match = _URI.fullmatch(uri)
        if match is None or int(match["port"] or _PORT) > 65535:
            raise InvalidOptionError(f"Option 'uri' cannot be {without_secrets(uri)!r}: it must be thrift://host:port.")
        found.append(Address(match["host"].strip("[]"), int(match["port"] or _PORT)))
    return tuple(dict.fromkeys(found))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name
        return str(os.getuid())


def _principal(given: Mapping[str, str]) -> str | None:
    """Return the metastore's principal, or None if SASL is disabled."""
    if not option_value(given, "hive.metastore.sasl.enabled", boolean, False):
        return None
    principal = given.get("hive.metastore.kerberos.principal", "").strip()
    if _KERBEROS.fullmatch(principal) is None:
        raise InvalidOptionError(
            "'hive.metastore.sasl.enabled' = 'true' needs 'hive.metastore.kerberos.principal', such as "
            f"hive/_HOST@REALM; {principal!r} is not a valid principal."
        )
    return principal


def kerberos_service(principal: str, address: Address) -> tuple[str, bool]:
    """Return the name that a client requests a ticket for, and whether it is a complete principal.

    With `_HOST`, the name is a service on the host of an address. Kerberos finds the host's realm and full name by its
    own configuration, as for Java's clients."""
    match = _KERBEROS.fullmatch(principal)
    assert match is not None
    return (f"{match['service']}@{address.host.lower()}", False) if match["host"] == "_HOST" else (principal, True)


def seconds_of(text: str) -> float:
    """Return the seconds in Hive's text of a time. A number without a unit counts seconds. Raises `ValueError`."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("a time such as 600s")
    return int(match[1]) * _UNITS[(match[2] or "s").lower()]


def _is_external(text: str) -> bool:
    if text.strip().lower() not in ("managed", "external"):
        raise ValueError("managed or external")
    return text.strip().lower() == "external"
