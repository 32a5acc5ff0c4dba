"""Start the servers on a session, log and answer while they run, and stop them when all statements have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from paimon_core.errors import StorageError, UnsupportedFeatureError
from paimon_core.escapes import visible
from paimon_core.metrics import PROCESS, STATEMENTS, Metrics
from paimon_core.secrets import statement_without_secrets
from paimon_sql.preprocess.counted_kinds import counted_kind
from paimon_sql.server.health import InTime, listens, start_health
from paimon_sql.server.reads.sessions import prepare_sessions, refuse_all_but_reads
from paimon_sql.server.settings import ServerSettings, java_properties
from paimon_sql.server.waiting import MOST, SECONDS
from paimon_sql.spark.dataframes.remote_frames import install_remote_frames
from paimon_sql.spark.jvm.client_sessions import (
    SessionLimits,
    guard_thrift_sessions,
    limit_thrift_logins,
    prepare_connect_catalogs,
    refuse_connect_writes,
    require_class,
    rows_of,
    watch_connect_sessions,
    watch_thrift_sessions,
)
from paimon_sql.spark.jvm.gateway import Jvm, jvm_of
from paimon_sql.spark.jvm.servers import (
    EndedStatement,
    connect_port,
    ended_statements,
    is_alive,
    open_sessions,
    running_statements,
    start_connect_server,
    start_thrift_server,
    stop_connect_server,
    takes_tokens,
    unfetched_statements,
    watch_failures,
)

_POLL = 1.0  # seconds between two checks of the statements
_FETCHING = 10.0  # seconds that clients have to fetch the rows of statements that end while the server stops
_DYING = 10.0  # seconds for a JVM to end once it does not answer

_LONGEST = 1000  # characters of a statement in the log

Say = Callable[[str], None]
Rows = Callable[[EndedStatement], int | None]


class StatementLog:
    """A log with one line per statement. It is made from lists of ended statements, which overlap. `metrics` counts the
    statements.
    """

    def __init__(self, metrics: Metrics = PROCESS) -> None:
        self._metrics = metrics
        self._written: frozenset[tuple[str, str]] = frozenset()

    def new_lines(self, ended: Iterable[EndedStatement], rows: Rows) -> list[str]:
        """Return the lines of the statements that were not in the last list. `rows` returns the number of rows of a
        statement, None if they were not counted.
        """
        found = {(one.server, one.id): one for one in ended}
        new = [one for key, one in found.items() if key not in self._written]
        for one in new:
            self._metrics.add(STATEMENTS, server=one.server, kind=counted_kind(one.statement), state=one.state.lower())
        lines = [_line(one, rows(one)) for one in new]
        self._written = frozenset(found)
        return lines


def serve(spark: SparkSession, settings: ServerSettings, stop: threading.Event, say: Say) -> bool:
    """Serve a session until `stop` is set, then wait for running statements. Return whether all of them ended in time.

    `say` is called with one line at a time. Raises `StorageError` if the server cannot listen on a port.
    """
    jvm, log = jvm_of(spark.sparkContext), StatementLog()
    prepare_sessions(jvm, spark)
    watch_failures(jvm)
    lists = refuse_all_but_reads(jvm, spark) if settings.read_only else None
    with ExitStack() as servers:
        if settings.thrift is not None:
            servers.enter_context(_thrift(jvm, spark, settings, lists))
            say(f"JDBC: jdbc:hive2://{settings.host}:{settings.thrift}{';ssl=true' if settings.keystore else ''}")
        if settings.connect is not None:
            port = servers.enter_context(_connect(jvm, spark, settings, lists))
            say(f"Spark Connect: sc://{settings.host}:{port}")
        if settings.health is not None:
            servers.enter_context(_health(jvm, settings, stop))
            say(f"Health: http://{settings.host}:{settings.health}/health")
        while not stop.wait(_POLL):
            _watch(jvm, log, say)
        say("Stopping: waiting for running statements.")
        drained = _drain(jvm, settings.drain)
        _log(jvm, log, say, fetched=False)
    return drained


def stop_driver(spark: SparkSession) -> None:
    """Stop the driver, if its JVM still runs."""
    with suppress(Py4JError, OSError):
        spark.stop()


def _watch(jvm: Jvm, log: StatementLog, say: Say) -> None:
    """Log statements that have ended. Raises `StorageError` if the driver's JVM has ended."""
    try:
        _log(jvm, log, say)
    except (Py4JError, OSError):
        until = time.monotonic() + _DYING
        while not jvm.has_ended and time.monotonic() < until:
            time.sleep(0.1)
        if not jvm.has_ended:
            raise
    if jvm.has_ended:
        raise StorageError(
            "The driver's JVM has ended, probably because it ran out of memory: start the server again, with more "
            "--driver-memory, or with smaller answers (--result-rows, spark.driver.maxResultSize)."
        )


@contextmanager
def _thrift(jvm: Jvm, spark: SparkSession, settings: ServerSettings, lists: JavaObject | None) -> Iterator[None]:
    if settings.users:
        require_class(jvm, "PasswordFile")
    with _starting(f"The JDBC server cannot listen on {settings.host}:{settings.thrift}"):
        server = start_thrift_server(jvm, spark, java_properties(settings))
    try:
        limit_thrift_logins(jvm, server, MOST, int(2 * SECONDS))
        guard_thrift_sessions(jvm, server, lists)
        watch_thrift_sessions(jvm, server, _limits(settings))
        yield
    finally:
        with suppress(Py4JError, OSError):  # the JVM may have ended
            server.stop()


@contextmanager
def _connect(jvm: Jvm, spark: SparkSession, settings: ServerSettings, lists: JavaObject | None) -> Iterator[int]:
    """Start Spark Connect. It yields the port."""
    install_remote_frames(spark)
    if settings.token and not takes_tokens(jvm):
        raise UnsupportedFeatureError("Spark Connect of this Spark cannot require a token, which --token-file needs.")
    watch_connect_sessions(jvm, _limits(settings))
    prepare_connect_catalogs(jvm)
    if lists is not None:
        refuse_connect_writes(jvm, lists)
    with _starting(f"Spark Connect's server cannot listen on {settings.host}:{settings.connect}"):
        server = start_connect_server(jvm, spark)
    assert settings.connect is not None
    try:
        yield (connect_port(jvm, server) if settings.other_ports else None) or settings.connect
    finally:
        with suppress(Py4JError, OSError):
            stop_connect_server(jvm, server)


@contextmanager
def _health(jvm: Jvm, settings: ServerSettings, stop: threading.Event) -> Iterator[None]:
    def answer() -> Mapping[str, Any]:
        counts = {"sessions": open_sessions(jvm), "statements": running_statements(jvm)}
        if stop.is_set():
            return {"status": "stopping", **counts}
        if not is_alive(jvm):
            return {"status": "failed", "reason": "the driver has stopped", **counts}
        ports = (settings.thrift, settings.connect, settings.rest)
        if not all(listens(settings.host, port) for port in ports if port is not None):
            return {"status": "failed", "reason": "a port does not answer", **counts}
        return {"status": "serving", **counts}

    assert settings.health is not None
    in_time = InTime(answer)
    try:
        server = start_health(settings.host, settings.health, in_time)
    except OSError as error:
        raise StorageError(f"Health cannot listen on {settings.host}:{settings.health}: {error.strerror}.") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        in_time.close()


@contextmanager
def _starting(failure: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        raise StorageError(f"{failure}: {cause.getMessage()}.") from error


def _drain(jvm: Jvm, seconds: int) -> bool:
    """Wait until no statement runs and clients have fetched the rows of the last ones. Return False if a statement
    still runs after some seconds.
    """
    until = time.monotonic() + seconds
    while (runs := running_statements(jvm) > 0) or unfetched_statements(jvm, _FETCHING):
        if time.monotonic() > until:
            return not runs
        time.sleep(min(_POLL, seconds))
    return True


def _limits(settings: ServerSettings) -> SessionLimits:
    return SessionLimits(settings.session_statements, settings.result_rows, settings.statement_timeout)


def _log(jvm: Jvm, log: StatementLog, say: Say, *, fetched: bool = True) -> None:
    def rows(one: EndedStatement) -> int | None:
        return rows_of(jvm, one.server, one.id)

    for line in log.new_lines(ended_statements(jvm, fetched=fetched), rows):
        say(line)


def _line(one: EndedStatement, rows: int | None) -> str:
    text = " ".join(statement_without_secrets(one.statement).split())
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    # the client chooses its name and its statements: neither may begin a line of the log, or send escapes to a terminal
    counted = "" if rows is None else f" rows={rows}"
    text = f"{one.server} user={one.user} seconds={one.milliseconds / 1000:.3f}{counted} {one.state.lower()}: {shown}"
    return visible(text, kept="")
