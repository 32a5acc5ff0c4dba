"""Calls of catalogs' functions, in the form that Spark's analyzer needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    DatabaseNotFoundError,
    FunctionNotFoundError,
    InvalidNameError,
    PaimonError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE, Catalog, SupportsFunctions
from paimon_sql.catalog.function import Function, LambdaDefinition
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.functions import (
    SCALAR,
    TABLE,
    call_builder,
    columns_ddl,
    put_temporary_function,
    sql_function,
    type_sql,
)
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.named_functions import renames_calls
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.user_functions.bodies import Body, Place, full_names, is_expression, spelled_in_full
from paimon_sql.spark.tables.user_functions.definitions import (
    PRIVATE,
    Texts,
    input_struct,
    is_table_function,
    place_of,
    result_struct,
    result_type,
    runnable,
    says_query,
    spark_properties,
)
from paimon_sql.spark.tables.user_functions.python_code import PythonCall, check_allowed
from paimon_sql.spark.tables.views.cycles import find_cycle
from paimon_sql.spark.types import to_spark

Name = tuple[str, str, str]  # catalog, database, function


@dataclass(frozen=True)
class FunctionCalls:
    """The calls of catalogs' functions in one session; `catalog_of` returns the Paimon catalog of a name."""

    session: SessionBridge
    catalog_of: Callable[[str], Catalog | None]

    @property
    def jvm(self) -> Jvm:
        return self.session.jvm

    def find(self, full: Sequence[str]) -> Function | None:
        """Return the function with a full name; None if no Paimon catalog has it. Raises `CorruptFileError`."""
        if len(full) != 3 or full[1] == SYSTEM_DATABASE:
            return None
        catalog = self.catalog_of(full[0])
        if not isinstance(catalog, SupportsFunctions):
            return None
        try:
            return catalog.load_function(Identifier(full[1], full[2]))
        except (FunctionNotFoundError, DatabaseNotFoundError, InvalidNameError):
            return None

    def builder(self, name: Name, function: Function) -> JavaObject:
        """Return a Scala function that makes the call of a function from its arguments.

        Raises `UnsupportedFeatureError` for a function that cannot run here or leads back to itself, `NotAllowedError`
        for code that the application does not allow.
        """
        identifier = Identifier(*name[1:])
        definition = runnable(function, identifier)
        self.refuse_cycle(name, function)
        if isinstance(definition, LambdaDefinition):
            text, is_query = self._python_body(name, function, definition), False
        else:
            body = self._body(function, definition.text)
            text = self.spelled(body, place_of(function, name[0], identifier))
            is_query = body.is_query
        properties = spark_properties(function, self.texts(name, function), (text, is_query), name[0], identifier)
        properties["referredTempFunctionsNames"] = json.dumps(self._private_names(text))
        return call_builder(
            self.jvm, self.session.session, sql_function(self.jvm, self.session.session, name[1:], properties)
        )

    def spelled(self, body: Body, place: Place, *, only_private: bool = False) -> str:
        """Return the text of a body that Spark can resolve from any caller.

        With `only_private`, the body calls functions of Paimon catalogs only by their temporary names: Spark does not
        look up functions in catalogs while it creates a temporary function.
        """
        asks = not (only_private or renames_calls(self.jvm))

        def naming(kind: str, full: tuple[str, ...]) -> str | None:
            return None if kind == SCALAR and asks else self.private_name(kind, full)

        return spelled_in_full(self.session, body, place, naming, spells_calls=not only_private)

    def private_name(self, kind: str, full: tuple[str, ...]) -> str | None:
        """Create the temporary function that stands for a function of a Paimon catalog, and return its name. Return
        None for any other function, and for a function of the other kind.
        """
        function = self.find(full)
        if function is None or is_table_function(function) != (kind == TABLE):
            return None
        private = _private(full)
        builder = self.builder((full[0], full[1], full[2]), function)
        put_temporary_function(self.session.session, private, builder, is_table=kind == TABLE)
        return private

    def texts(self, name: Name, function: Function) -> Texts:
        """Return a function's parameters and result as Spark's SQL spells them."""
        parameters = columns_ddl(self.jvm, input_struct(function))
        if is_table_function(function):
            return Texts(parameters, columns_ddl(self.jvm, result_struct(function)))
        returned = result_type(function, Identifier(*name[1:])).type
        return Texts(parameters, type_sql(self.jvm, to_spark(returned)))

    def refuse_cycle(self, name: Name, function: Function) -> None:
        """Raise `UnsupportedFeatureError` if this function leads to functions that call each other in a circle: Spark
        would follow it until its stack overflows.
        """
        first = self._references(name, function)
        if not first:
            return
        cycle = find_cycle(name, lambda other: first if other == name else self._references_of(other))
        if cycle is not None:
            path = " -> ".join(".".join(n) for n in cycle)
            raise UnsupportedFeatureError(
                f"Function {'.'.join(name)} cannot be used: functions call each other in a circle ({path}). Replace or "
                "drop one of them."
            )

    # -- ours ---------------------------------------------------------------------------------------------------------
    def _python_body(self, name: Name, function: Function, definition: LambdaDefinition) -> str:
        """Return the body of an SQL function that calls the Python code: Spark then binds names and defaults and casts
        values, as for other functions.
        """
        full = ".".join(name)
        check_allowed(self.jvm, full)
        parameters = [f.name for f in function.parameters or ()]
        returns = to_spark(result_type(function, Identifier(*name[1:])).type)
        call = PythonCall(self.jvm, full, parameters, definition.text, returns, function.deterministic)
        private = _private((*name, "python"))
        put_temporary_function(self.session.session, private, call, is_table=False)
        return f"{quoted_name(private)}({', '.join(map(quoted_name, parameters))})"

    def _body(self, function: Function, text: str) -> Body:
        said = says_query(function)
        return Body(text, not is_expression(self.session, text) if said is None else said)

    def _references_of(self, name: Name) -> Sequence[Name]:
        try:
            function = self.find(name)
            return () if function is None else self._references(name, function)
        except PaimonError:
            return ()

    def _references(self, name: Name, function: Function) -> Sequence[Name]:
        """Return the full names of the functions that a function calls."""
        try:
            definition = runnable(function, Identifier(*name[1:]))
        except UnsupportedFeatureError:
            return ()
        if isinstance(definition, LambdaDefinition):
            return ()
        place = place_of(function, name[0], Identifier(*name[1:]))
        found = full_names(self.session, self._body(function, definition.text), place)
        return [(n[0], n[1], n[2]) for _, n in found if len(n) == 3]

    def _private_names(self, text: str) -> Sequence[str]:
        """Return this package's temporary functions that a body calls."""
        return sorted({part for part in text.split("`") if part.startswith(PRIVATE)})


def _private(full: Sequence[str]) -> str:
    return PRIVATE + hashlib.sha256("\0".join(full).encode("utf-8", "surrogatepass")).hexdigest()[:24]
