"""The house rules that a machine can check: sizes, layers' edges, the public surface, the packaging."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORT_NAMES = {"paimon_core": "paimon_core", "paimon_sql": "paimon_sql"} | {
    "catalog": "paimon_sql.catalog",
    "procedures": "paimon_sql.procedures",
}
MODULES = sorted(path for folder in IMPORT_NAMES for path in (ROOT / folder).rglob("*.py"))
MAX_MODULE_LINES, MAX_FUNCTION_LINES, MAX_PARAMETERS = 600, 60, 7
CRUMB_LINES, MOST_CRUMBS = 60, 22

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions() -> Iterator[tuple[str, Function]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def _is_procedure(node):
    return any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "procedure" for d in node.decorator_list)


def _python(code: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_there_is_a_house():
    assert len(MODULES) > 50


def test_no_module_is_too_long():
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: count for path, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_no_function_is_too_long():
    lines = {name: (node.end_lineno or node.lineno) - node.lineno + 1 for name, node in _functions()}
    assert {name: count for name, count in lines.items() if count > MAX_FUNCTION_LINES} == {}


def test_no_function_takes_too_much():
    functions = [(name, node) for name, node in _functions() if not _is_procedure(node)]  # theirs are SQL's arguments
    taken = {name: [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs] for name, node in functions}
    counts = {name: len([a for a in found if a.arg not in ("self", "cls")]) for name, found in taken.items()}
    assert {name: count for name, count in counts.items() if count > MAX_PARAMETERS} == {}


def test_no_value_is_computed_under_the_lock_of_a_class():
    """Before Python 3.12 `functools.cached_property` has one lock per class: a storage that hangs would hold up all."""
    used = re.compile(r"from functools import .*\bcached_property\b|functools\.cached_property")
    users = [str(p.relative_to(ROOT)) for p in MODULES if used.search(p.read_text("utf-8")) and p.name != "lazy.py"]
    assert users == []


def test_nothing_is_left_to_do():
    left = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
    assert [str(path.relative_to(ROOT)) for path in MODULES if left.search(path.read_text(encoding="utf-8"))] == []


def test_one_module_alone_knows_the_gateway_to_the_jvm():
    gateway = re.compile(r"\._jvm\b|\._gateway\b")
    users = [str(path.relative_to(ROOT)) for path in MODULES if gateway.search(path.read_text(encoding="utf-8"))]
    assert users == ["paimon_sql/spark/jvm/gateway.py"]


def _names_of(path: Path) -> Iterator[str]:
    """Yield the name of each statement at the top of a module that gives a name its value."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, Function | ast.ClassDef):
            if not node.decorator_list:  # `overload` and `singledispatch` give one name many times
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def test_a_module_gives_each_of_its_names_one_value() -> None:
    """A second `_PATTERN = …` replaces the first for all functions of the module, and no linter reports it."""
    counts = {str(path.relative_to(ROOT)): Counter(_names_of(path)) for path in MODULES}
    assert {
        path: [name for name, n in names.items() if n > 1]
        for path, names in counts.items()
        if names.total() > len(names)
    } == {}


def test_no_imports_go_in_a_circle() -> None:
    """A circle fails or passes by the module that a program imports first, so other tests can miss it."""
    names = {_module_name(path) for path in MODULES}
    imports: dict[str, set[str]] = {}
    for path in MODULES:
        found = imports.setdefault(_module_name(path), set())
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                below = (f"{node.module}.{alias.name}" for alias in node.names)
                found.update({name if name in names else node.module for name in below} & names)
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_modules_are_not_crumbs() -> None:
    """A short module with one importer, or none, belongs where it is used. The bound must only sink."""
    importers: dict[str, set[str]] = {_module_name(path): set() for path in MODULES}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                for name in {n if n in importers else node.module for n in names} & importers.keys():
                    importers[name].add(_module_name(path))
    crumbs = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if path.name not in ("__init__.py", "__main__.py")
        and len(path.read_text(encoding="utf-8").splitlines()) < CRUMB_LINES
        and len(importers[_module_name(path)]) < 2
    ]
    assert len(crumbs) <= MOST_CRUMBS, f"merge one of {crumbs} into the module of its subject"


def _module_name(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([IMPORT_NAMES[folder], *rest]).removesuffix(".__init__")


CHANGED_BY_OTHERS = {  # new copies, by functions beside their class, and modules of Python
    "paimon_sql/spark/read/table_scan.py narrow.required",
    *(f"paimon_sql/spark/streams/source.py narrow.{name}" for name in ("request", "pruning", "planned")),
    "paimon_sql/spark/workers/daemon.py archives.invalidate_caches",
    "paimon_sql/spark/workers/worker.py tempfile.tempdir",
}


def test_objects_of_the_bridge_set_their_own_attributes() -> None:
    """So the class of an object shows all of its states."""
    found = set()
    for path in MODULES:
        place = str(path.relative_to(ROOT))
        if not place.startswith("paimon_sql/spark/") or place.startswith("paimon_sql/spark/jvm/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
            for target in (part for t in targets for part in ast.walk(t) if isinstance(part, ast.Attribute)):
                if isinstance(target.ctx, ast.Store) and ast.unparse(target.value) not in ("self", "cls"):
                    found.add(f"{place} {ast.unparse(target)}")
    assert found - CHANGED_BY_OTHERS == set()


def test_every_folder_says_what_lives_there():
    packages = [path for path in MODULES if path.name == "__init__.py"]
    assert [str(p.relative_to(ROOT)) for p in packages if not ast.get_docstring(ast.parse(p.read_text("utf-8")))] == []


def test_unit_tests_mirror_the_folders_of_the_code():
    unit = ROOT / "tests" / "unit"
    folders = sorted(path.parent.relative_to(unit) for path in unit.rglob("__init__.py"))
    code = [ROOT, ROOT / "paimon_core", ROOT / "paimon_sql"]
    assert [str(folder) for folder in folders if not any((root / folder).is_dir() for root in code)] == []


def test_importing_the_package_imports_no_pyspark(tmp_path: Path):
    code = "import sys, paimon_sql; print([m for m in ('pyspark', 'py4j', 'pyarrow', 'sqlglot') if m in sys.modules])"
    assert _python(code, tmp_path) == "[]"


@pytest.mark.parametrize("name", ["catalog", "procedures"])
def test_generic_folder_names_are_no_import_names(name: str, tmp_path: Path):
    code = f"import importlib.util as u; print(u.find_spec({name!r}), u.find_spec('paimon_sql.{name}') is not None)"
    assert _python(code, tmp_path) == "None True"


def test_every_package_is_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    found = set()
    for folder, name in IMPORT_NAMES.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join([name, *path.parent.relative_to(ROOT / folder).parts]))
    assert set(declared) == found
    assert [d for d in declared if importlib.util.find_spec(d) is None] == []


@pytest.mark.parametrize("name", ["paimon_sql", "paimon_sql.preprocess", "paimon_sql.procedures"])
def test_public_names_exist(name: str):
    package = importlib.import_module(name)
    assert [n for n in package.__all__ if not hasattr(package, n)] == []
    assert len(set(package.__all__)) == len(package.__all__)


def test_the_public_names_of_the_product():
    assert set(importlib.import_module("paimon_sql").__all__) == {
        "SparkCatalog",
        "configured_catalogs",
        "connect",
        "doctor",
        "install",
        "metrics",
        "open_catalog",
        "open_table",
        "show",
    }


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 loses matches of `(?:…)*+` (gh-106052); `(?>(?:…)*)` is the same and right."""
    lines = (line for p in sorted((ROOT / "paimon_sql").rglob("*.py")) for line in p.read_text("utf-8").splitlines())
    repeated = re.compile(r"\)[*+?]\+|\}\}\+")
    assert [line for line in lines if repeated.search(line)] == []


def test_no_dependency_brings_compiled_classes_that_other_tools_cannot_subclass() -> None:
    """SQLMesh subclasses sqlglot's classes, which `sqlglot[c]` replaces by compiled ones for a whole environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(w for extra in project["optional-dependencies"].values() for w in extra)]
    assert [w for w in wanted if re.match(r"sqlglot(c\b|rs\b|\[)", w)] == []


def test_every_public_class_has_a_name_of_its_own():
    """`Java` is the part of a proxy that py4j reads."""
    found = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Java"
    )
    assert [name for name, count in found.items() if count > 1] == []
