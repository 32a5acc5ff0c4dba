"""The pages in a real browser: headless Chromium, where it is installed (`apt-get install chromium`).

The other tests of this folder read the same pages by a parser of HTML, over a socket.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_sql.python.catalog import PaimonCatalog
from tests.unit.server.ui.test_app import GUARD, Parsed, Site

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
