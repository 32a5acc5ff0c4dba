"""The views of a Paimon catalog for Spark's `RelationCatalog` (from 4.2 on)."""

from __future__ import annotations

from typing import Any

from paimon_core.errors import (
    DatabaseNotFoundError,
    InvalidNameError,
    UnreadableFileError,
    UnsupportedFeatureError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE, Catalog, SupportsViews
from paimon_sql.catalog.view import View
from paimon_sql.spark.errors.java import no_such_view, view_already_exists, view_misused
from paimon_sql.spark.jvm import connector
from paimon_sql.spark.jvm.older.session_views import session_view
from paimon_sql.spark.jvm.older.view_statements import answers_view_statements
from paimon_sql.spark.jvm.views import ViewDefinition, java_view, read_view
from paimon_sql.spark.tables.named_catalog import NamedCatalog, single
from paimon_sql.spark.tables.views.cycles import check_no_cycle, check_not_in_cycle
from paimon_sql.spark.tables.views.definitions import altered_view, kept_view, spark_view


class SparkViews(NamedCatalog):
    """The part of `SparkCatalog` for views. Another part translates its name and Spark's identifiers."""

    ANALYZING = frozenset(("listViews", "createView", "createOrReplaceView"))

    def listViews(self, namespace: Any) -> Any:
        return connector.identifiers(self.jvm, single(namespace), views_of(self.catalog, namespace))

    def loadView(self, identifier: Any) -> Any:
        found = self._find_view(identifier)
        if found is None:
            raise no_such_view(self.jvm, identifier)
        return found

    def viewExists(self, identifier: Any) -> bool:
        try:
            return self.has_view(self._identifier(identifier))
        except InvalidNameError:
            return False

    def invalidateView(self, identifier: Any) -> None:
        """Do nothing: views are not cached."""

    def createView(self, identifier: Any, view: Any) -> Any:
        ours = self._identifier(identifier)
        try:
            self._with_views(ours).create_view(ours, self._kept(ours, view))
        except ViewExistsError as e:
            raise view_already_exists(self.jvm, identifier) from e
        return view

    def createOrReplaceView(self, identifier: Any, view: Any) -> Any:
        ours = self._identifier(identifier)
        try:
            catalog, kept = self._with_views(ours), self._kept(ours, view)
            self._check_no_cycle(ours, read_view(view))
            catalog.replace_view(ours, kept, create=True)
        except ViewExistsError as e:
            raise view_already_exists(self.jvm, identifier) from e
        return view

    def replaceView(self, identifier: Any, view: Any) -> Any:
        ours = self._identifier(identifier)
        try:
            catalog = self._with_views(ours)
            self._check_no_cycle(ours, read_view(view))
            catalog.replace_view(ours, altered_view(_readable(catalog, ours), self._kept(ours, view), ours))
        except (ViewNotFoundError, ViewExistsError) as e:  # also for a table, which is not a view
            raise no_such_view(self.jvm, identifier) from e
        return view

    def dropView(self, identifier: Any) -> bool:
        if not isinstance(self.catalog, SupportsViews):
            return False
        try:
            self.catalog.drop_view(self._identifier(identifier))
        except (ViewNotFoundError, DatabaseNotFoundError, InvalidNameError):
            return False
        return True

    def renameView(self, source: Any, target: Any) -> None:
        old, new = self._identifier(source), self._renamed("View", source, target)
        try:
            self._with_views(old).rename_view(old, new)
        except ViewNotFoundError as e:
            raise no_such_view(self.jvm, source) from e
        except ViewExistsError as e:
            raise view_already_exists(self.jvm, connector.identifier(self.jvm, [new.database], new.table)) from e

    # -- ours ---------------------------------------------------------------------------------------------------------
    def has_view(self, identifier: Identifier) -> bool:
        """Return whether the catalog has a view of this name."""
        try:
            return isinstance(self.catalog, SupportsViews) and self.catalog.view_exists(identifier)
        except (DatabaseNotFoundError, InvalidNameError):
            return False

    def _find_view(self, identifier: Any) -> Any | None:
        """Return the view of a Spark identifier in the form that Spark runs; None if it does not exist."""
        try:
            ours = self._identifier(identifier)
            if not isinstance(self.catalog, SupportsViews):
                return None
            view = self.catalog.load_view(ours)
        except (ViewNotFoundError, DatabaseNotFoundError, InvalidNameError):
            return None
        found = spark_view(view, self.catalog_name, ours)
        name = (self.catalog_name, ours.database, ours.table)
        check_not_in_cycle(self.jvm, name, found, self._catalog_of)
        if answers_view_statements(self.jvm):
            return session_view(self.jvm, name, found)
        return java_view(self.jvm, found)

    def _check_no_cycle(self, name: Identifier, view: ViewDefinition) -> None:
        check_no_cycle(self.jvm, (self.catalog_name, name.database, name.table), view, self._catalog_of)

    def _refuse_view(self, identifier: Any, *, written: bool, versioned: bool = False) -> None:
        """Raise an error for a view that is used as a table: Spark would report that the name does not exist."""
        if not (written or versioned) or not self.viewExists(identifier):
            return
        name = f"{self.catalog_name}.{self._identifier(identifier)}"
        if written:
            raise view_misused(self.jvm, "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", name, "write to the tables it reads")
        raise view_misused(self.jvm, "UNSUPPORTED_FEATURE.TIME_TRAVEL", name, "select versions in its query")

    def _kept(self, name: Identifier, view: Any) -> View:
        return kept_view(read_view(view), self.catalog_name, name)

    def _with_views(self, name: Identifier) -> SupportsViews:
        if isinstance(self.catalog, SupportsViews):
            return self.catalog
        raise UnsupportedFeatureError(
            f"View {name} cannot be stored: catalog {self.catalog_name} has tables only. Write CREATE TEMPORARY VIEW, "
            "or CREATE TABLE … AS SELECT."
        )


def views_of(catalog: Catalog, namespace: Any) -> list[str]:
    """Return the names of the views of a database, sorted. Raises `DatabaseNotFoundError`."""
    if list(namespace) == [SYSTEM_DATABASE] or not isinstance(catalog, SupportsViews):
        return []
    return catalog.list_views(single(namespace))


def _readable(catalog: SupportsViews, name: Identifier) -> View | None:
    """Load a view; None if its definition cannot be read, so that a new view replaces it."""
    try:
        return catalog.load_view(name)
    except UnreadableFileError:
        return None
