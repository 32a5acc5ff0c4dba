"""Functions in Spark's parser and analyzer: statements about them, SQL functions, and calls in plans.

Spark keeps an SQL function as properties in a JSON text (`SQLFunction`): its parts below `sqlFunction.`, the settings
of its definition below `sqlConfig.`, and the current namespace at its definition below `catalogAndNamespace.`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql.types import DataType, StructField, StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.collections import texts, value_of
from paimon_sql.spark.jvm.frames import run
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, java_type, method, python
from paimon_sql.spark.jvm.sessions import parser_of, session_catalog

Kind = Literal["create", "create of a class", "drop", "describe"]
Call = tuple[str, tuple[str, ...]]  # "scalar" or "table", and the parts of a function's name
SCALAR, TABLE, RELATION, QUERY = "scalar", "table", "relation", "query"
PART = "sqlFunction."
_KINDS: Mapping[str, Kind] = {
    "CreateUserDefinedFunction": "create",
    "CreateFunction": "create of a class",
    "DropFunction": "drop",
    "DescribeFunction": "describe",
}
_UNRESOLVED = ("UnresolvedIdentifier", "UnresolvedFunctionName")


@dataclass(frozen=True, slots=True)
class NewFunction:
    """The parts of CREATE FUNCTION … RETURN, as texts of SQL. `parameters` is `None` if the statement has no list of
    parameters; a flag that the statement does not set is `None`, too.
    """

    parameters: str | None
    returns: str
    body: str
    is_query: bool
    is_table: bool
    comment: str | None = None
    deterministic: bool | None = None
    contains_sql: bool | None = None


@dataclass(frozen=True, slots=True)
class NameInPlan:
    """A name in a plan: of a called scalar or table function, of a relation, or of a query of WITH. `start` is the
    position of the name or its call in the parsed text; -1 if the plan does not contain it.
    """

    kind: str
    parts: tuple[str, ...]
    start: int


@dataclass(frozen=True, slots=True)
class FunctionStatement:
    """A statement about a named function. `lenient` is IF EXISTS and IF NOT EXISTS, `extended` is DESCRIBE EXTENDED."""

    kind: Kind
    parts: tuple[str, ...]
    lenient: bool = False
    replaces: bool = False
    extended: bool = False
    new: NewFunction | None = None


@hook(
    "`CreateUserDefinedFunction` and other parsed statements",
    "statements about functions of our catalogs",
    *(java_type(f"{classes.PLANS_PACKAGE}.{name}") for name in _KINDS),
    *(
        method(f"{classes.PLANS_PACKAGE}.CreateUserDefinedFunction", name, 0)
        for name in ("inputParamText", "returnTypeText", "exprText", "queryText", "isTableFunc", "ignoreIfExists")
    ),
)
def function_statement(plan: JavaObject) -> FunctionStatement | None:
    """Return a parsed statement about functions; None for any other statement."""
    kind = _KINDS.get(simple_name(plan))
    if kind is None:
        return None
    child = plan.child()
    if simple_name(child) not in _UNRESOLVED:
        return None
    parts = texts(child.nameParts() if simple_name(child) == _UNRESOLVED[0] else child.multipartIdentifier())
    match kind:
        case "drop":
            return FunctionStatement(kind, parts, lenient=bool(plan.ifExists()))
        case "describe":
            return FunctionStatement(kind, parts, extended=bool(plan.isExtended()))
        case "create of a class":
            return FunctionStatement(kind, parts)
    lenient, replaces = bool(plan.ignoreIfExists()), bool(plan.replace())
    return FunctionStatement(kind, parts, lenient=lenient, replaces=replaces, new=_read_new(plan))


def _read_new(plan: JavaObject) -> NewFunction:
    expression, query = _text(plan.exprText()), _text(plan.queryText())
    return NewFunction(
        _text(plan.inputParamText()),
        str(plan.returnTypeText() or ""),
        expression if expression is not None else query or "",
        expression is None,
        bool(plan.isTableFunc()),
        _text(plan.comment()),
        value_of(plan.isDeterministic()),
        value_of(plan.containsSQL()),
    )


def _text(option: JavaObject) -> str | None:
    found = value_of(option)
    return None if found is None else str(found)


# -- SQL functions ----------------------------------------------------------------------------------------------------
@hook(
    "`CreateSQLFunctionCommand`, by CREATE TEMPORARY FUNCTION; `SessionCatalog`",
    "CREATE FUNCTION in our catalogs",
    java_type(classes.CREATE_SQL_FUNCTION),
    method(classes.SESSION_CATALOG, "lookupBuiltinOrTempFunction", 1),
    method(classes.SESSION_CATALOG, "lookupBuiltinOrTempTableFunction", 1),
    method(classes.SESSION_CATALOG, "dropTempFunction", 2),
)
def checked_properties(jvm: Jvm, session: JavaObject, name: str, statement: str) -> dict[str, str]:
    """Return the properties that Spark stores for the SQL function of a statement. Spark creates it as a temporary
    function with `name`, which is dropped at once. Raises Spark's error if the function is not valid.
    """
    catalog = session_catalog(session)
    run(jvm, session, jvm.java_class(classes.SPARK_SQL_PARSER)().parsePlan(statement))
    try:
        found = value_of(catalog.lookupBuiltinOrTempFunction(name))
        if found is None:
            found = value_of(catalog.lookupBuiltinOrTempTableFunction(name))
        assert found is not None, "the statement has created it"
        properties: dict[str, str] = json.loads(str(found.getUsage()))
        return properties
    finally:
        catalog.dropTempFunction(name, True)


@hook(
    "`SQLFunction`, `CatalogFunction`",
    "functions of our catalogs",
    method(f"{classes.SQL_FUNCTION}$", "fromCatalogFunction", 2),
    method(f"{classes.USER_DEFINED_FUNCTION}$", "propertiesToFunctionResources", 2),
    constructor(classes.CATALOG_FUNCTION, 3),
    method(classes.SQL_FUNCTION, "inputParam", 0),
    method(classes.SQL_FUNCTION, "returnType", 0),
)
def sql_function(jvm: Jvm, session: JavaObject, name: tuple[str, str], properties: Mapping[str, str]) -> JavaObject:
    """Return the SQL function with a database and a name that stored properties define. Raises `UnfamiliarFormError` if
    this Spark cannot read them.
    """
    identifier = jvm.java_class(classes.FUNCTION_IDENTIFIER)(name[1], jvm.some(name[0]))
    try:
        made = jvm.scala_object(classes.USER_DEFINED_FUNCTION)
        resources = made.propertiesToFunctionResources(jvm.scala_map(properties), identifier)
        kept = jvm.java_class(classes.CATALOG_FUNCTION)(identifier, PART, resources)
        return jvm.scala_object(classes.SQL_FUNCTION).fromCatalogFunction(kept, parser_of(session))
    except (Py4JError, CapturedException) as error:
        raise UnfamiliarFormError(
            f"of function {'.'.join(name)}", f"Spark cannot read its definition ({error})", "replace it, or drop it"
        ) from error


def parameters_json(function: JavaObject) -> str | None:
    """Return the JSON of the struct of an SQL function's parameters; None if it has none."""
    found = value_of(function.inputParam())
    return None if found is None else str(found.json())


def returns_json(function: JavaObject) -> str:
    """Return the JSON of an SQL function's return type. For a table function, this type is a struct."""
    return str(function.returnType().value().json())


def columns_ddl(jvm: Jvm, schema: Any) -> str:
    """Return columns as Spark's SQL spells them, with their defaults and comments."""
    return str(jvm.struct_type(schema).toDDL())


def type_sql(jvm: Jvm, data_type: Any) -> str:
    """A type as Spark's SQL spells it."""
    return str(jvm.data_type(data_type).sql())


@hook(
    "`SessionCatalog.makeSQLFunctionBuilder`",
    "functions of our catalogs",
    method(classes.SESSION_CATALOG, "makeSQLFunctionBuilder", 1),
    method(classes.SESSION_CATALOG, "makeSQLTableFunctionBuilder", 1),
)
def call_builder(jvm: Jvm, session: JavaObject, function: JavaObject) -> JavaObject:
    """Return a Scala function that turns arguments into a call of an SQL function."""
    return jvm.compiled("FunctionCalls").builder(session_catalog(session), function)


@hook(
    "`ShowFunctions`, `SessionCatalog.listTemporaryFunctions`",
    "SHOW FUNCTIONS hides functions that stand for others",
    method(f"{classes.PLANS_PACKAGE}.ShowFunctions", "output", 0),
    method(classes.SESSION_CATALOG, "listTemporaryFunctions", 0),
)
def without_functions(jvm: Jvm, session: JavaObject, plan: JavaObject, prefixes: Sequence[str]) -> JavaObject:
    """Return a parsed SHOW FUNCTIONS that hides temporary functions with a prefix; any other statement unchanged."""
    return jvm.compiled("FunctionCalls").without(plan, session_catalog(session), jvm.array_list(prefixes))


def is_session_function(session: JavaObject, parts: Sequence[str]) -> bool:
    """Return whether a built-in or temporary function has this name."""
    if len(parts) != 1:
        return False
    catalog = session_catalog(session)
    lookups = (catalog.lookupBuiltinOrTempFunction, catalog.lookupBuiltinOrTempTableFunction)
    return any(bool(lookup(parts[0]).isDefined()) for lookup in lookups)


def is_kept_view(plan: JavaObject) -> bool:
    """Return whether a parsed statement defines a view that is not temporary."""
    return simple_name(plan) in ("CreateView", "AlterViewAs")


# -- calls ------------------------------------------------------------------------------------------------------------
@hook(
    "`UnresolvedFunction`, `UnresolvedTableValuedFunction`, `UnresolvedWith.cteRelations`",
    "calls of table functions of our catalogs, and cycles of functions",
    method(classes.UNRESOLVED_FUNCTION, "nameParts", 0),
    method(classes.UNRESOLVED_TABLE_FUNCTION, "name", 0),
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
    method(classes.LOGICAL_PLAN, "transformAllExpressionsWithSubqueries", 1),
)
def names_in(jvm: Jvm, session: JavaObject, plan: JavaObject) -> list[NameInPlan]:
    """Return the names in a parsed plan, except names of built-in and temporary functions."""
    lines = str(jvm.compiled("FunctionCalls").names(plan, session))
    found = (line.split("\0") for line in lines.split("\n") if line)
    return [NameInPlan(kind, tuple(parts), int(start)) for kind, start, *parts in found]


def called_functions(jvm: Jvm, session: JavaObject, plan: JavaObject) -> set[Call]:
    """Return the functions that a parsed plan calls, except built-in and temporary functions."""
    return {(n.kind, n.parts) for n in names_in(jvm, session, plan) if n.kind in (SCALAR, TABLE)}


def with_called_names(jvm: Jvm, plan: JavaObject, names: Mapping[Call, str]) -> JavaObject:
    """Return a parsed plan that calls other functions: `names` maps a call to the new function's name."""
    known = jvm.map({"\0".join((kind, *parts)): name for (kind, parts), name in names.items()})
    return jvm.compiled("FunctionCalls").renamed(plan, known)


@hook(
    "`SessionState.functionRegistry`, `tableFunctionRegistry`",
    "calls of table functions of our catalogs",
    method(classes.FUNCTION_REGISTRY, "createOrReplaceTempFunction", 3),
    method(classes.SESSION_STATE, "tableFunctionRegistry", 0),
)
def put_temporary_function(session: JavaObject, name: str, builder: Any, *, is_table: bool) -> None:
    """Make a function callable by a name in a session. `is_table` registers it as a table function."""
    state = session.sessionState()
    registry = state.tableFunctionRegistry() if is_table else state.functionRegistry()
    registry.createOrReplaceTempFunction(name, builder, "internal")


def parsed_query(jvm: Jvm, text: str) -> JavaObject | None:
    """Return a query as a plan, None if Spark cannot parse it."""
    try:
        return jvm.java_class(classes.SPARK_SQL_PARSER)().parsePlan(text)
    except (Py4JError, CapturedException):
        return None


_ARROW = Variant.of("of Arrow", python("pyspark.sql.functions", "arrow_udf"))
_PANDAS = Variant.of("of Pandas", python("pyspark.sql.functions", "pandas_udf"))


@hook("PySpark's `arrow_udf`", "functions of `sys` of columns", _ARROW, _PANDAS)
def column_udf(jvm: Jvm, function: Callable[..., pa.Array], takes: Sequence[DataType], result: DataType) -> Any:
    """Return a function of Columns that calls `function` with Arrow arrays of Spark's types `takes`. Workers unpickle
    `function` by its name. The variant of Pandas needs Pandas on the workers."""
    # `arrow_udf` and `pandas_udf` make the same object, and print a warning for a function without type hints
    if jvm.variant(column_udf) is _ARROW:
        return UserDefinedFunction(function, result, evalType=PythonEvalType.SQL_SCALAR_ARROW_UDF)
    types = arrow_schema(StructType([StructField(f"c{i}", t) for i, t in enumerate(takes)])).types
    of_series = partial(_of_series, function, types)
    return UserDefinedFunction(of_series, result, evalType=PythonEvalType.SQL_SCALAR_PANDAS_UDF)


def _of_series(function: Callable[..., pa.Array], types: Sequence[pa.DataType], *series: Any) -> Any:
    return function(*(pa.Array.from_pandas(s, type=t) for s, t in zip(series, types, strict=True))).to_pandas()


def takes_arrow(jvm: Jvm) -> bool:
    """Return whether functions of `column_udf` get and return Arrow arrays unchanged, including nested ones."""
    return jvm.variant(column_udf) is _ARROW
