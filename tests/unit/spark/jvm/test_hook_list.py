"""docs/hooks.md lists every hook into Spark, in the words of the code."""

from __future__ import annotations

from paimon_sql.spark.diagnosis import all_hooks
from scripts.hooks_page import PAGE, page


def test_there_are_hooks() -> None:
    assert len(list(all_hooks())) > 50


def test_the_page_lists_them() -> None:
    assert PAGE.read_text("utf-8") == page(), "run scripts/hooks_page.py"
