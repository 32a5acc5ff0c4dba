"""Make Java exceptions from this package's errors, and read the texts of Spark's exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions import captured
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import python_map, texts
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field, declared_constructors
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method, python
from paimon_sql.spark.jvm.hooks import field as java_field

CONVERTERS = tuple(
    Variant.of(name, python("pyspark.errors.exceptions.captured", name))
    for name in ("_convert_exception", "convert_exception")
)
# the name of PySpark's function that makes its exceptions, in 4.0 without an underscore
CONVERTER = CONVERTERS[0].name if hasattr(captured, CONVERTERS[0].name) else CONVERTERS[1].name
# conditions for a class that makes no tables in Spark's own catalog, and the parameters that name the data source
_REFUSED_SOURCES = {
    "CANNOT_CREATE_DATA_SOURCE_TABLE.EXTERNAL_METADATA_UNSUPPORTED": "provider",
    "_LEGACY_ERROR_TEMP_2233": "providingClass",
}


@dataclass(frozen=True, slots=True)
class ExceptionText:
    """The texts of a Java exception: its message, its condition with parameters, and the message of its cause."""

    message: str
    condition: str | None
    parameters: Mapping[str, str] = field(default_factory=dict)
    cause: str = ""


def analysis_exception(jvm: Jvm, class_name: str, text: ExceptionText) -> JavaObject:
    """Return a checked exception of Spark's analyzer."""
    condition, parameters = jvm.option(text.condition), jvm.scala_map(text.parameters)
    if class_name == classes.ANALYSIS_EXCEPTION:
        about = *(jvm.none, jvm.none), _cause(jvm, text), condition, parameters, jvm.array(classes.QUERY_CONTEXT, [])
        return _analysis_exception(jvm, text.message, *about)
    # NamespaceAlreadyExistsException takes no cause
    cause = [] if class_name == classes.NAMESPACE_EXISTS else [_cause(jvm, text)]
    return _constructed(jvm, class_name, text.message, *cause, condition, parameters)


def unchecked_exception(jvm: Jvm, class_name: str, text: ExceptionText) -> JavaObject:
    """Return an exception that any method may raise."""
    condition, parameters = jvm.option(text.condition), jvm.scala_map(text.parameters)
    contexts = jvm.array(classes.QUERY_CONTEXT, [])
    return _constructed(jvm, class_name, text.message, _cause(jvm, text), condition, parameters, contexts)


def unsupported_exception(jvm: Jvm, text: ExceptionText) -> JavaObject:
    condition, parameters = jvm.option(text.condition), jvm.scala_map(text.parameters)
    return _constructed(jvm, classes.UNSUPPORTED, text.message, condition, parameters)


def missing(jvm: Jvm, class_name: str, identifier: JavaObject) -> JavaObject:
    """Return an exception about a missing function or view, or about a view that exists already."""
    return jvm.java_class(class_name)(identifier)


def parse_exception(jvm: Jvm, message: str, condition: str, origin: JavaObject) -> JavaObject:
    """Return a ParseException with a message that is already complete."""
    about = *places(jvm, origin), jvm.some(condition), jvm.empty_map, jvm.array(classes.QUERY_CONTEXT, [])
    return _constructed(jvm, classes.PARSE_EXCEPTION, jvm.none, message, *about)


_ONE_PLACE = Variant.of("one place", constructor(classes.PARSE_EXCEPTION, 4), constructor(classes.PARSE_EXCEPTION, 6))
_TWO_PLACES = Variant.of("its start and its end", constructor(classes.PARSE_EXCEPTION, 7))


@hook("`ParseException`", "every syntax error of this package", _ONE_PLACE, _TWO_PLACES)
def places(jvm: Jvm, origin: JavaObject) -> tuple[JavaObject, ...]:
    """Return a position in a statement as the arguments that a ParseException takes."""
    return (origin, origin) if jvm.variant(places) is _TWO_PLACES else (origin,)


def java_exception_of(error: CapturedException | Py4JJavaError) -> JavaObject:
    """Return the Java exception behind an error that PySpark or py4j raised."""
    return error._origin if isinstance(error, CapturedException) else error.java_exception


@hook("PySpark's `captured._convert_exception`", "the classes of errors that PySpark raises", *CONVERTERS)
def as_pyspark_raises(java_exception: JavaObject) -> CapturedException:
    """The exception that PySpark raises for a Java exception."""
    return getattr(captured, CONVERTER)(java_exception)


def is_parse_exception(jvm: Jvm, origin: JavaObject) -> bool:
    return jvm.is_instance(origin, classes.PARSE_EXCEPTION)


def is_unchecked(jvm: Jvm, origin: JavaObject) -> bool:
    """Return whether a method may raise an exception without declaring it."""
    return jvm.is_instance(origin, classes.RUNTIME_EXCEPTION)


def may_raise(jvm: Jvm, interfaces: Sequence[str], method: str, origin: JavaObject) -> bool:
    """Return whether a proxy's method may raise an exception: an unchecked exception, or one that the method declares
    in `interfaces`.
    """
    return bool(jvm.compiled("Members").mayRaise("\n".join(interfaces), method, origin))


def parameters_of_exception(jvm: Jvm, origin: JavaObject) -> Mapping[str, str]:
    """Return the parameters of a Java exception's condition; empty if it has no condition."""
    return python_map(origin.getMessageParameters()) if jvm.is_instance(origin, classes.THROWABLE) else {}


def condition_of_exception(jvm: Jvm, origin: JavaObject) -> str | None:
    """Return the error condition of a Java exception; None if it has no condition."""
    condition = origin.getCondition() if jvm.is_instance(origin, classes.THROWABLE) else None
    return None if condition is None else str(condition)


def refused_provider(jvm: Jvm, origin: JavaObject) -> str | None:
    """Return the data source that Spark's own catalog refuses, because it finds no class for it or the class cannot
    create tables there. Return None for an exception about something else.
    """
    if str(origin.getClass().getName()) == classes.CLASS_NOT_FOUND:
        return str(origin.getMessageParameters().get("provider"))
    parameter = _REFUSED_SOURCES.get(condition_of_exception(jvm, origin) or "")
    return None if parameter is None else parameters_of_exception(jvm, origin).get(parameter)


@hook(
    "`SparkThrowableHelper.errorReader`",
    "messages of errors that have Spark's conditions",
    method(classes.THROWABLE_HELPER, "errorReader", 0),
    method(classes.ERROR_READER, "getMessageParameters", 1),
    method(classes.ERROR_READER, "isValidErrorClass", 1),
)
def template_parameters(jvm: Jvm, condition: str) -> tuple[str, ...] | None:
    """Return the parameters in the template of a condition; None for a condition that Spark does not define."""
    reader = jvm.scala_object(classes.THROWABLE_HELPER).errorReader()
    return texts(reader.getMessageParameters(condition)) if reader.isValidErrorClass(condition) else None


@hook(
    "the private field `ErrorClassesJsonReader.errorInfoMap`, `ErrorInfo`",
    "`getMessage` of Paimon's errors",
    java_field(classes.ERROR_READER, "errorInfoMap"),
    constructor(classes.ERROR_INFO, 3, fits=True),
)
def add_conditions(jvm: Jvm, states: Mapping[str, str]) -> None:
    """Add conditions with their SQL states to Spark's reader in this driver: Spark itself loads only its own file of
    conditions.
    """
    reader = jvm.scala_object(classes.THROWABLE_HELPER).errorReader()
    entries = accessible_field(reader, "errorInfoMap")
    made, known = jvm.java_class(classes.ERROR_INFO), entries.get(reader)
    for name, state in states.items():
        said = jvm.fitted(classes.ERROR_INFO, "", jvm.seq(["<message>"]), jvm.none, jvm.some(state))
        known = known.updated(name, made(*said))
    entries.set(reader, known)


def _cause(jvm: Jvm, text: ExceptionText) -> JavaObject:
    return jvm.some(jvm.java_class(classes.RUNTIME_EXCEPTION)(text.cause)) if text.cause else jvm.none


@hook(
    "the constructor of `AnalysisException` that takes a message",
    "messages of ours",
    constructor(classes.ANALYSIS_EXCEPTION, 7, fits=True),
)
def _analysis_exception(jvm: Jvm, *arguments: Any) -> JavaObject:
    return jvm.java_class(classes.ANALYSIS_EXCEPTION)(*jvm.fitted(classes.ANALYSIS_EXCEPTION, "", *arguments))


@hook(
    "the private constructors of Spark's exceptions",
    "messages of ours",
    constructor(classes.NAMESPACE_EXISTS, 3, fits=True),
    constructor(classes.NO_SUCH_NAMESPACE, 4, fits=True),
    constructor(classes.NO_SUCH_TABLE, 4, fits=True),
    constructor(classes.TABLE_EXISTS, 4, fits=True),
    constructor(classes.ILLEGAL_ARGUMENT, 5, fits=True),
    constructor(classes.RUNTIME, 5, fits=True),
    constructor(classes.UNSUPPORTED, 3, fits=True),
)
def _constructed(jvm: Jvm, class_name: str, *arguments: Any) -> JavaObject:
    """Call the private constructor, which takes a finished message. The public constructors need a message template of
    Spark's.
    """
    private, given = jvm.java_class(classes.MODIFIER).isPrivate, jvm.fitted_private(class_name, *arguments)
    for found in declared_constructors(jvm, class_name):
        if found.getParameterCount() == len(given) and private(found.getModifiers()):
            break
    found.setAccessible(True)
    return found.newInstance(jvm.array(classes.OBJECT, given))
