"""Find what a module writes twice, so that one of the two has no effect. Linters do not report these.

usage: python scripts/repeats.py
- a name of a module, or of a class, that gets a second value: the first function, test or pattern is lost
- a condition of an if statement, or a pattern of a match statement, that an earlier branch has: its code never runs
- a key of a YAML mapping, or the id of a case in a YAML list, that is there already
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
FOLDERS = ("paimon_core", "paimon_sql", "catalog", "procedures", "tests", "scripts", "benchmarks", "dbt-paimon")
# decorators of functions that share a name on purpose
_MANY = frozenset(("overload", "register", "setter", "getter", "deleter"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def repeats(source: str) -> Iterator[str]:
    """Yield what a module of Python repeats, with its line."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body):
                yield from _twice(_names(body), "gets a second value")
            case ast.If():
                yield from _twice(_conditions(node), "is a condition of an earlier branch")
            case ast.Match(cases=cases):
                patterns = (case.pattern for case in cases if case.guard is None)
                yield from _twice(((ast.unparse(p), p.lineno) for p in patterns), "is a pattern of an earlier case")


def _twice(found: Iterable[tuple[str, int]], reason: str) -> Iterator[str]:
    first: set[str] = set()
    for text, line in found:
        if text in first:
            yield f"line {line}: {text} {reason}"
        first.add(text)


def _names(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield each name that statements of a module or a class give a value, in any case."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            if _MANY.isdisjoint(_last_name(decorator) for decorator in node.decorator_list):
                yield node.name, node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        yield name.id, node.lineno


def _last_name(node: ast.expr) -> str:
    """Return `register` for `@show.register` and `@show.register(int)`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _conditions(node: ast.If) -> Iterator[tuple[str, int]]:
    """Yield the conditions of an if statement and of its elif branches. A call can have another answer later."""
    while True:
        if not any(isinstance(part, ast.Call | ast.NamedExpr | ast.Await) for part in ast.walk(node.test)):
            yield ast.unparse(node.test), node.lineno
        match node.orelse:
            case [ast.If() as node]:
                continue
        return


def repeats_of_yaml(text: str) -> Iterator[str]:
    """Yield the keys and the ids that a YAML file repeats, with their lines."""
    root = yaml.compose(text, yaml.CSafeLoader)
    left = [] if root is None else [root]
    while left:
        node = left.pop()
        if isinstance(node, yaml.MappingNode):
            yield from _twice(((key.value, key.start_mark.line + 1) for key, _ in node.value), "is a key already")
            left += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            yield from _twice(_ids(node), "is the id of an earlier case")
            left += node.value


def _ids(node: yaml.SequenceNode) -> Iterator[tuple[str, int]]:
    for part in node.value:
        if isinstance(part, yaml.MappingNode):
            yield from ((v.value, v.start_mark.line + 1) for k, v in part.value if k.value == "id")


def main() -> int:
    count = 0
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    for path in sorted(path for path in paths if path.suffix in (".py", ".yaml", ".yml")):
        text = path.read_text("utf-8")
        for found in repeats(text) if path.suffix == ".py" else repeats_of_yaml(text):
            print(f"{path.relative_to(ROOT)}, {found}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
