"""The headers that authenticate each request, by a bearer token or a signature of DLF.

If a key expires in less than an hour, the next request reads it again.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from paimon_core.errors import StorageError
from paimon_sql.catalog.rest.dlf import DlfKey, Request, decode_key, signed, signed_openapi
from paimon_sql.catalog.rest.settings import DlfSettings, RestSettings

Signer = Callable[[Request], dict[str, str]]

MARGIN = 3_600_000  # milliseconds: a key or token that expires sooner is read again
_MOST_KEY = 2**16  # bytes of a key's JSON
_TRIES, _PAUSE = 5, 0.2  # a token file may be half written


def signer_of(settings: RestSettings) -> Signer:
    """Return the function that returns the authenticating headers of a request."""
    if settings.dlf is not None:
        return DlfSigner(settings.dlf, settings.host)
    if settings.token is not None:
        given = {"Authorization": f"Bearer {settings.token}"}
        return lambda request: given
    return lambda request: {}


class DlfSigner:
    """Signs requests with a key from the settings, from a file or from a service."""

    def __init__(self, settings: DlfSettings, host: str) -> None:
        self._settings, self._host, self._lock = settings, host, threading.Lock()
        self._key: DlfKey | None = None
        if settings.key_id is not None and settings.key_secret is not None:
            self._key = DlfKey(settings.key_id, settings.key_secret, settings.security_token)

    def __call__(self, request: Request) -> dict[str, str]:
        """Return the headers of a signed request. Raises `StorageError` if there is no key."""
        now = datetime.now(UTC)
        if self._settings.algorithm == "openapi":
            return signed_openapi(request, self._fresh(), self._host, now)
        return signed(request, self._fresh(), self._settings.region, now)

    def _fresh(self) -> DlfKey:
        with self._lock:
            key = self._key
            if key is None or (key.expires is not None and key.expires - time.time() * 1000 < MARGIN):
                key = self._key = self._read()
            return key

    def _read(self) -> DlfKey:
        if self._settings.token_path is not None:
            return _from_file(self._settings.token_path)
        url = self._settings.metadata_url or ""
        role = self._settings.role or _from_service(url).decode("utf-8", "replace").strip()
        return _decoded(_from_service(url + quote(role, safe="")), url)


def oauth_token(address: str, form: Mapping[str, str]) -> str:
    """Request a token from an OAuth 2 server with a form, which contains a secret. Raises `StorageError`."""
    try:
        status, data = _answer(
            "POST",
            address,
            body=urlencode(form),
            headers={"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
            timeout=30.0,
            retries=False,
        )
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise StorageError(
            f"No token from {address}: it cannot be reached ({type(error).__name__}). Check the address."
        ) from None
    if status != 200:
        raise StorageError(
            f"No token from {address}: it answered with status {status}. Check the address and the access keys."
        )
    try:
        token = json.loads(data)["access_token"]
    except (ValueError, TypeError, KeyError, RecursionError):
        token = None
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise StorageError(f"No token from {address}: its answer does not contain a token. Check the address.")
    return token


def _from_file(path: str) -> DlfKey:
    for left in reversed(range(_TRIES)):
        try:
            return _decoded(Path(path).read_bytes(), path)
        except (OSError, StorageError) as error:
            if not left:
                cause = error.strerror or str(error)
                raise StorageError(f"The key of DLF cannot be read from {path}: {cause}") from None
        time.sleep(_PAUSE)
    raise AssertionError


def _from_service(url: str) -> bytes:
    try:
        status, data = _answer("GET", url, timeout=10.0, retries=3)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise StorageError(f"The key of DLF cannot be read from {url}: {type(error).__name__}.") from None
    if status != 200:
        raise StorageError(
            f"The key of DLF cannot be read from {url}: it answered with status {status}. "
            "Check the address and the role."
        )
    return data


def _answer(method: str, url: str, **how: Any) -> tuple[int, bytes]:
    """Return the status of an answer, and its content up to a size limit. Redirects are not followed."""
    answer = urllib3.request(method, url, redirect=False, preload_content=False, **how)
    data = answer.read(_MOST_KEY)
    answer.release_conn()
    return answer.status, data


def _decoded(data: bytes, where: str) -> DlfKey:
    """Decode a key. Its content is secret, so errors do not show it."""
    try:
        return decode_key(json.loads(data))
    except (ValueError, TypeError, RecursionError):
        raise StorageError(f"The key of DLF in {where} is not valid: it must be JSON with an access key.") from None
