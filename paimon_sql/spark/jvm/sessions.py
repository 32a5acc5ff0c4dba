"""Sessions of Spark: their settings, catalogs, parser, rules, and what they are doing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items, texts
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field, stack_names
from paimon_sql.spark.jvm.hooks import Variant, constructor, field, hook, java_type, method, python

# methods and classes of Spark that are under way while it loads a table, or plans a scan, for a statement about it
_NAMES_TABLES = ("lookupTableOrView", "ShowTablesExtendedExec")
_DESCRIBES = ("DescribeTableExec",)


@hook(
    "PySpark's `SparkSession._jsparkSession`",
    "everything that PySpark's own methods ask first",
    python("pyspark.sql.classic.dataframe", "DataFrame"),
)
def java_session(spark: SparkSession) -> JavaObject:
    return spark._jsparkSession


def python_session(jvm: Jvm, session: JavaObject) -> SparkSession:
    return SparkSession(jvm.context, session)


def new_session(spark: SparkSession) -> SparkSession:
    """As PySpark's `newSession`, of the same class."""
    return type(spark)(spark._sc, java_session(spark).newSession())


def spark_version(jvm: Jvm) -> str:
    """The version of the Spark that runs in the JVM, which PySpark's may differ from."""
    return str(jvm.context._jsc.version())


def java_version(jvm: Jvm) -> str:
    return str(jvm.java_class(classes.SYSTEM).getProperty("java.version"))


# -- settings ---------------------------------------------------------------------------------------------------------
@hook(
    "`SessionState.conf`",
    "every setting of Paimon's",
    method(classes.SESSION_STATE, "conf", 0),
)
def settings_of(session: JavaObject) -> JavaObject:
    """The session's settings, which change in place."""
    return session.sessionState().conf()


@hook(
    "`SQLConf.getConfigEntry`, `SQLConf.getConf`",
    "every setting of Spark's that we go by",
    method(f"{classes.SQL_CONF}$", "getConfigEntry", 1),
    method(classes.SQL_CONF, "getConf", 1),
)
def setting_entry(jvm: Jvm, key: str) -> JavaObject:
    """The definition of a setting of Spark's, for `setting_value`."""
    return jvm.scala_object(classes.SQL_CONF).getConfigEntry(key)


def setting_value(settings: JavaObject, entry: JavaObject) -> bool | int | float | str:
    """A setting as Spark reads it: with the default of this Spark, what the environment says, and in any spelling."""
    value = settings.getConf(entry)
    return str(value.toString()) if isinstance(value, JavaObject) else value


def setting_text(settings: JavaObject, key: str) -> str | None:
    """Return the session's value of a key that Spark does not define, None if the session does not set it."""
    found = settings.getConfString(key, None)
    return None if found is None else str(found)


@hook(
    "`SparkContext.conf`: `getConf` gives copies",
    "redaction of secrets, and the process that workers are forked from",
    method(classes.SPARK_CONTEXT, "conf", 0),
)
def context_settings(jvm: Jvm) -> JavaObject:
    """The settings of the context, those in force."""
    return jvm.context._jsc.sc().conf()


@hook(
    "`SharedState.conf`",
    "catalogs in the sessions of a server's clients",
    method(classes.SHARED_STATE, "conf", 0),
)
def begin_sessions_with(session: JavaObject, settings: Mapping[str, str]) -> None:
    """Let the sessions that are made from one begin with settings, beside those that its context started with."""
    shared = session.sharedState().conf()
    for name, value in settings.items():
        shared.set(name, value)


@hook(
    "PySpark's `SparkContext.pythonExec`",
    "workers on this machine run another Python, without our packages",
    python("pyspark", "SparkContext._do_init"),
)
def run_workers_with(context: SparkContext, python: str) -> None:
    """Have workers started by an interpreter of this path."""
    context.pythonExec = python


def fork_workers_from(jvm: Jvm, module: str) -> None:
    """Have this machine's Python workers forked from a module's process, unless the user has set one."""
    context_settings(jvm).setIfMissing("spark.python.daemon.module", module)


# -- names and catalogs -----------------------------------------------------------------------------------------------
@hook(
    "`SessionState.catalogManager`",
    "names without a catalog or database",
    method(classes.SESSION_STATE, "catalogManager", 0),
    method(classes.CATALOG_MANAGER, "currentNamespace", 0),
)
def current_namespace(session: JavaObject) -> str:
    return str(session.sessionState().catalogManager().currentNamespace()[0])


def current_catalog(session: JavaObject) -> str:
    return str(session.sessionState().catalogManager().currentCatalog().name())


@hook(
    "the private field `SparkSession.parentSessionState`",
    "the current database in clones of a session, such as those that foreachBatch runs in",
    field(classes.SESSION, "parentSessionState"),
    method(classes.CATALOG_MANAGER, "setCurrentCatalog", 1),
    method(classes.CATALOG_MANAGER, "setCurrentNamespace", 1),
)
def place_of_original(session: JavaObject) -> tuple[str, JavaObject] | None:
    """The current catalog and namespace of the session that one is cloned from; None for a session that is not a
    clone."""
    original = accessible_field(session, "parentSessionState").get(session)
    if original is None or not original.isDefined():
        return None
    manager = original.get().catalogManager()
    return str(manager.currentCatalog().name()), manager.currentNamespace()


def move_to(session: JavaObject, catalog: str, namespace: JavaObject) -> None:
    """Make a catalog and a namespace current. Raises Py4JJavaError if they are not there."""
    manager = session.sessionState().catalogManager()
    manager.setCurrentCatalog(catalog)
    manager.setCurrentNamespace(namespace)


def is_catalog(session: JavaObject, name: str) -> bool:
    """Whether a catalog is configured or loaded."""
    return bool(session.sessionState().catalogManager().isCatalogRegistered(name))


def is_temporary_view(session: JavaObject, *parts: str) -> bool:
    """Return whether a temporary view of the session has a name, or a global one, named with the database for these."""
    catalog = session_catalog(session)
    match parts:
        case (name,):
            return bool(catalog.getTempView(name).isDefined())
        case (database, name) if database.lower() == str(catalog.globalTempDatabase()).lower():
            return bool(catalog.getGlobalTempView(name).isDefined())
    return False


@hook(
    "`SessionState.catalog`",
    "temporary views, and the tables that procedures migrate",
    method(classes.SESSION_STATE, "catalog", 0),
)
def session_catalog(session: JavaObject) -> JavaObject:
    """Spark's own catalog, of its tables and views."""
    return session.sessionState().catalog()


@hook(
    "`CatalogManager.defaultSessionCatalog`",
    "`org.apache.paimon.spark.SparkGenericCatalog` as the session's catalog",
    Variant.of("method", method(classes.CATALOG_MANAGER, "defaultSessionCatalog", 0)),
    Variant.of("private field", field(classes.CATALOG_MANAGER, "defaultSessionCatalog")),
)
def session_catalog_plugin(jvm: Jvm, session: JavaObject) -> JavaObject:
    """The same as a catalog that statements name, `spark_catalog`."""
    manager = session.sessionState().catalogManager()
    if jvm.variant(session_catalog_plugin).name == "method":
        return manager.defaultSessionCatalog()
    return accessible_field(manager, "defaultSessionCatalog").get(manager)


@hook(
    "the private field `CatalogManager.catalogs`",
    "every Paimon catalog: Spark loads catalogs by a Java class, and there is none",
    Variant.of("of the default manager", field(classes.DEFAULT_CATALOG_MANAGER, "catalogs")),
    Variant.of("of the manager itself", field(classes.CATALOG_MANAGER, "catalogs")),
)
def loaded_catalogs(session: JavaObject) -> JavaObject:
    """The session's catalogs that are loaded by name, a mutable Scala map."""
    manager = session.sessionState().catalogManager()
    return accessible_field(manager, "catalogs").get(manager)


@hook(
    "`Utils.getSparkClassLoader`, `ClassLoader.defineClass`",
    "defaults of columns that call functions, if a Paimon catalog is the default catalog",
    method(classes.SPARK_UTILS, "getSparkClassLoader", 0),
    method(classes.JAVA_CLASS_LOADER, "defineClass", 4),
)
def define_catalog_class(jvm: Jvm, class_name: str) -> bool:
    """Let Spark find the class that a catalog's setting names, for catalog managers that Spark makes for itself. Return
    whether it does."""
    return bool(jvm.compiled("CatalogClasses").define(class_name))


@hook(
    "`StringUtils.filterPattern`",
    "SHOW VIEWS LIKE (before 4.2)",
    method(f"{classes.STRING_UTILS}$", "filterPattern", 2),
)
def matching_names(jvm: Jvm, names: Iterable[str], pattern: str) -> list[str]:
    """Return the names that match the pattern of a SHOW statement."""
    return list(texts(jvm.scala_object(classes.STRING_UTILS).filterPattern(jvm.seq(names), pattern)))


def name_parts(session: JavaObject, text: str) -> list[str]:
    """The parts of a name as SQL spells it."""
    return list(texts(parser_of(session).parseMultipartIdentifier(text)))


# -- parser and rules -------------------------------------------------------------------------------------------------
@hook(
    "`SessionState.sqlParser`",
    "whether the parser hook is there",
    method(classes.SESSION_STATE, "sqlParser", 0),
)
def parser_of(session: JavaObject) -> JavaObject:
    return session.sessionState().sqlParser()


@hook(
    "`VariableSubstitution`",
    "`${x}` in statements that only we can parse",
    method(classes.VARIABLES, "substitute", 1),
)
def spark_variables(jvm: Jvm) -> JavaObject:
    """Return what replaces variables in statements, for `with_variables`, as Spark's parser does."""
    return jvm.java_class(classes.VARIABLES)()


@hook(
    "the private fields `SparkSqlParser.substitutor` and `ConfigReader.bindings`, `SQLConf.redactOptions`",
    "`${x}` in statements of a server's clients",
    field(classes.SPARK_PARSER, "substitutor"),
    field(classes.SETTINGS_READER, "bindings"),
    method(classes.SQL_CONF, "redactOptions", 1),
)
def client_variables(jvm: Jvm, parser: JavaObject) -> JavaObject:
    """Let a parser, and the parsers that it asks, replace only variables that a server's client may read. Return what
    replaces them, for `with_variables`. Raises `UnsupportedFeatureError` if no parser replaces variables there."""
    variables = jvm.compiled("ClientVariables")
    if not variables.install(parser):
        raise UnsupportedFeatureError(
            "The server could not hide its environment from its clients: their sessions do not use Spark's parser. "
            "Start it without extensions that bring parsers (spark.sql.extensions)."
        )
    return variables


def with_variables(variables: JavaObject, text: str) -> str:
    """Return a statement of the active session with values for its variables `${x}`."""
    return str(variables.substitute(text)) if "${" in text else text


@hook(
    "the private field `SessionState.sqlParser`",
    "Paimon's statements in a session that runs already",
    field(classes.SESSION_STATE, "sqlParser"),
)
def replace_parser(session: JavaObject, parser: Any) -> None:
    state = session.sessionState()
    accessible_field(state, "sqlParser").set(state, parser)


@hook(
    "`SparkSession.extensions` of a running session",
    "Paimon's statements in sessions made from this one",
    method(classes.SESSION, "extensions", 0),
)
def inject_parser(session: JavaObject, make: Any) -> None:
    """Have the sessions that are made from this one use the parser that `make` gives for a session and its parser."""
    session.extensions().injectParser(make)


@hook(
    "`SparkSession.experimental.extraOptimizations`",
    "loads of large files are shuffled although they need not be",
    method(classes.EXPERIMENTAL, "extraOptimizations", 0),
)
def add_last_optimization(jvm: Jvm, session: JavaObject, rule: JavaObject) -> None:
    """Add an optimizer's rule after the rules of a running session, once."""
    methods = session.experimental()
    rules = items(methods.extraOptimizations())
    if rule.ruleName() not in [r.ruleName() for r in rules]:
        getattr(methods, "extraOptimizations_$eq")(jvm.seq([*rules, rule]))


@hook(
    "`SparkSession.experimental.extraStrategies`",
    "the section of NOT NULL columns in DESCRIBE EXTENDED",
    method(classes.EXPERIMENTAL, "extraStrategies", 0),
)
def add_strategy(jvm: Jvm, session: JavaObject, strategy: JavaObject) -> None:
    """Put a planner's strategy before the strategies of a running session, once; `toString` returns its name."""
    methods = session.experimental()
    strategies = items(methods.extraStrategies())
    if str(strategy.toString()) not in [str(s.toString()) for s in strategies]:
        getattr(methods, "extraStrategies_$eq")(jvm.seq([*strategies, strategy]))


@hook(
    "`SharedState.cacheManager`",
    "cached tables are as they were before a DELETE, UPDATE, MERGE INTO or CALL on a Paimon table",
    method(classes.SHARED_STATE, "cacheManager", 0),
    method(classes.CACHE_MANAGER, "isEmpty", 0),
)
def has_cached(session: JavaObject) -> bool:
    """Whether anything is cached, in any session of the application."""
    return not session.sharedState().cacheManager().isEmpty()


def refresh_cached(session: JavaObject, *parts: str) -> None:
    """Have what is cached of a table read again, as Spark does behind its own statements."""
    session.catalog().refreshTable(".".join(f"`{part.replace('`', '``')}`" for part in parts))


# -- what is under way ------------------------------------------------------------------------------------------------
@hook(
    "names of methods and classes on the stack",
    "a damaged table hides others in SHOW TABLE EXTENDED, and its error",
    java_type(f"{classes.PHYSICAL_PLANS_PACKAGE}.ShowTablesExtendedExec"),
)
def is_named_only(jvm: Jvm) -> bool:
    """Whether Spark loads a table for a command about it, not to read or write its rows. A look at the stack costs: it
    is for answers that are errors otherwise."""
    return _is_under_way(jvm, _NAMES_TABLES)


def is_listed_extended(jvm: Jvm) -> bool:
    """Whether Spark lists tables for SHOW TABLE EXTENDED; see `is_named_only`."""
    return _is_under_way(jvm, _NAMES_TABLES[1:])


@hook(
    "names of classes on the stack",
    "DESCRIBE of a table with damaged files fails",
    java_type(f"{classes.PHYSICAL_PLANS_PACKAGE}.DescribeTableExec"),
)
def is_described(jvm: Jvm) -> bool:
    """Whether Spark plans a scan only for its statistics; see `is_named_only`."""
    return _is_under_way(jvm, _DESCRIBES)


def _is_under_way(jvm: Jvm, wanted: Iterable[str]) -> bool:
    found = stack_names(jvm)
    return any(name in found for name in wanted)


_NAMED = Variant.of("of a table and its name", constructor(classes.DESCRIBE_TABLE, 5))
_PLAIN = Variant.of("of a table", constructor(classes.DESCRIBE_TABLE, 3))


@hook("`DescribeTableExec`", "the section of NOT NULL columns in DESCRIBE EXTENDED", _NAMED, _PLAIN)
def install_described_columns(jvm: Jvm, session: JavaObject) -> None:
    """Put the strategy into a running session, once. It treats proxies as Paimon tables: Spark's own tables are Java
    classes."""
    without = "" if jvm.variant(install_described_columns) is _NAMED else "named"
    add_strategy(jvm, session, jvm.compiled("DescribedColumns", without).strategy())
