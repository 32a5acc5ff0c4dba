"""`Jvm`: the connection to the JVM of a Spark driver, which finds Java classes by name without round trips.

`conversions` makes values for Java, `lookup` finds the members that this Spark has. The other modules of this folder
build on `Jvm`. Each of their functions that uses an internal of Spark is marked as a hook.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import Accumulator, AccumulatorParam, SparkContext
from pyspark.java_gateway import ensure_callback_server_started

from paimon_core.lazy import cached_property
from paimon_core.tracing import RunningSpans
from paimon_sql.spark.jvm import classes, java
from paimon_sql.spark.jvm.hooks import hook, java_type, method, python
from paimon_sql.spark.jvm.lookup import SparkMembers

_CACHED = 256  # values per kind: Spark requests the same ones in every statement, and never changes them
KEPT = "_compiled_by_paimon_sql"  # an attribute of the gateway to a JVM program: a map of compiled objects
_QUERIES = 1000  # more queries do not run at once: Spark has lost the ends of the oldest
_COMPILING = threading.RLock()  # if two threads need a class first, only one compiles it: see `_compiled`


class Jvm(SparkMembers):
    """The JVM of a Spark driver; `jvm_of` returns the JVM of a context."""

    @hook(
        "PySpark's gateway and its callback server, py4j's `Gateway.cbClient` and `JavaClient._give_back_connection`",
        "everything: Spark cannot call Python, or a Java exception of this package reaches Spark as text",
        python("pyspark.java_gateway", "ensure_callback_server_started"),
        python("py4j.java_gateway", "GatewayClient._give_back_connection"),
    )
    def __init__(self, context: SparkContext) -> None:
        super().__init__()
        self.context = context
        self.gateway = context._gateway
        self._constants: dict[tuple[str, str], Any] = {}
        self._names: set[str] = set()  # of compiled classes
        self.query_spans = RunningSpans(_QUERIES)  # by the number of Spark's execution
        self.follows_queries = False
        self._task_counts: Accumulator[dict[str, int]] | None = None
        ensure_callback_server_started(self.gateway)
        # without this a Java exception raised by a proxy reaches Spark as text
        self.gateway.callback_server_parameters.propagate_java_exceptions = True
        _keep_connections_once(self.gateway._gateway_client)
        server = JavaObject("GATEWAY_SERVER", self.gateway._gateway_client)
        token = self.gateway.callback_server_parameters.auth_token
        self.compiled("CallbackConnections").install(server.getGateway(), token)

    @property
    def has_ended(self) -> bool:
        """Return whether the JVM that PySpark started for this process has ended."""
        process = getattr(self.gateway, "proc", None)
        return process is not None and process.poll() is not None

    def task_counts(self, counts: AccumulatorParam[dict[str, int]]) -> Accumulator[dict[str, int]]:
        """Return the context's accumulator of tasks that have ended. All calls return the same accumulator, because
        PySpark never frees one.
        """
        if self._task_counts is None:
            self._task_counts = self.context.accumulator({}, counts)
        return self._task_counts

    # -- classes ------------------------------------------------------------------------------------------------------
    def java_class(self, name: str) -> Any:
        """A Java class by its full name (`$` before nested ones): call it to construct, or use its static members."""
        return JavaClass(name, self.gateway._gateway_client)

    def scala_object(self, name: str) -> Any:
        """A Scala singleton by its full name, without the trailing `$`."""
        return self.constant(name + "$", "MODULE$")

    def constant(self, class_name: str, name: str) -> Any:
        """Return a static member of a Java class, a value or a method. It is looked up once."""
        key = class_name, name
        if key not in self._constants:
            self._constants[key] = getattr(self.java_class(class_name), name)
        return self._constants[key]

    def is_instance(self, value: JavaObject, class_name: str) -> bool:
        """Return whether a Java object is an instance of a class."""
        return bool(self.constant("py4j.reflection.TypeUtil", "isInstanceOf")(class_name, value))

    @hook(
        "Janino, with which Spark compiles the code it generates",
        "every class of `java/`",
        java_type(classes.JANINO_COMPILER),
        method(classes.SPARK_UTILS, "getContextOrSparkClassLoader", 0),
    )
    def compiled(self, name: str, without: str = "") -> JavaObject:
        """Return an object of a class in `java/`, compiled once. The text from `/*without*/` to `/**/` is left out of
        the source.
        """
        with _COMPILING:
            self._names.add(name)
            return _compiled(self.gateway, name, without)

    def compiled_before(self, name: str) -> JavaObject | None:
        """Return the object as `compiled` does, if an earlier call has compiled it; None otherwise. A write calls this,
        because it must not wait for a compiler.
        """
        kept = self.gateway.__dict__.get(KEPT)
        is_known = name in self._names or (kept is not None and kept.get(name) is not None)
        return self.compiled(name) if is_known else None

    def define(self, source: str, name: str = "") -> bool:
        """Make Spark find a class in `java/`, and the classes nested in it, by `name`; without it, by the name of the
        source. Return whether Spark finds the class: a JVM that Spark's scripts did not start may refuse it.
        """
        found, name = self.compiled("CatalogClasses"), name or source
        # another thread may define it between the first two
        return bool(
            found.isThere(name) or found.defineCompiled(name, self.compiled_classes(source)) or found.isThere(name)
        )

    def compiled_classes(self, name: str) -> JavaObject:
        """Return the bytecode of a class in `java/` and of its nested classes, a Java map by the names of classes."""
        return _compiler(self.gateway, name, "").getBytecodes()

    @cached_property
    def spark_version(self) -> str:
        """Return the version of the Spark that runs in the JVM. PySpark's version may differ."""
        return str(self.context._jsc.version())

    @cached_property
    def opens_unicode_names(self) -> bool:
        """Return whether this JVM opens files with names beyond ASCII. In the locale C it does not."""
        return str(self.java_class(classes.SYSTEM).getProperty("sun.jnu.encoding")).upper() == "UTF-8"

    def new_array(self, class_name: str, size: int) -> JavaArray:
        return self.gateway.new_array(self.java_class(class_name), size)

    def weak_reference(self, value: JavaObject) -> JavaObject:
        """Return a reference that does not keep the object alive; its `get` returns the object."""
        return self.java_class(classes.WEAK_REFERENCE)(value)


@lru_cache(1)
def jvm_of(context: SparkContext) -> Jvm:
    """Return the JVM of a context; all callers share one object."""
    return Jvm(context)


def _keep_connections_once(client: Any) -> None:
    """Keep each connection of a thread once. py4j adds it again after a callback, and drops only one entry when the
    thread ends.
    """
    kept = client.deque

    def give_back(connection: Any) -> None:
        with suppress(ValueError):
            kept.remove(connection)
        kept.append(connection)

    client._give_back_connection = give_back


@lru_cache(_CACHED)
def _compiled(gateway: Any, name: str, without: str) -> JavaObject:
    """See `Jvm.compiled`. A class is compiled once per gateway. If it were compiled twice, py4j would mix both classes
    up, because it finds methods by the name of a class. A JVM program keeps the objects for the next Python process.
    """
    kept = gateway.__dict__.get(KEPT)
    if kept is not None:
        known = kept.get(name + without) or (None if without else kept.get(shipped_key(name)))
        if known is not None:
            return known
    nothing = gateway.new_array(JavaClass(classes.JAVA_CLASS, gateway._gateway_client), 0)
    made = _compiler(gateway, name, without).getClassLoader().loadClass(name).getDeclaredConstructor(nothing)
    instance = made.newInstance(gateway.new_array(JavaClass(classes.OBJECT, gateway._gateway_client), 0))
    if kept is not None:
        kept.put(name + without, instance)
    return instance


def _compiler(gateway: Any, name: str, without: str) -> JavaObject:
    """Return a Janino compiler that has compiled a source in `java/`."""
    source = source_of(name)
    left = re.sub(rf"/\*{without}\*/.*?/\*\*/", "", source) if without else source
    return _cooked(gateway, left, _class_loader(gateway))


def source_of(name: str) -> str:
    """Return the source of a class in `java/`."""
    return files(java).joinpath(f"{name}.java").read_text("utf-8")


def shipped_key(name: str) -> str:
    """Return the key of an object that the jar for JVM programs contains. The key depends on the source from which its
    class was compiled.
    """
    return f"{name} {sha256(source_of(name).encode()).hexdigest()}"


def compiled_in_turn(sources: Sequence[str]) -> dict[str, bytes]:
    """Return the code of classes by their names. A source may use the classes of the sources before it. Starts a JVM
    for this process if none runs."""
    SparkContext._ensure_initialized()
    gateway, made = SparkContext._gateway, {}
    loader = _class_loader(gateway)
    for source in sources:
        compiler = _cooked(gateway, source, loader)
        loader = compiler.getClassLoader()
        made.update({str(name): bytes(code) for name, code in compiler.getBytecodes().items()})
    return made


def _class_loader(gateway: Any) -> JavaObject:
    return JavaClass(classes.SPARK_UTILS, gateway._gateway_client).getContextOrSparkClassLoader()


def _cooked(gateway: Any, source: str, loader: JavaObject) -> JavaObject:
    """Return a compiler that has compiled a source, which may use the classes of a loader."""
    compiler = JavaClass(classes.JANINO_COMPILER, gateway._gateway_client)()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    return compiler


def kill_jvm() -> None:
    """Kill the JVM that PySpark started for this process, even if it does not respond. A stopped JVM does not notice
    that this process ends.
    """
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def stack_names(jvm: Jvm) -> str:
    """Return the stack of the JVM's thread that runs this call, its methods and classes, as one text."""
    trace = jvm.java_class(classes.THREAD).currentThread().getStackTrace()
    return str(jvm.java_class(classes.SCALA_RUNTIME).stringOf(trace))


def simple_name(value: JavaObject) -> str:
    """Return the name of a Java object's class, without its package. Only modules of this folder compare
    class names.
    """
    return str(value.getClass().getSimpleName())


def accessible_field(value: JavaObject, name: str) -> JavaObject:
    """Return a private field of a Java object's class; `get(value)` reads it and `set(value, new)` writes it."""
    field = value.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def declared_constructors(jvm: Jvm, class_name: str) -> Sequence[JavaObject]:
    """Return the constructors of a Java class, including private ones."""
    return list(jvm.java_class(classes.JAVA_CLASS).forName(class_name).getDeclaredConstructors())
