"""The functions of a Paimon catalog for Spark's `FunctionCatalog`: the functions of `sys`, and functions that users
created.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError

from paimon_core.errors import DatabaseNotFoundError, FunctionNotFoundError, InvalidNameError, PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE, SupportsFunctions
from paimon_sql.catalog.function import Function
from paimon_sql.spark.errors.java import no_such_function, not_called_so
from paimon_sql.spark.jvm import connector
from paimon_sql.spark.jvm.classes import FUNCTION_1
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.named_functions import expression_function
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.bucket_partitions import BUCKET, BucketTransform
from paimon_sql.spark.tables.functions import FUNCTIONS, check_function, system_function
from paimon_sql.spark.tables.named_catalog import NamedCatalog, single
from paimon_sql.spark.tables.user_functions.calls import FunctionCalls
from paimon_sql.spark.tables.user_functions.definitions import is_table_function


class UncallableFunction(Proxy):
    """A Scala function of arguments that raises an error."""

    RAISING = frozenset(("apply",))

    def __init__(self, jvm: Jvm, error: PaimonError | Py4JJavaError) -> None:
        super().__init__(jvm)
        self.error = error

    def apply(self, _arguments: Any) -> Any:
        raise self.error

    class Java:
        implements = [FUNCTION_1]


class SparkFunctions(NamedCatalog):
    """The part of `SparkCatalog` for functions. Another part translates its name and Spark's identifiers."""

    ANALYZING = frozenset(("listFunctions",))

    def listFunctions(self, namespace: Any) -> Any:
        if list(namespace) == [SYSTEM_DATABASE]:
            return connector.identifiers(self.jvm, SYSTEM_DATABASE, FUNCTIONS)
        found = self.catalog.list_functions(single(namespace)) if isinstance(self.catalog, SupportsFunctions) else ()
        return connector.identifiers(self.jvm, single(namespace) if found else "", found)

    def functionExists(self, identifier: Any) -> bool:
        # Spark calls this first; its own message about an unknown function of sys would not list the known ones
        if list(identifier.namespace()) == [SYSTEM_DATABASE]:
            return bool(check_function(str(identifier.name())))
        return self._find_function(identifier) is not None

    def loadFunction(self, identifier: Any) -> Any:
        name = str(identifier.name())
        if not list(identifier.namespace()) and name == BUCKET:
            return BucketTransform(self.jvm)
        if list(identifier.namespace()) == [SYSTEM_DATABASE]:
            return system_function(self.jvm, self.session, self.catalog, self.catalog_name, name)
        function = self._find_function(identifier)
        if function is None:
            raise no_such_function(self.jvm, identifier)
        ours = self._identifier(identifier)
        return expression_function(self.jvm, ours.table, self._builder(ours, function), ours.database)

    def _builder(self, name: Identifier, function: Function) -> Any:
        """Return a Scala function that makes a call. `spark.catalog` loads functions to list them, so a function that
        cannot be called raises its error in the call.
        """
        if is_table_function(function):
            return UncallableFunction(self.jvm, not_called_so(self.jvm, f"{self.catalog_name}.{name}", is_table=True))
        calls = FunctionCalls(self.session, self._catalog_of)
        try:
            return calls.builder((self.catalog_name, name.database, name.table), function)
        except (PaimonError, Py4JJavaError) as error:
            return UncallableFunction(self.jvm, error)

    def _find_function(self, identifier: Any) -> Function | None:
        if len(list(identifier.namespace())) != 1 or not isinstance(self.catalog, SupportsFunctions):
            return None
        try:
            ours: Identifier = self._identifier(identifier)
            return self.catalog.load_function(ours)
        except (FunctionNotFoundError, DatabaseNotFoundError, InvalidNameError):
            return None
