"""`spark.read.format("paimon").load(path)` and `df.write.format("paimon").save(path)`.

Spark looks for a class of that name. So these methods of PySpark ask here first, and what they mean is a table of the
catalog of paths, or with the options `catalog`, `database` and `table` one of another catalog.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter

from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.gateway import Jvm, scala_map_of
from paimon_sql.spark.tables.catalog import PROVIDER
from paimon_sql.spark.tables.path_names import LOCATORS, table_name

_READ_CHANGELOG = "read.changelog"


def install_path_tables() -> None:
    """Let PySpark's `load` and `save` ask here first. Does nothing where they do."""
    ask_first(DataFrameReader, "load", _load)
    ask_first(DataFrameWriter, "save", _save)


def _load(reader: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    if not _is_ours(format or reader._jreader.source()):
        return NotImplemented
    reader.options(**options)
    if schema is not None:
        reader.schema(schema)
    session = reader._spark
    given = _options(Jvm(session.sparkContext), reader._jreader)
    reader._jreader.assertNoSpecifiedSchema("load")
    rest = {k: v for k, v in given.items() if k.lower() not in LOCATORS}
    changelog = rest.pop(_READ_CHANGELOG, "false").lower() == "true"
    name = table_name(given, path, "$audit_log" if changelog else "")
    return DataFrame(session._jsparkSession.read().options(rest).table(name), session)


def _save(
    writer: Any, path: Any = None, format: str | None = None, mode: Any = None, partitionBy: Any = None, **options: Any
) -> Any:
    if not _is_ours(format or writer._jwrite.source()):
        return NotImplemented
    writer.mode(mode).options(**options)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    writer.format(PROVIDER)
    given = _options(Jvm(writer._spark.sparkContext), writer._jwrite)
    with _without(writer._jwrite, [k for k in given if k.lower() in LOCATORS]):
        return writer.saveAsTable(table_name(given, path))


def _is_ours(source: object) -> bool:
    return str(source).lower() == PROVIDER


def _options(jvm: Jvm, owner: Any) -> dict[str, str]:
    """The options of a Java reader or writer."""
    return {k: v for k, v in scala_map_of(jvm, owner.extraOptions()).items() if v is not None}


@contextmanager
def _without(writer: Any, names: list[str]) -> Iterator[None]:
    """A Java writer without some of its options, which it gets back afterwards."""
    before = kept = writer.extraOptions()
    for name in names:
        kept = getattr(kept, "$minus")(name)
    set_options = getattr(writer, "extraOptions_$eq")
    set_options(kept)
    try:
        yield
    finally:
        set_options(before)
