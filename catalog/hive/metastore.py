"""The metastore: calls over connections that may be lost at any time. The first address that answers is used.

An idle connection is checked before it is used, which costs no call. If an answer is lost, late or invalid, the
connection is closed, because its next answer could belong to another call. A call that only reads is then repeated. A
change is not repeated, because it may have been made: the caller gets `OutcomeUnknown`, and checks.
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
_ATTEMPTS = 3  # of a call that only reads
_ALL = -1


class Metastore:
    """One metastore, for the threads of one process.

    Raises `MetastoreError` if the metastore refuses, `StorageError` if it cannot be reached, `OutcomeUnknown` if it did
    not answer a change. The names of calls are Hive's names."""

    def __init__(self, settings: HiveSettings) -> None:
        self.settings = settings
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._unknown: set[str] = set()  # calls that this version of the metastore does not have

    def read(self, call: str, *arguments: object) -> Any:
        """Return the answer to a call that changes nothing."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._call(call, *arguments)
            except OutcomeUnknown as error:
                if attempt == _ATTEMPTS or isinstance(error.__cause__, TimeoutError):
                    raise StorageError(str(error)) from error.__cause__
                time.sleep(0.05 * attempt)
        raise AssertionError

    def change(self, call: str, *arguments: object) -> Any:
        """Return the answer to a call that changes something. The call is made only once."""
        return self._call(call, *arguments)

    def name(
        self,
        change: Callable[[], object],
        *,
        is_done: Callable[[], bool],
        is_taken: Callable[[], bool],
        taken: Callable[[], PaimonError],
    ) -> None:
        """Make a change that gives an object its name. Raises the error of `taken` if the name is taken.

        `is_done` returns whether the change was made; see `settle`. If two clients use a name at once, Hive 4 fails
        with an internal error for one of them. Then `is_taken` decides whether the name is taken.
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
        """Return a `Database`, or None if it does not exist."""
        return self._found("get_database", name)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table(self, database: str, name: str) -> Any | None:
        """Return a `Table`, or None if it does not exist."""
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
        """Return the names of all tables and views of every engine."""
        return list(self.read("get_all_tables", database))

    def tables_of_type(self, database: str, kind: str) -> list[str]:
        """Return the names of the tables of one of Hive's types, such as VIRTUAL_VIEW."""
        return list(self.read("get_tables_by_type", database, "*", kind))

    def tables_with(self, database: str, key: str, value: str) -> list[str] | None:
        """Return the names of the tables that have a parameter.

        Return None if the metastore's database cannot compare parameters.
        """
        if "get_table_names_by_filter" in self._unknown:
            return None
        wanted = f'hive_filter_field_params__{key} = "{value}"'
        try:
            return list(self.read("get_table_names_by_filter", database, wanted, _ALL))
        except MetastoreError as error:
            if error.answer is Answer.MISSING:
                return []
            self._unknown.add("get_table_names_by_filter")
            _LOG.info("The metastore cannot filter tables by their parameters, so every table is read: %s", error)
            return None

    def each_table(self, database: str, names: Sequence[str]) -> Iterator[Any]:
        """Yield the `Table` of each name that exists. Tables are read in batches."""
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
        """Return whether this version of the metastore has a call. The call must not change anything."""
        try:
            self.read(call, *arguments)
        except MetastoreError as error:
            return error.answer is not Answer.UNKNOWN_CALL
        return True

    def has_zones_for(self, columns: Iterable[DataField]) -> bool:
        """Return whether a column has a timestamp with a time zone, and the metastore supports this type.

        Hive supports it from 3.0 on, the first version with catalogs."""
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
    """Continue if the metastore answers that the object does not exist."""
    try:
        yield
    except MetastoreError as error:
        if error.answer is not Answer.MISSING:
            raise


def cause_of(error: PaimonError) -> str:
    """Return the reason why a call failed, as a sentence without advice."""
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
