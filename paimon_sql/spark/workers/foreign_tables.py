"""Tables of the session's own catalog, and folders of files, as migration reads them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException

from paimon_core.errors import TableNotFoundError, UnsupportedFeatureError
from paimon_core.format_table.options import SUPPORTED
from paimon_core.io.load import normalize
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.procedures import ForeignTable
from paimon_sql.spark.errors.java import first_line
from paimon_sql.spark.jvm.frames import partition_columns
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG, session_table, session_tables
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import from_struct


def foreign_table(session: SessionBridge, database: str, name: str) -> ForeignTable | None:
    """Return a table of files of Spark's session catalog; None if it does not exist. Raises `UnsupportedFeatureError`
    for other kinds of tables.
    """
    found = session_table(session.jvm, session.session, database, name)
    if found is None:
        return None
    provider, serde = (found.provider or "none").lower(), found.serde.lower()
    file_format = next((f for f in SUPPORTED if f == provider or (provider == "hive" and f in serde)), None)
    if file_format is None or found.kind == "VIEW":
        raise UnsupportedFeatureError(
            f"Table {database}.{name} cannot be migrated: it is {provider} ({found.kind}); tables of "
            f"{', '.join(SUPPORTED)} files can."
        )
    return ForeignTable(
        format=file_format,
        location=found.location,
        fields=from_struct(found.schema),
        partition_keys=found.partition_columns,
        options={k: v for k, v in found.options.items() if k not in ("path", "serialization.format")},
    )


def foreign_tables(session: SessionBridge, database: str) -> list[str] | None:
    """Return the names of the tables in a database of Spark's session catalog; None for a missing database."""
    return session_tables(session.session, database)


def drop_foreign_table(session: SessionBridge, database: str, name: str) -> None:
    """Drop a table of Spark's session catalog. If it is external, its files remain."""
    names = ".".join(quoted_name(n) for n in (SESSION_CATALOG, database, name))
    session.session.sql(f"DROP TABLE {names}")


def folder_of_files(
    session: SessionBridge, file_format: str, location: str, options: Mapping[str, str]
) -> ForeignTable:
    """Return a folder as Spark reads it: columns from its files, and partition columns from the names of its
    subfolders.

    Raises `TableNotFoundError` if the folder has no such files.
    """
    spark = session.python_session
    try:
        found = spark.read.format(file_format).options(**dict(options)).load(normalize(location))
    except AnalysisException as e:
        raise TableNotFoundError(f"{location} has no {file_format} files with known columns: {first_line(e)}") from e
    return ForeignTable(
        format=file_format,
        location=location,
        fields=from_struct(found.schema),
        partition_keys=partition_columns(found),
        options=dict(options),
    )
