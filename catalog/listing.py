"""Visit every table of a database or a catalog: a table that cannot be read does not hide the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from paimon_core.errors import DatabaseNotFoundError, PaimonError, TableNotFoundError
from paimon_core.format_table.kind import is_format_table
from paimon_core.object_table import is_object_table
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import Catalog, SupportsDatabases

# Some readers raise FileNotFoundError for a missing manifest or file.
UNREADABLE = (PaimonError, FileNotFoundError)
_LOG = logging.getLogger(__name__)
_NOT_FOUND = (DatabaseNotFoundError, TableNotFoundError)
K = TypeVar("K")
T = TypeVar("T")


def each_table(catalog: Catalog, read: Callable[[Identifier], T]) -> Iterator[tuple[str, str | None, T | Exception]]:
    """Yield the database and name of each table of a catalog, with the result of `read` or the error that it raised.

    If a database cannot be listed, yield its name and the error, without a table's name. Tables that are dropped
    meanwhile are left out. A catalog without databases yields nothing.
    """
    if not isinstance(catalog, SupportsDatabases):
        return
    for database in catalog.list_databases():
        try:
            names = catalog.list_tables(database)
        except _NOT_FOUND:
            continue
        except UNREADABLE as error:
            yield database, None, error
            continue
        for name in names:
            try:
                found = read(Identifier(database, name))
            except _NOT_FOUND:
                continue
            except UNREADABLE as error:
                yield database, name, error
            else:
                yield database, name, found


def tables_of(catalog: SupportsDatabases, database: str, *, formats: bool) -> list[Identifier]:
    """Return the tables of a database, sorted: its format tables, or its tables with snapshots. A table that
    cannot be loaded is in both lists, so that a later use of the table raises its error.

    Raises `DatabaseNotFoundError`.
    """
    return [i for i in (Identifier(database, n) for n in catalog.list_tables(database)) if _is(catalog, i, formats)]


def _is(catalog: Catalog, identifier: Identifier, formats: bool) -> bool:
    try:
        options = catalog.load_table(identifier).schema.options
        return not is_object_table(options) and is_format_table(options) == formats
    except TableNotFoundError:
        return False  # dropped meanwhile
    except PaimonError:
        return True


def of_each(items: Iterable[K], act: Callable[[K], T], what: str) -> tuple[list[T], list[Exception]]:
    """Call `act` for each table or database; return the results and the errors, which are logged. `what` is the verb of
    the log, as in "could not be compacted"."""
    done: list[T] = []
    errors: list[Exception] = []
    for item in items:
        try:
            done.append(act(item))
        except UNREADABLE as error:
            _LOG.warning("%s could not be %s: %s", item, what, error)
            errors.append(error)
    return done, errors


def of_some(items: Collection[K], act: Callable[[K], T], what: str) -> list[T]:
    """Do the same as `of_each`, but raise the first error if `act` fails for all of them."""
    if len(items) == 1:
        return [act(item) for item in items]
    done, errors = of_each(items, act, what)
    if errors and not done:
        raise errors[0]
    return done
