"""Databases of `SparkGenericCatalog`: by default Spark's catalog has the same folders, and deletes them, too."""

from __future__ import annotations

import shutil
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import DatabaseNotEmptyError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog
from paimon_sql.catalog.view import View
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from paimon_sql.python.procedure_threads import ProcedureThreads
from paimon_sql.spark.tables.generic_catalog import SparkGenericCatalog
from tests.support.tables import fields
from tests.unit.spark.tables.test_described_databases import CountedStatements


class SparksCatalog:
    """Spark's catalog in memory: without CASCADE it knows only its own tables, and drops the folder of a database."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        shutil.rmtree(self.warehouse / f"{namespace[0]}.db")
        return True


def generic(warehouse: Path, databases: Any) -> SparkGenericCatalog:
    made = SparkGenericCatalog.__new__(SparkGenericCatalog)
    made.catalog_name, made.session, made._made = "spark_catalog", CountedStatements(), databases  # type: ignore[assignment]
    made.others = SparksCatalog(warehouse)
    return made


def drop(catalog: Any, *, cascade: bool) -> bool:
    return bool(unwrap(SparkGenericCatalog.dropNamespace)(catalog, ["db"], cascade))


def test_views_and_functions_keep_their_database(tmp_path: Path) -> None:
    databases: Any = load_catalog({"warehouse": str(tmp_path)})
    databases.create_database("db")
    databases.create_view(Identifier("db", "v"), View(fields=fields(k=INT), query="SELECT 1 AS k"))
    catalog = generic(tmp_path, databases)
    with pytest.raises(DatabaseNotEmptyError, match="views"):
        drop(catalog, cascade=False)
    assert databases.list_views("db") == ["v"]
    assert drop(catalog, cascade=True)
    assert not databases.database_exists("db")


def test_privileges_end_with_their_database(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "user": "root", "password": "pw"}
    databases: Any = load_catalog(options)
    context = ProcedureContext(databases, "default", ProcedureThreads())
    PROCEDURES["init_file_based_privilege"].call(context, {"root_password": "pw"})
    databases = load_catalog(options)
    assert isinstance(databases, PrivilegedCatalog)
    context = ProcedureContext(databases, "default", ProcedureThreads())
    PROCEDURES["create_privileged_user"].call(context, {"username": "ann", "password": "x"})
    databases.create_database("db")
    PROCEDURES["grant_privilege_to_user"].call(context, {"user": "ann", "database": "db", "privilege": "INSERT"})
    assert databases.accounts.privileges()
    assert drop(generic(tmp_path, databases), cascade=True)
    assert databases.accounts.privileges() == []
