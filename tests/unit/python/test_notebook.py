"""The notebook examples/without_spark.ipynb shows what its cells show, with Polars, DuckDB and pandas, and no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[3] / "examples" / "without_spark.ipynb"
LOADED = "import sys\n[name for name in ('pyspark', 'py4j') if name in sys.modules]"


def shown(notebook: Any) -> list[Any]:
    """Return what people see below each cell."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return [o.data["text/plain"] for o in outputs if o.output_type == "execute_result"]


def test_cells_show_what_the_notebook_has() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    expected = shown(notebook)
    assert len(expected) == 7
    notebook.cells.append(nbformat.v4.new_code_cell(LOADED))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert shown(notebook) == [*expected, "[]"]
