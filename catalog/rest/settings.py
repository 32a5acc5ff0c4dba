"""The options of a REST catalog, under the names of Paimon's Java. No I/O.

Source: `RESTCatalogOptions` of Paimon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options.option import duration
from paimon_core.secrets import without_secrets
from paimon_sql.catalog.option_values import option_value

_HEADER = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_REGION = re.compile(r"(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")
_METADATA_URL = "http://100.100.100.200/latest/meta-data/Ram/security-credentials/"
PREFIX = "prefix"  # the common start of a server's addresses
DATA_TOKENS = "data-token.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class DlfSettings:
    """The key that signs requests to DLF, or the place of a short-lived key.

    The place is the file `token_path`, or the metadata service of a machine in DLF's cloud."""

    region: str
    algorithm: str  # default or openapi
    key_id: str | None = None
    key_secret: str | None = field(default=None, repr=False)
    security_token: str | None = field(default=None, repr=False)
    token_path: str | None = None
    metadata_url: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """The server's address, the user's credentials, and the headers of each request. Times are in milliseconds."""

    uri: str
    warehouse: str = ""  # the warehouse's name at the server
    token: str | None = field(default=None, repr=False)
    dlf: DlfSettings | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout: int = 20_000
    read_timeout: int = 180_000

    @property
    def host(self) -> str:
        """The host of the server, with its port if the address has one."""
        return urlsplit(self.uri).netloc


def read_settings(options: Mapping[str, str]) -> RestSettings:
    """Return the settings in a catalog's options. Raises `InvalidOptionError`."""
    uri = _uri(options)
    provider = options.get("token.provider", "bear" if options.get("token") else "").strip().lower()
    token, dlf = None, None
    if provider in ("bear", "bearer"):
        token = options.get("token", "")
        if not re.fullmatch(r"[!-~]+", token):
            raise InvalidOptionError("A REST catalog with 'token.provider' = 'bear' needs the option 'token'.")
    elif provider == "dlf":
        dlf = _dlf(uri, options)
    elif provider:
        raise InvalidOptionError(f"Option 'token.provider' cannot be {provider!r}: it must be bear or dlf.")
    return RestSettings(
        uri=uri,
        warehouse=options.get("warehouse", ""),
        token=token,
        dlf=dlf,
        headers=read_headers(options),
        connect_timeout=option_value(options, "rest.connection-timeout", duration, 20_000),
        read_timeout=option_value(options, "rest.read-timeout", duration, 180_000),
    )


def _uri(options: Mapping[str, str]) -> str:
    given = options.get("uri", "").strip().rstrip("/")
    if not given:
        raise InvalidOptionError("A catalog with 'metastore' = 'rest' needs the option 'uri': http(s)://host:port.")
    if without_secrets(given) != given:
        raise InvalidOptionError(f"Option 'uri' = {without_secrets(given)} contains a secret: give it as 'token'.")
    try:
        parts = urlsplit(given)
        _ = parts.port  # raises for an invalid port
    except ValueError as error:
        raise InvalidOptionError(f"Option 'uri' cannot be {given!r}: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidOptionError(f"Option 'uri' cannot be {given!r}: it must be http://host:port or https://host.")
    if "@" in parts.netloc or not re.fullmatch(r"[!-~]+", given):
        raise InvalidOptionError("Option 'uri' must be an ASCII address without a user name and blanks.")
    return given


def read_headers(options: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of each request, from the options `header.NAME`. Raises `InvalidOptionError`."""
    found = {k.removeprefix(_HEADER): v for k, v in options.items() if k.startswith(_HEADER)}
    for name, value in found.items():
        if not _HEADER_NAME.fullmatch(name) or not re.fullmatch(r"[\t -~]*", value):
            raise InvalidOptionError(f"Option {_HEADER + name!r} is not a valid HTTP header: only ASCII is allowed.")
    return found


def _dlf(uri: str, options: Mapping[str, str]) -> DlfSettings:
    host = urlsplit(uri).netloc
    found = _REGION.search(uri)
    region = options.get("dlf.region") or (found[1] if found else "")
    if not region:
        raise InvalidOptionError("A REST catalog with 'token.provider' = 'dlf' needs the option 'dlf.region'.")
    algorithm = options.get("dlf.signing-algorithm") or ("openapi" if "dlfnext" in host.lower() else "default")
    if algorithm not in ("default", "openapi"):
        raise InvalidOptionError(
            f"Option 'dlf.signing-algorithm' cannot be {algorithm!r}: it must be default or openapi."
        )
    loader, path = options.get("dlf.token-loader"), options.get("dlf.token-path")
    common = {"region": region, "algorithm": algorithm}
    if loader == "ecs":
        url = options.get("dlf.token-ecs-metadata-url", _METADATA_URL)
        return DlfSettings(**common, metadata_url=url, role=options.get("dlf.token-ecs-role-name"))
    if loader not in (None, "local_file"):
        raise InvalidOptionError(f"Option 'dlf.token-loader' cannot be {loader!r}: it must be ecs or local_file.")
    if path:
        return DlfSettings(**common, token_path=path)
    key, secret = options.get("dlf.access-key-id"), options.get("dlf.access-key-secret")
    if loader or not (key and secret):
        raise InvalidOptionError(
            "A REST catalog with 'token.provider' = 'dlf' needs 'dlf.access-key-id' and 'dlf.access-key-secret', or "
            "'dlf.token-path', or 'dlf.token-loader'."
        )
    return DlfSettings(
        **common, key_id=key, key_secret=secret, security_token=options.get("dlf.security-token") or None
    )
