"""Spark's own servers in this driver: HiveServer2 for JDBC and ODBC, and Spark Connect.

HiveServer2 reads some of its settings only from Hive's own files and from the JVM's properties, so those are set as
properties; the others come from Spark's settings `spark.hadoop.hive.server2.*`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, hook, java_type, method
from paimon_sql.spark.jvm.sessions import context_settings, java_session

LARGEST_RESULT = "spark.driver.maxResultSize"
_NONE = "not in this Spark"  # a vendor's Spark may lack the servers; nothing else depends on them


@dataclass(frozen=True, slots=True)
class EndedStatement:
    """A client's statement that has ended: `server` is `thrift` or `connect`, `id` is unique in that server, `state` is
    Spark's name of the result.
    """

    server: str
    id: str
    user: str
    statement: str
    milliseconds: int
    state: str


@hook(
    "`HiveThriftServer2.startWithSparkSession`",
    "`paimon-sql serve --thrift`",
    Variant.of(
        "of Spark's jars",
        method(classes.THRIFT_SERVER, "startWithSparkSession", 2),
        java_type(classes.PASSWORD_PROVIDER),
    ),
    Variant.of(_NONE),
)
def start_thrift_server(jvm: Jvm, spark: SparkSession, properties: Mapping[str, str]) -> JavaObject:
    """Start HiveServer2; its client sessions are made from `spark`. Return the server, and `stop()` on it ends it.
    Raises Spark's error if the server cannot start, for instance because the port is in use.
    """
    if jvm.variant(start_thrift_server).name == _NONE:
        raise UnsupportedFeatureError(
            "This Spark has no HiveServer2: add the jar spark-hive-thriftserver, or leave --thrift out."
        )
    system = jvm.java_class(classes.SYSTEM)
    for name, value in properties.items():
        system.setProperty(name, value)
    return jvm.java_class(classes.THRIFT_SERVER).startWithSparkSession(java_session(spark), False)


@hook(
    "`SparkConnectService`, and the session that its clients' are made from",
    "`paimon-sql serve --connect`",
    Variant.of(
        "given to the session manager",
        method(classes.CONNECT_SESSIONS, "initializeBaseSession", 1),
        method(classes.CONNECT_SERVICE + "$", "start", 1),
    ),
    Variant.of("the active one", method(classes.CONNECT_SERVICE + "$", "start", 1)),
    Variant.of(_NONE),
)
def start_connect_server(jvm: Jvm, spark: SparkSession) -> JavaObject:
    """Start Spark Connect; its client sessions are made from `spark`. Return the service for `stop_connect_server`.
    Raises Spark's error if the server cannot start.
    """
    variant = jvm.variant(start_connect_server).name
    if variant == _NONE:
        raise UnsupportedFeatureError(
            "This Spark has no server for Spark Connect: add the jar spark-connect, or leave --connect out."
        )
    service = jvm.scala_object(classes.CONNECT_SERVICE)
    if variant == "given to the session manager":
        service.sessionManager().initializeBaseSession(jvm.compiled("BaseSession").of(java_session(spark)))
    service.start(spark.sparkContext._jsc.sc())
    return service


@hook(
    "`SparkConnectService.localPort`",
    "`paimon-sql pipelines`, if another program takes the port first",
    Variant.of("of its server", method(classes.CONNECT_SERVICE + "$", "localPort", 0)),
    Variant.of(_NONE),
)
def connect_port(jvm: Jvm, service: JavaObject) -> int | None:
    """Return the port on which Spark Connect listens, None if Spark does not name it."""
    return int(service.localPort()) if jvm.variant(connect_port).name != _NONE else None


def stop_connect_server(jvm: Jvm, service: JavaObject) -> None:
    """End the streams of clients, and the server."""
    service.stop(jvm.none, jvm.none)


def takes_tokens(jvm: Jvm) -> bool:
    """Return whether Spark Connect can require a token from its clients."""
    return jvm.has(java_type(classes.PRESHARED_KEY))


@hook(
    "the lists of statements of Spark's servers",
    "the log and the health of `paimon-sql serve`",
    Variant.of(
        "of both servers",
        method(classes.THRIFT_STATEMENTS, "getExecutionList", 0),
        method(classes.CONNECT_STATEMENTS, "getExecutionList", 0),
        method(classes.LISTENER_BUS, "addToStatusQueue", 1),
    ),
    Variant.of(_NONE),
)
def ended_statements(jvm: Jvm, *, fetched: bool = True) -> list[EndedStatement]:
    """Return the latest some hundred ended statements of both servers; none if Spark does not list them. If
    `watch_failures` was called before a statement failed, its state is the kind of failure. With `fetched`, statements
    with rows that clients may still fetch are left out.
    """
    if not _tells(jvm):
        return []
    found = json.loads(str(jvm.compiled("ServerStatements").ended(jvm.context._jsc.sc(), fetched)))
    return [EndedStatement(**one) for one in found]


def watch_failures(jvm: Jvm) -> None:
    """Record which statements fail or are cancelled. Spark forgets that as soon as clients close the statements."""
    if _tells(jvm):
        jvm.compiled("ServerStatements").watch(jvm.context._jsc.sc())


def open_sessions(jvm: Jvm) -> int:
    """Return the number of open client sessions."""
    return _tells(jvm) and int(jvm.compiled("ServerStatements").sessions(jvm.context._jsc.sc()))


def is_alive(jvm: Jvm) -> bool:
    """Return whether the context still runs jobs."""
    return not jvm.context._jsc.sc().isStopped()


def bound_results(jvm: Jvm) -> None:
    """Refuse answers larger than a quarter of the driver's memory, unless the user has set Spark's limit."""
    conf, memory = context_settings(jvm), jvm.java_class(classes.JAVA_RUNTIME).getRuntime().maxMemory()
    if not conf.contains(LARGEST_RESULT):
        conf.set(LARGEST_RESULT, f"{int(memory) // 4}b")


def running_statements(jvm: Jvm) -> int:
    """Return the number of running statements."""
    return _tells(jvm) and int(jvm.compiled("ServerStatements").running(jvm.context._jsc.sc()))


def unfetched_statements(jvm: Jvm, seconds: float) -> int:
    """Return the number of statements that ended less than some seconds ago, with rows that clients may still fetch."""
    if not _tells(jvm):
        return 0
    return int(jvm.compiled("ServerStatements").unfetched(jvm.context._jsc.sc(), int(seconds * 1000)))


def _tells(jvm: Jvm) -> bool:
    return jvm.variant(ended_statements).name != _NONE
