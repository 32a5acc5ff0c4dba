"""`paimon_sql/spark/jvm` is the one door to Spark: nothing else names a class of Spark's or looks into its plans."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
DOOR = ROOT / "paimon_sql" / "spark" / "jvm"
FOLDERS = [ROOT / "paimon_sql", ROOT / "paimon_core", ROOT / "catalog", ROOT / "procedures"]
# a metastore's entries name classes of Hive, and settings of storages classes of Hadoop; no JVM is near
VALUES = (ROOT / "catalog" / "hive", ROOT / "paimon_core" / "io")
OUTSIDE = sorted(
    path
    for folder in FOLDERS
    for path in folder.rglob("*.py")
    if not any(path.is_relative_to(folder) for folder in (DOOR, *VALUES))
)
CLASS_NAME = re.compile(
    r"(\[L)?(java|javax|scala|py4j|net\.razorvine|org\.codehaus|org\.apache\.(?!paimon\b)\w+)\.[\w.$;]*$"
)
REACHES_IN = frozenset(
    (
        *("java_class", "scala_object", "constant", "simple_name"),  # of the gateway
        *("getClass", "getSimpleName", "nodeName", "prettyName"),  # what a node is
        *("queryExecution", "sessionState", "experimental", "extensions", "sharedState"),  # Spark's own
        *("_jvm", "_gateway", "_jsc", "_jdf", "_jc", "_jreader", "_jwrite", "_jwriter", "_jsparkSession", "_jrdd"),
    )
)


def breaches(source: str) -> Iterator[str]:
    """What a module does that only those behind the door may do."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if name in REACHES_IN:
                yield f"line {node.lineno}: {name}"
            case ast.Constant(value=str(text)) if CLASS_NAME.match(text):
                yield f"line {node.lineno}: {text}"


def test_there_is_something_outside_of_the_door() -> None:
    assert len(OUTSIDE) > 100


def test_nothing_else_reaches_into_spark() -> None:
    found = {str(path.relative_to(ROOT)): [*breaches(path.read_text("utf-8"))] for path in OUTSIDE}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        'jvm.make("org.apache.spark.sql.catalyst.plans.logical.AppendData")',
        'x = f"org.apache.spark.sql.{name}"',
        'x = "java.util.ArrayList"',
        'x = "[Ljava.lang.String;"',
        'x = "scala.Function1"',
        "frame._jdf",
        "frame.queryExecution().analyzed()",
        "session.sessionState().conf()",
        'plan.nodeName() == "AppendData"',
        "jvm.java_class(name)",
        "from paimon_sql.spark.jvm.gateway import simple_name",
    ],
)
def test_breaches_are_found(source: str) -> None:
    assert [*breaches(source)]


@pytest.mark.parametrize("source", ['x = "org.apache.paimon.spark.SparkCatalog"', '"""A java.sql.Date, see below."""'])
def test_other_names_are_fine(source: str) -> None:
    assert not [*breaches(source)]
