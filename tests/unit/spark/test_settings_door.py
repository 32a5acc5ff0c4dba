"""Spark's settings are read as Spark reads them, by `SessionBridge.setting`, and by no other way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("paimon_sql", "procedures", "catalog", "dbt-paimon/dbt")
# a text with a default of ours; what a session says to a key, as a text
OTHER_WAYS = re.compile(
    r"\bgetConfString\(|\bgetAllConfs\b|\bconf\.get\(|\bgetConf\(|\.(?:own_)?setting\([^)]*\)\s*(?:\.lower\(\)|\.upper\(\))"
    r"|\.(?:own_)?setting\([^)]*\)\s*[!=]=\s*\"(?i:true|false)\""
)
# each with the reason that what it reads is text, or no setting of a session
ALLOWED = {
    "paimon_sql/session.py": 3,  # whether a setting has the text that it is given; names of catalogs
    "paimon_sql/notebook/magics.py": 1,  # PySpark's own answer, with Spark's default: the name of a time zone
    "paimon_sql/shell/runner.py": 1,  # the same
    "paimon_sql/server/ui/spark_queries.py": 1,  # the same
    "paimon_sql/spark/jvm/client_sessions.py": 1,  # of the context: the names of classes
    "paimon_sql/spark/jvm/programs.py": 2,  # a copy of the context's, for PySpark's context, and the executors' Python
    "paimon_sql/spark/jvm/sessions.py": 2,  # the way
    "paimon_sql/spark/redaction.py": 1,  # a pattern, of the session and the context
}


def other_ways(source: str) -> list[str]:
    return [found[0] for found in OTHER_WAYS.finditer(source)]


def test_settings_are_read_in_one_way() -> None:
    found: dict[str, int] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if count := len(other_ways(path.read_text("utf-8"))):
                found[str(path.relative_to(ROOT))] = count
    assert found == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        'self._conf.getConfString("spark.sql.ansi.enabled", "true") == "true"',
        'spark.conf.get("spark.sql.ansi.enabled", "true")',
        'session.setting("spark.sql.ansi.enabled") == "true"',
        'session.setting("spark.sql.ansi.enabled").lower() == "true"',
        "conf.getConf(KEY)",
    ],
)
def test_another_way_is_found(source: str) -> None:
    assert other_ways(source)
