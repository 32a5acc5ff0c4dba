"""Views of a catalog that leaves them to an object of its own."""

from __future__ import annotations

from typing import Protocol

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import KeepsViews
from paimon_sql.catalog.view import View


class _HasViews(Protocol):
    """The catalog."""

    @property
    def _views(self) -> KeepsViews: ...


class DelegatedViews:
    """See `KeepsViews`."""

    def list_views(self: _HasViews, database: str) -> list[str]:
        return self._views.list_views(database)

    def view_exists(self: _HasViews, identifier: Identifier) -> bool:
        return self._views.view_exists(identifier)

    def load_view(self: _HasViews, identifier: Identifier) -> View:
        return self._views.load_view(identifier)

    def create_view(self: _HasViews, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        self._views.create_view(identifier, view, ignore_if_exists)

    def replace_view(self: _HasViews, identifier: Identifier, view: View, create: bool = False) -> None:
        self._views.replace_view(identifier, view, create)

    def drop_view(self: _HasViews, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._views.drop_view(identifier, ignore_if_not_exists)

    def rename_view(self: _HasViews, source: Identifier, target: Identifier) -> None:
        self._views.rename_view(source, target)
