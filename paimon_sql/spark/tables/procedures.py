"""A registered procedure as Spark's `UnboundProcedure` and `BoundProcedure`: Spark binds and types the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql.types import DataType, StructField, StructType

from paimon_core.errors import InvalidOptionError
from paimon_sql.catalog.base import Catalog, SupportsDatabases, with_databases
from paimon_sql.procedures import PROCEDURES, Procedure, ProcedureContext
from paimon_sql.spark.errors.java import unchecked
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.session_catalogs import find_catalog
from paimon_sql.spark.workers.executor import SparkExecutor

_ARROW_TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
_INTERFACES = f"{CATALOG}.procedures"


class SparkProcedure(Proxy):
    """`CALL sys.name(…)`."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: Catalog, name: str, procedure: Procedure) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.catalog_name, self.procedure = session, catalog, name, procedure

    def name(self) -> str:
        return self.procedure.name

    def description(self) -> str:
        return self.procedure.summary

    def bind(self, input_type: Any) -> Any:
        return self

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Any:
        parameter = self.jvm.java_class(f"{_INTERFACES}.ProcedureParameter")
        make = getattr(parameter, "in")
        built = []
        for p in self.procedure.parameters:
            builder = make(p.name, self.jvm.data_type(_spark_type(p.type)))
            built.append((builder if p.required else builder.defaultValue("NULL")).build())
        return self.jvm.array(f"{_INTERFACES}.ProcedureParameter", built)

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
        )
        try:
            rows = self.procedure.call(context, given)
        except (CapturedException, Py4JJavaError) as e:
            raise unchecked(self.jvm, e) from e
        scans = self.jvm.java_class("java.util.ArrayList")()
        if self.procedure.columns:
            scans.add(self._scan(rows))
        return scans.iterator()

    def _scan(self, rows: Sequence[tuple[Any, ...]]) -> LocalScan:
        names = [c for c, _ in self.procedure.columns]
        fields = [StructField(c, _spark_type(t)) for c, t in self.procedure.columns]
        columns = [pa.array([r[i] for r in rows], _ARROW_TYPES[t]) for i, (_, t) in enumerate(self.procedure.columns)]
        content = pa.table(columns, names=names)
        return LocalScan(self.jvm, self.session, content, StructType(fields), f"CALL {self.procedure.name}")

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
        implements = [f"{_INTERFACES}.UnboundProcedure", f"{_INTERFACES}.BoundProcedure"]


class UnknownProcedure(Proxy):
    """A name that is no procedure. Spark hides why loading one fails; why binding fails it tells."""

    def __init__(self, jvm: Jvm, spelled: str) -> None:
        super().__init__(jvm)
        self.spelled = spelled

    def name(self) -> str:
        return self.spelled

    def description(self) -> str:
        return self.spelled

    def bind(self, input_type: Any) -> Any:
        known = ", ".join(f"sys.{p}" for p in sorted(PROCEDURES))
        raise InvalidOptionError(f"There is no procedure {self.spelled}; there are {known}.")

    class Java:
        implements = [f"{_INTERFACES}.UnboundProcedure"]


def _spark_type(name: str) -> DataType:
    return DataType.fromDDL(name)
