"""The house rules that a machine can check: sizes, layers' edges, the public surface, the packaging."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
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
# the module of tests and the names, in parentheses or on the line
_IMPORTED = re.compile(r"^\s*from (tests\.[\w.]+) import (?:\(([^)]*)\)|([^(\n]+))", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Written:
    """The facts about a function that the rules check."""

    place: str
    lines: int
    parameters: int
    is_procedure: bool  # its parameters are arguments of SQL


@dataclass(frozen=True, slots=True)
class Module:
    """The facts about a module that the rules check, from one walk over its tree."""

    place: str
    name: str
    text: str
    functions: tuple[Written, ...]
    classes: tuple[str, ...]
    docstring: str | None
    imported: frozenset[str]  # modules and their members
    imported_first: frozenset[str]  # when it is imported itself
    attributes: frozenset[str]  # set, of other objects than `self` and `cls`

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@cache
def modules() -> tuple[Module, ...]:
    return tuple(map(_module, MODULES))


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = [*ast.walk(tree)]
    place = str(path.relative_to(ROOT))
    return Module(
        place,
        module_name(path),
        text,
        tuple(_written(place, node) for node in nodes if isinstance(node, Function)),
        tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        ast.get_docstring(tree),
        frozenset(_imports(nodes)),
        frozenset(_imports(tree.body)),
        frozenset(_attributes(nodes)),
    )


def module_name(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([IMPORT_NAMES[folder], *rest]).removesuffix(".__init__")


def _written(place: str, node: Function) -> Written:
    taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return Written(
        f"{place}:{node.lineno} {node.name}",
        (node.end_lineno or node.lineno) - node.lineno + 1,
        len([argument for argument in taken if argument.arg not in ("self", "cls")]),
        any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "procedure" for d in node.decorator_list),
    )


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        for target in (part for t in targets for part in ast.walk(t) if isinstance(part, ast.Attribute)):
            if isinstance(target.ctx, ast.Store) and ast.unparse(target.value) not in ("self", "cls"):
                yield ast.unparse(target)


def _python(code: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_there_is_a_house():
    assert len(MODULES) > 50


def test_no_module_is_too_long():
    assert {module.place: module.lines for module in modules() if module.lines > MAX_MODULE_LINES} == {}


def test_no_function_is_too_long():
    functions = [function for module in modules() for function in module.functions]
    assert len(functions) > 5000
    assert {f.place: f.lines for f in functions if f.lines > MAX_FUNCTION_LINES} == {}


def test_no_function_takes_too_much():
    functions = [function for module in modules() for function in module.functions if not function.is_procedure]
    assert {f.place: f.parameters for f in functions if f.parameters > MAX_PARAMETERS} == {}


def test_no_value_is_computed_under_the_lock_of_a_class():
    """Before Python 3.12 `functools.cached_property` has one lock per class: a storage that hangs would hold up all."""
    used = re.compile(r"from functools import .*\bcached_property\b|functools\.cached_property")
    users = [m.place for m in modules() if used.search(m.text) and not m.place.endswith("/lazy.py")]
    assert users == []


def test_frozen_classes_compile_their_methods_when_they_are_used():
    """The standard decorator compiles them when a module is imported: a fifth of the time of a look-up of a key."""
    used = re.compile(r"from dataclasses import .*\bdataclass\b|dataclasses\.dataclass")
    users = [m.place for m in modules() if used.search(m.text) and m.place != "paimon_core/dataclass.py"]
    assert users == []


def test_nothing_is_left_to_do():
    left = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
    assert [module.place for module in modules() if left.search(module.text)] == []


def test_one_module_alone_knows_the_gateway_to_the_jvm():
    gateway = re.compile(r"\._jvm\b|\._gateway\b")
    users = [module.place for module in modules() if gateway.search(module.text)]
    assert users == ["paimon_sql/spark/jvm/gateway.py"]


def _modules_of(imported: frozenset[str], names: frozenset[str]) -> set[str]:
    """Return the modules, among `names`, from which members are imported."""
    return {name if name in names else name.rpartition(".")[0] for name in imported} & names


def test_no_imports_go_in_a_circle() -> None:
    """A circle fails or passes by the module that a program imports first, so other tests can miss it."""
    names = frozenset(module.name for module in modules())
    try:
        TopologicalSorter({m.name: _modules_of(m.imported_first, names) for m in modules()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_modules_are_not_crumbs() -> None:
    """A short module with one importer, or none, belongs where it is used. The bound must only sink."""
    names = frozenset(module.name for module in modules())
    importers = Counter(name for module in modules() for name in _modules_of(module.imported, names))
    crumbs = [
        module.place
        for module in modules()
        if not module.place.endswith(("/__init__.py", "/__main__.py"))
        and module.lines < CRUMB_LINES
        and importers[module.name] < 2
    ]
    assert len(crumbs) <= MOST_CRUMBS, f"merge one of {crumbs} into the module of its subject"


CHANGED_BY_OTHERS = {  # new copies, by functions beside their class, and modules of Python
    "paimon_sql/spark/read/table_scan.py narrow.required",
    *(f"paimon_sql/spark/streams/source.py narrow.{name}" for name in ("request", "pruning", "planned")),
    "paimon_sql/spark/workers/daemon.py archives.invalidate_caches",
    "paimon_sql/spark/workers/worker.py tempfile.tempdir",
}


def test_objects_of_the_bridge_set_their_own_attributes() -> None:
    """So the class of an object shows all of its states."""
    found = {
        f"{module.place} {target}"
        for module in modules()
        if module.place.startswith("paimon_sql/spark/") and not module.place.startswith("paimon_sql/spark/jvm/")
        for target in module.attributes
    }
    assert found - CHANGED_BY_OTHERS == set()


def test_every_folder_says_what_lives_there():
    packages = [module for module in modules() if module.place.endswith("/__init__.py")]
    assert [module.place for module in packages if not module.docstring] == []


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
    found = Counter(c for m in modules() for c in m.classes if not c.startswith("_") and c != "Java")
    assert [name for name, count in found.items() if count > 1] == []


def test_tests_and_tools_elsewhere_import_existing_helpers() -> None:
    files = [
        path
        for folder in ("dbt-paimon", "benchmarks", "scripts", "examples", "tests")
        for path in (ROOT / folder).rglob("*.py")
    ]
    wanted: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in files:
        for module, *parts in _IMPORTED.findall(path.read_text(encoding="utf-8")):
            names = re.sub(r"#.*|\sas \w+", "", "\n".join(parts)).replace(",", " ").split()
            wanted[module].update(dict.fromkeys(names, path))
    assert len(wanted) > 50
    for module, users in wanted.items():
        folder = ROOT.joinpath(*module.split("."))
        source = next((p for p in (folder.with_suffix(".py"), folder / "__init__.py") if p.exists()), None)
        there = {sub.stem for sub in folder.glob("*.py")}
        if source is not None:
            there |= _defined(ast.parse(source.read_text(encoding="utf-8")))
        missing = {name: str(users[name].relative_to(ROOT)) for name in users.keys() - there}
        assert not missing, f"{module} lacks names that others import: {missing}"


def _defined(tree: ast.Module) -> set[str]:
    """Return the names that a module binds, also below `if` and `try`."""
    nodes = list(ast.walk(tree))
    functions = {node.name for node in nodes if isinstance(node, Function | ast.ClassDef)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imported = {
        a.asname or a.name for node in nodes if isinstance(node, ast.ImportFrom | ast.Import) for a in node.names
    }
    return functions | stored | imported
