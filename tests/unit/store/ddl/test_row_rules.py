"""The rules for rows that are written, and the one place where writers get them."""

from __future__ import annotations

import re
from pathlib import Path

from paimon_core.spec.types import DATE, INT, STRING
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind
from paimon_core.store.ddl.generated_columns import GeneratedColumn
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.row_rules import RowRules
from tests.support.tables import fields

ROOT = Path(__file__).parents[4]
# rules of a definition or of what a commit has found, not of rows that are written; and what Spark shows of a table
DEFINITIONS = ("spark/tables/", "spark/jvm/", "python/definitions.py")


def test_the_rules_of_a_schema() -> None:
    positive = Constraint("positive", ConstraintKind.CHECK, ("k",), "k > 0", enforced=True)
    known = Constraint("known", ConstraintKind.CHECK, ("s",), "s <> 'x'", enforced=False)
    day = GeneratedColumn("dt", "CAST(s AS DATE)", ("s",))
    options = {made.key: made.value for made in (positive, known, day)}
    rules = RowRules.of(new_table_schema(fields(k=INT, s=STRING, dt=DATE), options=options))
    assert [c.name for c in rules.checks] == ["positive", "of generated column dt"]
    assert rules.made == {"dt"} and rules.made_anew(["s"]) == ("dt",)
    plain = RowRules.of(new_table_schema(fields(k=INT)))
    assert not (plain.checks or plain.generated or plain.defaults)
    assert plain.digest != rules.digest


def test_writers_get_their_rules_in_one_place() -> None:
    """A writer that read constraints or generated columns itself could forget the other, or the defaults."""
    folder = ROOT / "paimon_sql"
    texts = {str(p.relative_to(folder)): p.read_text("utf-8") for p in folder.rglob("*.py")}
    reading = {name for name, text in texts.items() if re.search(r"\b(checks_of|generated_of|check_zone)\b", text)}
    assert [name for name in reading if not name.startswith(DEFINITIONS)] == []
    assert sum("RowRules" in text for text in texts.values()) >= 10
