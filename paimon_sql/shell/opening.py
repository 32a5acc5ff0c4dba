"""The session of a command: with the catalog of its command line, or with the catalogs of Spark's settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

import paimon_sql
from paimon_core.errors import InvalidOptionError

_CATALOG_OPTIONS = ("warehouse", "catalog", "metastore", "uri")


def open_session(arguments: argparse.Namespace, settings: Mapping[str, str]) -> Any:
    """Open a session: with the command line's catalog, else with the catalogs of Spark's settings, else with
    ./warehouse.
    """
    catalog = _of_command_line(arguments)
    if not catalog and all(key.startswith("spark.") for key in settings):
        session = paimon_sql.connect(**settings)
        if paimon_sql.configured_catalogs(session):
            return session
    return paimon_sql.connect(**_default(catalog) | catalog | dict(settings))


def catalog_options(arguments: argparse.Namespace, settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the options of the command line's catalog, for callers without a session and without Spark's settings."""
    own = {key: value for key, value in settings if not key.startswith("spark.")}
    given = {key: value for key, value in _of_command_line(arguments).items() if key != "catalog"}
    return _default(given) | given | own


def check_without_spark(settings: Iterable[tuple[str, str]], command: str, remedy: str = "") -> None:
    """Raise `InvalidOptionError` if there are settings of Spark: the command does not start Spark."""
    for key, _ in settings:
        if key.startswith("spark."):
            raise InvalidOptionError(
                f"-c {key} has no effect: {command} does not start Spark. Leave it out{remedy}. Options of the catalog "
                "are written without a prefix, as in -c user=ann."
            )


def _default(given: Mapping[str, str]) -> dict[str, str]:
    """Return the default warehouse, unless a REST server decides it."""
    return {} if given.get("metastore") == "rest" else {"warehouse": "warehouse"}


def _of_command_line(arguments: argparse.Namespace) -> dict[str, str]:
    values = {key: getattr(arguments, key) for key in _CATALOG_OPTIONS}
    return {key: value for key, value in values.items() if value is not None}
