"""`Proxy`: the base of every Python object that implements a Java interface.

Java passes every method of the interfaces to the object, even methods with a default implementation. So a subclass must
define all of them. Errors cross as Java exceptions: an error of this package becomes the exception that Spark's users
expect, and an exception from the JVM goes back unchanged. If the called method does not declare a checked exception, an
unchecked one with the same text crosses: Java would throw an UndeclaredThrowableException without that text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.errors import InternalError, PaimonError
from paimon_sql.spark.errors.java import java_exception, unchecked
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.exceptions import java_exception_of, may_raise
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.spans import below_caller


class Proxy:
    """A Java object implemented in Python: Java calls its public methods and gets their results.

    `CACHED` names methods without arguments that always return the same answer. `RAISING` names methods that pass on
    every error of Spark's, even if their interfaces do not declare it. `Jvm.fronted` puts a Java object in front of the
    proxy, which does both. `ANALYZING` names the methods of `RAISING` that raise errors of Spark's analyzer.
    """

    ANALYZING: ClassVar[frozenset[str]] = frozenset()
    RAISING: ClassVar[frozenset[str]] = frozenset()
    CACHED: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        wanted = getattr(getattr(type(self), "Java", None), "implements", [])
        present = jvm.interfaces(wanted)
        if len(present) < len(wanted):
            self.Java = SimpleNamespace(implements=present)  # py4j cannot make a proxy of a missing interface

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.ANALYZING = cls.ANALYZING.union(*(getattr(base, "ANALYZING", ()) for base in cls.__bases__))
        cls.RAISING = cls.RAISING | cls.ANALYZING
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _crossing(member, analyzes=name in cls.ANALYZING))

    def _as_declared(self, method: str, error: CapturedException | Py4JJavaError) -> Py4JJavaError:
        """Return an exception from the JVM in a form that a method may raise."""
        origin = java_exception_of(error)
        if method in self.RAISING or may_raise(self.jvm, self.Java.implements, method, origin):
            return Py4JJavaError(str(error), origin)
        return unchecked(self.jvm, error)

    def toString(self) -> str:
        """Return a text that identifies the proxy. Proxies with equal texts are equal, so an override must contain
        everything in which they may differ.
        """
        return f"{type(self).__name__}@{id(self):x}"

    def hashCode(self) -> int:
        return hash(self.toString()) % 2**31

    def equals(self, other: Any) -> bool:
        # Java returns another object for a proxy each time, so only its text identifies it
        return other is self or (isinstance(other, JavaObject) and str(other.toString()) == self.toString())


def _crossing(method: Callable[..., Any], *, analyzes: bool) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Proxy, *args: Any) -> Any:
        try:
            with below_caller(self.jvm):
                return self.jvm.fronted(method(self, *args))
        except PaimonError as e:
            raise Py4JJavaError(str(e), java_exception(self.jvm, e, analyzes=analyzes)) from e
        except (CapturedException, Py4JJavaError) as e:
            raise self._as_declared(method.__name__, e) from e
        except Py4JError:
            raise
        except Exception as e:
            failure = InternalError.of(e)
            raise Py4JJavaError(str(failure), java_exception(self.jvm, failure, analyzes=analyzes)) from e

    return call


class WithoutMetrics(Proxy):
    """A table, a scan or a write that reports no metrics for Spark's UI."""

    def supportedCustomMetrics(self) -> Any:
        return connector.no_metrics(self.jvm)

    def reportDriverMetrics(self) -> Any:
        return connector.no_task_metrics(self.jvm)


class WithStatistics(Proxy):
    """A scan that reports its size, as `_statistics`, to Spark's optimizer."""

    @property
    @abstractmethod
    def _statistics(self) -> Any:
        """Return Spark's `Statistics`."""

    def estimateStatistics(self) -> Any:
        return self._statistics

    def estimateSizeInBytes(self) -> Any:
        return self._statistics.sizeInBytes()

    def reflectsFullyPushedDownFilters(self) -> bool:
        return True


class TableProxy(WithoutMetrics):
    """Methods that all tables share: two tables are equal if their names are."""

    def id(self) -> str | None:
        return None

    def version(self) -> None:
        return None

    def constraints(self) -> Any:
        return connector.no_constraints(self.jvm)


class Function1(Proxy):
    """A `scala.Function1` of a Python function."""

    def __init__(self, jvm: Jvm, function: Callable[..., Any]) -> None:
        super().__init__(jvm)
        self.function = function

    def apply(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    class Java:
        implements = [classes.FUNCTION_1]


class Function2(Function1):
    """A `scala.Function2` of a Python function."""

    class Java:
        implements = [classes.FUNCTION_2]


class Predicate(Proxy):
    """A `java.util.function.Predicate` of a Python function."""

    def __init__(self, jvm: Jvm, function: Callable[[Any], bool]) -> None:
        super().__init__(jvm)
        self.function = function

    def test(self, value: Any) -> bool:
        return self.function(value)

    class Java:
        implements = [classes.PREDICATE]
