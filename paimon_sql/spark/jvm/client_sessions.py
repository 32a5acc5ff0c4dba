"""Limits of a server's client sessions: reading only, and the most statements, rows and seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.exceptions import add_conditions
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, constructor, field, hook, java_type, method
from paimon_sql.spark.jvm.servers import LARGEST_RESULT
from paimon_sql.spark.jvm.sessions import context_settings

READ_ONLY, LIMIT_EXCEEDED = "PAIMON_READ_ONLY", "PAIMON_LIMIT_EXCEEDED"
STATES = {READ_ONLY: "25006", LIMIT_EXCEEDED: "54000"}  # read-only transaction, program limit exceeded
_REFUSED = "PAIMON_SETTING_REFUSED", "42501"  # insufficient privilege
_INTERCEPTORS = "spark.connect.grpc.interceptor.classes"
_INTERCEPTED, _PREPARED, _READ = "ConnectLimits", "ConnectCatalogs", "ConnectReads"
_BOUNDED = "BoundedRows"
_SOURCE = "paimon.DefaultSource"
_NONE = "not in this Spark"
_CALL = 2**23  # bytes of the rows that a client fetches at once


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The limits of each client session: statements side by side, rows of an answer, seconds of a statement; 0 means no
    limit."""

    statements: int = 0
    rows: int = 0
    seconds: int = 0


@hook(
    "`SparkSessionExtensions.injectCheckRule` and `injectHintResolutionRule` of a running session",
    "`paimon-sql serve --read-only`",
    method(classes.SESSION_EXTENSIONS, "injectCheckRule", 1),
    method(classes.SESSION_EXTENSIONS, "injectHintResolutionRule", 1),
    method(classes.SESSION, "extensions", 0),
    method(classes.CATALOG_MANAGER, "isCatalogRegistered", 1),
)
def refuse_writes(jvm: Jvm, session: JavaObject, lists: JavaObject) -> None:
    """Make the sessions created from this one refuse every statement except those known to only read. `lists` is the
    result of `allow_lists`.
    """
    add_conditions(jvm, STATES)
    jvm.compiled("ReadOnlySessions").install(session.extensions(), READ_ONLY, lists)


@hook(
    "Spark Connect's interceptors, and the messages of its protocol",
    "`paimon-sql serve --connect --read-only`",
    Variant.of(
        "messages of calls",
        java_type(classes.CONNECT_INTERCEPTOR),
        java_type(classes.CONNECT_MESSAGE),
        method(classes.CONNECT_ERRORS + "$", "handleError", 7),
    ),
    Variant.of(_NONE),
)
def refuse_connect_writes(jvm: Jvm, lists: JavaObject) -> None:
    """Make Spark Connect refuse every call except those known to only read. Call it before the server starts, and after
    other functions that add interceptors. `lists` is the result of `allow_lists`. Raises `UnsupportedFeatureError` if
    this Spark cannot.
    """
    if jvm.variant(refuse_connect_writes).name == _NONE:
        raise UnsupportedFeatureError(
            "Spark Connect of this Spark cannot refuse calls, which --read-only needs. "
            "Use Apache Spark, or leave --connect out."
        )
    add_conditions(jvm, STATES)
    require_class(jvm, _READ)
    jvm.java_class(_READ).allow(READ_ONLY, lists)
    _intercept(jvm, _READ)


@hook(
    "private fields of HiveServer2's services",
    "settings that clients of `paimon-sql serve --thrift` open sessions with",
    Variant.of(
        "of Spark's jars",
        field(classes.HIVE_SERVER, "thriftCLIService"),
        field(classes.THRIFT_SERVICE, "cliService"),
        field(classes.CLIENT_SERVICE, "sessionManager"),
    ),
    Variant.of(_NONE),
)
def guard_thrift_sessions(jvm: Jvm, server: JavaObject, lists: JavaObject | None) -> None:
    """Make HiveServer2 refuse sessions and statements that set properties of the JVM. With `lists` (the result of
    `allow_lists`), HiveServer2 also refuses every setting that is not in them. Raises `UnsupportedFeatureError` if
    there are `lists` and this Spark's HiveServer2 cannot refuse settings.
    """
    if jvm.variant(guard_thrift_sessions).name != _NONE:
        jvm.compiled("ThriftSessions").install(server, *_REFUSED, lists)
    elif lists is not None:
        raise UnsupportedFeatureError(
            "HiveServer2 of this Spark cannot refuse settings, which --read-only needs. "
            "Use Apache Spark, or leave --thrift out."
        )


@hook(
    "private fields of Thrift, the transports of HiveServer2's connections",
    "`paimon-sql serve --thrift` beside clients that do not log in",
    Variant.of(
        "of Spark's jars",
        field(classes.HIVE_SERVER, "thriftCLIService"),
        field(classes.BINARY_SERVICE, "server"),
        field(classes.TRANSPORTS, "inputTransportFactory_"),
        field(classes.TRANSPORTS, "outputTransportFactory_"),
    ),
    Variant.of(_NONE),
)
def limit_thrift_logins(jvm: Jvm, server: JavaObject, most: int, seconds: int) -> None:
    """Close connections of HiveServer2 if their clients do not log in within `seconds`. If an address has more than
    `most` connections without a login, close the oldest. A Spark without the fields closes none.
    """
    if jvm.variant(limit_thrift_logins).name != _NONE:
        jvm.compiled("ThriftLogins").install(server, most, seconds)


@hook(
    "private fields of HiveServer2's managers of sessions and operations",
    "limits of `paimon-sql serve --thrift`, the rows in its log, the tables in the trees of BI tools",
    Variant.of(
        "of Spark's jars",
        field(classes.THRIFT_SESSIONS, "sparkSqlOperationManager"),
        field(classes.THRIFT_OPERATIONS, "sessionToContexts"),
        method(classes.THRIFT_OPERATIONS, "newGetCatalogsOperation", 1),
        method(classes.THRIFT_OPERATIONS, "newGetSchemasOperation", 3),
        method(classes.THRIFT_OPERATIONS, "newGetTablesOperation", 5),
        method(classes.THRIFT_COLUMNS, "addToRowSet", 4),
        method(classes.CHAR_TYPES, "getRawSchema", 1),
    ),
    Variant.of(_NONE),
)
def watch_thrift_sessions(jvm: Jvm, server: JavaObject, limits: SessionLimits) -> None:
    """Apply limits to HiveServer2's sessions, count the rows of their answers, and answer metadata calls for every
    catalog. HiveServer2 itself ends statements that take too long.
    """
    if jvm.variant(watch_thrift_sessions).name != _NONE:
        error = LIMIT_EXCEEDED, STATES[LIMIT_EXCEEDED]
        jvm.compiled("ThriftOperations").install(
            server, limits.statements, limits.rows, *error, thrift_results(jvm, *error)
        )
    elif limits.statements or limits.rows:
        raise UnsupportedFeatureError("HiveServer2 of this Spark cannot limit its sessions: leave the limits out.")


@hook(
    "private members of HiveServer2's statements, and of plans that send rows to the driver",
    "answers of `paimon-sql serve --thrift` that are larger unpacked than the driver's memory",
    Variant.of(
        "of Spark's jars",
        field(classes.THRIFT_STATEMENT, "iter"),
        method(classes.THRIFT_EVENTS, "onStatementParsed", 2),
        method(classes.THRIFT_SERVER + "$", "eventManager_$eq", 1),
        method(classes.THRIFT_ROWS, "fetchAbsolute", 1),
        method(classes.PHYSICAL_PLAN, "getByteArrayRdd", 2),
        method(classes.PHYSICAL_PLAN, "decodeUnsafeRows", 1),
        method(classes.ADAPTIVE_PLAN, "withFinalPlanUpdate", 1),
    ),
    Variant.of(_NONE),
)
def thrift_results(jvm: Jvm, condition: str, state: str) -> JavaObject | None:
    """Return an object that runs HiveServer2's statements and unpacks their answers as clients fetch them. Return None
    if this Spark must unpack answers itself. One answer may be as large as Spark's setting allows. All answers together
    may take a quarter of the driver's memory, because tasks may be sending another answer, and the driver holds up to
    three copies of that one. A statement that exceeds this fails with `condition` and `state`.
    """
    if jvm.variant(thrift_results).name == _NONE:
        return None
    memory = int(jvm.java_class(classes.JAVA_RUNTIME).getRuntime().maxMemory())
    return jvm.compiled("ThriftResults").of(_CALL, _largest_result(jvm), memory // 4, condition, state)


@hook(
    "`SparkSessionExtensions.injectColumnar` of a running session, private members of `SparkPlan`",
    "answers of statements with LIMIT, of `show` and of `tail` that are larger unpacked than the driver's memory",
    Variant.of(
        "classes of plans",
        method(classes.SESSION_EXTENSIONS, "injectColumnar", 1),
        method(classes.SESSION, "extensions", 0),
        method(classes.PHYSICAL_PLAN, "getByteArrayRdd", 2),
        method(classes.PHYSICAL_PLAN, "decodeUnsafeRows", 1),
        constructor(classes.COLLECT_LIMIT, 3),
        constructor(classes.COLLECT_TAIL, 2),
        constructor(classes.INPUT_ADAPTER, 1),
    ),
    Variant.of(_NONE),
)
def bound_rows(jvm: Jvm, session: JavaObject) -> None:
    """Make statements fail if their first or last rows (LIMIT, `show`, `tail`) take more memory than an answer may:
    Spark unpacks all of them in the driver. This holds for the sessions created from this one. If tasks run in the
    driver, an answer of Spark Connect may take half of this memory, because tasks hold copies of it. Call it after
    `bound_results`. Raises `UnsupportedFeatureError` if the JVM refuses the class.
    """
    largest = _largest_result(jvm)
    if jvm.variant(bound_rows).name == _NONE or largest == 0:
        return
    add_conditions(jvm, STATES)
    require_class(jvm, _BOUNDED)
    in_tasks = largest // 2 if jvm.context._jsc.sc().isLocal() else 0
    jvm.java_class(_BOUNDED).install(session.extensions(), largest, in_tasks, LIMIT_EXCEEDED, LARGEST_RESULT)


def _largest_result(jvm: Jvm) -> int:
    """Return the most bytes that an answer may take; 0 for no limit."""
    memory = int(jvm.java_class(classes.JAVA_RUNTIME).getRuntime().maxMemory())
    return int(context_settings(jvm).getSizeAsBytes(LARGEST_RESULT, f"{memory // 4}b"))


@hook(
    "Spark Connect's interceptors, and its errors for them",
    "limits of `paimon-sql serve --connect`, the rows in its log",
    Variant.of(
        "errors of calls",
        java_type(classes.CONNECT_INTERCEPTOR),
        method(classes.CONNECT_ERRORS + "$", "handleError", 7),
        method(classes.CONNECT_SESSIONS, "getIsolatedSessionIfPresent", 1),
        method(classes.CONNECT_OPERATIONS, "getExecuteHolder", 1),
    ),
    Variant.of(_NONE),
)
def watch_connect_sessions(jvm: Jvm, limits: SessionLimits) -> bool:
    """Apply limits to Spark Connect's sessions, and count the rows of their answers. Call it before the server starts.
    Return whether this Spark can do it. Raises `UnsupportedFeatureError` if there are limits and this Spark cannot
    apply them.
    """
    if jvm.variant(watch_connect_sessions).name == _NONE:
        if limits != SessionLimits():
            raise UnsupportedFeatureError(
                "Spark Connect of this Spark cannot limit its sessions: leave the limits out."
            )
        return False
    add_conditions(jvm, STATES)
    require_class(jvm, _INTERCEPTED)
    watcher = jvm.java_class(_INTERCEPTED)
    watcher.limit(limits.statements, limits.rows, limits.seconds, LIMIT_EXCEEDED)
    _intercept(jvm, _INTERCEPTED)
    return True


@hook(
    "Spark Connect's interceptors, and its sessions for them",
    "`spark.catalog` as the first call of a client of Spark Connect",
    Variant.of(
        "sessions of calls",
        java_type(classes.CONNECT_INTERCEPTOR),
        method(classes.CONNECT_SERVICE + "$", "getOrCreateIsolatedSession", 3),
    ),
    Variant.of(_NONE),
)
def prepare_connect_catalogs(jvm: Jvm) -> None:
    """Load the configured catalogs of each session before `spark.catalog` lists them. Call it before the server starts.
    Raises `UnsupportedFeatureError` if the JVM refuses the class.
    """
    if jvm.variant(prepare_connect_catalogs).name != _NONE:
        require_class(jvm, _PREPARED)
        _intercept(jvm, _PREPARED)


def allow_lists(jvm: Jvm, listed: str, has_users: JavaObject | None = None) -> JavaObject:
    """Return the allow-lists that every check uses. Each line of `listed` has a kind, a tab, and a name. `has_users` is
    a `Predicate` that tests whether a warehouse has users now; without it, no warehouse has users.
    """
    return jvm.compiled("AllowLists").of(listed, has_users)


def _intercept(jvm: Jvm, name: str) -> None:
    conf = jvm.context._jsc.sc().conf()
    others = str(conf.get(_INTERCEPTORS, ""))
    conf.set(_INTERCEPTORS, ",".join(filter(None, (others, name))))


@hook(
    "`SparkSessionExtensions.injectHintResolutionRule` of a running session, `MergeIntoTable`, `TreeNodeTag`",
    "writes of DataFrames and streams of clients of Spark Connect that cast, `df.mergeInto`",
    method(classes.SESSION_EXTENSIONS, "injectHintResolutionRule", 1),
    method(classes.MERGE_INTO_TABLE, "targetTable", 0),
    method(classes.TREE_NODE, "setTagValue", 2),
)
def rewrite_frames(jvm: Jvm, session: JavaObject, rewrite: Any) -> None:
    """Pass each write, merge and stream of a DataFrame to `rewrite`, in the sessions created from this one. `rewrite`
    takes a session and a plan, and returns a plan.
    """
    jvm.compiled("FrameRewrites").install(session.extensions(), rewrite)


@hook(
    "`DefaultSource` of the package that `format` names, `SupportsCatalogOptions`",
    '`format("paimon")` of clients of Spark Connect',
    java_type(classes.SOURCE_IN_CATALOG),
)
def locate_tables(jvm: Jvm, function: Any) -> None:
    """Make Spark find the format `paimon`. `function` finds a table: it takes options and returns the parts of a name,
    joined by NULs. Raises `UnsupportedFeatureError` if the JVM refuses the class.
    """
    require_class(jvm, "DefaultSource", _SOURCE)
    jvm.java_class(_SOURCE).locateWith(function)


def define_source(jvm: Jvm, make_locator: Callable[[], Any]) -> None:
    """Make Spark find the format `paimon` in a running JVM, unless it does. `make_locator` returns the function that
    `locate_tables` takes."""
    if jvm.compiled("CatalogClasses").defineCompiled(_SOURCE, jvm.compiled_classes("DefaultSource")):
        jvm.java_class(_SOURCE).locateWith(make_locator())


def require_class(jvm: Jvm, source: str, name: str = "") -> None:
    """Make Spark find a class, as `Jvm.define` does. Raises `UnsupportedFeatureError` if the JVM refuses it."""
    if not jvm.define(source, name):
        raise UnsupportedFeatureError(
            f"Cannot start the server in this JVM: it refuses the class {source}. Let paimon-sql serve start the JVM."
        )


def rows_of(jvm: Jvm, server: str, statement: str) -> int | None:
    """Return the number of rows that a client's statement has returned, by its id; None if they were not counted."""
    if server == "thrift":
        counted = jvm.variant(watch_thrift_sessions).name != _NONE
        found = int(jvm.compiled("ThriftOperations").rows(statement)) if counted else -1
    else:
        counted = _INTERCEPTED in str(jvm.context._jsc.sc().conf().get(_INTERCEPTORS, ""))
        found = int(jvm.java_class(_INTERCEPTED).rows(statement)) if counted else -1
    return None if found < 0 else found
