"""The catalog in which a table's name is its path: ``SELECT * FROM paimon_path.`/folder/table` ``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.paths import path_identifier
from paimon_sql.preprocess.quoting import PATHS
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.session_catalogs import path_catalog


class SparkPathCatalog(SparkCatalog):
    """Each session has one, made when it is first named; `spark.sql.catalog.paimon_path.KEY` are storages' options."""

    def __init__(self, jvm: Jvm, session: SessionBridge) -> None:
        paths = path_catalog(session)
        super().__init__(jvm, session, PATHS, lambda: paths)
        self.paths = paths

    @staticmethod
    def named(namespace: Sequence[str], name: str) -> Identifier:
        return path_identifier(name if "/" in name else "/".join([*namespace, name]))

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        """Asked for the defaults of new tables: there are none."""
        return self.jvm.map({})

    def renameTable(self, source: Any, target: Any) -> None:
        raise UnsupportedFeatureError(f"The table at {self._identifier(source)} cannot be renamed: move its folder.")

    def _table(self, identifier: Identifier, options: Mapping[str, str]) -> Table:
        return self.session.in_zone(self.paths.with_options(options).load_table(identifier))
