"""HTTP to a REST catalog: signed requests, JSON answers of a bounded size, pages, and safe retries.

A request that only reads is sent again if the server is busy (429, 503), if the connection breaks, and if a proxy
answers for the server (502, 504). A change is sent again only if it cannot have arrived. Each try is signed anew.
Redirects are not followed: they would carry the token elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError, ProxyError, SSLError

from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError, UnreadableFileError
from paimon_core.io.file_io import MOST_TEXT
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member, text_list
from paimon_sql.catalog.outcomes import OutcomeUnknown
from paimon_sql.catalog.rest.auth import signer_of
from paimon_sql.catalog.rest.dlf import Request
from paimon_sql.catalog.rest.failures import KIND, Refused
from paimon_sql.catalog.rest.settings import RestSettings

Node = dict[str, Any]
_T = TypeVar("_T")
_NOTHING: Mapping[str, str] = {}
_BUSY = frozenset((429, 503))  # the server requests a later retry
_OF_PROXIES = frozenset((502, 504))  # it is unknown whether the request reached the server
_MOST_PAGES = 100_000
_TRIES, _BACKOFF = 4, 0.25
_LONGEST_WAIT = 60  # seconds
_SECONDS = re.compile(r"[0-9]{1,6}")
_LONGEST = 500  # characters of a server's message
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    data: bytes
    headers: Mapping[str, str]


_NO_ANSWER = _Answer(0, b"", {})


class RestClient:
    """A connection pool to one server; safe to use from several threads."""

    def __init__(self, settings: RestSettings) -> None:
        self.settings, self._sign = settings, signer_of(settings)
        self._headers = {"Accept": "application/json", "User-Agent": "paimon-sql", **settings.headers}
        self._retry = urllib3.Retry(
            total=_TRIES, allowed_methods=None, backoff_factor=_BACKOFF, backoff_max=8, retry_after_max=_LONGEST_WAIT
        )
        self._pool = _pool(settings)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def get(self, path: str, parameters: Mapping[str, str] = _NOTHING) -> Node:
        """Return the JSON at an address. Raises `Refused`, `StorageError`."""
        return self._call("GET", path, None, parameters, safe=True)

    def ask(self, path: str, body: Mapping[str, Any]) -> Node:
        """Send a request that reads by POST, and return the JSON. Raises the same errors as `get`."""
        return self._call("POST", path, body, _NOTHING, safe=True)

    def post(self, path: str, body: Mapping[str, Any]) -> Node:
        """Send a change to the server, and return the JSON.

        Raises `Refused`, `OutcomeUnknown`, and `StorageError` if the request did not reach the server."""
        return self._call("POST", path, body, _NOTHING, safe=False)

    def delete(self, path: str, parameters: Mapping[str, str] = _NOTHING) -> None:
        """Send a removal to the server. Raises the same errors as `post`."""
        self._call("DELETE", path, None, parameters, safe=False)

    def pages(self, path: str, key: str) -> Iterator[Node]:
        """Yield the pages of a list, which have their entries under `key`.

        Raises `StorageError` if the pages do not end.
        """
        seen: set[str] = set()
        given: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            page = self.get(path, given)
            yield page
            token = self.read(page, path, lambda n: member(n, "nextPageToken", str | None, None))
            if not token or not page.get(key):
                return
            if token in seen:
                break
            seen.add(token)
            given["pageToken"] = token
        raise StorageError(f"The catalog {self.settings.uri} returned pages without end for {path}: ask its operator.")

    def names(self, path: str, key: str) -> list[str]:
        """Return the names in the pages of a list, sorted, each once."""
        found: set[str] = set()
        for page in self.pages(path, key):
            found.update(self.read(page, path, lambda n: text_list(n, key)))
        return sorted(found)

    def read(self, node: Node, path: str, decode: Callable[[Node], _T]) -> _T:
        """Decode an answer. Raises `StorageError` if the answer does not follow the API."""
        try:
            return decode(node)
        except (TypeError, ValueError, UnreadableFileError) as error:
            raise StorageError(
                f"The catalog {self.settings.uri} returned an invalid answer to {path}: {_shown(str(error))}. "
                "Check that 'uri' is the address of a REST catalog."
            ) from error

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, parameters: Mapping[str, str], *, safe: bool
    ) -> Node:
        data = b"" if body is None else encode_json_object(body)
        retry, request = self._retry, Request(method, path, dict(parameters), data)
        while True:
            failure: HTTPError | None = None
            answer = _NO_ANSWER
            try:
                answer = self._send(request)
            except HTTPError as error:
                failure = error
            unsent = failure is not None and _was_not_sent(failure)
            again = not isinstance(failure, SSLError) if failure else answer.status in _BUSY | _OF_PROXIES
            if again and (safe or unsent):
                waited = urllib3.HTTPResponse(status=answer.status, headers=answer.headers)
                with suppress(MaxRetryError):
                    retry = retry.increment(method, path, response=None if failure else waited, error=failure)
                    retry.sleep(None if failure else waited)
                    continue
            if failure is not None:
                raise self._failure(request, failure, is_certain=unsent or safe) from failure
            return self._decoded(request, answer, safe=safe)

    def _send(self, request: Request) -> _Answer:
        query = f"?{urlencode(request.parameters)}" if request.parameters else ""
        headers = {**self._headers, **self._sign(request)}
        if request.body:
            headers.setdefault("Content-Type", "application/json")
        response = self._pool.request(
            request.method,
            f"{self.settings.uri}{request.path}{query}",
            body=request.body or None,
            headers=headers,
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            data = response.read(MOST_TEXT + 1)
        finally:
            response.drain_conn() if (response.length_remaining or 0) < 2**16 else response.close()
            response.release_conn()
        after = response.headers.get("Retry-After", "")
        return _Answer(response.status, data, {"Retry-After": after} if _SECONDS.fullmatch(after) else {})

    def _decoded(self, request: Request, answer: _Answer, *, safe: bool) -> Node:
        if len(answer.data) > MOST_TEXT:
            raise self._lost(request, f"an answer of more than {MOST_TEXT} bytes", safe=safe)
        if answer.status in (200, 201, 202, 204):
            if not answer.data.strip():
                return {}
            try:
                return decode_json_object(request.path, answer.data)
            except UnreadableFileError as error:
                raise self._lost(request, f"an answer that is not JSON ({error.cause})", safe=safe) from error
        said = _said(answer.data)
        what = f"The catalog {self.settings.uri} refused {request.method} {request.path}: {answer.status}"
        message = f"{what}, {said['message']}" if said["message"] else f"{what}{_ADVICE.get(answer.status, '')}."
        is_certain = answer.status < 500 or answer.status == 501 or bool(said[KIND])
        if not is_certain or 300 <= answer.status < 400:
            if safe or 300 <= answer.status < 400:
                raise StorageError(message)
            raise OutcomeUnknown(message)
        raise Refused(message, answer.status, said["resourceType"], said["message"], said[KIND])

    def _lost(self, request: Request, what: str, *, safe: bool) -> StorageError:
        kind = StorageError if safe else OutcomeUnknown
        return kind(f"The catalog {self.settings.uri} answered {request.method} {request.path} with {what}.")

    def _failure(self, request: Request, error: HTTPError, *, is_certain: bool) -> StorageError:
        cause = _shown(str(getattr(error, "reason", None) or error))
        if is_certain:
            return StorageError(
                f"The catalog {self.settings.uri} cannot be reached ({cause}): check the option 'uri' and that the "
                "server runs."
            )
        return OutcomeUnknown(
            f"The catalog {self.settings.uri} did not answer {request.method} {request.path} ({cause}): it is "
            "unknown whether the request took effect."
        )


_ADVICE = {
    401: " Unauthorized: check the option 'token'",
    403: " Forbidden: this user lacks the permission",
    404: " Not Found: check the option 'uri'",
}


def _pool(settings: RestSettings) -> urllib3.PoolManager:
    timeout = urllib3.Timeout(connect=settings.connect_timeout / 1000, read=settings.read_timeout / 1000)
    parts = urlsplit(settings.uri)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    if proxy:
        return urllib3.ProxyManager(proxy, maxsize=16, timeout=timeout)
    return urllib3.PoolManager(maxsize=16, timeout=timeout)


def _was_not_sent(error: HTTPError) -> bool:
    """Return whether a request cannot have reached the server, because no connection was made."""
    cause = error.reason if isinstance(error, MaxRetryError) else error
    return isinstance(cause, NewConnectionError | ProxyError | urllib3.exceptions.ConnectTimeoutError | SSLError)


def _said(data: bytes) -> dict[str, str]:
    """Return the texts in the JSON of an error, or empty texts if it is not JSON, such as a proxy's error."""
    try:
        node = json.loads(data)
    except (ValueError, RecursionError):
        node = None
    found = node if isinstance(node, dict) else {}
    if isinstance(found.get("error"), dict):  # the form of Iceberg's servers
        found = found["error"]
    texts = {key: found.get(key) for key in ("message", "resourceType", KIND)}
    return {key: _shown(value) if isinstance(value, str) else "" for key, value in texts.items()}


def _shown(text: str) -> str:
    """Return a server's text without control characters that a terminal would execute."""
    clean = _UNPRINTABLE.sub(" ", text)
    return clean if len(clean) <= _LONGEST else clean[:_LONGEST] + "…"
