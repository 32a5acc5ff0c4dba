from __future__ import annotations

import pytest

from paimon_sql.preprocess import PaimonStatement, preprocess
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, RenameTag, Value

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
        "ALTER TABLE t CREATE TAG",
        "ALTER TABLE t CREATE TAG a b",
        "ALTER TABLE t CREATE TAG a; SELECT 1",
        "ALTER TABLE t CREATE TAG a RETAIN 1 YEARS",
        "ALTER TABLE t CREATE TAG a AS OF VERSION x",
        "ALTER TABLE t RENAME TAG a",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = ' tag')",
        "ALTER TABLE IDENTIFIER('t') CREATE TAG a",
    ],
)
def test_what_is_not_understood_is_left_to_spark(text: str) -> None:
    assert not isinstance(preprocess(text), PaimonStatement)
