"""The signs of an error that users should not see."""

from __future__ import annotations

import re
import warnings

from pyspark.errors import PySparkException, PythonException, UnknownException

_RAW = re.compile(
    r"Py4J|py4j|Traceback|INTERNAL_ERROR|\bjava\.|\bscala\.|NullPointer|ClassCast|KeyError|TypeError|ValueError"
    r"|AttributeError|IndexError|ArrowInvalid|ArrowNotImplemented|ArrowTypeError|AssertionError|\.py\b|object at 0x"
)


def raw(error: BaseException) -> str | None:
    """Return why an error is not fit for users; None if it is."""
    if not isinstance(error, PySparkException) or isinstance(error, PythonException | UnknownException):
        return f"{type(error).__name__}: {error}"
    text = str(error).partition("\n\nJVM stacktrace:")[0]
    if found := _RAW.search(text):
        return f"{type(error).__name__} with {found[0]!r}: {text}"
    if not text.strip():
        return f"{type(error).__name__} without a message"
    try:
        said = error.getMessage()
        condition, state = error.getCondition(), error.getSqlState()
        error.getMessageParameters()
        error.getQueryContext()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error.getErrorClass()
    except Exception as problem:
        return f"getMessage() of {text!r}: {problem!r}"
    is_sparks = str(condition).startswith("_LEGACY_ERROR_TEMP_")  # Spark's errors without names and states
    if not said or not condition or not (state or is_sparks):
        return f"no message, condition or SQL state: {text!r}: {said!r}, {condition!r}, {state!r}"
    return None
