"""The pages in a real browser: headless Chromium, where it is installed (`apt-get install chromium`).

The other tests of this folder read the same pages by a parser of HTML, over a socket.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.server.ui.frame import TABS
from tests.support.browser import CHROMIUM, Tab, browser
from tests.support.waiting import wait_until
from tests.unit.server.ui.test_app import GUARD, Parsed, Site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def site(lake: PaimonCatalog) -> Iterator[Site]:
    with Site(lake) as found:
        yield found


def shown(site: Site, path: str, folder: Path, *options: str) -> tuple[Parsed, str]:
    """Return the page that the browser has built, and its messages on the console."""
    mark = "&" if "?" in path else "?"
    done = subprocess.run(
        [
            str(CHROMIUM),
            *(
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--enable-logging=stderr",
            ),
            *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}/profile"),
            *options,
            f"http://127.0.0.1:{site.port}{path}{mark}token={GUARD.token}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return Parsed(done.stdout), "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("page", ["", "/rows", "/pictures?kind=lsm", "/options?all=1"])
def test_a_browser_shows_a_page_and_runs_nothing(site: Site, page: str, tmp_path: Path) -> None:
    built, console = shown(site, f"/t/shop/orders{page}", tmp_path, "--dump-dom")
    assert console == ""  # a violation of the policy would be here
    assert (built.elements[[t for t, _ in built.elements].index("h1")][0], _heading(built)) == ("h1", "shop.orders")
    assert not {"script", "img", "i"} & {tag for tag, _ in built.elements}
    assert all(a.get("href") for tag, a in built.elements if tag == "a")  # so that a keyboard reaches them


@pytest.mark.parametrize("width", [360, 1400])
def test_a_page_has_the_style_of_the_server(site: Site, width: int, tmp_path: Path) -> None:
    asked: list[str] = []
    static = site.app._static
    site.app._static = _Watched(static, asked)
    try:
        target = tmp_path / "page.png"
        _, console = shown(
            site, "/t/shop/orders/pictures", tmp_path, f"--screenshot={target}", f"--window-size={width},900"
        )
    finally:
        site.app._static = static
    assert console == "" and asked.count("/style.css") == 1 and asked.count("/icon.svg") <= 1
    data = target.read_bytes()
    assert data[1:4] == b"PNG" and int.from_bytes(data[16:20], "big") == width and len(data) > 10_000


class _Watched(dict[str, tuple[str, str]]):
    def __init__(self, inner: dict[str, tuple[str, str]], asked: list[str]) -> None:
        super().__init__(inner)
        self.asked = asked

    def __getitem__(self, path: str) -> tuple[str, str]:
        self.asked.append(path)
        return super().__getitem__(path)


def _heading(page: Parsed) -> str:
    return page.source.partition("<h1>")[2].partition("</h1>")[0]


# -- keys and sizes ---------------------------------------------------------------------------------------------------
PAGES = ("/", "/d/shop", "/t/shop/orders", *(f"/t/shop/orders/{tab}" for tab in TABS), "/sql?query=SELECT+1+AS+a")
REACHABLE = "a[href], button, input:not([type=hidden]), textarea, summary, [tabindex='0']"
NAMED = "(e => e.tagName.toLowerCase() + ' ' + (e.ariaLabel || e.name || e.innerText))"


@pytest.fixture(scope="module")
def tab(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        found.open(f"http://127.0.0.1:{site.port}/?token={GUARD.token}")
        yield found


def open_page(tab: Tab, site: Site, path: str, width: int = 1000, *, dark: bool = False) -> None:
    tab.resize(width, dark=dark)
    tab.open(f"http://127.0.0.1:{site.port}{path}")


def test_the_skip_link_leads_to_the_content(site: Site, tab: Tab) -> None:
    open_page(tab, site, "/t/shop/orders/files")
    assert tab.value("document.querySelector('.skip').getBoundingClientRect().right") < 0
    tab.press("Tab")
    assert tab.focused() == "a Skip to the content"
    assert tab.value("document.activeElement.getBoundingClientRect().left") >= 0
    tab.press("Enter")
    assert tab.value("[location.hash, document.activeElement.id]") == ["#content", "content"]
    tab.press("Tab")
    assert tab.focused() == "a Summary"
    tab.press("Tab", shift=True)
    assert tab.focused() != "a Summary"


@pytest.mark.parametrize("path", PAGES)
def test_the_tab_key_goes_through_a_page_in_its_order(site: Site, tab: Tab, path: str) -> None:
    open_page(tab, site, path)
    script = f'Array.from(document.querySelectorAll("{REACHABLE}")).filter(e => e.checkVisibility()).map({NAMED})'
    wanted, found = tab.value(script), list[str]()
    for _ in wanted:
        tab.press("Tab")
        found.append(tab.focused())
        outline = "(s => s.outlineStyle + s.outlineWidth)(getComputedStyle(document.activeElement))"
        assert tab.value(outline) == "solid3px", found[-1]
        box = tab.value("(b => [b.top, b.bottom, b.right])(document.activeElement.getBoundingClientRect())")
        assert box[1] > 0 and box[0] < 900 and box[2] > 0, f"{found[-1]} is not in view"
    assert found == wanted and tab.console == []


def test_the_enter_key_opens_links_queries_and_values(site: Site, tab: Tab) -> None:
    def go_to(name: str) -> None:
        for _ in range(200):
            tab.press("Tab")
            if tab.focused() == name:
                return
        raise AssertionError(f"no key leads to {name}")

    open_page(tab, site, "/")
    for name, heading in (("a shop", "Database shop"), ("a orders", "shop.orders"), ("a Pictures", "shop.orders")):
        go_to(name)
        tab.press("Enter", loads=True)
        assert tab.value("document.querySelector('h1').innerText") == heading
    go_to("summary Values")
    assert tab.value("document.querySelector('details').open") is False
    tab.press("Enter")
    assert tab.value("document.querySelector('details').open") is True
    open_page(tab, site, "/")
    go_to("a SQL")
    tab.press("Enter", loads=True)
    go_to("textarea query")
    tab.write("SELECT 41 + 1 AS answer")
    go_to("button Run")
    tab.press("Enter", loads=True)
    assert tab.value("document.querySelector('tbody').innerText.trim()") == "42"


def test_arrows_scroll_a_wide_table(site: Site, tab: Tab) -> None:
    open_page(tab, site, "/t/shop/orders/snapshots", 360)
    region = "document.querySelector('main [role=region]')"
    tab.value(f"{region}.focus()")
    assert tab.value(f"{region}.scrollLeft") == 0
    for _ in range(5):
        tab.press("ArrowRight")
    wait_until(lambda: tab.value(f"{region}.scrollLeft") > 0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 768, 1400])
def test_nothing_sticks_out_at_any_width(site: Site, tab: Tab, width: int, dark: bool, tmp_path: Path) -> None:
    for path in PAGES:
        open_page(tab, site, path, width, dark=dark)
        assert tab.value("document.documentElement.scrollWidth") <= width, path
        texts = "Array.from(document.querySelectorAll('svg text, td, a, label')).filter(e => e.checkVisibility())"
        scaled = "e => parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM ? e.getScreenCTM().a : 1)"
        assert tab.value(f"Math.min(...{texts}.map({scaled}))") >= 11.9, path
    tab.screenshot(tmp_path / "page.png")
    data = (tmp_path / "page.png").read_bytes()
    assert data[1:4] == b"PNG" and int.from_bytes(data[16:20], "big") == width
    colour = tab.value("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
