from __future__ import annotations

import pytest

from paimon_sql.preprocess import PaimonStatement, preprocess
from paimon_sql.preprocess.statements import ChangeColumns, ColumnChange

T = ("t",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ALTER TABLE t MODIFY a DOUBLE", ChangeColumns(T, (ColumnChange("a", "DOUBLE"),))),
        (
            "ALTER TABLE c.db.t MODIFY `a b` TIMESTAMP(3) NOT NULL COMMENT 'it''s' FIRST;",
            ChangeColumns(
                ("c", "db", "t"), (ColumnChange("a b", "TIMESTAMP(3) NOT NULL", comment="it's", first=True),)
            ),
        ),
        (
            """ALTER TABLE db.t MODIFY (
                a VARBINARY(10) AFTER b,
                c ARRAY<MAP<INT, ROW(f1 BIGINT NOT NULL 'one', f2 DECIMAL(10, 2))>>
            )""",
            ChangeColumns(
                ("db", "t"),
                (
                    ColumnChange("a", "VARBINARY(10)", after="b"),
                    ColumnChange(
                        "c",
                        {
                            "type": "ARRAY",
                            "element": {
                                "type": "MAP",
                                "key": "INT",
                                "value": {
                                    "type": "ROW",
                                    "fields": [
                                        {"id": 0, "name": "f1", "type": "BIGINT NOT NULL", "description": "one"},
                                        {"id": 1, "name": "f2", "type": "DECIMAL(10,2)"},
                                    ],
                                },
                            },
                        },
                    ),
                ),
            ),
        ),
        (
            "ALTER TABLE t ADD (a TIMESTAMP(3), b TIMESTAMP, c MULTISET<VARCHAR> NOT NULL, d TIMESTAMP_LTZ(3), "
            "e DOUBLE PRECISION)",
            ChangeColumns(
                T,
                (
                    ColumnChange("a", "TIMESTAMP(3)", adds=True),
                    ColumnChange("b", "TIMESTAMP_LTZ", adds=True),
                    ColumnChange("c", {"type": "MULTISET NOT NULL", "element": "STRING"}, adds=True),
                    ColumnChange("d", "TIMESTAMP_LTZ(3)", adds=True),
                    ColumnChange("e", "DOUBLE PRECISION", adds=True),
                ),
            ),
        ),
        (
            "ALTER TABLE t ADD COLUMN a BINARY(4) COMMENT 'x'",
            ChangeColumns(T, (ColumnChange("a", "BINARY(4)", adds=True, comment="x"),)),
        ),
        (
            "ALTER TABLE t ADD (v TIMESTAMP /* ms */ (3))",
            ChangeColumns(T, (ColumnChange("v", "TIMESTAMP(3)", adds=True),)),
        ),
        (
            "ALTER TABLE t ADD v VARBINARY -- it's\n(3)",
            ChangeColumns(T, (ColumnChange("v", "VARBINARY(3)", adds=True),)),
        ),
    ],
)
def test_what_is_said(text: str, value: ChangeColumns) -> None:
    assert preprocess(text) == PaimonStatement(value)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t ADD (a INT)",
        "ALTER TABLE t ADD PARTITION (a = TIMESTAMP(3))",
        "ALTER TABLE t ADD (a TIMESTAMP(3), b",
        "ALTER TABLE t ADD (a TIMESTAMP(3), b ARRAY<INT)",
        "ALTER TABLE t ADD (a TIMESTAMP(6))",
        "ALTER TABLE t RENAME COLUMN modify TO multiset",
    ],
)
def test_others_are_sparks(text: str) -> None:
    assert not isinstance(preprocess(text), PaimonStatement)
