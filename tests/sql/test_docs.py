"""The pages of docs/ and README.md are true: their code runs in order, on an empty warehouse per page.

A block marked by an HTML comment on the line above it, `<!-- fails: TEXT -->`, raises an error with that text, and so
does one marked `<!-- since: 4.2 TEXT -->` on an older Spark;
`<!-- not run: REASON -->` keeps a block from being run. A `text` block right below a `sql` block is what the shell
prints for its last statement.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_sql.catalog.load import load_catalog
from paimon_sql.preprocess import split_statements
from paimon_sql.shell.runner import Options, Shell
from tests.support.hive_server import HiveServer, start_hive
from tests.support.pages import ROOT, WITHOUT_SPARK, Block, blocks_of
from tests.support.spark_versions import is_before

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FOOTER = re.compile(r"^(\(.*\d s.*\)|OK \(\d.* s\))$", re.M)


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if blocks_of(page)]
RUN = [page for page in PAGES if page.name not in WITHOUT_SPARK]


class RefusedError(Exception):
    """What the shell said of a statement that failed."""


def _run_sql(session: object, code: str) -> str:
    """What the shell prints for the last statement, without its footer."""
    for statement in split_statements(code):
        out, err = io.StringIO(), io.StringIO()
        if not Shell(session, out, err, Options(max_rows=0)).run(statement):
            raise RefusedError(f"{err.getvalue()}{statement.text}")
    return FOOTER.sub("", out.getvalue()).strip("\n")


def _run(session: object, block: Block, names: dict[str, object]) -> str:
    if block.language == "sql":
        return _run_sql(session, block.code)
    exec(compile(block.code, "page", "exec"), names)  # noqa: S102  our own pages
    return ""


@pytest.fixture
def metastore() -> Iterator[HiveServer]:
    pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')
    server = start_hive()
    if isinstance(server, str):
        pytest.skip(server)
    yield server
    server.remove()


@pytest.fixture
def rest_server(tmp_path: Path) -> Iterator[None]:
    """The one of the page, at its port."""
    pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')
    from tests.support.rest_server import RestServer  # noqa: PLC0415  needs what may not be installed

    behind = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "served")})
    with RestServer.over(behind, port=8765):
        yield
    behind.close()  # type: ignore[attr-defined]


def _configure_metastore(server: HiveServer, folder: Path) -> None:
    """Make the `hive-site.xml` of the page."""
    folder.mkdir()
    (folder / "hive-site.xml").write_text(
        f"<configuration><property><name>hive.metastore.uris</name><value>{server.uri}</value></property></configuration>"
    )


@pytest.mark.parametrize("page", RUN, ids=lambda path: path.name)
def test_page(page: Path, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: spark)  # of this page, not of another
    if page.name in ("hive-catalog.md", "iceberg.md"):
        _configure_metastore(request.getfixturevalue("metastore"), tmp_path / "conf")
    if page.name == "rest-catalog.md":
        request.getfixturevalue("rest_server")
    names: dict[str, object] = {"spark": spark}
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.mark == "not run":
            continue
        since, _, why = str(block.why).partition(" ") if block.mark == "since" else ("4.0", "", str(block.why))
        if block.mark == "fails" or is_before(*map(int, since.split("."))):
            with pytest.raises(Exception, match=re.escape(why)):
                _run(spark, block, names)
            continue
        try:
            printed = _run(spark, block, names)
        except Exception as error:
            pytest.fail(f"{where}: {error}")
        if block.output is not None:
            assert printed.splitlines() == [line.rstrip() for line in block.output.splitlines()], where


def test_every_block_is_understood():
    fences = {page: len(re.findall(r"^```(?:sql|python)$", page.read_text(encoding="utf-8"), re.M)) for page in PAGES}
    assert {page: len(blocks_of(page)) for page in PAGES} == fences


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert os.path.exists(page.parent / target), f"{page.name} links to {target}"
