"""Spark's sessions: their settings, catalogs, parser and rules, and the work in progress."""

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

# methods and classes on Spark's stack while it loads a table, or plans a scan, for a statement that does not read its
# rows
_NAMES_TABLES = ("lookupTableOrView", "ShowTablesExtendedExec")
_DESCRIBES = ("DescribeTableExec",)
_DEFINES = (*_DESCRIBES, "ShowCreateTableExec")
# methods of catalogs that may raise errors of Spark's own catalog
_OF_CATALOGS = (
    *("listTables", "loadTable", "loadChangelog", "tableExists", "createTable", "createTableLike", "alterTable"),
    *("dropTable", "purgeTable", "renameTable", "listTableSummaries", "stageCreate", "stageReplace"),
    *("stageCreateOrReplace", "listNamespaces", "namespaceExists", "loadNamespaceMetadata", "createNamespace"),
    *("alterNamespace", "dropNamespace", "loadFunction", "listFunctions", "functionExists"),
    *("loadProcedure", "listProcedures"),
)


@hook(
    "PySpark's `SparkSession._jsparkSession`",
    "every method of PySpark that this package extends",
    python("pyspark.sql.classic.dataframe", "DataFrame"),
)
def java_session(spark: SparkSession) -> JavaObject:
    return spark._jsparkSession


def python_session(jvm: Jvm, session: JavaObject) -> SparkSession:
    return SparkSession(jvm.context, session)


def new_session(spark: SparkSession) -> SparkSession:
    """Return a new session as PySpark's `newSession` does, of the same Python class."""
    return type(spark)(spark._sc, java_session(spark).newSession())


def java_version(jvm: Jvm) -> str:
    return str(jvm.java_class(classes.SYSTEM).getProperty("java.version"))


# -- settings ---------------------------------------------------------------------------------------------------------
@hook(
    "`SessionState.conf`",
    "every setting of Paimon's",
    method(classes.SESSION_STATE, "conf", 0),
)
def settings_of(session: JavaObject) -> JavaObject:
    """Return the session's settings, an object that later changes of the session update."""
    return session.sessionState().conf()


@hook(
    "`SQLConf.getConfigEntry`, `SQLConf.getConf`",
    "every Spark setting that this package reads",
    method(f"{classes.SQL_CONF}$", "getConfigEntry", 1),
    method(classes.SQL_CONF, "getConf", 1),
)
def setting_entry(jvm: Jvm, key: str) -> JavaObject:
    """Return the definition of a Spark setting, for `setting_value`."""
    return jvm.scala_object(classes.SQL_CONF).getConfigEntry(key)


def setting_value(settings: JavaObject, entry: JavaObject) -> bool | int | float | str:
    """Return a setting as Spark reads it: with this Spark's default, the environment's value, and in any spelling."""
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
    """Return the settings that the context uses now."""
    return jvm.context._jsc.sc().conf()


@hook(
    "`SharedState.conf`",
    "catalogs in the sessions of a server's clients",
    method(classes.SHARED_STATE, "conf", 0),
)
def begin_sessions_with(session: JavaObject, settings: Mapping[str, str]) -> None:
    """Give settings to each session that is created from this one, in addition to the context's own settings."""
    shared = session.sharedState().conf()
    for name, value in settings.items():
        shared.set(name, value)


@hook(
    "PySpark's `SparkContext.pythonExec`",
    "workers on this machine run another Python, without our packages",
    python("pyspark", "SparkContext._do_init"),
)
def run_workers_with(context: SparkContext, python: str) -> None:
    """Make the context start workers with the interpreter `python`, a path."""
    context.pythonExec = python


def fork_workers_from(jvm: Jvm, module: str) -> None:
    """Fork this machine's Python workers from the process of `module`, unless the user has set a module."""
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
    """Return the current catalog and namespace of the session that this one was cloned from; None if it is
    not a clone.
    """
    original = accessible_field(session, "parentSessionState").get(session)
    if original is None or not original.isDefined():
        return None
    manager = original.get().catalogManager()
    return str(manager.currentCatalog().name()), manager.currentNamespace()


def move_to(session: JavaObject, catalog: str, namespace: JavaObject) -> None:
    """Make a catalog and a namespace current. Raises Py4JJavaError if they do not exist."""
    manager = session.sessionState().catalogManager()
    manager.setCurrentCatalog(catalog)
    manager.setCurrentNamespace(namespace)


def is_catalog(session: JavaObject, name: str) -> bool:
    """Return whether a catalog is configured or loaded."""
    return bool(session.sessionState().catalogManager().isCatalogRegistered(name))


def is_temporary_view(session: JavaObject, *parts: str) -> bool:
    """Return whether the session has a temporary view of this name. Two parts name a global temporary view, if the
    first is the database of these views.
    """
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
    """Return Spark's own catalog of tables and views, as an internal object."""
    return session.sessionState().catalog()


@hook(
    "`SQLConf.warehousePath`",
    "the place of Paimon tables beside Spark's own (`SparkGenericCatalog`)",
    method(classes.SQL_CONF, "warehousePath", 0),
)
def warehouse_of(settings: JavaObject) -> str:
    """Return the folder of the tables of Spark's own catalog."""
    return str(settings.warehousePath())


@hook(
    "`SessionState.newHadoopConf`",
    "Paimon tables in the Hive metastore of the session (`SparkGenericCatalog`)",
    method(classes.SESSION_STATE, "newHadoopConf", 0),
)
def metastore_uri(session: JavaObject) -> str:
    """Return the addresses of the Hive metastore of Spark's own catalog; empty without a server."""
    return str(session.sessionState().newHadoopConf().get("hive.metastore.uris", ""))


@hook(
    "`CatalogExtension` as the session's catalog",
    "Paimon tables beside Spark's own (`SparkGenericCatalog`)",
    java_type(classes.CATALOG_EXTENSION),
)
def beside_sparks_tables(jvm: Jvm, catalog: Any, sparks: JavaObject) -> JavaObject:
    """Return a catalog of the tables of a Paimon catalog and of everything in Spark's own catalog, `sparks`."""
    both = jvm.compiled("GenericCatalogs").of(jvm.fronted(catalog), sparks)
    return jvm.compiled("ProxyFronts").before(both, jvm.string_set(()), jvm.string_set(_OF_CATALOGS))


@hook(
    "`Analyzer.postHocResolutionRules`, names of the members of Spark's commands that make tables and views",
    "Paimon tables keep their names in Spark's own catalog (`SparkGenericCatalog`)",
    method(classes.ANALYZER, "postHocResolutionRules", 0),
    constructor(classes.NOOP_COMMAND, 2),
)
def keep_names(jvm: Jvm, session: JavaObject, catalog: Any) -> None:
    """Let a session refuse new tables and views of Spark's with the name of a Paimon table in `catalog`."""
    jvm.compiled("NewNames").install(session, session.sessionState().analyzer(), jvm.fronted(catalog))


@hook(
    "`CatalogManager.defaultSessionCatalog`",
    "`org.apache.paimon.spark.SparkGenericCatalog` as the session's catalog",
    Variant.of("method", method(classes.CATALOG_MANAGER, "defaultSessionCatalog", 0)),
    Variant.of("private field", field(classes.CATALOG_MANAGER, "defaultSessionCatalog")),
)
def session_catalog_plugin(jvm: Jvm, session: JavaObject) -> JavaObject:
    """Return Spark's own catalog as the plugin that statements name `spark_catalog`."""
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
    """Return the session's loaded catalogs by name, a mutable Scala map."""
    manager = session.sessionState().catalogManager()
    return accessible_field(manager, "catalogs").get(manager)


@hook(
    "`Utils.getSparkClassLoader`, `ClassLoader.defineClass`",
    "defaults of columns that call functions, if a Paimon catalog is the default catalog",
    method(classes.SPARK_UTILS, "getSparkClassLoader", 0),
    method(classes.JAVA_CLASS_LOADER, "defineClass", 4),
)
def define_catalog_class(jvm: Jvm, class_name: str) -> bool:
    """Make Spark find the class that a catalog's setting names, even in catalog managers that Spark creates itself.
    Return whether Spark finds it.
    """
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
    """Return the parts of a name that is spelled as in SQL."""
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
    """Return the object that replaces variables in statements as Spark's parser does, for `with_variables`."""
    return jvm.java_class(classes.VARIABLES)()


@hook(
    "the private fields `SparkSqlParser.substitutor` and `ConfigReader.bindings`, `SQLConf.redactOptions`",
    "`${x}` in statements of a server's clients",
    field(classes.SPARK_PARSER, "substitutor"),
    field(classes.SETTINGS_READER, "bindings"),
    method(classes.SQL_CONF, "redactOptions", 1),
)
def client_variables(jvm: Jvm, parser: JavaObject) -> JavaObject:
    """Let a parser, and the parsers that it delegates to, replace only variables that a server's client may read.
    Return the object that replaces variables, for `with_variables`. Raises `UnsupportedFeatureError` if none of the
    parsers replaces variables.
    """
    variables = jvm.compiled("ClientVariables")
    if not variables.install(parser):
        raise UnsupportedFeatureError(
            "The server could not hide its environment from its clients: their sessions do not use Spark's parser. "
            "Start it without extensions that bring parsers (spark.sql.extensions)."
        )
    return variables


def with_variables(variables: JavaObject, text: str) -> str:
    """Return a statement of the active session with its variables `${x}` replaced by their values."""
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
    """Make sessions that are created from this one use the parser that `make` returns. `make` takes a session and its
    parser.
    """
    session.extensions().injectParser(make)


@hook(
    "`SparkSession.experimental.extraOptimizations`",
    "loads of large files are shuffled although they need not be",
    method(classes.EXPERIMENTAL, "extraOptimizations", 0),
)
def add_last_optimization(jvm: Jvm, session: JavaObject, rule: JavaObject) -> None:
    """Add a rule to the optimizer of a running session, after its other rules. Replaces a rule of the same name: it may
    belong to a Python process that has ended."""
    methods, name = session.experimental(), rule.ruleName()
    rules = [known for known in items(methods.extraOptimizations()) if known.ruleName() != name]
    getattr(methods, "extraOptimizations_$eq")(jvm.seq([*rules, rule]))


@hook(
    "`SparkSession.experimental.extraStrategies`",
    "the section of NOT NULL columns in DESCRIBE EXTENDED",
    method(classes.EXPERIMENTAL, "extraStrategies", 0),
)
def add_strategy(jvm: Jvm, session: JavaObject, strategy: JavaObject) -> None:
    """Add a strategy to the planner of a running session, before its other strategies. A second call does not add it
    again. The strategy's `toString` returns its name.
    """
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
    """Return whether any session of the application has cached anything."""
    return not session.sharedState().cacheManager().isEmpty()


def refresh_cached(session: JavaObject, *parts: str) -> None:
    """Make Spark read the cached rows of a table again, as it does after its own statements."""
    session.catalog().refreshTable(".".join(f"`{part.replace('`', '``')}`" for part in parts))


# -- what is under way ------------------------------------------------------------------------------------------------
@hook(
    "names of methods and classes on the stack",
    "a damaged table hides others in SHOW TABLE EXTENDED, and its error",
    java_type(f"{classes.PHYSICAL_PLANS_PACKAGE}.ShowTablesExtendedExec"),
)
def is_named_only(jvm: Jvm) -> bool:
    """Return whether Spark loads a table for a command about it, not to read or write its rows. Reading the stack is
    slow, so call this only before raising an error.
    """
    return _is_under_way(jvm, _NAMES_TABLES)


def is_listed_extended(jvm: Jvm) -> bool:
    """Return whether Spark lists tables for SHOW TABLE EXTENDED; see `is_named_only`."""
    return _is_under_way(jvm, _NAMES_TABLES[1:])


@hook(
    "names of classes on the stack",
    "DESCRIBE of a table with damaged files fails",
    java_type(f"{classes.PHYSICAL_PLANS_PACKAGE}.DescribeTableExec"),
)
def is_described(jvm: Jvm) -> bool:
    """Return whether Spark plans a scan only for its statistics; see `is_named_only`."""
    return _is_under_way(jvm, _DESCRIBES)


@hook(
    "names of classes on the stack",
    "SHOW CREATE TABLE and DESCRIBE show constraints of generated columns",
    java_type(f"{classes.PHYSICAL_PLANS_PACKAGE}.ShowCreateTableExec"),
)
def is_defined(jvm: Jvm) -> bool:
    """Return whether Spark shows the definition of a table; see `is_named_only`."""
    return _is_under_way(jvm, _DEFINES)


def watch_executions(jvm: Jvm, ended: object) -> None:
    """Call a `Predicate` of Java at the end of each execution: with its number, and `done` or `failed`. Later calls
    change nothing.
    """
    if not jvm.follows_queries:
        jvm.follows_queries = True
        jvm.compiled("QueryEnds").watch(jvm.context._jsc.sc(), ended)


def _is_under_way(jvm: Jvm, wanted: Iterable[str]) -> bool:
    found = stack_names(jvm)
    return any(name in found for name in wanted)


_NAMED = Variant.of("of a table and its name", constructor(classes.DESCRIBE_TABLE, 5))
_PLAIN = Variant.of("of a table", constructor(classes.DESCRIBE_TABLE, 3))


@hook("`DescribeTableExec`", "the section of NOT NULL columns in DESCRIBE EXTENDED", _NAMED, _PLAIN)
def install_described_columns(jvm: Jvm, session: JavaObject) -> None:
    """Add the strategy to a running session, once. It treats proxies as Paimon tables: Spark's own tables are Java
    classes.
    """
    without = "" if jvm.variant(install_described_columns) is _NAMED else "named"
    add_strategy(jvm, session, jvm.compiled("DescribedColumns", without).strategy())
