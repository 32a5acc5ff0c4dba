"""Golden tables: written by Apache Paimon's Java connector, with queries and its answers.

tests/golden/warehouse/golden.db/NAME: the table

tests/golden/expected/NAME.json: {"about": …, "checks": [{"query", "columns", "rows", "ordered"}, …]}
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.store.schemas import latest_schema
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.table import Table

GOLDEN = Path(__file__).parents[1] / "golden"
GOLDEN_DATABASE = GOLDEN / "warehouse" / "golden.db"

# columns of system tables, by table: tests/unit/system_tables reads these from the core
_COLUMNS_OF_SYSTEM_TABLE = re.compile(r"SELECT ([a-zA-Z_, ]+) FROM golden\.`(\w+)\$(\w+)`( WHERE key <> 'owner')?")

# tables with rows that are refused, and a part of the message
REFUSED_TABLES: dict[str, str] = {}
if find_spec("datasketches") is None:
    REFUSED_TABLES["agg_sketches"] = re.escape("Run: pip install 'paimon-sql[sketches]'")


def golden_names() -> list[str]:
    return sorted(p.stem for p in (GOLDEN / "expected").glob("*.json"))


def golden_table(name: str) -> Table:
    root = str(GOLDEN_DATABASE / name)
    io = LocalFileIO()
    schema = latest_schema(io, root)
    assert schema is not None, root
    return Table(TableStore.of(io, root, schema, identifier=Identifier("golden", name)))


def golden_checks(name: str) -> list[dict[str, Any]]:
    """Return the queries of a golden table and the rows that Java has read."""
    text = (GOLDEN / "expected" / f"{name}.json").read_text(encoding="utf-8")
    checks: list[dict[str, Any]] = json.loads(text)["checks"]
    return checks


def system_table_columns(query: str) -> tuple[str, list[str]] | None:
    """Return the system table and the columns that a query reads; None for another query."""
    match = _COLUMNS_OF_SYSTEM_TABLE.fullmatch(query)
    return (match[3], match[1].split(", ")) if match and match[3] in SYSTEM_TABLES else None
