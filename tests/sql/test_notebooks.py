"""The tour of examples/ shows what its cells show; `test_examples.py` runs the notebooks without stored answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"
SECONDS = re.compile(r"\d+\.\d\d s")


def shown(notebook: Any) -> list[Any]:
    """What people see below each cell, but for times and messages of Spark."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    results = [SECONDS.sub("", o.data["text/plain"]) for o in outputs if o.output_type == "execute_result"]
    return [*results, *(o.traceback for o in outputs if o.output_type == "error")]


def test_cells_show_what_the_notebook_has() -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    expected = shown(notebook)
    assert len(expected) > 5
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert shown(notebook) == expected
