"""Names in quotes."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess.quoting import with_quoted_system_tables


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("t", "t"),
        ("t$files", "`t$files`"),
        ("c.d.t$branch_b$files", "c.d.`t$branch_b$files`"),
        ("`t$files`", "`t$files`"),
        ("c.`a.b$c`.t$files", "c.`a.b$c`.`t$files`"),
        ("`a``b$c`.t", "`a``b$c`.t"),
    ],
)
def test_system_tables(name: str, quoted: str) -> None:
    assert with_quoted_system_tables(name) == quoted
