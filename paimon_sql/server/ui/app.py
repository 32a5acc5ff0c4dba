"""`paimon-sql ui`: pages over a catalog, for the browser of one user.

Each request goes through the same steps: the guard checks it, the address chooses a view, and the view runs in one of
a few threads with a limit of time, at most four of them for one table. Errors of the catalog become pages. An
unexpected error is logged; the page shows no details of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

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
from paimon_sql.server.ui.queries import DuckDbQueries, Queries

if TYPE_CHECKING:
    from paimon_sql.server.ui.table_pages import table_page
else:  # the first page shows no table
    table_page = ImportedOnCall("paimon_sql.server.ui.table_pages", "table_page")

_LOG = logging.getLogger(__name__)
_THREADS, _WAITING = 24, 40  # pages that are made at once, and that wait for a thread or for others of their table
_OF_TABLE, _MOST_OF_TABLE = 4, 20  # pages of one table that are made at once; and with those that wait
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


class BusyTableError(Exception):
    """Too many pages of one table wait."""


class PageTurns:
    """The pages that are being made or wait, by the tables that they show. Use it in the coroutines of one event loop.

    Each page that is being made holds a thread until its storage answers. So a table with a slow storage gets only a
    few of the threads.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._free: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def turn(self, table: str) -> AsyncIterator[None]:
        """Wait until a page of a table may be made, and hold its place during the block. Raises `BusyTableError`."""
        if self._counts.get(table, 0) >= _MOST_OF_TABLE:
            raise BusyTableError(table)
        self._counts[table] = self._counts.get(table, 0) + 1
        try:
            async with self._free.setdefault(table, asyncio.Semaphore(_OF_TABLE)):
                yield
        finally:
            self._counts[table] -= 1
            if not self._counts[table]:
                del self._counts[table], self._free[table]


class UiApp:
    """An ASGI application for a catalog. `seconds` is the time limit of a page; `queries` runs the queries."""

    def __init__(
        self, catalog: PaimonCatalog, guard: Guard, seconds: float = _SECONDS, queries: Queries | None = None
    ) -> None:
        self._catalog, self._guard, self._seconds = catalog, guard, seconds
        self._queries = queries or DuckDbQueries()
        self._pool, self._running = ThreadPoolExecutor(_THREADS, thread_name_prefix="page"), 0
        self._turns, self._tasks = PageTurns(), set[asyncio.Task[Response]]()
        own = files("paimon_sql.server.ui").joinpath("style.css").read_text("utf-8")
        self._static = {"/style.css": (f"{own}{style()}", "text/css"), "/icon.svg": (_ICON, "image/svg+xml")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            left = threading.Event()
            watch = asyncio.create_task(_set_when_left(receive, left))
            try:
                response = await self._answer(_request(scope), left)
            finally:
                watch.cancel()
            await response(scope, receive, send)

    def close(self) -> None:
        """Make no more pages."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: PageRequest, left: threading.Event) -> Response:
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
        return await self._page(request, left)

    async def _page(self, request: PageRequest, left: threading.Event) -> Response:
        if self._running >= _THREADS + _WAITING:
            return _response(_failure(503, "The server makes too many pages at once. Try again in a moment."))
        ends = asyncio.get_running_loop().time() + self._seconds
        made = asyncio.create_task(
            self._made_in_turn(request, left, ends)
        )  # continues if the client leaves, because its thread continues
        self._running += 1
        self._tasks.add(made)
        made.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(made), self._seconds)
        except TimeoutError:
            return _response(_failure(504, f"The page took more than {self._seconds:g} seconds: try again later."))

    def _ended(self, made: asyncio.Task[Response]) -> None:
        self._running -= 1
        self._tasks.discard(made)

    async def _made_in_turn(self, request: PageRequest, left: threading.Event, ends: float) -> Response:
        loop, table = asyncio.get_running_loop(), _table_of(request.path)
        try:
            async with self._turns.turn(table) if table else nullcontext():
                if loop.time() > ends or left.is_set():  # the client has got an answer while it waited, or has left
                    return _response(_failure(504, "The page has waited too long."))
                return await loop.run_in_executor(self._pool, partial(self._made, request, left))
        except BusyTableError:
            return _response(_failure(503, "Too many pages of this table wait for its storage: try again later."))

    def _made(self, request: PageRequest, left: threading.Event) -> Response:
        try:
            view, names = _routed(request.path)
            return _response(view(self._catalog, PageCall(names, request.parameters(), self._queries, left)))
        except PaimonError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
            return _response(_failure(status, str(error)))
        except Exception:
            _LOG.exception("A page failed")
            return _response(_failure(500, "The page failed: see the log of the command."))


async def _set_when_left(receive: Receive, left: threading.Event) -> None:
    """Set the event when the browser closes the connection: the user stopped the page, or went to another one."""
    while (await receive())["type"] != "http.disconnect":
        pass
    left.set()


def _request(scope: Scope) -> PageRequest:
    path = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    return PageRequest(scope["method"], path, scope["query_string"].decode("latin-1"), headers)


def _table_of(path: str) -> str:
    """Return the name of the table that an address names, or "sql"; "" for pages of the catalog. Different spellings
    of an address, and branches of a table, are one table.
    """
    kind, *names = _parts(path)
    if kind not in ("t", "sql"):
        return ""
    tables = (name.partition("$")[0].casefold() for name in names[:2])
    return "/".join([kind, *(quote(name, safe="", errors="surrogateescape") for name in tables)])


def _parts(path: str) -> list[str]:
    """Return the parts of an address."""
    return [unquote(part, errors="surrogateescape") for part in path.strip("/").split("/")]


def _routed(path: str) -> tuple[View, Sequence[str]]:
    """Return the view of an address, and the names in it. Raises `NotFoundError`."""
    kind, *names = _parts(path)
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
