"""Write docs/hooks.md: every hook into Spark, with the texts in the code. `python scripts/hooks_page.py`."""

from __future__ import annotations

from pathlib import Path

from paimon_sql.spark.diagnosis import all_hooks

PAGE = Path(__file__).parents[1] / "docs" / "hooks.md"
_HEAD = """\
# Hooks into Spark

The parts of Spark, PySpark and py4j that this package uses and that Spark does not document. `scripts/hooks_page.py`
makes the page from the code; [architecture](ARCHITECTURE.md#hooks-into-spark) explains hooks and variants. The last
column describes what fails, or what happens instead, if a version of Spark lacks the part.

| hook | internal | variants, the newest first | without it |
|---|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    rows = []
    for name, hook in all_hooks():
        variants = "; ".join(v.name for v in hook.variants) if len(hook.variants) > 1 else ""
        rows.append(f"| `{name}` | {hook.internal} | {variants} | {hook.breaks} |\n")
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
