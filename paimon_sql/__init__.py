"""Apache Paimon tables for Spark, and for Python without Spark, in pure Python.

`connect(warehouse=…)` gives a Spark session with a Paimon catalog; `install(spark)` equips a session that exists.
`open_catalog(warehouse=…)` and `open_table(path)` give tables without Spark. `show("db.t")` gives pictures of a table,
`metrics()` the counters of this process.
Importing this package imports neither PySpark nor a JVM.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_core.metrics import process_metrics as metrics
    from paimon_sql.python.catalog import open_catalog, open_table
    from paimon_sql.session import configured_catalogs, connect, doctor, install, show
    from paimon_sql.spark.tables.catalog import SparkCatalog

__all__ = [
    "SparkCatalog",
    "configured_catalogs",
    "connect",
    "doctor",
    "install",
    "metrics",
    "open_catalog",
    "open_table",
    "show",
]
__version__ = "0.1.0"

_HOME = {
    "metrics": "paimon_core.metrics",
    "configured_catalogs": "paimon_sql.session",
    "connect": "paimon_sql.session",
    "doctor": "paimon_sql.session",
    "install": "paimon_sql.session",
    "open_catalog": "paimon_sql.python.catalog",
    "open_table": "paimon_sql.python.catalog",
    "show": "paimon_sql.session",
    "SparkCatalog": "paimon_sql.spark.tables.catalog",
}
_SPELLED = {"metrics": "process_metrics"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOME[name]), _SPELLED.get(name, name))
    except ModuleNotFoundError as error:
        from paimon_core.optional_packages import missing_pyspark  # noqa: PLC0415  only for the error

        raise missing_pyspark(f"paimon_sql.{name}", error) from error


def _check_distributions(folder: str) -> None:
    """Warn if the folder of packages has both distributions of this package: they have the same files."""
    try:
        names = os.listdir(folder)
    except OSError:  # an archive
        return
    of = {n.partition("-")[0] for n in names if n.startswith("paimon_sql") and n.endswith(".dist-info")}
    if {"paimon_sql", "paimon_sql_core"} <= of:
        warnings.warn(
            f"paimon-sql and paimon-sql-core are both installed in {folder} and have the same files: if one is "
            "upgraded or removed, the other breaks. Run: pip uninstall -y paimon-sql paimon-sql-core; then install one "
            "of them.",
            stacklevel=3,
        )


_check_distributions(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_ipython_extension(ipython: Any) -> None:
    """Load the extension of IPython, by `%load_ext paimon_sql`: the magics `%sql` and `%%sql` on the active Spark
    session.
    """
    importlib.import_module("paimon_sql.notebook.extension").load(ipython)
