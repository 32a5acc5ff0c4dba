"""Packages that `pip install paimon-sql` does not install.

One message for all of them contains the command that installs them."""

from __future__ import annotations

import importlib
from types import ModuleType

from paimon_core.errors import UnsupportedFeatureError


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


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project."""
    return f"pip install 'paimon-sql[{extra}]'"
