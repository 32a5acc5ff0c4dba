"""The SQL database of a catalog: short transactions over connections that may be lost at any time.

Connections commit each statement by themselves, so that a look-up is one round trip; `write` makes one transaction of
several. An idle connection is checked before it is used. Statements that fail because other clients hold locks, or
because the connection is lost, are run again. A COMMIT without an answer is not repeated, because it may have worked:
the caller gets `OutcomeUnknown`, and checks.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, StorageError, StorageRefusedError
from paimon_core.lazy import cached_property
from paimon_core.optional_packages import import_optional
from paimon_core.secrets import without_secrets
from paimon_sql.catalog.jdbc.failures import Failure, failure_of, words_of
from paimon_sql.catalog.jdbc.settings import JdbcSettings, tls_arguments, tls_mode
from paimon_sql.catalog.jdbc.tables import TABLES, create_tables, has_tables
from paimon_sql.catalog.outcomes import OutcomeUnknown

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_IDLE = 10.0  # seconds after which a connection is checked before it is used
_AGE = 1800  # seconds after which a connection is replaced
_PATIENCE = 30.0  # seconds to wait for other clients
_LOST_ATTEMPTS = 3
_CONNECT_SECONDS = 10
_DRIVERS = {
    "sqlite": ("sqlite", "sqlite3", "jdbc"),
    "postgresql": ("postgresql+psycopg", "psycopg", "postgres"),
    "mysql": ("mysql+pymysql", "pymysql", "mysql"),
}
_BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN", "mysql": "START TRANSACTION"}


class RowExists(PaimonError):
    """A row with this key already exists."""


def check_driver(settings: JdbcSettings) -> None:
    """Raise `UnsupportedFeatureError` if the driver for a kind of database is not installed."""
    import_optional(_DRIVERS[settings.kind][1], f"A catalog in {settings.address}", _DRIVERS[settings.kind][2])


class Database:
    """One database, for the threads of one process."""

    def __init__(self, settings: JdbcSettings) -> None:
        self.settings = settings
        check_driver(settings)

    def look_up(self, act: Callable[[Connection], _T]) -> _T:
        """Return the result of statements that only read. A database without any of the catalog's tables is read as an
        empty catalog; no table is created in it.

        Raises `StorageError`, `StorageRefusedError`.
        """
        is_file = self.settings.kind == "sqlite"
        if is_file and not Path(self.settings.database).exists():  # SQLite would create it
            return self._of_empty(act)
        return self._patiently(act, only_reads=True)

    def read(self, act: Callable[[Connection], _T]) -> _T:
        """Return the result of statements that each commit on their own. They may run more than once.

        Raises `RowExists`, `StorageError`, `StorageRefusedError`.
        """
        return self._patiently(act)

    def write(self, act: Callable[[Connection], _T]) -> _T:
        """Return the result of statements in one transaction. They may run more than once, but take effect only once.

        Raises `RowExists`, `StorageError`, `StorageRefusedError`, `OutcomeUnknown`; otherwise nothing has changed.
        """
        return self._patiently(lambda connection: self._transaction(connection, act))

    def close(self) -> None:
        """Close the idle connections."""
        self._engine.dispose()

    # -- attempts -----------------------------------------------------------------------------------------------------
    def _patiently(self, act: Callable[[Connection], _T], *, only_reads: bool = False) -> _T:
        lost, deadline, wait, creates = 0, time.monotonic() + _PATIENCE, 0.01, True
        while True:
            try:
                with self._connection() as connection:
                    return act(connection)
            except SQLAlchemyError as error:
                failure = failure_of(error)
                lost += failure is Failure.GONE
                if failure is Failure.NO_TABLE and creates:
                    creates = False
                    if only_reads and self._is_new():
                        return self._of_empty(act)
                    self._create_tables()
                    continue
                is_over = time.monotonic() > deadline or lost >= _LOST_ATTEMPTS
                if failure not in (Failure.BUSY, Failure.GONE) or is_over:
                    raise self._error(error, failure) from _cause(error)
            time.sleep(wait * random.uniform(0.5, 1))
            wait = min(wait * 2, 1)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            connection = self._engine.connect()
        except (SQLAlchemyError, OSError) as error:
            raise self._error(error, failure_of(error), connects=True) from _cause(error)
        try:
            yield connection
        except SQLAlchemyError as error:
            if failure_of(error) is Failure.GONE:
                connection.invalidate()
            raise
        finally:
            with suppress(SQLAlchemyError):
                connection.close()

    def _transaction(self, connection: Connection, act: Callable[[Connection], _T]) -> _T:
        connection.exec_driver_sql(_BEGIN[self.settings.kind])
        try:
            result = act(connection)
        except BaseException:
            self._roll_back(connection)
            raise
        try:
            connection.exec_driver_sql("COMMIT")
        except DBAPIError as error:
            if failure_of(error) is Failure.GONE:
                connection.invalidate()
                raise OutcomeUnknown(self._message(error, Failure.GONE)) from _cause(error)
            self._roll_back(connection)
            raise
        return result

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.exec_driver_sql("ROLLBACK")
        except SQLAlchemyError:
            connection.invalidate()  # the database rolls back a transaction without a connection

    def _is_new(self) -> bool:
        """Return whether the database has none of the catalog's tables: Java's catalogs lack some of this package's
        tables.
        """
        with self._connection() as connection:
            try:
                return not has_tables(connection)
            except SQLAlchemyError as error:
                raise self._error(error, failure_of(error)) from _cause(error)

    def _of_empty(self, act: Callable[[Connection], _T]) -> _T:
        """Return the result of statements on a catalog without databases, which is in memory."""
        engine = create_engine("sqlite://")
        try:
            with engine.connect() as connection:
                create_tables(connection, self.settings.lock_key_length)
                return act(connection)
        finally:
            engine.dispose()

    def _create_tables(self) -> None:
        """Create the missing tables. If several processes do so at once, some fail and then find the tables."""
        for last in (False, False, True):
            try:
                with self._connection() as connection:
                    create_tables(connection, self.settings.lock_key_length)
                    if self.settings.kind == "sqlite":
                        _write_ahead(connection.connection.dbapi_connection)
                    return
            except SQLAlchemyError as error:
                if last or failure_of(error) in (Failure.REFUSED, Failure.GONE):
                    raise self._error(error, failure_of(error)) from _cause(error)
                time.sleep(random.uniform(0.01, 0.1))

    # -- errors -------------------------------------------------------------------------------------------------------
    def _error(self, error: Exception, failure: Failure, *, connects: bool = False) -> PaimonError:
        message = self._message(error, failure, connects=connects)
        if failure is Failure.TAKEN:
            return RowExists(message)
        return StorageRefusedError(message) if failure is Failure.REFUSED else StorageError(message)

    def _message(self, error: Exception, failure: Failure, *, connects: bool = False) -> str:
        what = "cannot be reached" if connects else "failed"
        advice = {
            Failure.REFUSED: "check 'uri', 'jdbc.user', 'jdbc.password' and what this user may do there",
            Failure.BUSY: "other clients hold the needed locks: run the statement again later",
            Failure.GONE: "check that it is up, and 'jdbc.user' and 'jdbc.password', then run the statement again",
        }.get(failure, "the statement changed nothing")
        said, password = words_of(error), self.settings.password
        if password:
            said = said.replace(password, "***")
        return without_secrets(f"The catalog's database {self.settings.address} {what}: {said.rstrip('.')}; {advice}.")

    # -- connections --------------------------------------------------------------------------------------------------
    @cached_property
    def _engine(self) -> Engine:
        settings = self.settings
        is_file = settings.kind == "sqlite"  # which has no users
        if is_file:
            with suppress(OSError):  # SQLite itself raises a clearer error
                Path(settings.database).parent.mkdir(parents=True, exist_ok=True)
        url = URL.create(
            _DRIVERS[settings.kind][0],
            username=None if is_file else settings.user,
            password=None if is_file else settings.password,
            host=settings.host or None,
            port=settings.port,
            database=settings.database,
        )
        engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
            hide_parameters=True,
            connect_args=_arguments(settings),
            pool_size=settings.pool_size,
            max_overflow=16,
            pool_timeout=_PATIENCE,
            pool_recycle=_AGE,
        )
        event.listen(engine, "connect", _prepare_sqlite if is_file else _note_use)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _Alive(engine))
        return engine


@dataclass(frozen=True)
class CatalogRows:
    """The rows of one catalog in its database.

    Each `act` is a function of `rows`: it receives a connection and the catalog's key before its arguments. Methods
    raise the errors of `Database`."""

    database: Database
    key: str

    def read(self, act: Callable[..., _T], *arguments: object) -> _T:
        return self.database.look_up(lambda connection: act(connection, self.key, *arguments))

    def write(self, act: Callable[..., _T], *arguments: object) -> _T:
        return self.database.write(lambda connection: act(connection, self.key, *arguments))

    def write_surely(self, act: Callable[..., _T], *arguments: object) -> _T:
        """Make a change that may be repeated: if the answer is lost, it is made again."""
        try:
            return self.write(act, *arguments)
        except OutcomeUnknown:
            return self.write(act, *arguments)


def _cause(error: Exception) -> BaseException:
    """Return the driver's own error, without the SQLAlchemy error around it."""
    return (error.orig if isinstance(error, DBAPIError) else None) or error


class _Alive:
    """Checks a connection that has been idle. The pool replaces it if it is dead."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self, connection: Any, record: Any, proxy: Any) -> None:
        if record.info.get("process") != os.getpid():  # this process is a fork of the connection's process
            record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError("The connection belongs to another process.")
        is_file = self._engine.dialect.name == "sqlite"
        if is_file or time.monotonic() - record.info.get("used", 0.0) < _IDLE:
            return
        try:
            alive = self._engine.dialect.do_ping(connection)
        except Exception as error:
            raise DisconnectionError("The connection is dead.") from error
        if not alive:
            raise DisconnectionError("The connection is dead.")


def _note_use(connection: Any, record: Any) -> None:
    record.info.update(used=time.monotonic(), process=os.getpid())


def _prepare_sqlite(connection: Any, record: Any) -> None:
    _note_use(connection, record)
    _write_ahead(connection)


def _write_ahead(connection: Any) -> None:
    """Set SQLite's write-ahead mode, a property of the file: its readers and its writer then do not wait for each
    other. A file without tables of a catalog stays as it is.
    """
    with suppress(Exception):  # a file that cannot be written, or a file system without shared memory
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLES.name,)).fetchall():
            connection.execute("PRAGMA journal_mode=WAL").fetchall()


def _arguments(settings: JdbcSettings) -> dict[str, Any]:
    """Return the arguments for the driver in addition to user, password and address."""
    if settings.kind == "sqlite":
        return {"timeout": settings.seconds("busy_timeout", unit=0.001) or _PATIENCE, "check_same_thread": False}
    is_mysql = settings.kind == "mysql"
    unit = 0.001 if is_mysql else 1.0
    connecting = settings.seconds("connectTimeout", unit=unit) or _CONNECT_SECONDS
    if is_mysql:
        answer = settings.seconds("socketTimeout", unit=unit)
        times = {"connect_timeout": max(1, round(connecting)), "read_timeout": answer, "write_timeout": answer}
        return {"charset": "utf8mb4", **times, **tls_arguments(settings)}
    options = [f"-c TimeZone={_time_zone()}"]
    if schema := settings.parameter("currentSchema"):
        escaped = schema.replace("\\", "\\\\").replace(" ", "\\ ")
        options.append(f"-c search_path={escaped}")
    made: dict[str, Any] = {
        "connect_timeout": max(1, round(connecting)),
        "options": " ".join(options),
        "application_name": settings.parameter("ApplicationName") or "paimon-sql",
        "prepare_threshold": None,  # connection poolers do not support prepared statements
    }
    if (answer := settings.seconds("socketTimeout", unit=unit)) is not None:
        made["tcp_user_timeout"] = round(answer * 1000)
    if (mode := tls_mode(settings)) is not None:
        made["sslmode"] = mode
    files = {name: settings.parameter(name) for name in ("sslrootcert", "sslcert", "sslkey")}
    return made | {name: path for name, path in files.items() if path}


def _time_zone() -> str:
    """Return this machine's time zone, as PostgreSQL spells an offset. Java's driver sends the zone of its machine,
    too, and the times of locks are stored without a zone."""
    offset = datetime.now().astimezone().utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset is not None else 0
    hours = f"{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    east, west = ("+", "-") if minutes >= 0 else ("-", "+")
    return f"<{east}{hours.replace(':', '')}>{west}{hours}"
