"""Which parsed statements are rewritten, and how little of the others is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.spark.jvm.plans import TableReference
from paimon_sql.spark.statements.rewrites import StatementRewriter

TABLES = {
    "AnalyzeColumn": "child",
    "AnalyzeTable": "child",
    "DeleteFromTable": "table",
    "DropPartitions": "table",
    "InsertIntoStatement": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
}


class Node:
    """A Java object of a class, that has these members and no others."""

    def __init__(self, name: str, **members: Any) -> None:
        self._name, self._members = name, members

    def getClass(self) -> Any:
        return SimpleNamespace(getSimpleName=lambda: self._name, getName=lambda: f"of.spark.{self._name}")

    def __getattr__(self, name: str) -> Any:
        assert name in self._members, f"{name} of {self._name} is read"
        return lambda: self._members[name]


class OthersTables:
    """A registry whose session has only tables of other connectors."""

    jvm = session = None

    def __init__(self) -> None:
        self.asked: list[TableReference | None] = []

    def find(self, reference: TableReference | None) -> None:
        self.asked.append(reference)


@pytest.mark.parametrize("name", TABLES)
def test_only_the_table_of_other_connectors_statements_is_read(name: str) -> None:
    parts = SimpleNamespace(size=lambda: 2, apply=lambda i: ("db", "t")[i])
    named = Node("AliasIdentifier", qualifier=SimpleNamespace(isEmpty=lambda: True))
    table = Node(
        "SubqueryAlias", child=Node("UnresolvedRelation", multipartIdentifier=parts), alias="x", identifier=named
    )
    plan, registry = Node(name, **{TABLES[name]: table}), OthersTables()
    rewriter = StatementRewriter(registry)  # type: ignore[arg-type]
    assert rewriter.rewritten(plan) is plan  # type: ignore[arg-type]
    assert [(found.parts, found.alias) for found in registry.asked if found] == [(("db", "t"), "x")]
    assert rewriter.command(plan) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Project", "SetCommand", "CreateTempViewUsing"])
def test_other_plans_are_left_as_they_are(name: str) -> None:
    relation = Node("LocalRelation")
    plan, registry = Node(name, table=relation), OthersTables()
    assert StatementRewriter(registry).rewritten(plan) is plan  # type: ignore[arg-type]
    assert registry.asked == []
