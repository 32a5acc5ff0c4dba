"""The requests of Paimon's REST API, answered from a catalog of any other kind.

Each request goes through the same steps: find its user, find the handler of its address, decode its JSON. The handler
then runs in a thread. Errors of the catalog become statuses, with the class of the error for clients of this package.
An unexpected error is logged on the server; the client gets no details of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from paimon_core import errors
from paimon_core.errors import InvalidDataError, NotAllowedError, PaimonError
from paimon_core.metrics import PROCESS, REST_REQUESTS, Metrics
from paimon_core.spec.json_object import decode_json_object
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.rest.definitions import REPLACES_FUNCTIONS, REPLACES_VIEWS
from paimon_sql.catalog.rest.failures import EXISTS, KIND, NOT_FOUND
from paimon_sql.catalog.schema_files import table_defaults
from paimon_sql.server.reads.listed import is_read
from paimon_sql.server.rest import databases, definitions, partitions, tables, versions
from paimon_sql.server.rest.calls import Handler, RestCall, Routes
from paimon_sql.server.rest.users import ANYONE, User, Users

_LOG = logging.getLogger(__name__)
PREFIX = "paimon"
_METHODS = ("GET", "POST", "DELETE")
_MOST = 2**24  # the most bytes of a request
_SECONDS = 30  # seconds for the body of a request
_ROUTES: Routes = {
    **databases.ROUTES,
    **tables.ROUTES,
    **versions.ROUTES,
    **partitions.ROUTES,
    **definitions.ROUTES,
}
_STATUS: tuple[tuple[type[PaimonError], int, str | None], ...] = (
    *((kind, 404, resource) for resource, kind in NOT_FOUND.items() if resource != "COLUMN"),
    (errors.ColumnNotFoundError, 404, "COLUMN"),
    (errors.NotFoundError, 404, None),
    *((kind, 409, resource) for resource, kind in EXISTS.items() if resource != "COLUMN"),
    (errors.DatabaseNotEmptyError, 409, "DATABASE"),
    (errors.NotAllowedError, 403, None),
    (errors.UnsupportedFeatureError, 501, None),
    (errors.InvalidNameError, 400, None),
    (errors.InvalidSchemaError, 400, None),
    (errors.InvalidOptionError, 400, None),
    (errors.InvalidDataError, 400, None),
)


class _Answered(Exception):
    """An answer to a request that does not reach a handler."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RestApp:
    """An ASGI application for a catalog. Without `users`, requests need no token. `read_only` refuses all writes. `say`
    is called with a line for each request other than GET.
    """

    def __init__(
        self,
        catalog: SupportsDatabases,
        users: Users | None = None,
        say: Callable[[str], None] | None = None,
        *,
        read_only: bool = False,
        metrics: Metrics = PROCESS,
    ) -> None:
        self.catalog, self.users, self.say, self.read_only = catalog, users, say, read_only
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        user: User | None = None
        try:
            user = await run_in_threadpool(self._user, request.headers.get("authorization", ""))
            user = replace(user, read_only=user.read_only or self.read_only)
            parts = _parts(request.scope)
            parameters = dict(parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True))
            if parts == ("v1", "config") and request.method == "GET":
                response: Response = JSONResponse(self._config())
            else:
                handler, names = _routed(request.method, parts, user)  # before the body is read
                call = RestCall(names, parameters, await _body_in_time(request))
                response = await run_in_threadpool(self._handled, handler, call)
        except _Answered as answered:
            response = _error(answered.status, str(answered))
        method = request.method if request.method in _METHODS else "other"
        self.metrics.add(REST_REQUESTS, method=method, status=str(response.status_code))
        if self.say is not None and request.method != "GET":
            name, path = user.name if user else "?", request.scope["path"]
            self.say(f"rest user={name} {request.method} {path}: {response.status_code}")
        return response

    def _handled(self, handler: Handler, call: RestCall) -> Response:
        try:
            answer = handler(self.catalog, call)
        except PaimonError as error:
            return _refusal(error)
        except (TypeError, ValueError) as error:
            _LOG.info("A request is not valid in the API: %s", error, exc_info=True)
            return _error(400, f"The request is not valid in the API: {error}.")
        except Exception:
            _LOG.exception("A request failed")
            return _error(500, "The server failed: see its log.")
        return Response(b"", media_type="application/json") if answer is None else JSONResponse(answer)

    def _user(self, header: str) -> User:
        if self.users is None:
            return ANYONE
        kind, _, token = header.partition(" ")
        user = self.users.of_token(token.strip()) if kind.lower() == "bearer" else None
        if user is None:
            raise _Answered(401, "Unauthorized: the request has no token of a user.")
        return user

    def _config(self) -> Mapping[str, Any]:
        defaults = {f"table-default.{key}": value for key, value in table_defaults(self.catalog.options).items()}
        return {
            "defaults": {**defaults, REPLACES_VIEWS: "true", REPLACES_FUNCTIONS: "true"},
            "overrides": {"prefix": PREFIX},
        }


def _parts(scope: Scope) -> tuple[str, ...]:
    """Return the unescaped parts of an address; Java's client writes a blank as `+`."""
    raw = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
    return tuple(unquote_plus(part, errors="surrogateescape") for part in raw.strip("/").split("/"))


def routes() -> list[tuple[str, str]]:
    """Return the methods and addresses that this server answers; `*` stands for a name."""
    return [*_ROUTES]


def _routed(method: str, parts: tuple[str, ...], user: User) -> tuple[Handler, tuple[str, ...]]:
    """Return the handler of a request, and the names in its address. Raises `_Answered` if it has no handler, or if the
    user must not use it.
    """
    if parts[:2] != ("v1", PREFIX):
        raise _Answered(404, "The API does not have this address.")
    is_known = False
    for (wanted, pattern), handler in _ROUTES.items():
        names = _match(pattern, parts[2:])
        if names is None:
            continue
        is_known = True
        if wanted != method:
            continue
        if user.read_only and not is_read(method, pattern):
            raise _Answered(403, f"User {user.name} may only read.")
        return handler, names
    raise _Answered(405 if is_known else 501, "The API, or this server, does not support this request.")


def _match(pattern: str, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    wanted = pattern.split("/")
    if len(wanted) != len(parts) or any(w not in ("*", p) for w, p in zip(wanted, parts, strict=True)):
        return None
    return tuple(p for w, p in zip(wanted, parts, strict=True) if w == "*")


async def _body_in_time(request: Request) -> Mapping[str, Any]:
    try:
        return await asyncio.wait_for(_body(request), _SECONDS)
    except TimeoutError:
        raise _Answered(408, f"The body of the request did not arrive within {_SECONDS} seconds.") from None


async def _body(request: Request) -> Mapping[str, Any]:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MOST:
            raise _Answered(413, f"A request must have at most {_MOST} bytes.")
    if not data.strip():
        return {}
    try:
        return decode_json_object("the request", bytes(data))
    except PaimonError:
        raise _Answered(400, "The request is not a JSON object.") from None


def _refusal(error: PaimonError) -> Response:
    if isinstance(error, NotAllowedError | InvalidDataError):
        _LOG.info("Refused: %s", error)
    for kind, status, resource in _STATUS:
        if isinstance(error, kind):
            return _error(status, str(error), resource, type(error).__name__)
    _LOG.warning("A request failed: %s", error)
    # these errors guarantee that nothing was changed, and clients of this package rely on that; other failures leave it
    # open
    certain = isinstance(error, errors.CommitConflictError | errors.StorageRefusedError)
    return _error(500, str(error), None, type(error).__name__ if certain else "")


def _error(status: int, message: str, resource: str | None = None, kind: str = "") -> Response:
    node = {"message": message, "resourceType": resource, "resourceName": None, "code": status}
    clean = json.loads(json.dumps(node).encode("utf-8", "replace"))
    return JSONResponse({**clean, KIND: kind} if kind else clean, status_code=status)
