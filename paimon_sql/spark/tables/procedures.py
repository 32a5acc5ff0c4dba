"""A registered procedure as Spark's `UnboundProcedure` and `BoundProcedure`: Spark binds and types the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql.types import DataType, StructField, StructType

from paimon_core.errors import InvalidOptionError
from paimon_sql.catalog.base import Catalog, SupportsDatabases, with_databases
from paimon_sql.procedures import PROCEDURES, Procedure, ProcedureContext, result_table
from paimon_sql.spark.errors.java import of_statement
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.syntax import LISTED_PROCEDURES
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.spans import statement_span
from paimon_sql.spark.tables.session_catalogs import find_catalog
from paimon_sql.spark.workers.executor import SparkExecutor


class _NamedProcedure(Proxy):
    """The name and the description of a procedure, which Spark requests before and after it binds the procedure."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: Catalog, name: str, procedure: Procedure) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.catalog_name, self.procedure = session, catalog, name, procedure

    def name(self) -> str:
        return self.procedure.name

    def description(self) -> str:
        return self.procedure.summary


class SparkProcedure(_NamedProcedure):
    """`CALL sys.name(…)` before Spark binds it.

    Binding returns another object, because Spark regards an object with both interfaces as bound. If an argument then
    takes more than one pass to resolve, Spark would count the arguments before it adds the missing parameters.
    """

    def bind(self, input_type: Any) -> Any:
        return SparkBoundProcedure(self.jvm, self.session, self.catalog, self.catalog_name, self.procedure)

    class Java:
        implements = [classes.UNBOUND_PROCEDURE]


class SparkBoundProcedure(_NamedProcedure):
    """`CALL sys.name(…)` with its arguments in the order of its parameters."""

    RAISING = frozenset(("call",))

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Any:
        found = self.procedure.parameters
        return connector.parameters(
            self.jvm,
            [connector.parameter(self.jvm, p.name, _spark_type(p.type), required=p.required) for p in found],
        )

    def call(self, arguments: Any) -> Any:
        given = {}
        for i, p in enumerate(self.procedure.parameters):
            if not arguments.isNullAt(i):
                value = arguments.get(i, self.jvm.data_type(_spark_type(p.type)))
                given[p.name] = self._argument(value, p.type)
        session = self.session
        executor, zone = SparkExecutor(session), session.time_zone()
        context = ProcedureContext(
            with_databases(self.catalog),
            session.current_database(),
            executor,
            zone,
            self.catalog_name,
            self._other_catalog,
            session.is_case_sensitive(),
        )
        try:
            with statement_span(self.jvm, f"CALL {self.procedure.name}"):
                rows = self.procedure.call(context, given)
        except CapturedException as e:
            raise of_statement(self.jvm, e) from e
        if isinstance(table := given.get("table"), str) and session.has_cached():
            named = self._named(table)
            session.refresh_cached(*(self.catalog_name, context.database)[: max(0, 3 - len(named))], *named)
        return result_scans(session, f"CALL {self.procedure.name}", self.procedure.columns_of(rows), rows)

    def _named(self, table: str) -> list[str]:
        """Return the parts of a table's name in an argument. A name that SQL cannot parse is split at its dots."""
        try:
            return self.session.name_parts(table)
        except (CapturedException, Py4JJavaError):
            return table.split(".")

    def _other_catalog(self, name: str) -> SupportsDatabases | None:
        found = find_catalog(self.session, name)
        return found if isinstance(found, SupportsDatabases) else None

    def _argument(self, value: Any, kind: str) -> Any:
        if isinstance(value, (bool, int)):
            return value
        if not kind.startswith("map"):
            return str(value.toString())
        texts = self.jvm.data_type(_spark_type("string"))
        keys, items = ([str(v) for v in a.toObjectArray(texts)] for a in (value.keyArray(), value.valueArray()))
        return dict(zip(keys, items, strict=True))

    class Java:
        implements = [classes.BOUND_PROCEDURE]


class UnknownProcedure(Proxy):
    """A name without a procedure. It fails when Spark binds it, because Spark shows only errors of binding
    to the user.
    """

    def __init__(self, jvm: Jvm, spelled: str) -> None:
        super().__init__(jvm)
        self.spelled = spelled

    def name(self) -> str:
        return self.spelled

    def description(self) -> str:
        return self.spelled

    def bind(self, input_type: Any) -> Any:
        near = get_close_matches(self.spelled.rpartition(".")[2].lower(), PROCEDURES, n=3)
        known = f"Did you mean {' or '.join(f'sys.{p}' for p in near)}? " if near else ""
        if self.jvm.has(LISTED_PROCEDURES):
            listed = "SHOW PROCEDURES IN sys lists all procedures."
        else:
            listed = f"There are {', '.join(f'sys.{p}' for p in sorted(PROCEDURES))}."
        raise InvalidOptionError(f"There is no procedure {self.spelled}. {known}{listed}")

    class Java:
        implements = [classes.UNBOUND_PROCEDURE]


def result_scans(
    session: SessionBridge, title: str, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]
) -> Any:
    """Return a Java iterator over the scan of a call's rows; empty without columns. `columns` are names and
    SQL types.
    """
    scans = []
    if columns:
        fields = [StructField(name, _spark_type(kind)) for name, kind in columns]
        scans.append(LocalScan(session.jvm, session, result_table(columns, rows), StructType(fields), title))
    return session.jvm.array_list(scans).iterator()


def _spark_type(name: str) -> DataType:
    return DataType.fromDDL(name)
