"""Python runs this module before each program that `paimon-sql run` starts, and before each Python program that such a
program starts.

It makes `SparkSession.builder.getOrCreate()` install (`paimon_sql.install`) each session that it returns. It imports
nothing before the program imports PySpark, and does nothing if paimon-sql is not installed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_MODULE = "pyspark.sql.session"
_INSTALLED = "_is_installed_by_paimon_sql"
_NO_CATALOG = (
    "paimon-sql run: the settings of this session name no Paimon catalog. Configure one: before the program, as -c "
    "spark.sql.catalog.paimon=paimon_sql.SparkCatalog -c spark.sql.catalog.paimon.warehouse=DIR, in "
    "spark-defaults.conf, or in the program.\n"
)


class _Finder(MetaPathFinder):
    """A finder of modules that changes PySpark's module of sessions once it is loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        _install_in(module.SparkSession.Builder)


def _install_in(builder: Any) -> None:
    """Make `getOrCreate` install the session that it returns. Do so only once."""
    original = builder.getOrCreate

    @wraps(original)
    def get_or_create(self: Any) -> Any:
        session = original(self)
        if getattr(session, "_sc", None) is not None and not hasattr(session, _INSTALLED):
            setattr(session, _INSTALLED, True)
            paimon_sql = importlib.import_module("paimon_sql")
            paimon_sql.install(session)
            if not paimon_sql.configured_catalogs(session):
                sys.stderr.write(_NO_CATALOG)
        return session

    builder.getOrCreate = get_or_create


def _run_other() -> None:
    """Run the `sitecustomize` that Python would have run without this one."""
    folders = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
    spec = PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_other()
if importlib.util.find_spec("paimon_sql") is not None:
    sys.meta_path.insert(0, _Finder())
