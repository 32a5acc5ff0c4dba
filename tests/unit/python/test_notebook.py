"""The notebooks in examples/ without Spark show what their cells show: rows, and pictures."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[3] / "examples"
LOADED = "import sys\n[name for name in ('pyspark', 'py4j') if name in sys.modules]"


def shown(notebook: Any) -> list[Any]:
    """Return what people see below each cell."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return [o.data["text/plain"] for o in outputs if o.output_type == "execute_result"]


def pictures(notebook: Any) -> list[tuple[bytes, str]]:
    """Return the pictures that people see, with the texts below them."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    pages = [o.data["text/html"] for o in outputs if "<img" in o.get("data", {}).get("text/html", "")]
    found = [re.findall(r"base64,([^\"]+)\"><figcaption>([^<]+)<", page) for page in pages]
    return [(base64.b64decode(data), name) for page in found for data, name in page]


@pytest.mark.parametrize(("name", "results"), [("without_spark", 7), ("pictures", 6)])
def test_cells_show_what_the_notebook_has(name: str, results: int) -> None:
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    expected, seen = shown(notebook), pictures(notebook)
    assert len(expected) == results
    notebook.cells.append(nbformat.v4.new_code_cell(LOADED))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert shown(notebook) == [*expected, "[]"]
    again = pictures(notebook)
    assert [text for _, text in again] == [text for _, text in seen]
    assert all(data.startswith(b"\x89PNG") for data, _ in again)
    assert len(again) == (4 if name == "pictures" else 0)
