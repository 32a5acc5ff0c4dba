"""Functions in Python: the body of a function of Python's, kept as text, whose parameters have the function's names.

The text is code of whoever may write to the catalog, and runs in the Python workers of the session that calls it. So it
is only run where the application was started with a setting that says so, which no statement can change.
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
    """Raises `InvalidDataError` for a body that is no Python, or parameters that have no names of Python's."""
    _compiled(name, parameters, body)


def allows_python(jvm: Jvm) -> bool:
    """Whether the application was started to run code of its catalogs."""
    return str(context_settings(jvm).get(SETTING, "false")).lower() == "true"


def check_allowed(jvm: Jvm, name: str) -> None:
    """Raises `NotAllowedError` where the application was not started to run code of its catalogs."""
    if not allows_python(jvm):
        raise NotAllowedError(
            f"Function {name} is code in Python, which whoever may write to its catalog has written: it is not run "
            f"unless the application is started with {SETTING}=true. DESCRIBE FUNCTION EXTENDED shows it."
        )


class PythonCall(Proxy):
    """Makes the expression of a call from those of its arguments: a Scala function."""

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
    scope: dict[str, Any] = {"__name__": f"paimon_function_{name}"}  # a module that is nowhere: it travels as code
    exec(_compiled(name, parameters, body), scope)  # noqa: S102  the application was started to run it, see `check_allowed`
    found: Callable[..., Any] = scope[_HANDLER]
    return found


def _compiled(name: str, parameters: Sequence[str], body: str) -> Any:
    for parameter in parameters:
        if not parameter.isidentifier() or keyword.iskeyword(parameter):
            raise InvalidDataError(f"Function {name} has a parameter {parameter!r}, which is no name in Python.")
    text = textwrap.indent(textwrap.dedent(body.expandtabs(8)).strip("\n"), "    ") or "    pass"
    try:
        return compile(f"def {_HANDLER}({', '.join(parameters)}):\n{text}\n", f"<function {name}>", "exec")
    except (SyntaxError, ValueError) as e:
        raise InvalidDataError(f"Function {name} has a body that is no Python: {e}.") from e
