"""docs/ARCHITECTURE.md lists every hook into Spark, in the words of the code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from paimon_sql import spark
from paimon_sql.spark.jvm.hooks import Hook

ARCHITECTURE = Path(__file__).parents[4] / "docs" / "ARCHITECTURE.md"


def hooks_of(module: ModuleType) -> Iterator[tuple[str, Hook]]:
    """The hooks that a module defines, by name."""
    own = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
    for owner in (module, *own):
        for name, member in vars(owner).items():
            found = getattr(member, "hook", None)
            if isinstance(found, Hook) and member.__module__ == module.__name__:
                yield f"{owner.__name__}.{name}" if owner is not module else name, found


def table() -> list[str]:
    """The rows of the table, module by module."""
    rows = []
    for info in pkgutil.walk_packages(spark.__path__, "paimon_sql.spark."):
        short = info.name.removeprefix("paimon_sql.spark.").replace(".", "/")
        for name, hook in hooks_of(importlib.import_module(info.name)):
            rows.append(f"| `{short}.{name}` | {hook.internal} | {hook.breaks} |")
    return rows


def test_there_are_hooks() -> None:
    assert len(table()) > 50


def test_the_architecture_lists_them() -> None:
    section = ARCHITECTURE.read_text("utf-8").partition("## Hooks into Spark\n")[2].partition("\n## ")[0]
    written = [line for line in section.splitlines() if line.startswith("| `") and ".java`" not in line]
    assert written == table(), "put these into docs/ARCHITECTURE.md:\n" + "\n".join(table())
