"""Packages that `pip install paimon-sql` does not install.

One message for all of them contains the command that installs them."""

from __future__ import annotations

import importlib
from types import ModuleType

from paimon_core.errors import UnsupportedFeatureError

_WITHOUT_SPARK = "paimon-sql-core"  # the distribution that has the same code and does not require PySpark
_OF_SPARK = ("pyspark", "py4j")


def import_optional(package: str, purpose: str, extra: str) -> ModuleType:
    """Import the module of a package. Raises `UnsupportedFeatureError` if it is not installed, or cannot be
    imported."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise missing_package(package, purpose, install_command(extra), error) from error


def missing_package(package: str, purpose: str, command: str, error: ImportError) -> UnsupportedFeatureError:
    """Return the error for a missing package. `purpose` needs the package, and its import failed with `error`."""
    is_missing = isinstance(error, ModuleNotFoundError) and error.name == package
    cause = "which is not installed" if is_missing else f"which cannot be imported: {error}"
    return UnsupportedFeatureError(f"{purpose} needs the package {package}, {cause}. Run: {command}")


def missing_pyspark(purpose: str, error: ModuleNotFoundError) -> Exception:
    """Return the error to raise after a use of Spark failed with `error`: how to install PySpark, or `error` itself if
    another module is missing.
    """
    if (error.name or "").partition(".")[0] not in _OF_SPARK:
        return error
    command = f"pip install '{_WITHOUT_SPARK}[spark]'" if _has(_WITHOUT_SPARK) else "pip install paimon-sql"
    return missing_package("pyspark", purpose, command, ModuleNotFoundError(str(error), name="pyspark"))


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project, or of its distribution without PySpark."""
    name = _WITHOUT_SPARK if _has(_WITHOUT_SPARK) and not _has("paimon-sql") else "paimon-sql"
    return f"pip install '{name}[{extra}]'"


def _has(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  takes long, only for the error

    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False
