"""Databases in the metastore: pure functions of Thrift's values. Source: `HiveCatalog` of Paimon.

Hive before 4.0 cannot change the description of an existing database, so an altered comment is stored as a parameter.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.errors import DatabaseNotEmptyError, InvalidOptionError
from paimon_core.io.load import check_location, normalize
from paimon_sql.catalog.base import not_empty
from paimon_sql.catalog.hive.entries import LOCATION_KEY, location_of
from paimon_sql.catalog.hive.settings import HiveSettings
from paimon_sql.catalog.option_values import Lengths, check_lengths

_COMMENT, _OWNER, _LOCATION = "comment", "owner", "location"
_KEPT = Lengths("the metastore", key=180, value=4000)


def location_of_database(database: Any) -> str:
    """Return the folder of a database's tables. Raises `StorageError` if the metastore does not name one."""
    return location_of(database.parameters or {}, database.locationUri, f"Database {database.name}")


def database_properties(database: Any) -> dict[str, str]:
    """Return the properties that users set on a database, and its location."""
    found = dict(database.parameters or {})
    found.pop(LOCATION_KEY, None)
    if database.description:
        found.setdefault(_COMMENT, database.description)
    if found.get(_COMMENT) == "":
        del found[_COMMENT]  # it was removed
    if database.ownerName:
        found[_OWNER] = database.ownerName
    return found | {_LOCATION: location_of_database(database)}


def new_database(name: str, given: Mapping[str, str], default: str, settings: HiveSettings) -> tuple[Any, str]:
    """Return a new database with the given properties, and its location. Raises `InvalidOptionError`."""
    _check(name, given)
    own = given.get(_LOCATION)
    if own is not None:
        check_location(own)
    location = default if own is None else normalize(own)
    database = ttypes.Database(
        name=name,
        description=given.get(_COMMENT),
        ownerName=given.get(_OWNER),
        parameters={k: v for k, v in given.items() if k not in (_COMMENT, _OWNER, _LOCATION)},
    )
    if settings.location_in_properties:
        database.parameters[LOCATION_KEY] = location
    else:
        database.locationUri = location
    return database, location


def altered_database(database: Any, given: Mapping[str, str], removed: Sequence[str]) -> Any:
    """Return a database with properties set and removed. Raises `InvalidOptionError`, also for another location."""
    _check(database.name, given)
    location = location_of_database(database)
    if _LOCATION in given and normalize(given[_LOCATION]) != location:
        raise InvalidOptionError(
            f"Database {database.name} cannot be given another location: its tables are in {location}. Create another "
            "database there, and move them by ALTER TABLE ... RENAME TO."
        )
    changed = copy.deepcopy(database)
    gone = {k for k in removed if k not in given} - {_LOCATION, LOCATION_KEY}
    own = {k: v for k, v in given.items() if k not in (_OWNER, _LOCATION)}
    changed.parameters = {k: v for k, v in (database.parameters or {}).items() if k not in gone} | own
    if _COMMENT in gone:
        changed.description, changed.parameters[_COMMENT] = "", ""
    elif _COMMENT in given:
        changed.description = given[_COMMENT]
    if _OWNER in given:
        changed.ownerName = given[_OWNER]
    return changed


def _check(name: str, given: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` for properties that the metastore cannot store."""
    if LOCATION_KEY in given:
        raise InvalidOptionError(
            f"Database {name} cannot have the property {LOCATION_KEY!r}: the catalog uses this name itself. "
            "Choose another name."
        )
    check_lengths(f"database {name}", given, _KEPT, "give it a shorter value")


def not_dropped(name: str, ours: Sequence[str], views: Sequence[str], left: Sequence[str]) -> DatabaseNotEmptyError:
    """Return the error for a database that cannot be dropped.

    `ours` are its Paimon tables, `views` its views. If it has neither, `left` are tables of other engines.
    """
    if ours or views:
        return not_empty(name, ours, views)
    return DatabaseNotEmptyError(
        f"Database {name} still has {len(left)} tables that are not Paimon's, {left[0]} among them: drop them "
        "with the engine that created them."
    )
