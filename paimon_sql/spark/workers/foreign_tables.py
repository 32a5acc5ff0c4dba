"""Tables of the session's own catalog, and folders of files, as migration sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from paimon_core.errors import TableNotFoundError, UnsupportedFeatureError
from paimon_core.format_table.options import SUPPORTED
from paimon_core.io.load import normalize
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.procedures import ForeignTable
from paimon_sql.spark.errors.java import told
from paimon_sql.spark.jvm.gateway import SQL, scala_map_of
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import from_struct, read_struct

_SPARK_CATALOG = "spark_catalog"


def foreign_table(session: SessionBridge, database: str, name: str) -> ForeignTable | None:
    """A table of files of Spark's session catalog; None for none. Raises `UnsupportedFeatureError` for other kinds."""
    catalog, identifier = session.session.sessionState().catalog(), _identifier(session, database, name)
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    provider = str(found.provider().get()).lower() if found.provider().isDefined() else "none"
    storage = found.storage()
    serde = str(storage.serde().get()).lower() if storage.serde().isDefined() else ""
    form = next((f for f in SUPPORTED if f == provider or (provider == "hive" and f in serde)), None)
    if form is None or str(found.tableType().name()) == "VIEW":
        raise UnsupportedFeatureError(
            f"Table {database}.{name} cannot be migrated: it is {provider} ({found.tableType().name()}); tables of "
            f"{', '.join(SUPPORTED)} files can."
        )
    options = {k: v for k, v in scala_map_of(session.jvm, storage.properties()).items() if v is not None}
    return ForeignTable(
        format=form,
        location=str(found.location().toString()),
        fields=from_struct(read_struct(found.schema().json())),
        partition_keys=tuple(str(k) for k in session.jvm.items(found.partitionColumnNames())),
        options={k: v for k, v in options.items() if k not in ("path", "serialization.format")},
    )


def foreign_tables(session: SessionBridge, database: str) -> list[str] | None:
    """The names of the tables of a database of Spark's session catalog; None where there is no such database."""
    catalog = session.session.sessionState().catalog()
    if not catalog.databaseExists(database):
        return None
    return sorted(str(t.table()) for t in session.jvm.items(catalog.listTables(database)))


def drop_foreign_table(session: SessionBridge, database: str, name: str) -> None:
    """Drop a table of Spark's session catalog; the files of an external one stay."""
    names = ".".join(quoted_name(n) for n in (_SPARK_CATALOG, database, name))
    session.session.sql(f"DROP TABLE {names}")


def folder_of_files(session: SessionBridge, form: str, location: str, options: Mapping[str, str]) -> ForeignTable:
    """A folder as Spark reads it: columns of its files, partition columns of the folders in it.

    Raises `TableNotFoundError` where there are no such files.
    """
    spark = SparkSession(session.jvm.context, session.session)
    try:
        found = spark.read.format(form).options(**dict(options)).load(normalize(location))
    except AnalysisException as e:
        raise TableNotFoundError(f"{location} has no {form} files whose columns are known: {told(e)}") from e
    files = found._jdf.queryExecution().analyzed().relation()
    keys = tuple(str(n) for n in files.partitionSchema().fieldNames())
    return ForeignTable(
        format=form, location=location, fields=from_struct(found.schema), partition_keys=keys, options=dict(options)
    )


def _identifier(session: SessionBridge, database: str, name: str) -> Any:
    jvm = session.jvm
    return jvm.java_class(f"{SQL}.catalyst.TableIdentifier")(name, jvm.some(database), jvm.some(_SPARK_CATALOG))
