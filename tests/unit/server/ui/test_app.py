"""The pages of `paimon-sql ui`, over a socket: who gets them, what they show, and that texts stay texts."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import unicodedata
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pyarrow as pa
import pytest

from paimon_core.errors import NotFoundError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.definitions import new_schema
from paimon_sql.python.queries import QueryLimits
from paimon_sql.python.table import PaimonTable

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[ui]"')
from paimon_sql.server.rest.run import serving
from paimon_sql.server.ui.app import UiApp
from paimon_sql.server.ui.catalog_pages import tree_of
from paimon_sql.server.ui.frame import TABS
from paimon_sql.server.ui.guard import HEADERS, Guard
from paimon_sql.server.ui.queries import Queries, QueryAnswer
from tests.support.contrast import contrast
from tests.unit.server.ui.conftest import HOSTILE, SCHEMA

GUARD = Guard("127.0.0.1", "the-token")


class Site:
    """A server over a catalog, and a client with its cookie."""

    def __init__(self, catalog: PaimonCatalog, seconds: float = 30.0, queries: Queries | None = None) -> None:
        self.catalog, self.app = catalog, UiApp(catalog, GUARD, seconds, queries)

    def __enter__(self) -> Site:
        self._serving = serving(self.app, "127.0.0.1", 0)
        self.port = self._serving.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.__exit__(None, None, None)
        self.app.close()

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"Cookie": f"{GUARD.cookie}={GUARD.token}", **headers}
        connection.request(method, path, headers={k: v for k, v in given.items() if v})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer.headers

    def page(self, *parts: str, query: str = "") -> Parsed:
        status, text, _ = self.get("/" + "/".join(quote(p, safe="") for p in parts) + query)
        assert status == 200, text
        return Parsed(text)


class Parsed(HTMLParser):
    """A page: its elements, its attributes, its text, and the cells of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source, self.elements, self.links, self.texts = text, list[tuple[str, dict[str, str | None]]](), [], []
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def hrefs(self) -> list[str]:
        return [str(a["href"]) for tag, a in self.elements if tag == "a"]


@pytest.fixture(scope="module")
def site(lake: PaimonCatalog) -> Iterator[Site]:
    with Site(lake) as found:
        yield found


def test_the_first_page_of_a_table_imports_no_pandas(lake: PaimonCatalog) -> None:
    assert pytest.importorskip("pandas")  # else pyarrow could not import it
    program = (
        "import sys, paimon_sql\n"
        "from paimon_sql.server.ui.app import table_page\n"
        "from paimon_sql.server.ui.catalog_pages import PageCall, home\n"
        f"catalog = paimon_sql.open_catalog({lake.inner.options['warehouse']!r})\n"
        "home(catalog, PageCall([], {}))\n"
        "assert 'paimon_sql.server.ui.table_pages' not in sys.modules\n"
        "table_page(catalog, PageCall(['shop', 'orders'], {}))\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


PAGES = [
    (),
    ("d", "shop"),
    ("sql",),
    *(("t", "shop", name, tab) for name in ("orders", "it's <i>a< table", "empty") for tab in TABS),
]


@pytest.mark.parametrize("parts", PAGES, ids=lambda parts: "-".join(re.sub(r"\W", "", p) for p in parts) or "home")
def test_names_comments_and_values_are_texts(site: Site, parts: tuple[str, ...]) -> None:
    page = site.page(*parts)
    found = {tag for tag, _ in page.elements}
    assert not found & {"script", "img", "i", "b", "iframe", "object", "style", "base"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        for name in ("href", "src", "action"):
            target = attributes.get(name) or "/"
            is_own = target.startswith("/") and not target.startswith("//")
            assert is_own or target == "#content" or target.startswith("https://paimon.apache.org/"), target
    acting = {c for c in page.source if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}
    assert acting == set() and "hunter2" not in page.source


@pytest.mark.parametrize("parts", PAGES, ids=lambda parts: "-".join(re.sub(r"\W", "", p) for p in parts) or "home")
def test_readers_of_screens_find_their_way(site: Site, parts: tuple[str, ...]) -> None:
    page = site.page(*parts)
    attributes = [a for _, a in page.elements]
    ids = {a["id"] for a in attributes if "id" in a}
    assert ("html", {"lang": "en"}) in page.elements and [t for t, _ in page.elements].count("h1") == 1
    assert all(a.get("aria-label") for t, a in page.elements if t == "nav" or a.get("role") == "region")
    assert all(a.get("for") in ids for t, a in page.elements if t == "label")
    labelled = {a.get("for") for t, a in page.elements if t == "label"}
    assert all(
        a.get("id") in labelled for t, a in page.elements if t in ("input", "textarea") and a.get("type") != "hidden"
    )
    assert all(a.get("scope") == "col" for t, a in page.elements if t == "th")
    assert len(ids) == len([a for a in attributes if "id" in a])
    assert sum(a.get("aria-current") == "page" for a in attributes) >= 1


def test_every_link_leads_somewhere(site: Site) -> None:
    left, seen = ["/"], set[str]()
    while left:
        path = left.pop()
        if path in seen or not path.startswith("/"):
            continue
        seen.add(path)
        status, text, _ = site.get(path)
        assert status == 200, (path, text)
        left += Parsed(text).hrefs()
    assert len(seen) > 40


def test_the_token_moves_into_a_cookie(site: Site) -> None:
    assert site.get(f"/d/shop?q=o&token={GUARD.token}", Cookie="")[2]["Location"] == "/d/shop?q=o"
    status, text, headers = site.get(f"/?token={GUARD.token}", Cookie="")
    assert (status, text, headers["Location"]) == (303, "", "/")
    assert headers["Set-Cookie"] == f"{GUARD.cookie}=the-token; Path=/; HttpOnly; SameSite=Strict"
    assert headers["Referrer-Policy"] == "no-referrer"
    status, text, _ = site.get("/", Cookie=headers["Set-Cookie"].partition(";")[0])
    assert status == 200 and GUARD.token not in text


@pytest.mark.parametrize(
    "path", ["/", "/d/shop", "/t/shop/orders/rows", "/sql?query=SELECT+1", "/style.css", "/nothing"]
)
def test_nothing_is_shown_without_the_token(site: Site, path: str) -> None:
    for headers in (
        {"Cookie": ""},
        {"Cookie": f"{GUARD.cookie}=x"},
        {"Host": "evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        status, text, found = site.get(path, **headers)
        assert status in (403, 421) and "shop" not in text and "alert(" not in text
        assert {k: found[k] for k in HEADERS} == HEADERS
    status, _, found = site.get(path, method="POST")
    assert (status, found["Allow"]) == (405, "GET")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/d", 404),
        ("/d/none", 404),
        ("/t/shop/none", 404),
        ("/t/shop/orders/nothing", 404),
        ("/t/shop/orders/rows/more", 404),
        ("/t/..%2Fshop.db/orders", 400),
        ("/t/shop/..%2Forders", 400),
        ("/t/shop/%2E%2E", 400),
        ("/t/%2Fetc/passwd", 400),
        ("/d/..", 400),
        ("/t/shop/%FF%00", 400),
        ("/t/shop/orders$files", 400),
        ("/t/shop/orders$branch_none", 404),
        ("/t/shop/orders/pictures?kind=lsm&bucket=7", 400),
        ("/t/shop/orders/pictures?kind=lsm&partition=none&bucket=" + "7" * 5_000, 400),
        ("/?x=" + "y" * 20_000, 414),
    ],
)
def test_other_addresses(site: Site, path: str, status: int) -> None:
    got, text, headers = site.get(path)
    assert got == status and 'role="alert"' in text
    assert {k: headers[k] for k in HEADERS} == HEADERS


def test_what_a_table_is_made_of(site: Site) -> None:
    assert ["id", "column", "type", "key", "default", "comment"] in site.page("t", "shop", "orders", "schema").rows
    summary = site.page("t", "shop", "orders").text
    assert "id, day" in summary and "deduplicate" in summary and " 8 " in summary
    snapshots = site.page("t", "shop", "orders", "snapshots").rows
    assert [row[0] for row in snapshots[1:]] == ["4", "3", "2", "1"] and snapshots[4][-2:] == ["one", "0"]
    files = site.page("t", "shop", "orders", "files").rows
    assert len(files) == 5 and all(row[0].startswith("data-") and row[4] == "2" for row in files[1:])
    rows = site.page("t", "shop", "orders", "rows").rows
    assert len(rows) == 9 and rows[0] == SCHEMA.names and "NULL" in rows[-1]
    due = site.page("t", "shop", "orders", "compactions").rows
    assert due[1][2] == "4"
    advice = site.page("t", "shop", "orders", "advice").text
    assert "CALL paimon.sys.compact(table => 'shop.orders')" in advice
    assert "CALL paimon.sys" not in site.page("t", "shop", "empty", "advice").text


def test_running_work_says_how_far_it_is(site: Site) -> None:
    store = site.catalog.table("shop.orders").inner.store
    job = {"job": f"compact {HOSTILE}", "count": 4000, "done": 1000, "unit": "<b>files", "seconds": 60.0}
    search = {"job": "list the folders of t", "done": 70, "unit": "folders"}
    works = [{"work": "compact", **job}, {"work": "remove_orphan_files", **search}, {"work": "expire"}]
    paths = [Path(store.paths.running(str(uuid.uuid4()))) for _ in works]
    paths[0].parent.mkdir(exist_ok=True)
    try:
        for path, work in zip(paths, works, strict=True):
            path.write_text(json.dumps({"began": 1, "host": "h", "process": 1, **work}))
        found = {row[0]: row[4:] for row in site.page("t", "shop", "orders", "compactions").rows if len(row) == 7}
    finally:
        for path in paths:
            path.unlink()
    assert found["work"] == ["job", "done", "time left"]
    assert found["compact"][0].startswith("compact </td><script>")
    assert found["compact"][1:] == ["1,000 of 4,000 <b>files, 17 a second", "about 3 min 0 s"]
    assert found["remove_orphan_files"] == ["list the folders of t", "70 folders", ""]
    assert found["expire"] == ["", "", ""]


def test_options_that_are_set_and_defaults(site: Site) -> None:
    own = {row[0]: row[1:] for row in site.page("t", "shop", "orders", "options").rows}
    assert own["write-only"][:2] == ["true", "false"] and "bucket-key" not in own
    assert own["unknown<i>"][2] == "This is not an option of Paimon."
    every = {row[0]: row[1:] for row in site.page("t", "shop", "orders", "options", query="?all=1").rows}
    assert len(every) > 300 and every["target-file-size"][0] == "" and every["snapshot.time-retained"][1] == "1 h"
    home = {row[0]: row[1] for row in site.page().rows if len(row) == 2}
    assert "redacted" in home["s3.secret-key"]


def test_pictures_use_the_style_of_the_server(site: Site) -> None:
    for kind in ("lsm", "timeline", "files", "partitions", "branches", "schemas"):
        page = site.page("t", "shop", "orders", "pictures", query=f"?kind={kind}")
        assert [a.get("role") for t, a in page.elements if t == "svg"] == ["img"]
    status, text, headers = site.get("/style.css")
    assert status == 200 and ".paimon .due{" in text and headers["Content-Type"].startswith("text/css")
    assert "prefers-color-scheme" in text and "url(" not in text and "@import" not in text
    assert site.get("/icon.svg")[2]["Content-Type"].startswith("image/svg+xml")


def test_texts_of_pages_can_be_read(site: Site) -> None:
    """The contrast of texts and links is 4.5 or more on each ground, on light and dark pages."""
    style = site.get("/style.css")[1]
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", r)) for r in re.findall(r":root \{(.*?)\}", style, re.S))
    for colours in (light, dark):
        for ground in ("page", "soft", "mark"):
            for text in ("text", "link") if ground == "mark" else ("text", "note", "link"):
                assert contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


def test_pictures_before_and_after(site: Site) -> None:
    place = ("t", "shop", "orders", "pictures")
    lsm = site.page(*place, query="?kind=lsm&after=compact&bucket=0")
    assert "bucket 0 after the compaction, at most: 1 file, " in lsm.text
    links = [a for t, a in lsm.elements if t == "a" and "kind=lsm" in str(a["href"]) and "bucket=0" in str(a["href"])]
    assert [parse_qs(str(a["href"]).partition("?")[2]).get("after", [""]) for a in links] == [
        [""], ["compact"], ["minor compact"]
    ]  # fmt: skip
    assert [a.get("aria-current") for a in links] == [None, "page", None]
    assert ("input", {"type": "hidden", "name": "after", "value": "compact"}) in lsm.elements
    timeline = site.page(*place, query="?kind=timeline&after=expire_snapshots")
    assert "an expiry removes 0 snapshots (orange) and 0 files" in timeline.text
    assert site.get("/t/shop/orders/pictures?kind=timeline&after=compact")[0] == 400
    assert "Before and after" not in site.page(*place, query="?kind=files").source


def test_queries(site: Site) -> None:
    pytest.importorskip("duckdb", reason='needs pip install "paimon-sql[duckdb]"')

    def ran(query: str) -> Parsed:
        return site.page("sql", query=f"?query={quote(query)}")

    assert ran("SELECT count(*) AS n FROM shop.orders").rows == [["n"], ["8"]]
    assert ran(f"SELECT '{HOSTILE.replace(chr(39), '')}' AS x").rows[0] == ["x"]
    assert len(ran("SELECT * FROM range(100000)").rows) == 201
    for refused in (
        "DROP TABLE shop.orders",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1; SELECT 2",
        "COPY (SELECT 1) TO '/tmp/x'",
        "SELECT nothing FROM shop.orders",
    ):
        page = ran(refused)
        assert [a for t, a in page.elements if a.get("role") == "alert"] and not page.rows, refused


class ManyTables(PaimonCatalog):
    """A catalog that lists 10,000 tables."""

    def list_tables(self, database: str = "default") -> list[str]:
        return [f"t{n:05}" for n in range(10_000)]


def test_many_tables_are_divided_into_pages(lake: PaimonCatalog) -> None:
    with Site(ManyTables(lake.inner, lake.zone)) as site:
        page = site.page("d", "shop")
        assert len(page.source) < 2**20 and "1 to 500 of 10,000" in page.text and "and 9,800 more tables" in page.text
        assert page.rows[1:] == [[f"t{n:05}"] for n in range(500)]
        last = site.page("d", "shop", query="?start=9500")
        assert last.rows[-1] == ["t09999"] and "Next" not in last.texts
        assert len(site.page("d", "shop", query="?q=T0999").rows) == 11
        near = tree_of(ManyTables(lake.inner), "shop", "t05000")
        assert "t04999" in near.tables and "t05001" in near.tables and len(near.tables) == 200


def test_a_page_that_takes_too_long(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(type(lake), "list_databases", lambda _: goes_on.wait(60) and [])
    with Site(lake, seconds=0.05) as site:
        status, text, _ = site.get("/")
        assert status == 504 and "more than 0.05 seconds" in text
        goes_on.set()


def test_nobody_waits_for_a_slow_storage(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, waiting, lock = threading.Event(), list[int](), threading.Lock()
    load = PaimonTable.load

    def slow(catalog: Any, identifier: Identifier, *rest: Any) -> PaimonTable:
        if identifier.table.lower() == "orders":
            with lock:
                waiting.append(1)
            assert goes_on.wait(60)
        return load(catalog, identifier, *rest)

    monkeypatch.setattr(PaimonTable, "load", slow)
    with Site(lake) as site, ThreadPoolExecutor(28) as clients:
        spelled = (
            "/t/shop/orders/files",
            "/t/%73hop/%6frders/files",
            "//t/shop/orders",
            "/t/shop/ORDERS",
            "/%74/shop/orders$branch_x",
        )
        asked = [clients.submit(site.get, spelled[n % len(spelled)]) for n in range(16)]
        while len(waiting) < 4:
            threading.Event().wait(0.01)
        others = ["/", "/d/shop", "/t/shop/empty", "/t/shop/empty/files"] * 3
        assert [status for status, _, _ in clients.map(site.get, others)] == [200] * 12
        assert len(waiting) == 4 and not any(page.done() for page in asked)
        more = [clients.submit(site.get, "/t/shop/orders/advice") for _ in range(5)]
        refused = next(as_completed(more)).result()
        assert refused[0] == 503 and "Too many pages of this table" in refused[1]
        goes_on.set()
        answers = [page.result() for page in (*asked, *more)]
    assert sorted(status for status, _, _ in answers) == [200] * 14 + [404] * 6 + [503]
    assert len(waiting) == 20


class Endless:
    """Queries that end when the browser leaves."""

    label = "endless"

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def run(self, catalog: PaimonCatalog, text: str, limits: QueryLimits) -> QueryAnswer:
        self.began.set()
        if limits.stop.wait(60):
            self.ended.set()
        return QueryAnswer(["a"], [], [])


def test_a_query_ends_when_the_browser_leaves(lake: PaimonCatalog) -> None:
    queries = Endless()
    with Site(lake, queries=queries) as site:
        client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        client.request("GET", "/sql?query=x", headers={"Cookie": f"{GUARD.cookie}={GUARD.token}"})
        assert queries.began.wait(60) and not queries.ended.is_set()
        client.close()
        assert queries.ended.wait(60)


def test_pages_that_waited_too_long_are_not_made(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, made = threading.Event(), list[int]()

    def slow(*_: Any) -> Any:
        made.append(1)
        assert goes_on.wait(60)
        raise NotFoundError("gone")

    monkeypatch.setattr(PaimonTable, "load", slow)
    with Site(lake, seconds=0.2) as site, ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(site.get, ["/t/shop/orders"] * 8))
        assert [status for status, _, _ in answers] == [504] * 8
        goes_on.set()
        assert site.get("/")[0] == 200
        while site.app._running:
            threading.Event().wait(0.01)
    assert len(made) == 4


def test_users_see_what_they_may_see(lake: PaimonCatalog, tmp_path: Path) -> None:
    root = open_catalog(str(tmp_path))
    for name in ("seen", "hidden"):
        root.create_table(f"default.{name}", pa.schema([("word", pa.string())]), comment="a comment").append(
            [{"word": f"word of {name}"}]
        )
    root.call("init_file_based_privilege", root_password="of root")
    root = open_catalog(str(tmp_path), user="root", password="of root")
    root.call("create_privileged_user", username="ann", password="of ann")
    root.call("grant_privilege_to_user", user="ann", privilege="SELECT", database="default", table="seen")
    with Site(open_catalog(str(tmp_path), user="ann", password="of ann")) as site:
        for tab in TABS:
            status, text, _ = site.get(f"/t/default/seen/{tab}")
            assert status == 200 and ("word of seen" in text) == (tab == "rows"), tab
            status, text, _ = site.get(f"/t/default/hidden/{tab}")
            assert (status, "word of" in text, "data-" in text) == (200 if tab in OF_DEFINITION else 403, False, False)
        text = site.get(f"/sql?query={quote('SELECT * FROM hidden')}")[1]
        assert "word of" not in text and "SELECT on" in text
        assert "of ann" not in site.get("/")[1]


OF_DEFINITION = ("options",)


@pytest.mark.parametrize("kind", [{"type": "format-table", "file.format": "csv"}, {"type": "object-table"}])
def test_tables_that_only_spark_reads(kind: dict[str, str], tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    columns = pa.schema([("a", pa.int64())]) if kind["type"] == "format-table" else pa.schema([])
    with pytest.raises(UnsupportedFeatureError, match="only Spark reads"):
        catalog.create_table("default.t", columns, options=kind)
    assert catalog.list_tables() == []
    catalog.inner.create_table(Identifier("default", "t"), new_schema(columns, (), (), kind, None))
    with Site(catalog) as site:
        assert ["t"] in site.page("d", "default").rows
        status, text, _ = site.get("/t/default/t")
        assert status == 501 and "only Spark reads" in text


def test_an_unexpected_error_shows_no_details(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> list[str]:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(type(lake), "list_databases", fail)
    with Site(lake) as site:
        status, text, _ = site.get("/")
        assert status == 500 and "see the log" in text and "hunter2" not in text
