"""This package's errors as the Java exceptions that Spark's users expect.

Methods that Spark calls while it analyzes or runs a command raise an `AnalysisException`. Its subclasses for something
that exists, or does not exist, are used only for exactly that, because Spark acts on them. Other methods may raise only
unchecked exceptions: `IllegalArgumentException`, `UnsupportedOperationException` and `SparkRuntimeException`. In Python
all of them have the base class `PySparkException`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core import errors
from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotFoundError,
    InternalError,
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    InvalidSchemaError,
    NotFoundError,
    NullValueError,
    PaimonError,
    SeveralMatchesError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_sql.preprocess import PreprocessError, Rewriting
from paimon_sql.spark.errors.conditions import SPARKS, condition_of, install_conditions, parameters
from paimon_sql.spark.jvm.classes import (
    ANALYSIS_EXCEPTION,
    ILLEGAL_ARGUMENT,
    NAMESPACE_EXISTS,
    NO_SUCH_FUNCTION,
    NO_SUCH_NAMESPACE,
    NO_SUCH_TABLE,
    NO_SUCH_VIEW,
    RUNTIME,
    TABLE_EXISTS,
    VIEW_EXISTS,
)
from paimon_sql.spark.jvm.exceptions import (
    ExceptionText,
    analysis_exception,
    condition_of_exception,
    is_parse_exception,
    is_unchecked,
    java_exception_of,
    missing,
    parameters_of_exception,
    parse_exception,
    unchecked_exception,
    unsupported_exception,
)
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.origins import origin as java_origin
from paimon_sql.spark.jvm.origins import parse_exception_at, with_written_position

_SYNTAX = "PARSE_SYNTAX_ERROR"
_WORD = re.compile(r"'[^']*'|[\w$]+|.")
_WORKER_ERROR = re.compile(r"^paimon_core\.errors\.(\w+): (.+)$", re.MULTILINE)
OF_WORKER = "_said_by_worker"  # an attribute of the exception: the worker's error that it was made from

# classes of Spark's analyzer for kinds of errors
_OWN: Mapping[type[PaimonError], str] = {
    TableNotFoundError: NO_SUCH_TABLE,
    DatabaseNotFoundError: NO_SUCH_NAMESPACE,
    TableExistsError: TABLE_EXISTS,
    DatabaseExistsError: NAMESPACE_EXISTS,
}
_OF_ROWS = (NullValueError, SeveralMatchesError)  # Spark finds these while a job runs
_BAD_ARGUMENT = (InvalidNameError, InvalidSchemaError, InvalidOptionError, InvalidDataError, NotFoundError)


def java_exception(jvm: Jvm, error: PaimonError, trace: str = "", *, analyzes: bool = False) -> Any:
    """Return a Java exception for `error`: an exception of Spark's analyzer if `analyzes`, otherwise an unchecked one.
    `trace`, such as a stack trace of Python, becomes the message of the exception's cause.
    """
    install_conditions(jvm)
    trace = trace or "\n".join(getattr(error, "__notes__", ()))
    kind, condition = type(error), condition_of(type(error))
    is_sparks = condition in SPARKS.values()
    shown = f"[{condition}] {error}" if is_sparks else str(error)
    text = ExceptionText(shown, condition, parameters(jvm, condition, str(error)), trace)
    if analyzes:
        own = next((name for known, name in _OWN.items() if issubclass(kind, known)), ANALYSIS_EXCEPTION)
        return analysis_exception(jvm, own, text)
    if issubclass(kind, _OF_ROWS):
        return unchecked_exception(jvm, RUNTIME, text)
    if issubclass(kind, _BAD_ARGUMENT) or (is_sparks and not issubclass(kind, InternalError)):
        return unchecked_exception(jvm, ILLEGAL_ARGUMENT, text)
    if issubclass(kind, UnsupportedFeatureError):
        return unsupported_exception(jvm, text)
    return unchecked_exception(jvm, RUNTIME, text)


def no_such_table(jvm: Jvm, error: Exception) -> Py4JJavaError:
    """Return the exception for Spark's analyzer that a table does not exist; raise it from a proxy."""
    install_conditions(jvm)
    message, condition = str(error), condition_of(TableNotFoundError)
    text = ExceptionText(message, condition, parameters(jvm, condition, message))
    return Py4JJavaError(message, analysis_exception(jvm, NO_SUCH_TABLE, text))


def no_such_function(jvm: Jvm, identifier: Any) -> Py4JJavaError:
    """Return the exception for Spark's analyzer that a function does not exist; raise it from a proxy."""
    return Py4JJavaError("no such function", missing(jvm, NO_SUCH_FUNCTION, identifier))


def not_called_so(jvm: Jvm, name: str, *, is_table: bool) -> Py4JJavaError:
    """Return the error of a table function called as a scalar function, or the reverse; raise it from a proxy."""
    condition = "NOT_A_SCALAR_FUNCTION" if is_table else "NOT_A_TABLE_FUNCTION"
    advice = "returns rows: call it in FROM" if is_table else "returns a value, not rows: call it in SELECT or WHERE"
    message = f"[{condition}] Function {name} {advice}."
    text = ExceptionText(message, condition, parameters(jvm, condition, message))
    return Py4JJavaError(message, unsupported_exception(jvm, text))


def no_such_view(jvm: Jvm, identifier: Any) -> Py4JJavaError:
    """Return the exception for Spark's analyzer that a view does not exist; raise it from a proxy."""
    return Py4JJavaError("no such view", missing(jvm, NO_SUCH_VIEW, identifier))


def view_already_exists(jvm: Jvm, identifier: Any) -> Py4JJavaError:
    """Return the exception for Spark's analyzer that a view or table of a name exists; raise it from a proxy."""
    return Py4JJavaError("view already exists", missing(jvm, VIEW_EXISTS, identifier))


def view_misused(jvm: Jvm, condition: str, name: str, advice: str) -> Py4JJavaError:
    """Return the error of a statement that needs a table but names a view; raise it from a proxy."""
    message = f"[{condition}] {name} is a view, and the statement needs a table: {advice}."
    text = ExceptionText(message, condition, parameters(jvm, condition, f"view {name}"))
    return Py4JJavaError(message, unsupported_exception(jvm, text))


def recursive_view(jvm: Jvm, cycle: Sequence[Sequence[str]]) -> Py4JJavaError:
    """Return the error of a view that leads back to itself; raise it from a proxy."""
    names, condition = [".".join(name) for name in cycle], "RECURSIVE_VIEW"
    message = (
        f"[{condition}] Recursive view {names[0]} detected (cycle: {' -> '.join(names)}): replace or drop one of them."
    )
    named = {"viewIdent": f"`{names[0]}`", "newPath": " -> ".join(names)}
    return Py4JJavaError(message, unsupported_exception(jvm, ExceptionText(message, condition, named)))


def of_statement(jvm: Jvm, error: CapturedException) -> Py4JJavaError:
    """Return a Java exception from the JVM, for a method that may raise any exception. If a worker raised an error of
    this package, only its message is kept. Other exceptions are unchanged.
    """
    said = of_worker(error)
    if isinstance(said, PaimonError):
        return Py4JJavaError(str(said), java_exception(jvm, said))
    return Py4JJavaError(str(error), java_exception_of(error))


def unchecked(jvm: Jvm, error: CapturedException | Py4JJavaError) -> Py4JJavaError:
    """Return a Java exception from the JVM, for a method that declares no exceptions. A checked exception becomes an
    unchecked one with the same condition, if it has one.
    """
    origin = java_exception_of(error)
    if is_unchecked(jvm, origin):
        return Py4JJavaError(str(error), origin)
    message = first_line(error) if isinstance(error, CapturedException) else str(origin.getMessage())
    condition = condition_of_exception(jvm, origin)
    if condition is None:
        return Py4JJavaError(message, java_exception(jvm, PaimonError(message)))
    text = ExceptionText(message, condition, parameters_of_exception(jvm, origin))
    return Py4JJavaError(message, unchecked_exception(jvm, RUNTIME, text))


def of_parser(jvm: Jvm, error: CapturedException | Py4JJavaError, statement: Rewriting) -> Py4JJavaError:
    """Return an error of Spark's parser as an exception that a parser may raise: a ParseException or an unchecked one.
    It shows the statement as the user wrote it, and the position there."""
    origin = java_exception_of(error)
    if is_parse_exception(jvm, origin):
        return Py4JJavaError(str(error), with_written_position(jvm, origin, statement) if statement.edits else origin)
    if is_unchecked(jvm, origin):
        return Py4JJavaError(str(error), origin)
    message, condition = str(origin.getMessage()), condition_of_exception(jvm, origin) or _SYNTAX
    return Py4JJavaError(message, parse_exception(jvm, message, condition, java_origin(jvm)))


def contradiction(jvm: Jvm, error: PreprocessError, text: str) -> Any:
    """Return the ParseException of a statement that contradicts itself: a syntax error near a word, with the reason."""
    behind = text.split("\n")[error.line - 1][error.column - 1 :]
    near = _WORD.match(behind)
    word = (near[0] if near else behind).strip("'")
    values = {"error": f"'{word}'", "hint": f": {error.message}"}
    return parse_exception_at(jvm, text, (error.line, error.column - 1), _SYNTAX, values)


def of_worker(error: Exception) -> Exception:
    """Return the Paimon error that a Python worker raised, without the worker's frames; else the error itself."""
    said = getattr(error, OF_WORKER, None)
    if isinstance(said, PaimonError):
        return said
    found = _WORKER_ERROR.search(str(error))
    return _as_said(found[1], found[2]) if found else error


def _as_said(name: str, message: str) -> PaimonError:
    """Return an error of this package's class `name` with a message that is already complete."""
    kind = getattr(errors, name, PaimonError)
    made = type(name, (kind,), {"__init__": Exception.__init__, "__str__": Exception.__str__})
    return cast(PaimonError, made(message))


def first_line(error: Exception) -> str:
    """Return the first line of the message of an error of Spark."""
    return str(error).strip().partition("\n")[0]
