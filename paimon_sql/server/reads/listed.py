"""The lists of this folder: statements, expressions, functions, data sources, options, settings, messages, calls and
requests that read."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from paimon_sql.server import reads

# a kind of the checks in Java, by the name of its file
_KINDS = {
    "calls": "call",
    "expressions": "expression",
    "functions": "function",
    "messages": "message",
    "option_patterns": "option pattern",
    "options": "option",
    "parsed": "parsed",
    "plans": "plan",
    "relations": "relation",
    "setting_patterns": "setting pattern",
    "settings": "setting",
    "sources": "source",
}


@cache
def allowed(name: str) -> frozenset[str]:
    """Return the words that the list of a name allows."""
    lines = files(reads).joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def is_read(method: str, address: str) -> bool:
    """Return whether a request of the REST API is known to read; in `address`, `*` stands for a name."""
    return f"{method}:{address}" in allowed("requests")


def listed(*, python_functions: bool = False) -> str:
    """Return all lists as the checks in Java read them: lines of a kind and a name. With `python_functions` they also
    allow the catalogs' functions in Python, if the server was started with these allowed."""
    lines = [f"{kind}\t{word}" for name, kind in _KINDS.items() for word in sorted(allowed(name))]
    return "\n".join([*lines, "expression\tPythonUDF"] if python_functions else lines)
