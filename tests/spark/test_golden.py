"""Tables that Apache Paimon's Java connector wrote: every query that it answered has the same answer here.

Where a table or a query needs what this version does not do yet, it is refused by name. The lists below say what is
refused and are strict both ways: a refusal that is not listed fails, and so does an entry that nothing needs anymore.

What the system tables of all tables hold tests/unit/system_tables compares without Spark; the commonest are asked for
through Spark of some tables only.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException

import paimon_sql
from tests.support.comparison import cells, difference
from tests.support.golden import GOLDEN, REFUSED_TABLES, golden_checks, golden_names, system_table_columns
from tests.support.remote_storage import RemoteStorage, put_folder
from tests.support.spark_versions import spark_minor

pytestmark = pytest.mark.spark

# what is in a query: what the message says; of any table
REFUSED_QUERIES: dict[str, str] = {}
COMMON = ("snapshots", "schemas", "options", "files", "manifests", "buckets")
# what queries have in them, and the Spark that reads it first: functions, and a quote doubled in a string
NOT_BEFORE = {"theta_sketch_estimate": (4, 1), "'a''b'": (4, 1)}
WITH_COMMON = frozenset(golden_names()[::9])


@pytest.fixture(scope="module")
def golden(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session whose catalog holds the tables, a copy of them."""
    remote = RemoteStorage.given()
    local = tmp_path_factory.mktemp("golden") / "warehouse"
    options = {"warehouse": str(local)} if remote is None else remote.warehouse()
    if remote is None:
        shutil.copytree(GOLDEN / "warehouse", local)
    else:
        put_folder(GOLDEN / "warehouse", options)
    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    for key, value in options.items():
        session.conf.set(f"spark.sql.catalog.paimon.{key}", value)
    yield paimon_sql.install(session)
    shutil.rmtree(local, ignore_errors=True)


@pytest.mark.parametrize("table", golden_names())
def test_golden(golden: Any, table: str) -> None:
    golden.sql("USE paimon.golden")
    checks = [c for c in golden_checks(table) if table in WITH_COMMON or not _is_common(c["query"])]
    checks = [c for c in checks if not any(w in c["query"] and spark_minor() < v for w, v in NOT_BEFORE.items())]
    refusal, refused = REFUSED_TABLES.get(table), 0
    wrong = []
    for check, problem in problems(golden, checks):
        expected = _refusal_of(check["query"])
        if expected is None and refusal is not None and problem is not None:
            expected, refused = refusal, refused + 1
        if expected is None and problem is not None:
            wrong.append(f"{check['query']}\n    {problem}")
        elif expected is not None and (problem is None or not re.search(f"^refused: .*{expected}", problem)):
            wrong.append(f"{check['query']}\n    should be refused with {expected!r}; {problem or 'it holds'}")
    assert not wrong, f"{len(wrong)} of {len(checks)} checks:\n" + "\n".join(wrong)
    assert refused or refusal is None, f"no query needs the entry of {table} in REFUSED_TABLES: remove it"


def test_lists_name_what_exists() -> None:
    queries = [check["query"] for name in golden_names() for check in golden_checks(name)]
    assert set(golden_names()) >= set(REFUSED_TABLES)
    for pattern in REFUSED_QUERIES:
        assert any(re.search(pattern, q) for q in queries), pattern


def _is_common(query: str) -> bool:
    asked = system_table_columns(query)
    return asked is not None and asked[0] in COMMON


def _refusal_of(query: str) -> str | None:
    return next((message for pattern, message in REFUSED_QUERIES.items() if re.search(pattern, query)), None)


def problems(session: Any, checks: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each check with why it does not hold; those of equal columns are asked in one statement."""
    by_columns = defaultdict(list)
    for check in checks:
        by_columns["" if check["ordered"] else str(check["columns"])].append(check)
    for alone in by_columns.pop("", ()):
        yield alone, _problem(session, alone)
    for group in by_columns.values():
        answers = _answers(session, [c["query"] for c in group]) if len(group) > 1 else None
        for number, check in enumerate(group):
            right = answers is not None and difference(check["rows"], answers.get(number, [])) is None
            yield check, None if right else _problem(session, check)


def _answers(session: Any, queries: list[str]) -> dict[int, list[Any]] | None:
    """The rows of each query by its number, None where one fails or their columns do not go together."""
    try:
        frame = session.sql(" UNION ALL ".join(f"SELECT {n}, * FROM ({q})" for n, q in enumerate(queries)))
        rows = frame.collect()
    except PySparkException:
        return None
    answers: dict[int, list[Any]] = defaultdict(list)
    for number, *row in cells(rows):
        answers[number].append(row)
    return answers


def _problem(session: Any, check: dict[str, Any]) -> str | None:
    """Why a check does not hold; `refused: ` before the message of an error that Spark's users can read."""
    try:
        frame = session.sql(check["query"])
        columns, rows = frame.columns, cells(frame.collect())
    except PySparkException as error:
        return f"refused: {error}".partition("\n")[0]
    if columns != check["columns"]:
        return f"columns {columns} instead of {check['columns']}"
    return difference(check["rows"], rows, ordered=check["ordered"])
