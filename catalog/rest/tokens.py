"""Storages with access by tokens of the catalog's server (`data-token.enabled`), which expire. Readers and writers,
also on executors, request a new token after half of the old token's lifetime, but at the earliest one hour before it
expires. If the server does not answer, the old token is used until it expires.

Source: `RESTTokenFileIO` of Paimon.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import is_storage_option, load_file_io
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member, text_map
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.auth import MARGIN
from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.settings import RestSettings

_LOG = logging.getLogger(__name__)
_ENDPOINT = "dlf.oss-endpoint"


@dataclass(frozen=True, slots=True)
class DataToken:
    """The options of a storage with a token.

    `expires`, and `renew` (the time to request another token), are in epoch milliseconds.
    """

    options: Mapping[str, str] = field(repr=False)
    expires: int
    renew: int


class HeldToken:
    """The storage with the latest token. Only the token is pickled."""

    def __init__(self, token: DataToken | None = None) -> None:
        self.token, self.lock = token, threading.Lock()
        self.io: FileIO | None = None
        self.client: RestClient | None = None

    def __reduce__(self) -> Any:
        return HeldToken, (self.token,)


@dataclass(frozen=True)
class TokenFileIO(DelegatingFileIO):
    """The storage of a table, with the tokens that the server gives for it; see `FileIO`."""

    settings: RestSettings
    prefix: str
    identifier: Identifier
    location: str
    options: Mapping[str, str] = field(repr=False)  # options of the catalog; the options of the token win
    held: HeldToken = field(default_factory=HeldToken, repr=False, compare=False)

    def _io(self) -> FileIO:
        """Return the storage with a valid token. Raises `StorageError` if there is no token."""
        held = self.held
        with held.lock:
            now = int(time.time() * 1000)
            if held.token is None or now >= held.token.renew:
                self._renew(now)
            made = held.io
            if made is None:
                given = {} if held.token is None else held.token.options
                made = held.io = load_file_io(self.location, {**self.options, **given})
            return made

    def _renew(self, now: int) -> None:
        held = self.held
        if held.client is None:
            held.client = RestClient(self.settings)
        address = paths.table(self.prefix, self.identifier.base, "token")
        try:
            answer = held.client.get(address)
            held.token = held.client.read(answer, address, lambda node: _decode_token(node, self.options, now))
        except PaimonError as error:
            if held.token is None or now >= held.token.expires:
                raise
            _LOG.warning(
                "The token for the files of %s could not be renewed: %s",
                self.identifier,
                error,
                extra={"table": str(self.identifier)},
            )
        held.io = None


def _decode_token(node: Any, options: Mapping[str, str], now: int) -> DataToken:
    """Decode a token. Only options of storages are accepted from a server. Raises `TypeError`."""
    given = {key: value for key, value in text_map(node, "token").items() if is_storage_option(key)}
    expires = member(node, "expiresAt", int)
    if options.get(_ENDPOINT):
        given["fs.oss.endpoint"] = options[_ENDPOINT]
    return DataToken(given, expires, expires - min(MARGIN, max(expires - now, 0) // 2))
