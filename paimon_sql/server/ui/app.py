"""`paimon-sql ui`: pages over a catalog, for the browser of one user.

Each request goes through the same steps: the guard checks it, the address chooses a view, and the view runs in one of
a few threads with a limit of time. Errors of the catalog become pages. An unexpected error is logged; the page shows no
details of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from paimon_core.errors import (
    InvalidNameError,
    InvalidOptionError,
    NoPrivilegeError,
    NotAllowedError,
    NotFoundError,
    PaimonError,
    UnsupportedFeatureError,
)
from paimon_core.lazy import ImportedOnCall
from paimon_sql.pictures.svg import style
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.server.ui.catalog_pages import PageCall, View, database_page, home, query_page
from paimon_sql.server.ui.frame import Page, Tree, document, error_text
from paimon_sql.server.ui.guard import HEADERS, Guard, PageRequest
from paimon_sql.server.ui.markup import html

if TYPE_CHECKING:
    from paimon_sql.server.ui.table_pages import table_page
else:  # the first page shows no table
    table_page = ImportedOnCall("paimon_sql.server.ui.table_pages", "table_page")

_LOG = logging.getLogger(__name__)
_THREADS, _WAITING = 8, 32  # pages that are made at once, and that wait for a thread
_SECONDS = 30.0  # for a page
_LONGEST_ADDRESS = 16_384  # bytes
_STATUS: tuple[tuple[type[PaimonError], int], ...] = (
    (NotFoundError, 404),
    (NoPrivilegeError, 403),
    (NotAllowedError, 403),
    (InvalidNameError, 400),
    (InvalidOptionError, 400),
    (UnsupportedFeatureError, 501),
)
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path fill="#3182bd" d="M1 2h14v3H1zm0 5h10v3H1zm0 5h6v3H1z"/></svg>'
)


class UiApp:
    """An ASGI application for a catalog. `seconds` is the time limit of a page."""

    def __init__(self, catalog: PaimonCatalog, guard: Guard, seconds: float = _SECONDS) -> None:
        self._catalog, self._guard, self._seconds = catalog, guard, seconds
        self._pool, self._running = ThreadPoolExecutor(_THREADS, thread_name_prefix="page"), 0
        own = files("paimon_sql.server.ui").joinpath("style.css").read_text("utf-8")
        self._static = {"/style.css": (f"{own}{style()}", "text/css"), "/icon.svg": (_ICON, "image/svg+xml")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await self._answer(_request(scope))
            await response(scope, receive, send)

    def close(self) -> None:
        """Make no more pages."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: PageRequest) -> Response:
        refusal = self._guard.refusal(request)
        if refusal is not None:
            allow = {"Allow": "GET"} if refusal.status == 405 else {}
            return _response(_failure(refusal.status, refusal.reason), allow)
        if self._guard.brings_token(request):
            headers = {**HEADERS, "Set-Cookie": self._guard.set_cookie}
            return RedirectResponse(self._guard.without_token(request), 303, headers)
        if request.path in self._static:
            text, kind = self._static[request.path]
            return Response(text, 200, HEADERS, kind)
        if len(request.path) + len(request.query) > _LONGEST_ADDRESS:
            return _response(_failure(414, "The address is too long."))
        return await self._page(request)

    async def _page(self, request: PageRequest) -> Response:
        if self._running >= _THREADS + _WAITING:
            return _response(_failure(503, "The server makes too many pages at once. Try again in a moment."))
        loop = asyncio.get_running_loop()
        self._running += 1
        future = loop.run_in_executor(self._pool, partial(self._made, request))
        future.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            return _response(_failure(504, f"The page took more than {self._seconds:g} seconds: try again later."))

    def _ended(self, _: object) -> None:
        self._running -= 1

    def _made(self, request: PageRequest) -> Response:
        try:
            view, names = _routed(request.path)
            return _response(view(self._catalog, PageCall(names, request.parameters())))
        except PaimonError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
            return _response(_failure(status, str(error)))
        except Exception:
            _LOG.exception("A page failed")
            return _response(_failure(500, "The page failed: see the log of the command."))


def _request(scope: Scope) -> PageRequest:
    path = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    return PageRequest(scope["method"], path, scope["query_string"].decode("latin-1"), headers)


def _routed(path: str) -> tuple[View, Sequence[str]]:
    """Return the view of an address, and the names in it. Raises `NotFoundError`."""
    kind, *names = [unquote(part, errors="surrogateescape") for part in path.strip("/").split("/")]
    view, counts = _VIEWS.get(kind, (home, ()))
    if len(names) not in counts:
        raise NotFoundError("There is no page with this address.")
    return view, names


_VIEWS: Mapping[str, tuple[View, Sequence[int]]] = {
    "": (home, (0,)),
    "d": (database_page, (1,)),
    "t": (table_page, (2, 3)),
    "sql": (query_page, (0,)),
}


def _failure(status: int, message: str) -> Page:
    return Page("The page cannot be shown", Tree(()), html(error_text(message)), status)


def _response(page: Page, more: Mapping[str, str] | None = None) -> Response:
    text = document(page).encode("utf-8", "replace")
    return Response(text, page.status, {**HEADERS, **(more or {})}, "text/html; charset=utf-8")
