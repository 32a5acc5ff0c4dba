"""The views of a catalog that keeps none, as one of a filesystem: none to list or find, and a word on what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.errors.java import no_such_view
from paimon_sql.spark.jvm import connector
from paimon_sql.spark.jvm.classes import NO_SUCH_NAMESPACE
from paimon_sql.spark.proxy import Proxy


def no_views(name: str) -> UnsupportedFeatureError:
    """What refuses a view by its name."""
    return UnsupportedFeatureError(
        f"View {name} cannot be kept: a filesystem catalog has tables only. Write CREATE TEMPORARY VIEW {name}, "
        "or CREATE TABLE … AS SELECT."
    )


class NoViews(Proxy):
    """Spark's `ViewCatalog`. Spark itself lists temporary views, and makes and drops them."""

    CARRIERS: ClassVar[Mapping[str, str]] = {"createView": NO_SUCH_NAMESPACE, "createOrReplaceView": NO_SUCH_NAMESPACE}

    def listViews(self, namespace: Any) -> Any:
        return connector.identifiers(self.jvm, "", [])

    def loadView(self, identifier: Any) -> Any:
        raise no_such_view(self.jvm, identifier)

    def viewExists(self, identifier: Any) -> bool:
        return False

    def invalidateView(self, identifier: Any) -> None:
        """There is none."""

    def createView(self, identifier: Any, view: Any) -> Any:
        raise no_views(str(identifier.name()))

    def createOrReplaceView(self, identifier: Any, view: Any) -> Any:
        return self.createView(identifier, view)

    def replaceView(self, identifier: Any, view: Any) -> Any:
        raise no_such_view(self.jvm, identifier)

    def dropView(self, identifier: Any) -> bool:
        return False

    def renameView(self, source: Any, target: Any) -> None:
        raise no_such_view(self.jvm, source)
