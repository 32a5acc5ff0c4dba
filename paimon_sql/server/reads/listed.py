"""The lists of this folder: statements, expressions, functions, data sources, options, settings, messages, calls and
requests that only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files

from paimon_core.errors import PaimonError
from paimon_core.io.load import normalize, without_links
from paimon_sql.catalog.base import SupportsClosing
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog
from paimon_sql.server import reads

READ_PATHS = "spark.paimon-sql.read-paths"
_CATALOGS, _WAREHOUSE, _METASTORE = "spark.sql.catalog.", ".warehouse", ".metastore"
_WAREHOUSE_OF_SPARK = "spark.sql.warehouse.dir"

# the kind under which the checks in Java find a list, by the name of the list's file
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
    """Return the words in the list of this name."""
    lines = files(reads).joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def is_read(method: str, address: str) -> bool:
    """Return whether a request of the REST API is known to only read; in `address`, `*` stands for a name."""
    return f"{method}:{address}" in allowed("requests")


def places(settings: Mapping[str, str]) -> frozenset[str]:
    """Return the folders with files that clients may name by a path, from the settings of the server's session. These
    are the warehouses of its catalogs, except catalogs of REST servers, and the paths in `spark.paimon-sql.read-paths`.
    """
    of_rest = {
        key.removesuffix(_METASTORE) for key, value in settings.items() if key.endswith(_METASTORE) and value == "rest"
    }
    found = [
        value
        for key, value in settings.items()
        if key == _WAREHOUSE_OF_SPARK
        or (key.startswith(_CATALOGS) and key.endswith(_WAREHOUSE) and key.removesuffix(_WAREHOUSE) not in of_rest)
    ]
    found += settings.get(READ_PATHS, "").split(",")
    return frozenset(spelling for path in found if path.strip() for spelling in _spellings(normalize(path.strip())))


def without_users(settings: Mapping[str, str], options_of: Callable[[str], Mapping[str, str] | None]) -> dict[str, str]:
    """Return settings without the warehouses that have users now: a path has no user, so its rights cannot be checked.
    A warehouse that does not answer may have users. `options_of` returns the options of a catalog by its name."""
    found = dict(settings)
    for key in settings:
        name = key.removeprefix(_CATALOGS).removesuffix(_WAREHOUSE)
        options = options_of(name) if key == f"{_CATALOGS}{name}{_WAREHOUSE}" else None
        if options is not None and _may_have_users(options):
            del found[key]
    return found


def _may_have_users(options: Mapping[str, str]) -> bool:
    try:
        catalog = load_catalog(options)
    except PaimonError:
        return True
    if isinstance(catalog, SupportsClosing):
        catalog.close()
    return isinstance(catalog, PrivilegedCatalog)


def _spellings(path: str) -> set[str]:
    """Return a normalized path. If it is local, also return the path without links."""
    return {path, without_links(path)}


def listed(read_places: Iterable[str] = (), *, python_functions: bool = False) -> str:
    """Return all lists as the checks in Java read them: lines of a kind and a name. Clients may name paths in
    `read_places`. If the server was started with functions in Python allowed, `python_functions` allows the catalogs'
    functions in Python, too.
    """
    lines = [f"{kind}\t{word}" for name, kind in _KINDS.items() for word in sorted(allowed(name))]
    lines += [f"place\t{place}" for place in sorted(read_places) if place.isprintable()]
    return "\n".join([*lines, "expression\tPythonUDF"] if python_functions else lines)
