"""Names in a Hive metastore, which have no case."""

from __future__ import annotations

import re
from dataclasses import replace

from paimon_core.errors import InvalidNameError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name

_NAME = re.compile(r"[A-Za-z0-9_]+")  # what every version of Hive takes for a new one
_MOST = 128  # characters, of databases and of tables that are locked


def named(identifier: Identifier) -> Identifier:
    """A table as the metastore calls it. Raises `InvalidNameError`."""
    database, table = folded("database", identifier.database), folded("table", identifier.table)
    return replace(identifier, database=database, table=table)


def folded(kind: str, name: str) -> str:
    """A name as the metastore has it. Raises `InvalidNameError`."""
    return check_name(kind, name).lower()


def new_name(kind: str, name: str) -> str:
    """A name that the metastore takes. Raises `InvalidNameError`."""
    if _NAME.fullmatch(check_name(kind, name)) is None or len(name) > _MOST:
        raise InvalidNameError(
            f"A {kind} cannot be called {name!r}: in a Hive metastore names are letters, digits and underscores of "
            f"ASCII, {_MOST} at most."
        )
    return name.lower()
