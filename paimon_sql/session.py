"""The two ways to a session: `connect` makes one, `install` extends an existing one. `doctor` checks a Spark."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution

from pyspark import SparkConf, SparkContext
from pyspark.sql import DataFrame, SparkSession

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.scan.derived_tables import NAMED_TABLES
from paimon_core.secrets import is_secret
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE
from paimon_sql.catalog.option_values import keyword_options
from paimon_sql.java import MINIMUM, find_java
from paimon_sql.pictures.picture import Choice, PictureFormat
from paimon_sql.pictures.show import TablePictures
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.spark.dataframes.counted_statements import install_counted_statements, uncounted
from paimon_sql.spark.dataframes.path_tables import install_delta_tables, install_path_tables
from paimon_sql.spark.dataframes.remote_frames import install_source
from paimon_sql.spark.dataframes.session_methods import install_session_methods
from paimon_sql.spark.dataframes.stream_reads import install_stream_reads
from paimon_sql.spark.dataframes.stream_writers import install_stream_writers
from paimon_sql.spark.dataframes.writers import install_writers
from paimon_sql.spark.diagnosis import Diagnosis, check_spark, diagnose
from paimon_sql.spark.errors.raised import install_raised_errors, quiet_crossings
from paimon_sql.spark.jvm.frames import tables_read
from paimon_sql.spark.jvm.gateway import Jvm, jvm_of
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG
from paimon_sql.spark.jvm.sessions import fork_workers_from, java_session, run_workers_with
from paimon_sql.spark.redaction import DEFAULT, PATTERN, extended
from paimon_sql.spark.session_bridge import (
    CATALOG_CLASSES,
    CATALOG_PREFIX,
    CONNECTED_CATALOG,
    DEFAULT_CATALOG,
    GENERIC_CLASSES,
    is_catalog_class,
)
from paimon_sql.spark.statements.parser import has_parser, install_parser
from paimon_sql.spark.surroundings import surroundings

_NAME = "paimon-sql"  # of an application without a name: spark-submit would name it after the file that it runs
_NO_NAMES = ("", "pyspark-shell", "__main__.py")


def connect(
    warehouse: str | None = None, catalog: str = "paimon", metastore: str = "filesystem", **options: str
) -> SparkSession:
    """Return a Spark session with a current Paimon catalog: the active session, or a new one.

    `options` are Spark's settings if their names begin with `spark.` (pass them as `**{"spark.x": "y"}`), else options
    of the catalog. In keywords, write `_` for `-`. `catalog="spark_catalog"` puts Paimon tables beside Spark's own.
    `metastore="rest"` needs no warehouse: its server may have one. Other sessions without a warehouse have the catalogs
    that Spark's settings configure (`spark-defaults.conf`), and Spark chooses the current one. Raises `RuntimeError` if
    no Java is found, `InvalidOptionError` for options of a catalog without a warehouse.
    """
    spark_settings = {k: v for k, v in options.items() if k.startswith("spark.")}
    catalog_options = keyword_options(
        warehouse, metastore, {k: v for k, v in options.items() if k not in spark_settings}
    )
    catalog_settings: dict[str, str] = {}
    has_catalog = warehouse is not None or metastore == "rest"
    if has_catalog:
        prefix = CATALOG_PREFIX + catalog
        class_name = (GENERIC_CLASSES if catalog == SESSION_CATALOG else CATALOG_CLASSES)[0]
        catalog_settings = {prefix: class_name} | {f"{prefix}.{k}": v for k, v in catalog_options.items()}
    elif len(catalog_options) > 1:
        given = ", ".join(key for key in catalog_options if key != "metastore")
        raise InvalidOptionError(f"connect() needs a warehouse to make a catalog with {given}.")
    spark = SparkSession.getActiveSession() or _start(spark_settings, catalog_settings)
    for key, value in spark_settings.items():
        if spark.conf.get(key, None) != value and spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    for key, value in catalog_settings.items():
        spark.conf.set(key, value)
    install(spark)
    if has_catalog:
        _make_current(spark, catalog)
    return spark


def active_session() -> SparkSession | None:
    """Return the active session, and install it if necessary. Return None if no session is active."""
    spark = SparkSession.getActiveSession()
    if spark is None or (getattr(spark, "_sc", None) is not None and has_parser(java_session(spark))):
        return spark
    return install(spark)


def show(table: str, spark: SparkSession | None = None) -> TablePictures:
    """Return pictures of a table: its LSM trees, commits, files, partitions, branches and schemas.

    `table` is a name as in SQL, in any Paimon catalog of the session (default: the active session). A notebook shows
    the value; `show("db.t").lsm().save("t.svg")` writes a file. Without Spark, use `open_table(path).pictures`. Raises
    `InvalidOptionError` without a session or a Paimon catalog, and when a picture is drawn, as `CALL sys.picture`.
    """
    session = spark or active_session()
    if session is None:
        raise InvalidOptionError("There is no Spark session: make one with connect(warehouse=…), or use open_table.")
    current, known = session.catalog.currentCatalog(), configured_catalogs(session)
    if not known:
        raise InvalidOptionError("The session has no Paimon catalog: make one with connect(warehouse=…).")
    procedure = f"{quoted_name(current if current in known else known[0])}.sys.picture"

    def render(kind: str | None, form: PictureFormat, part: Choice) -> list[str]:
        given = {"table": table, "kind": kind, "output": form.value, "partition": part.partition, "after": part.after}
        arguments = [f"{name} => {quoted_text(value)}" for name, value in given.items() if value is not None]
        arguments += [] if part.bucket is None else [f"bucket => {part.bucket:d}"]
        return [row["picture"] for row in session.sql(f"CALL {procedure}({', '.join(arguments)})").collect()]

    return TablePictures(table, render)


def configured_catalogs(spark: SparkSession) -> list[str]:
    """Return the sorted names of the Paimon catalogs that a session's settings configure."""
    found = ((key.removeprefix(CATALOG_PREFIX), value) for key, value in spark.conf.getAll.items())
    return sorted(name for name, value in found if is_catalog_class(name, value))


def shows_system_tables(frame: DataFrame) -> bool:
    """Return whether the rows of a DataFrame come from system tables alone: these are read from metadata."""
    context = _context_of(frame.sparkSession)
    found = tables_read(jvm_of(context), frame)
    return bool(found) and all(_is_system_table(table.parts) for table in found or ())


def _is_system_table(parts: Sequence[str]) -> bool:
    if len(parts) != 2:
        return False
    name = Identifier.of(*parts).system_table
    return parts[0] == SYSTEM_DATABASE or (name is not None and name.lower() not in NAMED_TABLES)


def install(spark: SparkSession) -> SparkSession:
    """Add this package to a session: every `spark.sql.catalog.NAME` set to `paimon_sql.SparkCatalog` (or to the class
    of Paimon's Java connector) becomes a catalog, even if it is set later. Return the same session; a second call has
    no effect.

    Raises `UnsupportedFeatureError` for a Spark that lacks internals that this package uses (see `doctor`). Warns about
    a Spark version that has not been tested.
    """
    jvm = prepare(_context_of(spark))
    install_parser(jvm, java_session(spark), partial(install_source, jvm))
    with uncounted():
        spark.sql("SELECT 1")  # the hook makes the configured catalogs now
    return spark


def prepare(context: SparkContext) -> Jvm:
    """Check the Spark of a context, choose the Python of its workers, and extend PySpark's methods."""
    if context.master.startswith("local") and context.pythonExec in ("", "python", "python3"):
        # an interpreter without a path may be another Python on the workers, which lacks our packages
        run_workers_with(context, sys.executable)
    jvm = jvm_of(context)
    check_spark(jvm)
    if context.master.startswith("local") and _is_installed_for(context.pythonExec):
        fork_workers_from(jvm, "paimon_sql.spark.workers.daemon")
    install_writers()
    install_path_tables()
    install_delta_tables()
    install_session_methods()
    install_counted_statements()
    install_stream_reads()
    install_stream_writers()
    install_raised_errors()
    quiet_crossings()
    return jvm


def doctor(spark: SparkSession | None = None) -> Diagnosis:
    """Check which Spark internals a session's Spark has. The result lists each hook, its variant in use, and the
    features that do not work. A small job checks the Python of the executors. The text of the result is a report.
    Without a session, check the active one, or start a new one on this machine and stop it.
    """
    found = spark or SparkSession.getActiveSession()
    if found is not None:
        return _diagnosed(jvm_of(_context_of(found)))
    started = _start({"spark.ui.enabled": "false"}, {})
    try:
        return _diagnosed(jvm_of(started.sparkContext))
    finally:
        started.stop()


def _diagnosed(jvm: Jvm) -> Diagnosis:
    return replace(diagnose(jvm), findings=surroundings(jvm, MINIMUM))


def _make_current(spark: SparkSession, catalog: str) -> None:
    """Make a catalog the current one of a session, and of sessions that Spark creates from it, for instance for
    `foreachBatch`. Keep a default catalog that the user has set.
    """
    with uncounted():
        spark.sql(f"USE {quoted_name(catalog)}.`default`")
    default = spark.conf.get(DEFAULT_CATALOG, None)
    if default is None or default == spark.conf.get(CONNECTED_CATALOG, None):
        for key in (DEFAULT_CATALOG, CONNECTED_CATALOG):
            spark.conf.set(key, catalog)


def _context_of(spark: SparkSession) -> SparkContext:
    context = getattr(spark, "_sc", None)
    if context is None:
        raise UnsupportedFeatureError(
            "paimon-sql needs a session that runs in this process: a Spark Connect client has no access to its server's"
            " catalogs. Call install() where the server starts."
        )
    return context


def _start(settings: dict[str, str], catalog: dict[str, str]) -> SparkSession:
    """Start a new session. The context gets the catalog's settings at its start, because Spark redacts only such
    settings in its event log. The JVM starts before that: its own settings are on its command line, so they must not
    contain secrets.
    """
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    on_command_line = [(key, value) for key, value in settings.items() if not is_secret(key)]
    SparkContext._ensure_initialized(conf=SparkConf().setAll(on_command_line))
    pattern = settings.get(PATTERN) or str(SparkConf().get(PATTERN, DEFAULT))
    name = SparkConf().get("spark.app.name", "")  # from --name, or from a properties file
    builder = SparkSession.builder.appName(_NAME if name in _NO_NAMES else name)
    for key, value in {**settings, **catalog, PATTERN: extended(pattern)}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _is_installed_for(python: str) -> bool:
    """Return whether an interpreter is the running one, and has this package installed."""
    if shutil.which(python) != sys.executable:
        return False
    try:
        distribution("paimon-sql")
    except PackageNotFoundError:  # the package is in a folder of `sys.path`, or came with `addPyFile`
        return False
    return True
