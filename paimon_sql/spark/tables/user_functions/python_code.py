"""Functions in Python: the catalog keeps the body of a Python function as text, and the names of its parameters.

Every user who may write to the catalog can write this code, and it runs in the Python workers of the calling session.
So it only runs if the application was started with a setting that allows it; no statement can change that setting.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from paimon_core.errors import InvalidDataError, NotAllowedError
from paimon_sql.spark.jvm.classes import FUNCTION_1
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import column, expression
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.sessions import context_settings
from paimon_sql.spark.proxy import Proxy

SETTING = "spark.paimon-sql.python-functions"
_HANDLER = "function"


def check_code(name: str, parameters: Sequence[str], body: str) -> None:
    """Raise `InvalidDataError` for a body that is not valid Python, or a parameter that is not a valid name
    in Python.
    """
    _compiled(name, parameters, body)


def allows_python(jvm: Jvm) -> bool:
    """Return whether the application was started with the setting that allows code of its catalogs."""
    return str(context_settings(jvm).get(SETTING, "false")).lower() == "true"


def check_allowed(jvm: Jvm, name: str) -> None:
    """Raise `NotAllowedError` if the application was started without permission to run code of its catalogs."""
    if not allows_python(jvm):
        raise NotAllowedError(
            f"Function {name} is code in Python, which any user with write access to its catalog may have written. "
            f"Read it with DESCRIBE FUNCTION EXTENDED; to run it, start the application with {SETTING}=true."
        )


class PythonCall(Proxy):
    """A Scala function from the expressions of a call's arguments to the expression of the call."""

    def __init__(
        self, jvm: Jvm, name: str, parameters: Sequence[str], body: str, returns: DataType, pure: bool
    ) -> None:
        super().__init__(jvm)
        made = F.udf(_function(name, parameters, body), returns)
        self.call = made if pure else made.asNondeterministic()

    def apply(self, arguments: Any) -> Any:
        return expression(self.jvm, self.call(*(column(self.jvm, e) for e in items(arguments))))

    class Java:
        implements = [FUNCTION_1]


def _function(name: str, parameters: Sequence[str], body: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {"__name__": f"paimon_function_{name}"}  # no such module, so it is pickled as code
    exec(_compiled(name, parameters, body), scope)  # noqa: S102  the application was started to run it, see `check_allowed`
    found: Callable[..., Any] = scope[_HANDLER]
    return found


def _compiled(name: str, parameters: Sequence[str], body: str) -> Any:
    for parameter in parameters:
        if not parameter.isidentifier() or keyword.iskeyword(parameter):
            raise InvalidDataError(
                f"Function {name} has a parameter {parameter!r}, which is not a valid name in Python."
            )
    text = textwrap.indent(textwrap.dedent(body.expandtabs(8)).strip("\n"), "    ") or "    pass"
    try:
        return compile(f"def {_HANDLER}({', '.join(parameters)}):\n{text}\n", f"<function {name}>", "exec")
    except (SyntaxError, ValueError) as e:
        raise InvalidDataError(f"Function {name} has a body that is not valid Python: {e}.") from e
