"""The metastore: calls over connections that may be lost at any time, to the first of several addresses that answers.

An idle connection is checked before it is used, which costs no call. If an answer is lost, late or invalid, the
connection is closed: its next answer could belong to another call. A call that only reads is then made again. A change
is not, as it may have been made: the caller gets `OutcomeUnknown`, and checks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pymetastore.hive_metastore import ttypes
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from paimon_core.errors import PaimonError, StorageError
from paimon_core.spec.types import DataField
from paimon_sql.catalog.hive.failures import Answer, MetastoreError, answer_of, words_of
from paimon_sql.catalog.hive.kerberos import Unauthenticated
from paimon_sql.catalog.hive.settings import Address, HiveSettings
from paimon_sql.catalog.hive.transport import Connection
from paimon_sql.catalog.hive.types import has_zoned_times
from paimon_sql.catalog.outcomes import OutcomeUnknown, settle

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3  # of what only reads
_ALL = -1


class Metastore:
    """One metastore, for the threads of one process. Raises `MetastoreError` if it refuses, `StorageError` if it cannot
    be reached, `OutcomeUnknown` if it did not answer a change. Names of calls are Hive's."""

    def __init__(self, settings: HiveSettings) -> None:
        self.settings = settings
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._unknown: set[str] = set()  # calls that this version of the metastore does not have

    def read(self, call: str, *arguments: object) -> Any:
        """The answer to a call that changes nothing."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._call(call, *arguments)
            except OutcomeUnknown as error:
                if attempt == _ATTEMPTS or isinstance(error.__cause__, TimeoutError):
                    raise StorageError(str(error)) from error.__cause__
                time.sleep(0.05 * attempt)
        raise AssertionError

    def change(self, call: str, *arguments: object) -> Any:
        """The answer to a call that changes something; it is made once."""
        return self._call(call, *arguments)

    def name(
        self,
        change: Callable[[], object],
        *,
        is_done: Callable[[], bool],
        is_taken: Callable[[], bool],
        taken: Callable[[], PaimonError],
    ) -> None:
        """Make a change that gives a name. Raises what `taken` returns if the name is taken; `is_done` as `settle`.

        If two clients give the same name at once, Hive 4 fails inside and does not answer that the name is taken: then
        `is_taken` looks.
        """
        try:
            settle(change, is_done)
        except MetastoreError as error:
            if error.answer is Answer.TAKEN or (error.answer is Answer.FAILED and is_taken()):
                raise taken() from error
            raise

    def close(self) -> None:
        """Close the idle connections."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # -- databases ----------------------------------------------------------------------------------------------------
    def databases(self) -> list[str]:
        return list(self.read("get_all_databases"))

    def database(self, name: str) -> Any | None:
        """A `Database`; None if it does not exist."""
        return self._found("get_database", name)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table(self, database: str, name: str) -> Any | None:
        """A `Table`; None if it does not exist."""
        if "get_table_req" not in self._unknown:
            try:
                found = self._found("get_table_req", ttypes.GetTableRequest(dbName=database, tblName=name))
                return None if found is None else found.table
            except MetastoreError as error:
                if error.answer is not Answer.UNKNOWN_CALL:
                    raise
                self._unknown.add("get_table_req")
        return self._found("get_table", database, name)

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views, of whatever kind."""
        return list(self.read("get_all_tables", database))

    def tables_of_type(self, database: str, kind: str) -> list[str]:
        """The names of what is of one of Hive's types of tables."""
        return list(self.read("get_tables_by_type", database, "*", kind))

    def tables_with(self, database: str, key: str, value: str) -> list[str] | None:
        """The names of the tables that have a parameter; None if the metastore's database cannot compare parameters."""
        if "get_table_names_by_filter" in self._unknown:
            return None
        wanted = f'hive_filter_field_params__{key} = "{value}"'
        try:
            return list(self.read("get_table_names_by_filter", database, wanted, _ALL))
        except MetastoreError as error:
            if error.answer is Answer.MISSING:
                return []
            self._unknown.add("get_table_names_by_filter")
            _LOG.info("The metastore cannot filter tables by their parameters, each is looked at: %s", error)
            return None

    def each_table(self, database: str, names: Sequence[str]) -> Iterator[Any]:
        """The `Table` of each name that there is, in batches."""
        size = self.settings.batch
        for batch in (list(names[n : n + size]) for n in range(0, len(names), size)):
            request = ttypes.GetTablesRequest(dbName=database, tblNames=batch)
            with _unless_missing():
                yield from self.read("get_table_objects_by_name_req", request).tables or ()

    def alter_table(self, database: str, name: str, table: Any) -> None:
        settings = self.settings
        properties = {"DO_NOT_UPDATE_STATS": str(settings.skip_statistics).lower()}
        if settings.cascade:
            properties["CASCADE"] = "true"
        context = ttypes.EnvironmentContext(properties)
        self.change("alter_table_with_environment_context", database, name, table, context)

    def has(self, call: str, *arguments: object) -> bool:
        """Whether this version of the metastore has a call, which reads."""
        try:
            self.read(call, *arguments)
        except MetastoreError as error:
            return error.answer is not Answer.UNKNOWN_CALL
        return True

    def has_zones_for(self, columns: Iterable[DataField]) -> bool:
        """Whether columns have timestamps with a time zone that the metastore knows, as Hive does from 3.0 on, like
        catalogs."""
        return has_zoned_times(columns) and self.has("get_catalogs")

    def _found(self, call: str, *arguments: object) -> Any | None:
        try:
            return self.read(call, *arguments)
        except MetastoreError as error:
            if error.answer is Answer.MISSING:
                return None
            raise

    # -- connections --------------------------------------------------------------------------------------------------
    def _call(self, call: str, *arguments: object) -> Any:
        connection = self._connection()
        try:
            answer = getattr(connection.client, call)(*arguments)
        except (TTransportException, TProtocolException, OSError) as error:
            connection.close()
            raise self._lost(connection.address, call, error) from _cause(error)
        except TException as error:
            self._give_back(connection, is_sound=not isinstance(error, TApplicationException))
            message = f"The metastore {connection.address} answered {call} with an error: {words_of(error)}."
            raise MetastoreError(message, answer_of(error)) from error
        except Exception as error:  # raised by the decoder if the bytes are not a valid answer
            connection.close()
            raise self._lost(connection.address, call, error) from error
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, is_sound=True)
        return answer

    def _connection(self) -> Connection:
        while True:
            with self._guard:
                found = self._idle.pop() if self._idle else None
            if found is None:
                return self._connect()
            if found.is_alive():
                return found
            found.close()

    def _connect(self) -> Connection:
        tried: list[str] = []
        last: BaseException | None = None
        for address in self.settings.addresses:
            try:
                return Connection(address, self.settings)
            except PaimonError:
                raise
            except Exception as error:
                last = _cause(error)
                tried.append(f"{address}: {_said(last)}")
        raise StorageError(
            f"The metastore cannot be reached: {'; '.join(tried)}. {self._advice(last)}, then run the statement again."
        ) from last

    def _advice(self, error: BaseException | None) -> str:
        """Return advice for a failed connection."""
        if isinstance(error, Unauthenticated):
            return "Check 'hive.metastore.kerberos.principal' and the configuration of Kerberos"
        advice = "Check that it is up and that 'uri' is the address of a Hive metastore"
        is_asked = self.settings.kerberos_principal is not None
        if isinstance(error, (EOFError, TTransportException, TProtocolException)) or is_asked:
            does = "does" if is_asked else "does not"
            advice += f", and that it {does} ask for Kerberos ('hive.metastore.sasl.enabled')"
        return advice

    def _give_back(self, connection: Connection, *, is_sound: bool) -> None:
        with self._guard:
            if is_sound and len(self._idle) < self.settings.pool_size:
                self._idle.append(connection)
                return
        connection.close()

    def _lost(self, address: Address, call: str, error: Exception) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"The metastore {address} did not answer {call}: {_said(_cause(error))}. Check that it is up, then run the "
            "statement again."
        )


@contextmanager
def _unless_missing() -> Iterator[None]:
    """Continue if the metastore does not have the object."""
    try:
        yield
    except MetastoreError as error:
        if error.answer is not Answer.MISSING:
            raise


def cause_of(error: PaimonError) -> str:
    """The reason for which a call failed, in a sentence without advice."""
    if isinstance(error, StorageError) and not isinstance(error, MetastoreError) and error.__cause__ is not None:
        return f"it cannot be reached ({_said(error.__cause__)})."
    return str(error)


def _cause(error: BaseException) -> BaseException:
    """Return the socket's error, even if Thrift has wrapped it."""
    inner = getattr(error, "inner", None)
    return inner if isinstance(inner, BaseException) else error


def _said(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, Unauthenticated):
        return str(error)
    if isinstance(error, TTransportException) and error.type == TTransportException.END_OF_FILE:
        return "it closed the connection"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"its answer does not come from a metastore ({type(error).__name__})"
