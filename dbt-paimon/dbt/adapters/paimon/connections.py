"""The statements of dbt's threads, run in the session that they share."""

from __future__ import annotations

import re
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.paimon.literals import literal
from dbt.adapters.paimon.sessions import is_remote, shared_session
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod
from dbt.adapters.spark.session import Connection as SparkSessionConnection
from dbt.adapters.spark.session import Cursor, SessionConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

logger = AdapterLogger("Paimon")

# Spark and py4j log what they raise, with stack traces; dbt shows it
for _name in ("py4j", "SQLQueryContextLogger"):
    logger.set_adapter_dependency_log_level(_name, "CRITICAL")

# before hooks outside of a transaction, dbt ends the transaction, which Spark does not have
_COMMIT = re.compile(r"\s*(/\*((?!\*/).)*\*/\s*)*commit\s*;?\s*", re.DOTALL | re.IGNORECASE)
_PLAN = re.compile(r"; line \d+ pos \d+;\n.*", re.DOTALL)  # the plan after the message of an AnalysisException


class PaimonCursor(Cursor):
    """dbt-spark's cursor over a given session."""

    def __init__(self, session: SparkSession, tag: str) -> None:
        super().__init__()
        self.session, self.tag = session, tag

    def execute(self, sql: str, *parameters: Any) -> None:
        if parameters:
            sql = sql % parameters
        if _COMMIT.fullmatch(sql):
            return
        self._rows = None
        with _tagged(self.session, self.tag):
            self._df = self.session.sql(sql)

    def fetchall(self) -> Any:
        with _tagged(self.session, self.tag):
            return super().fetchall()


@contextmanager
def _tagged(session: SparkSession, tag: str) -> Generator[None, None, None]:
    """Let the statements of this thread be cancelled by a tag."""
    add, remove = (
        (session.addTag, session.removeTag)
        if is_remote(session)
        else (session.sparkContext.addJobTag, session.sparkContext.removeJobTag)
    )
    add(tag)
    try:
        yield
    finally:
        remove(tag)


class PaimonSession(SparkSessionConnection):
    """The object that dbt-spark's wrapper uses as a connection."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__()
        self.session, self.tag = session, f"dbt-{uuid.uuid4()}"

    def cursor(self) -> PaimonCursor:
        return PaimonCursor(self.session, self.tag)


class PaimonSessionWrapper(SessionConnectionWrapper):
    """dbt-spark's wrapper, with statements that can be cancelled, and values as literals."""

    handle: PaimonSession

    def cancel(self) -> None:
        session, tag = self.handle.session, self.handle.tag
        if is_remote(session):
            session.interruptTag(tag)
        else:
            session.sparkContext.cancelJobsWithTag(tag)

    @classmethod
    def _fix_binding(cls, value: Any) -> str:
        return literal(value)


class PaimonConnectionManager(SparkConnectionManager):
    TYPE = "paimon"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        profile = connection.credentials
        if profile.method != SparkConnectionMethod.SESSION:
            connection.credentials = profile.over_thrift()
            try:
                return super().open(connection)
            finally:
                connection.credentials = profile
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            session = shared_session(profile)
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise FailedToConnectError(f"There is no Spark session: {_message(error)}") from error
        connection.handle = PaimonSessionWrapper(PaimonSession(session))
        connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Handle exceptions as dbt-spark does. Errors of Spark and of paimon-sql become errors of the database, without
        Spark's plans.
        """
        try:
            with super().exception_handler(sql):
                yield
        except PySparkException as error:  # dbt-spark passes on only errors without arguments
            raise DbtDatabaseError(_message(error)) from error
        except DbtRuntimeError as error:
            if isinstance(error.__context__, PySparkException):
                raise DbtDatabaseError(_message(error.__context__)) from error.__context__
            raise


def _message(error: Exception) -> str:
    return _PLAN.sub("", str(error)).strip()
