from __future__ import annotations

import pytest

from paimon_sql.preprocess import PaimonStatement, PreprocessError, Script, preprocess
from paimon_sql.preprocess.cursor import NAMED_LATER
from paimon_sql.preprocess.statements import (
    ChangeColumns,
    CopyIntoTable,
    CreateMaterialized,
    CreateTag,
    DeleteTags,
    DropMaterialized,
    RefreshMaterialized,
    RenameTag,
    ShowMaterialized,
    SuspendMaterialized,
    Value,
)

T = ("t",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ALTER TABLE t CREATE TAG `2024-10-12`", CreateTag(T, "2024-10-12")),
        (
            "ALTER TABLE c.db.t CREATE TAG IF NOT EXISTS x AS OF VERSION 3\n  RETAIN 7 DAYS;",
            CreateTag(("c", "db", "t"), "x", if_not_exists=True, snapshot=3, retained="7 days"),
        ),
        ("ALTER TABLE t CREATE OR REPLACE TAG x", CreateTag(T, "x", replaces=True)),
        (
            "alter table t replace tag x retain 12 hours",
            CreateTag(T, "x", replaces=True, must_exist=True, retained="12 hours"),
        ),
        ("ALTER TABLE t DELETE TAG `a, b`", DeleteTags(T, "a, b")),
        ("ALTER TABLE t DELETE TAG IF EXISTS a", DeleteTags(T, "a", if_exists=True)),
        (r"ALTER TABLE t RENAME TAG a TO `b'\`", RenameTag(T, "a", "b'\\")),
    ],
)
def test_what_is_said(text: str, value: Value) -> None:
    assert preprocess(text) == PaimonStatement(value)
    assert preprocess(f"-- mine\nEXPLAIN extended {text}") == PaimonStatement(value, "EXPLAIN EXTENDED")


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t SET TBLPROPERTIES ('a' = ' tag')",
        "ALTER TABLE IDENTIFIER() CREATE TAG a",
        "ALTER TABLE IDENTIFIER(x CREATE TAG a",
    ],
)
def test_what_is_not_understood_is_left_to_spark(text: str) -> None:
    assert not isinstance(preprocess(text), PaimonStatement)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("ALTER TABLE t CREATE TAG", "line 1, column 22"),
        ("ALTER TABLE t CREATE TAG 'a'", "CREATE TAG name"),
        ("ALTER TABLE t CREATE TAG :a", "CREATE TAG name"),
        ("ALTER TABLE t CREATE TAG a b", "column 28"),
        ("ALTER TABLE t CREATE TAG a; SELECT 1", "CREATE TAG name"),
        ("ALTER TABLE t CREATE TAG a AS OF 1", "AS OF VERSION snapshot"),
        ("ALTER TABLE t CREATE TAG a AS OF VERSION x", "AS OF VERSION snapshot"),
        ("ALTER TABLE t CREATE TAG a RETAIN 1 YEARS", "RETAIN number DAYS"),
        ("ALTER TABLE t RENAME TAG a", "RENAME TAG name TO other"),
        ("ALTER TABLE t RENAME TAG a b", "RENAME TAG name TO other"),
        ("ALTER TABLE t DELETE TAG", "DELETE TAG .IF EXISTS. name"),
    ],
)
def test_statements_that_are_incomplete_show_what_to_write(text: str, usage: str) -> None:
    with pytest.raises(PreprocessError, match=usage):
        preprocess(text)
    assert preprocess(text, is_elsewhere=lambda name: True).is_elsewhere


# a statement of each kind that only Paimon has on a table or a database
BY_EXPRESSIONS = {
    "ALTER TABLE {} CREATE TAG a": CreateTag,
    "ALTER TABLE {} REPLACE TAG a RETAIN 1 DAYS": CreateTag,
    "ALTER TABLE {} DELETE TAG a": DeleteTags,
    "ALTER TABLE {} RENAME TAG a TO b": RenameTag,
    "ALTER TABLE {} MODIFY c BIGINT": ChangeColumns,
    "COPY INTO {} (a) FROM '/x' FILE_FORMAT = (TYPE = CSV)": CopyIntoTable,
    "CREATE MATERIALIZED TABLE {} FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS a": CreateMaterialized,
    "REFRESH MATERIALIZED TABLE {}": RefreshMaterialized,
    "ALTER MATERIALIZED TABLE {} SUSPEND": SuspendMaterialized,
    "DROP MATERIALIZED TABLE IF EXISTS {}": DropMaterialized,
    "SHOW MATERIALIZED TABLES IN {} LIKE 'a*'": ShowMaterialized,
}


@pytest.mark.parametrize("text", BY_EXPRESSIONS)
@pytest.mark.parametrize(
    "expression", ["'t'", ":n", "?", "x || upper('d.t$branch_b') /* ) */", "CASE WHEN (1) THEN x END"]
)
def test_tables_that_expressions_name(text: str, expression: str) -> None:
    found = preprocess(text.format(f"identifier ( {expression} )"))
    assert isinstance(found, PaimonStatement) and type(found.value) is BY_EXPRESSIONS[text]
    named = found.value.database if isinstance(found.value, ShowMaterialized) else getattr(found.value, "table", None)
    assert (named, found.named_by.strip()) == (NAMED_LATER, expression)
    script = preprocess(f"BEGIN {text.format(f'IDENTIFIER({expression})')}; END")
    assert isinstance(script, Script) and [s.named_by for s in script.statements] == [expression]


def test_tables_with_names_have_no_expression() -> None:
    for text in BY_EXPRESSIONS:
        found = preprocess(text.format("a.identifier"))
        assert isinstance(found, PaimonStatement) and not found.named_by
