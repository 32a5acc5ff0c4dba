"""The table of types is complete: each kind has its row, and each column of the table has decided about each kind."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from enum import Enum

import pytest

from paimon_core.spec import kinds
from paimon_core.spec.kinds import KINDS, Kind, KindColumn
from tests.unit.test_house import MODULES, ROOT, module_name

FAMILIES = {
    frozenset(kind.name for kind in getattr(kinds, name)): name
    for name in ("INTEGERS", "FLOATS", "NUMBERS", "TEXTS", "BINARIES", "STRINGS", "MOMENTS", "NESTED_KINDS")
}
MOST_ENTRIES = 4  # of a dictionary by kinds that is not a column
OURS = "paimon_core/spec/kinds.py"


class NewKind(Enum):
    GEOMETRY = "GEOMETRY"


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        if "Kind." in source and str(path.relative_to(ROOT)) != OURS:
            yield str(path.relative_to(ROOT)), ast.parse(source)


def _columns() -> dict[str, KindColumn]:
    """Every column of the product, by the name of its module and its own."""
    found = {}
    for path in MODULES:
        if "KindColumn" in path.read_text(encoding="utf-8"):
            module = importlib.import_module(module_name(path))
            values = vars(module).items()
            found.update({f"{module.__name__}.{name}": v for name, v in values if isinstance(v, KindColumn)})
    return found


def _kind(node: ast.AST | None) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Kind":
        return node.attr
    return None


def test_each_kind_has_a_row_and_is_decided_in_each_column() -> None:
    rows = {"paimon_core.spec.kinds.KINDS": [kind.name for kind in Kind if kind not in KINDS]}
    undecided = rows | {place: column.undecided() for place, column in _columns().items()}
    assert {place: missing for place, missing in undecided.items() if missing} == {}


def test_a_new_kind_is_missing_in_each_column() -> None:
    columns = _columns()
    assert {
        "paimon_core.arrow.types._ATOMIC",
        "paimon_core.formats.avro.schema._PLAIN",
        "paimon_core.formats.parquet.plain_columns._SIMPLE",
        "paimon_core.indexes.file_index.keys._WIDTHS",
        "paimon_core.spec.binary_row._SLOT",
        "paimon_core.spec.casts._IMPLICIT",
        "paimon_sql.catalog.hive.types._NAMES",
        "paimon_sql.spark.types._SIMPLE",
    } <= columns.keys()
    assert [place for place, column in columns.items() if column.undecided([NewKind.GEOMETRY]) != ["GEOMETRY"]] == []


def test_a_kind_that_is_an_entry_and_left_out_is_undecided() -> None:
    others = " ".join(kind.name for kind in Kind)
    assert KindColumn({Kind.INT: 1}, others=others).undecided() == ["INT"]
    with pytest.raises(KeyError):
        KindColumn({}, others="INTEGER")


def test_dictionaries_by_kinds_are_columns_of_the_table() -> None:
    """Otherwise a new kind would be missing there, and no test would say so."""
    large = []
    for place, tree in _trees():
        columns = {id(n.args[0]) for n in ast.walk(tree) if isinstance(n, ast.Call) and _is_column(n.func) and n.args}
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and sum(_kind(key) is not None for key in node.keys) > MOST_ENTRIES:
                large += [] if id(node) in columns else [f"{place}:{node.lineno}"]
    assert large == []


def _is_column(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "KindColumn"


def test_families_of_kinds_are_said_once() -> None:
    repeated = []
    for place, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple | ast.Set | ast.List):
                names = [_kind(part) for part in node.elts]
                family = FAMILIES.get(frozenset(n for n in names if n)) if None not in names else None
                repeated += [f"{place}:{node.lineno} is {family}"] if family else []
    assert repeated == []
