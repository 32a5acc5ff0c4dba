"""Errors of the library as the Java exceptions that Spark's users expect.

Where the called interface declares an analysis exception, that one carries our message, so PySpark raises an
`AnalysisException`; elsewhere only unchecked ones can cross: `IllegalArgumentException`,
`UnsupportedOperationException` and `SparkRuntimeException`, whose Python classes share the root `PySparkException`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core import errors
from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InternalError,
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    InvalidSchemaError,
    NotFoundError,
    PaimonError,
    SeveralMatchesError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_sql.preprocess import PreprocessError, Rewriting
from paimon_sql.spark.errors.conditions import SPARKS, condition_of, parameters
from paimon_sql.spark.jvm.gateway import SQL, Jvm

ANALYSIS = f"{SQL}.catalyst.analysis"
NO_SUCH_TABLE = f"{ANALYSIS}.NoSuchTableException"
NO_SUCH_NAMESPACE = f"{ANALYSIS}.NoSuchNamespaceException"
TABLE_EXISTS = f"{ANALYSIS}.TableAlreadyExistsException"
NAMESPACE_EXISTS = f"{ANALYSIS}.NamespaceAlreadyExistsException"
RUNTIME = "org.apache.spark.SparkRuntimeException"
_ILLEGAL = "org.apache.spark.SparkIllegalArgumentException"
_UNSUPPORTED = "org.apache.spark.SparkUnsupportedOperationException"
PARSE = f"{SQL}.catalyst.parser.ParseException"

_SYNTAX = "PARSE_SYNTAX_ERROR"
_WORD = re.compile(r"'[^']*'|[\w$]+|.")
_WORKER_ERROR = re.compile(r"^paimon_core\.errors\.(\w+): (.+)$", re.MULTILINE)
OF_WORKER = "_said_by_worker"  # the attribute of an exception that tells what one of a worker was made of

# the Java exception of a kind of error, where it is not the one that the called method declares
_OWN: Mapping[type[PaimonError], str] = {
    TableNotFoundError: NO_SUCH_TABLE,
    DatabaseNotFoundError: NO_SUCH_NAMESPACE,
    TableExistsError: TABLE_EXISTS,
    DatabaseExistsError: NAMESPACE_EXISTS,
    DatabaseNotEmptyError: NO_SUCH_NAMESPACE,  # declared, too, and takes our message
}
_BAD_ARGUMENT = (InvalidNameError, InvalidSchemaError, InvalidOptionError, InvalidDataError, NotFoundError)


def java_exception(jvm: Jvm, error: PaimonError, carrier: str | None, trace: str = "") -> Any:
    """A Java exception for `error`; `carrier` is the checked exception that the called method declares, `trace` what
    its cause says, such as a stack trace of Python's."""
    trace = trace or "\n".join(getattr(error, "__notes__", ()))
    cause = jvm.java_class("java.lang.RuntimeException")(trace) if trace else None
    kind, condition = type(error), condition_of(type(error))
    is_sparks = condition in SPARKS.values()
    made = _Exception(jvm, f"[{condition}] {error}" if is_sparks else str(error), condition, str(error), cause)
    if carrier not in (None, PARSE):  # a ParseException is about the text of a statement
        own = next((name for known, name in _OWN.items() if issubclass(kind, known)), None)
        return made.analysis(carrier if own is None or (carrier, own) == (NO_SUCH_TABLE, NO_SUCH_NAMESPACE) else own)
    if issubclass(kind, SeveralMatchesError):
        return made.unchecked(RUNTIME)
    if issubclass(kind, _BAD_ARGUMENT) or (is_sparks and not issubclass(kind, InternalError)):
        return made.unchecked(_ILLEGAL)
    if issubclass(kind, UnsupportedFeatureError):
        return made.unsupported()
    return made.unchecked(RUNTIME)


@dataclass(frozen=True, slots=True)
class _Exception:
    """What a Java exception is made of: the text that it shows, its condition and what that asks for."""

    jvm: Jvm
    text: str
    condition: str
    message: str
    cause: Any = None

    def analysis(self, name: str) -> Any:
        # NamespaceAlreadyExistsException takes no cause
        cause = [] if name == NAMESPACE_EXISTS else [self.jvm.option(self.cause)]
        return self._made(name, *cause, self.jvm.some(self.condition), self._parameters())

    def unchecked(self, name: str) -> Any:
        cause, condition = self.jvm.option(self.cause), self.jvm.some(self.condition)
        return self._made(name, cause, condition, self._parameters(), _contexts(self.jvm), self.jvm.none)

    def unsupported(self) -> Any:
        return self._made(_UNSUPPORTED, self.jvm.some(self.condition), self._parameters(), self.jvm.none)

    def _parameters(self) -> Any:
        return self.jvm.scala_map(parameters(self.jvm, self.condition, self.message))

    def _made(self, name: str, *arguments: Any) -> Any:
        return _construct(self.jvm, name, [self.text, *arguments])


def no_such_table(jvm: Jvm, error: Exception) -> Py4JJavaError:
    """What tells Spark's analyzer that a table does not exist: raise it from a proxy."""
    message = str(error)
    made = _Exception(jvm, message, condition_of(TableNotFoundError), message)
    return Py4JJavaError(message, made.analysis(NO_SUCH_TABLE))


def no_such_function(jvm: Jvm, identifier: Any) -> Py4JJavaError:
    """What tells Spark's analyzer that a function does not exist: raise it from a proxy."""
    return Py4JJavaError("no such function", jvm.java_class(f"{ANALYSIS}.NoSuchFunctionException")(identifier))


def no_such_view(jvm: Jvm, identifier: Any) -> Py4JJavaError:
    """What tells Spark's analyzer that a view does not exist: raise it from a proxy."""
    return Py4JJavaError("no such view", jvm.java_class(f"{ANALYSIS}.NoSuchViewException")(identifier))


def declared(jvm: Jvm, error: CapturedException, carrier: str) -> Py4JJavaError:
    """A Java exception that came out of the JVM, for a method that declares `carrier`: what is checked goes as that.

    What a worker of ours said is told alone.
    """
    said = of_worker(error)
    if isinstance(said, PaimonError):
        return Py4JJavaError(str(said), java_exception(jvm, said, None))
    if is_instance_of(jvm.gateway, error._origin, "java.lang.RuntimeException"):
        return Py4JJavaError(str(error), error._origin)
    text = told(error)
    return Py4JJavaError(text, _passed_on(jvm, error, text, carrier))


def _passed_on(jvm: Jvm, error: CapturedException, text: str, carrier: str) -> Any:
    """An exception of Spark's own as one that a method declares, with the condition and the parameters that it has."""
    cause = [] if carrier == NAMESPACE_EXISTS else [jvm.none]
    values = jvm.scala_map(error.getMessageParameters() or {})
    return _construct(jvm, carrier, [text, *cause, jvm.option(error.getCondition()), values])


def unchecked(jvm: Jvm, error: CapturedException | Py4JJavaError) -> Py4JJavaError:
    """A Java exception that came out of the JVM, for a method that declares none: what is checked goes as another."""
    captured = isinstance(error, CapturedException)
    origin = error._origin if captured else error.java_exception
    if is_instance_of(jvm.gateway, origin, "java.lang.RuntimeException"):
        return Py4JJavaError(str(error), origin)
    message = told(error) if captured else str(origin.getMessage())
    return Py4JJavaError(message, java_exception(jvm, PaimonError(message), None))


def of_parser(jvm: Jvm, error: CapturedException | Py4JJavaError, statement: Rewriting) -> Py4JJavaError:
    """What Spark's parser raised, as a parser may raise it: of checked exceptions only one that it declares. It tells
    the statement as it is written, and the place there."""
    origin = error._origin if isinstance(error, CapturedException) else error.java_exception
    if is_instance_of(jvm.gateway, origin, PARSE):
        return Py4JJavaError(str(error), _as_written(jvm, origin, statement) if statement.edits else origin)
    if is_instance_of(jvm.gateway, origin, "java.lang.RuntimeException"):
        return Py4JJavaError(str(error), origin)
    message, condition = str(origin.getMessage()), jvm.some(_condition(jvm, origin))
    raised = _construct(jvm, PARSE, [jvm.none, message, _origin(jvm), condition, jvm.empty_map, _contexts(jvm)])
    return Py4JJavaError(message, raised)


def _condition(jvm: Jvm, origin: Any) -> str:
    """The error class of a Java exception; of one without, the parser's own."""
    known = is_instance_of(jvm.gateway, origin, "org.apache.spark.SparkThrowable") and origin.getCondition()
    return str(known or _SYNTAX)


def _as_written(jvm: Jvm, origin: Any, statement: Rewriting) -> Any:
    """A ParseException about the text of a rewriting as one about the statement that was written."""
    start = origin.start()
    if origin.getCondition() is None or start.line().isEmpty():
        return origin
    line, column = statement.position((int(start.line().get()), int(start.startPosition().get())))
    written = jvm.some(statement.written)
    contexts = []
    for context in origin.getQueryContext():
        first, last = statement.offset(int(context.startIndex())), statement.offset(int(context.stopIndex()))
        numbers = map(jvm.some, (*statement.position_at(first), first, last))
        contexts.append(jvm.java_class(f"{SQL}.catalyst.trees.SQLQueryContext")(*numbers, written, jvm.none, jvm.none))
    parameters = origin.messageParameters()
    return jvm.java_class(PARSE)(
        written, _origin(jvm, line, column), origin.getCondition(), parameters, _contexts(jvm, contexts)
    )


def contradiction(jvm: Jvm, error: PreprocessError, text: str) -> Any:
    """The ParseException of a statement that contradicts itself: a syntax error near a word, with our reason."""
    start = _origin(jvm, error.line, error.column - 1)
    behind = text.split("\n")[error.line - 1][error.column - 1 :]
    near = _WORD.match(behind)
    word = (near[0] if near else behind).strip("'")
    parameters = jvm.scala_map({"error": f"'{word}'", "hint": f": {error.message}"})
    return jvm.java_class(PARSE)(jvm.some(text), start, _SYNTAX, parameters, _contexts(jvm))


def of_worker(error: Exception) -> Exception:
    """What an error of ours in a Python worker said, without the frames of the worker; else the error itself."""
    said = getattr(error, OF_WORKER, None)
    if isinstance(said, PaimonError):
        return said
    found = _WORKER_ERROR.search(str(error))
    return _as_said(found[1], found[2]) if found else error


def _as_said(name: str, message: str) -> PaimonError:
    """An error of a class of ours, by name, whose message is made already."""
    kind = getattr(errors, name, PaimonError)
    made = type(name, (kind,), {"__init__": Exception.__init__, "__str__": Exception.__str__})
    return cast(PaimonError, made(message))


def told(error: Exception) -> str:
    """The first line of what an error of Spark says."""
    return str(error).strip().partition("\n")[0]


def place_of(expression: Any) -> str:
    """Where an expression stands in the statement, as Spark's messages say it."""
    origin = expression.origin()
    if origin.line().isEmpty() or origin.startPosition().isEmpty():
        return ""
    return f"; line {origin.line().get()} pos {origin.startPosition().get()}"


def _origin(jvm: Jvm, *position: int) -> Any:
    """A place in a statement by line and column, or none."""
    given = [jvm.some(number) for number in position]
    return jvm.java_class(f"{SQL}.catalyst.trees.Origin")(*given, *(jvm.none for _ in range(10 - len(given))))


def _contexts(jvm: Jvm, contexts: Sequence[Any] = ()) -> Any:
    return jvm.array("org.apache.spark.QueryContext", contexts)


def _construct(jvm: Jvm, name: str, arguments: list[Any]) -> Any:
    """Call the private constructor that takes a message as it is; the public ones want a template known to Spark."""
    private = jvm.java_class("java.lang.reflect.Modifier").isPrivate
    for constructor in jvm.java_class("java.lang.Class").forName(name).getDeclaredConstructors():
        if constructor.getParameterCount() == len(arguments) and private(constructor.getModifiers()):
            constructor.setAccessible(True)
            return constructor.newInstance(jvm.array("java.lang.Object", arguments))
    return jvm.java_class("java.lang.RuntimeException")(str(arguments[0] or arguments[1]))
