"""docs/ARCHITECTURE.md lists every hook into Spark, in the words of the code."""

from __future__ import annotations

from pathlib import Path

from paimon_sql.spark.diagnosis import all_hooks

ARCHITECTURE = Path(__file__).parents[4] / "docs" / "ARCHITECTURE.md"


def table() -> list[str]:
    """The rows of the table, module by module."""
    rows = []
    for name, hook in all_hooks():
        variants = "; ".join(v.name for v in hook.variants) if len(hook.variants) > 1 else ""
        rows.append(f"| `{name}` | {hook.internal} | {variants} | {hook.breaks} |")
    return rows


def test_there_are_hooks() -> None:
    assert len(table()) > 50


def test_the_architecture_lists_them() -> None:
    section = ARCHITECTURE.read_text("utf-8").partition("## Hooks into Spark\n")[2].partition("\n## ")[0]
    written = [line for line in section.splitlines() if line.startswith("| `") and ".java`" not in line]
    assert written == table(), "put these into docs/ARCHITECTURE.md:\n" + "\n".join(table())
