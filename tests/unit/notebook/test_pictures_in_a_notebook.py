"""Pictures in a notebook that nbclient runs, in a kernel of its own and without Spark."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql import open_catalog

nbformat = pytest.importorskip("nbformat", reason='needs pip install "paimon-sql[notebook]"')
nbclient = pytest.importorskip("nbclient", reason="needs pip install nbclient ipykernel")
HOSTILE = "<script>alert(1)</script>"
CELLS = """
import paimon_sql
pictures = paimon_sql.open_catalog("lake").table("shop.orders").pictures
---
pictures.lsm()
---
pictures
---
pictures.lsm(bucket=9)
"""


class Elements(HTMLParser):
    """The names of the elements of a text in HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


def test_pictures_are_outputs_of_cells(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path / "lake"))
    catalog.create_database("shop")
    columns = pa.schema([("id", pa.string()), ("v", pa.int64())])
    table = catalog.create_table("shop.orders", columns, primary_key="id", options={"bucket": "1"})
    for n in range(2):
        table.upsert([{"id": f"{HOSTILE}{n}", "v": n}])
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.split("---\n")])
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", allow_errors=True)
    client.execute(cwd=str(tmp_path))
    assert book.cells[0].outputs == []
    (lsm,), (every,) = ([output.data for output in cell.outputs] for cell in book.cells[1:3])
    assert lsm["text/plain"].startswith("LSM trees of shop.orders\n") and "level 0" in lsm["text/plain"]
    assert HOSTILE not in lsm["text/html"] and Elements(lsm["text/html"]).found[:2] == ["figure", "svg"]
    svg = ET.fromstring(lsm["text/html"].removeprefix("<figure>").partition("</svg>")[0] + "</svg>")
    assert len([e for e in svg.iter() if e.tag.endswith("rect") and str(e.get("class")).startswith("age-")]) == 2
    assert Elements(every["text/html"]).found.count("svg") == 6 and "script" not in Elements(every["text/html"]).found
    assert "no files in bucket 9" in str(book.cells[3].outputs)
