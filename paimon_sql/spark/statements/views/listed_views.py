"""SHOW TABLE EXTENDED with views. Spark lists the views of its own catalog, but only the tables of other catalogs."""

from __future__ import annotations

import re

import pyarrow as pa
from py4j.java_gateway import JavaObject

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsViews
from paimon_sql.spark.jvm.commands import union
from paimon_sql.spark.jvm.plans import extended_listing
from paimon_sql.spark.jvm.scans.rows import rows_relation
from paimon_sql.spark.jvm.sessions import matching_names
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.views.catalog import views_of
from paimon_sql.spark.tables.views.definitions import spark_view
from paimon_sql.spark.tables.views.texts import information

EXTENDED = re.compile(r"\btable\s+extended\b", re.IGNORECASE)
_SCHEMA = pa.schema(
    [
        pa.field("namespace", pa.string(), False),
        pa.field("tableName", pa.string(), False),
        pa.field("isTemporary", pa.bool_(), False),
        pa.field("information", pa.string(), False),
    ]
)


def with_views(registry: CatalogRegistry, plan: JavaObject) -> JavaObject:
    """Return a SHOW TABLE EXTENDED that lists views after the tables; any other statement unchanged."""
    listing = extended_listing(plan)
    place = None if listing is None else registry.find_database(listing[0])
    if listing is None or place is None:
        return plan
    catalog, database = place
    try:
        views = matching_names(registry.jvm, views_of(catalog.catalog, [database]), listing[1])
    except PaimonError:  # the database has an error, which Spark reports
        return plan
    listed = [(database, name, False, _information(catalog, Identifier(database, name))) for name in views]
    if not listed:
        return plan
    columns = [pa.array(column, type=f.type) for column, f in zip(zip(*listed, strict=True), _SCHEMA, strict=True)]
    return union(registry.jvm, plan, rows_relation(registry.jvm, registry.session, pa.table(columns, schema=_SCHEMA)))


def _information(catalog: SparkCatalog, identifier: Identifier) -> str:
    """Describe a view; if it cannot be read, give the error."""
    name = (catalog.catalog_name, identifier.database, identifier.table)
    views = catalog.catalog
    try:
        assert isinstance(views, SupportsViews), "it has listed one"
        return information(name, spark_view(views.load_view(identifier), catalog.catalog_name, identifier))
    except PaimonError as error:
        return f"Catalog: {name[0]}\nNamespace: {name[1]}\nTable: {name[2]}\nType: VIEW\nError: {error}\n"
