"""Views in a Hive metastore: a view is only an entry, so each change is one call of the metastore. If several processes
create one name, for a table or a view, the metastore accepts one. A process locks an entry before it changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, ViewExistsError, ViewNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import check_is_view_name
from paimon_sql.catalog.definitions import VIEWS, DefinitionKind, ViewDefinitions
from paimon_sql.catalog.hive.entries import folded, kind_of, named, new_name
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.view_entries import (
    VIEW_TYPE,
    check_view_kept,
    is_view,
    new_view,
    read_view,
    renamed_view,
    replaced_view,
)
from paimon_sql.catalog.hive.warehouse import Warehouse
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.view import View


@dataclass(frozen=True)
class HiveViews(ViewDefinitions):
    """The views of a Hive metastore; see `Definitions`."""

    metastore: Metastore
    warehouse: Warehouse
    kind: DefinitionKind[View] = VIEWS

    def names(self, database: str) -> list[str]:
        found = self.metastore.tables_of_type(folded("database", database), VIEW_TYPE)
        if not found:
            self.warehouse.database(database)
        return sorted(found)

    def exists(self, identifier: Identifier) -> bool:
        found = self._found(_view_name(identifier))
        return found is not None and is_view(found)

    def load(self, identifier: Identifier) -> View:
        return read_view(self._entry(_view_name(identifier)))

    def insert(self, identifier: Identifier, view: View) -> None:
        name = self._new(identifier, view)
        with self.warehouse.locked(name):
            self._create(name, view)

    def replace(self, identifier: Identifier, view: View, create: bool = False) -> None:
        name = self._new(identifier, view)
        with self.warehouse.locked(name):
            found = self._found(name)
            if found is not None and is_view(found):
                self._alter(
                    name,
                    replaced_view(found, view, zones=self.metastore.has_zones_for(view.fields)),
                    lambda: self._is(name, view),
                )
            elif found is not None or create:
                self._create(name, view)
            else:
                raise self._no_view(identifier, None)

    def remove(self, identifier: Identifier) -> bool:
        name = _view_name(identifier)
        if not self.exists(name):
            return False
        with self.warehouse.locked(name):
            self._entry(name)
            self.warehouse.check_lock(name)
            drop = partial(self.metastore.change, "drop_table", name.database, name.table, False)
            settle(drop, lambda: not self.exists(name))
        return True

    def missing(self, identifier: Identifier) -> PaimonError:
        self.warehouse.database(identifier.database)
        return self._no_view(identifier, self._found(_view_name(identifier)))

    def rename(self, source: Identifier, target: Identifier) -> None:
        old, new = _view_name(source), _view_name(target)
        self._entry(old)
        self.warehouse.database(new.database)
        new = replace(new, table=new_name("view", new.table))
        with self.warehouse.locked(old, new):
            entry = self._entry(old)
            taken = self._found(new)
            if taken is not None:
                raise _taken(new, taken)
            self._alter(old, renamed_view(entry, new), lambda: self._found(old) is None)

    def _create(self, name: Identifier, view: View) -> None:
        self.warehouse.check_lock(name)
        entry = new_view(name, view, self.metastore.settings, zones=self.metastore.has_zones_for(view.fields))
        self.metastore.name(
            partial(self.metastore.change, "create_table", entry),
            is_done=partial(self._is, name, view),
            is_taken=partial(self._has, name),
            taken=lambda: _taken(name, self._found(name)),
        )

    def _alter(self, name: Identifier, entry: Any, is_done: Callable[[], bool]) -> None:
        self.warehouse.check_lock(name)
        new = Identifier(entry.dbName, entry.tableName)
        self.metastore.name(
            partial(self.metastore.alter_table, name.database, name.table, entry),
            is_done=is_done,
            is_taken=lambda: new != name and self._has(new),
            taken=lambda: _taken(new, None),
        )

    def _is(self, name: Identifier, view: View) -> bool:
        """Return whether the view exists with this definition."""
        found = self._found(name)
        try:
            return found is not None and is_view(found) and read_view(found) == view
        except PaimonError:
            return False

    def _new(self, identifier: Identifier, view: View) -> Identifier:
        """Return the name of a view to create or replace."""
        name = _view_name(identifier)
        self.warehouse.database(name.database)
        check_view_kept(identifier, view)
        return replace(name, table=new_name("view", identifier.table))

    def _entry(self, name: Identifier) -> Any:
        """Return the entry of a view. Raises `ViewNotFoundError`, `DatabaseNotFoundError`."""
        found = self._found(name)
        if found is None or not is_view(found):
            self.warehouse.database(name.database)
            raise self._no_view(name, found)
        return found

    def _has(self, name: Identifier) -> bool:
        return self._found(name) is not None

    def _found(self, name: Identifier) -> Any | None:
        return self.metastore.table(name.database, name.table)

    def _no_view(self, name: Identifier, found: object | None) -> ViewNotFoundError:
        what = "." if found is None else f": {kind_of(found)} has that name."
        return ViewNotFoundError(f"There is no view {name} in the metastore {self.metastore.settings.address}{what}")


def _view_name(identifier: Identifier) -> Identifier:
    check_is_view_name(identifier)
    return named(identifier)


def _taken(name: Identifier, found: Any | None) -> ViewExistsError:
    what = "a view or a table has that name" if found is None else f"{kind_of(found)} has that name"
    return ViewExistsError(f"View {name} cannot be created: {what}.")
