"""The lists of this folder: statements, expressions, functions, data sources, options, settings, messages, calls and
requests that only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.io.load import normalize, without_links
from paimon_sql.catalog.base import SupportsClosing
from paimon_sql.catalog.load import open_catalog, warehouse_place
from paimon_sql.catalog.privileges.accounts import Accounts
from paimon_sql.catalog.privileges.catalog import accounts_of
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
    """Return whether a request of the REST API is on the list of requests that only read. In `address`, `*` stands for
    a name.
    """
    return f"{method}:{address}" in allowed("requests")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders with files that clients may name by a path: `warehouses` of Paimon catalogs, with the options of
    these catalogs, the warehouse `of_spark`, and the folders that the operator has `chosen`.
    """

    warehouses: Mapping[str, Sequence[Mapping[str, str]]]
    of_spark: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()


def places(settings: Mapping[str, str], options_of: Callable[[str], Mapping[str, str] | None]) -> Places:
    """Return the places of a server, from the settings of its session. Leave out warehouses of REST servers: these
    servers decide who reads a table. `options_of` returns the options of a Paimon catalog by its name.
    """
    warehouses: dict[str, list[Mapping[str, str]]] = {}
    keys = (key.removeprefix(_CATALOGS).removesuffix(_WAREHOUSE) for key in settings if key.startswith(_CATALOGS))
    for name in sorted({name for name in keys if "." not in name}):
        options = options_of(name)
        # beside Spark's own tables, a catalog has a warehouse without a setting
        value = settings.get(f"{_CATALOGS}{name}{_WAREHOUSE}") or (options or {}).get(_WAREHOUSE[1:])
        if value is None or settings.get(f"{_CATALOGS}{name}{_METASTORE}") == "rest":
            continue
        for spelling in _spellings([warehouse_place(value)]):
            warehouses.setdefault(spelling, []).extend([] if options is None else [options])
    of_spark = _spellings([settings.get(_WAREHOUSE_OF_SPARK, "")])
    return Places(warehouses, of_spark, _spellings(settings.get(READ_PATHS, "").split(",")))


class Warehouses:
    """The warehouses among the places. They may get users while the server runs. A path has no user, so the server
    cannot check rights on it.
    """

    def __init__(self, found: Places) -> None:
        self._options, self._accounts = found.warehouses, dict[str, list[Accounts]]()

    def has_users(self, folder: str) -> bool:
        """Return whether a warehouse has users now. A warehouse that does not answer may have users."""
        try:
            if folder not in self._accounts:
                self._accounts[folder] = [one for options in self._options[folder] for one in _accounts(options)]
            return any(accounts.enabled() for accounts in self._accounts[folder])
        except PaimonError:
            return True


def _accounts(options: Mapping[str, str]) -> list[Accounts]:
    catalog = open_catalog(options)
    try:
        return [accounts_of(catalog)]
    except UnsupportedFeatureError:
        return []
    finally:
        if isinstance(catalog, SupportsClosing):
            catalog.close()


def _spellings(paths: Iterable[str]) -> frozenset[str]:
    """Return normalized paths. For a local path, also return the path without links."""
    found = [normalize(path.strip()) for path in paths if path.strip()]
    return frozenset([*found, *map(without_links, found)])


def listed(found: Places | None = None, *, python_functions: bool = False) -> str:
    """Return all lists as the checks in Java read them: lines of a kind and a name. Clients may name paths in the
    places `found`. `python_functions`: the operator has allowed the catalogs' functions in Python.
    """
    kinds = {kind: allowed(name) for name, kind in _KINDS.items()}
    if found is not None:
        kinds["place"] = frozenset([*found.warehouses, *found.of_spark, *found.chosen])
        kinds |= {"warehouse": frozenset(found.warehouses), "chosen place": found.chosen}
    lines = [f"{kind}\t{word}" for kind, words in kinds.items() for word in sorted(words) if word.isprintable()]
    return "\n".join([*lines, "expression\tPythonUDF"] if python_functions else lines)
