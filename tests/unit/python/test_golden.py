"""Every query of the golden tables that the Python API can ask has the answer that Java gave, without a JVM."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.types import VariantVal

from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import VARIANT as VARIANT_TYPE
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from tests.support.comparison import cell, difference
from tests.support.golden import GOLDEN, REFUSED_TABLES, golden_checks, golden_names

_NAME = r"golden\.`?(?P<table>[\w$]+)`?"
_QUERY = re.compile(
    rf"SELECT (?P<columns>\*|[\w, ]+) FROM {_NAME}(?: VERSION AS OF (?P<version>\S+))?(?: WHERE (?P<where>.*))?"
)
_COUNT = re.compile(rf"SELECT count\(\*\) AS (?P<name>\w+) FROM {_NAME}(?: WHERE (?P<where>.*))?")
_CHANGES = re.compile(
    r"SELECT \* FROM paimon_incremental_query\('golden\.`?(?P<table>[\w$]+)`?', '(?P<first>\w+)', '(?P<last>\w+)'\)"
)
_SYSTEM = re.compile(r"\$(?!audit_log|binlog|ro\b|row_tracking|branch_)(?P<name>\w+)")
_LEFT_OUT = "key <> 'owner'"  # the only condition on system tables
VARIANT = arrow_type(VARIANT_TYPE)


@dataclass(frozen=True)
class Question:
    """A query as this API asks it."""

    table: str
    arguments: dict[str, Any]
    count: bool = False
    system: str = ""


def question(query: str) -> Question | None:
    """The question of a query, None for a query that needs an engine: expressions, aggregates, statements."""
    if found := _COUNT.fullmatch(query):
        return Question(found["table"], {"where": found["where"]}, count=True)
    if found := _CHANGES.fullmatch(query):
        return Question(found["table"], {"options": {"incremental-between": f"{found['first']},{found['last']}"}})
    found = _QUERY.fullmatch(query)
    if found is None:
        return None
    if of_system := _SYSTEM.search(found["table"]):
        if (
            found["version"]
            or found["where"] not in (None, _LEFT_OUT)
            or re.search(r"\(| as ", found["columns"], re.IGNORECASE)
        ):
            return None
        return Question(found["table"][: of_system.start()], {"columns": found["columns"]}, system=of_system["name"])
    version = {} if found["version"] is None else {"version": found["version"].strip("'")}
    names = None if found["columns"] == "*" else found["columns"].split(", ")
    if names and any(" " in name for name in names):
        return None
    return Question(found["table"], {"columns": names, "where": found["where"], **version})


ASKED = {name: [c for c in golden_checks(name) if question(c["query"])] for name in golden_names()}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaimonCatalog]:
    warehouse = tmp_path_factory.mktemp("golden") / "warehouse"
    shutil.copytree(GOLDEN / "warehouse", warehouse)
    yield open_catalog(warehouse=str(warehouse), time_zone="UTC")
    shutil.rmtree(warehouse)


def rows(table: pa.Table) -> list[Any]:
    """The rows as JSON has them: structs and maps by their own kind, times in microseconds as Spark has them."""
    columns = [[_plain(v, f.type) for v in _micros(table[i]).to_pylist()] for i, f in enumerate(table.schema)]
    return [list(row) for row in zip(*columns, strict=True)]


def _micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _plain(value: Any, arrow: pa.DataType) -> Any:
    if value is None:
        return None
    if arrow == VARIANT:
        return str(VariantVal(value["value"], value["metadata"]))
    if pa.types.is_struct(arrow):
        return [_plain(value[f.name], f.type) for f in arrow]
    if pa.types.is_map(arrow):
        return {str(_plain(k, arrow.key_type)): _plain(v, arrow.item_type) for k, v in value}
    if pa.types.is_list(arrow):
        return [_plain(v, arrow.value_type) for v in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return cell(value)


def answer(golden: PaimonCatalog, asked: Question) -> tuple[list[str] | None, list[Any]]:
    """The names of the columns, and the rows."""
    table = golden.table(f"golden.{asked.table}")
    if asked.system:
        found = table.inspect(asked.system)
        if asked.arguments["columns"] != "*":
            found = found.select(asked.arguments["columns"].split(", "))
        if "key" in found.column_names:
            found = found.filter(pc.not_equal(found["key"], "owner"))
        return found.column_names, rows(found)
    scan = table.scan(**asked.arguments)
    return (None, [[scan.count()]]) if asked.count else (list(scan.columns), rows(scan.to_arrow()))


@pytest.mark.parametrize("table", [name for name, checks in ASKED.items() if checks])
def test_golden(golden: PaimonCatalog, table: str) -> None:
    wrong = []
    for check in ASKED[table]:
        asked = question(check["query"])
        assert asked is not None
        try:
            names, found = answer(golden, asked)
        except Exception as error:
            if not re.search(REFUSED_TABLES.get(table, r"$^"), str(error)):
                wrong.append(f"{check['query']}\n    {type(error).__name__}: {error}")
            continue
        assert names in (None, check["columns"]), check["query"]
        problem = difference(check["rows"], found, ordered=False)
        if problem:
            wrong.append(f"{check['query']}\n    {problem}")
    assert wrong == []


def test_nearly_all_queries_are_asked() -> None:
    everything = [c["query"] for name in golden_names() for c in golden_checks(name)]
    assert len(sum(ASKED.values(), [])) / len(everything) > 0.9
