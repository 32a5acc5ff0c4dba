"""`spark.read.format("paimon").load(path)` and `df.write.format("paimon").save(path)`.

Spark looks for a class of that name. So these methods of PySpark ask here first, and what they mean is a table of the
catalog of paths, or with the options `catalog`, `database` and `table` one of another catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter

from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import is_storage_option, normalize
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.catalog_bridge import PROVIDER
from paimon_sql.spark.jvm import Jvm, scala_map_of
from paimon_sql.spark.path_catalog import PATHS
from paimon_sql.spark.pyspark_methods import ask_first

LOCATORS = ("path", "catalog", "database", "table")
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


def table_name(options: Mapping[str, str], path: object, suffix: str = "") -> str:
    """The table of a reader's or writer's options and argument, as SQL names it.

    Raises `InvalidOptionError` where it is not one table.
    """
    if kept := sorted(filter(is_storage_option, options)):
        raise InvalidOptionError(
            f"{', '.join(kept)}: options of a storage are settings of the session, as "
            f"spark.sql.catalog.{PATHS}.{kept[0]}; those of a reader or a writer may end up in the table's definition."
        )
    place = {k.lower(): v for k, v in options.items() if k.lower() in LOCATORS}
    given = [p for p in (*(path if isinstance(path, list) else [path]), place.get("path")) if p is not None]
    catalog = place.get("catalog")
    if len(given) != 1 and not (catalog and "database" in place and "table" in place and not given):
        found = "no path" if not given else f"{len(given)} paths ({', '.join(map(str, given))})"
        raise InvalidOptionError(f'format("{PROVIDER}") reads and writes one table at one path, not {found}.')
    location = normalize(str(given[0])) if given else ""
    if catalog is None:
        return f"{PATHS}.{quoted_name(location + suffix)}"
    folder, _, name = location.rpartition("/")
    database = place.get("database", folder.rpartition("/")[2].removesuffix(".db"))
    return ".".join(map(quoted_name, (catalog, database, place.get("table", name) + suffix)))


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
