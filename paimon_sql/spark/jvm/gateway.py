"""Jvm: the connection to a Spark driver's JVM, its classes, and values as Java's and Scala's.

Classes are addressed by name without round trips; values cross as collections. The other modules of this folder build
on it; each function there that uses an internal of Spark's is marked as a hook.
"""

from __future__ import annotations

import importlib
import json
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, reduce
from importlib.resources import files
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql.types import DataType, StructType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.lazy import cached_property
from paimon_sql.spark.jvm import classes, java
from paimon_sql.spark.jvm.hooks import Member, MemberKind, Variant, hook, hook_of, java_type, method, python

_NUL = "\0"  # in no path
_CACHED = 256  # values per kind: Spark asks for the same ones in every statement, and never changes them
_COMPILING = threading.RLock()  # if two threads need a class first, only one compiles it: see `_compiled`


class Jvm:
    """The JVM of a Spark driver; `jvm_of` returns the one of a context."""

    @hook(
        "PySpark's gateway and its callback server, py4j's `Gateway.cbClient` and `JavaClient._give_back_connection`",
        "everything: Spark cannot call Python, or a Java exception of this package reaches Spark as text",
        python("pyspark.java_gateway", "ensure_callback_server_started"),
        python("py4j.java_gateway", "GatewayClient._give_back_connection"),
    )
    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.gateway = context._gateway
        ensure_callback_server_started(self.gateway)
        # without this a Java exception raised by a proxy reaches Spark as text
        self.gateway.callback_server_parameters.propagate_java_exceptions = True
        _keep_connections_once(self.gateway._gateway_client)
        server = JavaObject("GATEWAY_SERVER", self.gateway._gateway_client)
        self.compiled("CallbackConnections").install(server.getGateway())
        self._constants: dict[tuple[str, str], Any] = {}
        self._there: dict[Member, bool] = {}
        self._variants: dict[Callable[..., Any], Variant] = {}
        self._added = lru_cache(_CACHED)(self._find_added)
        self._type_of_json = lru_cache(_CACHED)(lambda text: self.java_class(classes.DATA_TYPE).fromJson(text))
        self._columns_of_json = lru_cache(_CACHED)(self._make_columns)
        self._array_of = lru_cache(_CACHED)(self._make_array)
        self._set_of = lru_cache(_CACHED)(self.string_set)
        self._constants_of = lru_cache(_CACHED)(self._make_constants)

    @property
    def has_ended(self) -> bool:
        """Whether the JVM that PySpark started for this process is no more."""
        process = getattr(self.gateway, "proc", None)
        return process is not None and process.poll() is not None

    # -- classes ------------------------------------------------------------------------------------------------------
    def java_class(self, name: str) -> Any:
        """A Java class by its full name (`$` before nested ones): call it to construct, or use its static members."""
        return JavaClass(name, self.gateway._gateway_client)

    def scala_object(self, name: str) -> Any:
        """A Scala singleton by its full name, without the trailing `$`."""
        return self.constant(name + "$", "MODULE$")

    def constant(self, class_name: str, name: str) -> Any:
        """A static member of a Java class, a value or a method, asked for once."""
        key = class_name, name
        if key not in self._constants:
            self._constants[key] = getattr(self.java_class(class_name), name)
        return self._constants[key]

    def constants(self, class_name: str, *names: str) -> JavaObject:
        """A set of static members of a Java class."""
        return self._constants_of(class_name, names)

    def is_instance(self, value: JavaObject, class_name: str) -> bool:
        """Whether a Java object is of a class."""
        return bool(self.constant("py4j.reflection.TypeUtil", "isInstanceOf")(class_name, value))

    @hook(
        "Janino, with which Spark compiles the code it generates",
        "every class of `java/`",
        java_type(classes.JANINO_COMPILER),
        method(classes.SPARK_UTILS, "getContextOrSparkClassLoader", 0),
    )
    def compiled(self, name: str, without: str = "") -> JavaObject:
        """An object of a class in `java/`, compiled once; what stands between `/*without*/` and `/**/` is left out."""
        with _COMPILING:
            return _compiled(self.gateway, name, without)

    def compiled_code(self, name: str) -> dict[str, bytes]:
        """The code of a class in `java/`, and of those in it, by name: for what Java itself looks up by name."""
        return {str(key): bytes(code) for key, code in _compiler(self.gateway, name, "").getBytecodes().items()}

    def fronted(self, value: Any) -> Any:
        """Return a Python proxy behind an object that caches the answers of the methods in `CACHED`, and passes on any
        error of the methods in `RAISING`. Return other values unchanged."""
        kind = type(value)  # a Java object has members of every name
        cached, raising = getattr(kind, "CACHED", ()), getattr(kind, "RAISING", ())
        if not cached and not raising:
            return value
        return self.compiled("ProxyFronts").before(value, self._set_of(cached), self._set_of(raising))

    def weak_reference(self, value: JavaObject) -> JavaObject:
        """Return a reference that does not keep the object alive; its `get` returns the object."""
        return self.java_class(classes.WEAK_REFERENCE)(value)

    # -- what this Spark has ------------------------------------------------------------------------------------------
    def probe(self, members: Iterable[Member]) -> None:
        """Look up which members this Spark has, all of the JVM's in one crossing; `has` then has the answers."""
        unknown = [m for m in members if m not in self._there]
        self._there.update((m, _is_in_python(m)) for m in unknown if m.kind is MemberKind.PYTHON)
        asked = [m for m in unknown if m.kind is not MemberKind.PYTHON]
        if asked:
            lines = "\n".join(_line(m) for m in asked)
            self._there.update(zip(asked, (c == "1" for c in self.compiled("Members").there(lines)), strict=True))

    def has(self, member: Member) -> bool:
        """Whether a part of Spark is there."""
        if member not in self._there:
            self.probe([member])
        return self._there[member]

    def variant(self, function: Callable[..., Any]) -> Variant:
        """Return the variant that a function under `@hook` uses in this Spark. Raises `UnsupportedFeatureError` if none
        fits: `install` has already raised it then, unless Spark was changed since."""
        if function not in self._variants:
            found = hook_of(function)
            chosen = found.chosen(self.has)
            if chosen is None:
                lacking = ", ".join(map(str, found.missing(self.has)))
                raise UnsupportedFeatureError(f"This Spark has no {lacking}: what does not work is {found.breaks}.")
            self._variants[function] = chosen
        return self._variants[function]

    def interfaces(self, wanted: Sequence[str]) -> Sequence[str]:
        """Return the interfaces of a proxy that this Spark has."""
        optional = classes.OPTIONAL
        return [name for name in wanted if name not in optional or self.has(method(name, optional[name]))]

    def fitted(self, class_name: str, name: str, *arguments: Any) -> tuple[Any, ...]:
        """Return arguments for a method of a class, or for its constructor if the name is empty. If the method has more
        parameters in this Spark, None, false or an empty Map is added for each. Raises `UnsupportedFeatureError` if
        no method fits the arguments."""
        return (*arguments, *self._added(class_name, name, len(arguments), False))

    def fitted_private(self, class_name: str, *arguments: Any) -> tuple[Any, ...]:
        """As `fitted`, for a private constructor."""
        return (*arguments, *self._added(class_name, "", len(arguments), True))

    def _find_added(self, class_name: str, name: str, given: int, private: bool) -> tuple[Any, ...]:
        kinds = self.compiled("Members").added(class_name, name, given, private)
        if kinds is None:
            called = name or "a constructor"
            raise UnsupportedFeatureError(
                f"This Spark has no {called} of {class_name} that takes {given} arguments: run paimon-sql doctor."
            )
        empty = {"N": self.none, "F": False, "M": self.empty_map}
        return tuple(empty[kind] for kind in kinds)

    def private_value(self, owner: JavaObject, name: str) -> Any:
        """Return the value of a private field of a Java object's class."""
        return self.compiled("Members").value(owner, name)

    # -- collections --------------------------------------------------------------------------------------------------
    def array(self, class_name: str, items: Iterable[Any]) -> JavaArray:
        values = tuple(items)
        return self._make_array(class_name, values) if values else self.cached_array(class_name, ())

    def cached_array(self, class_name: str, items: Iterable[Hashable]) -> JavaArray:
        """An array that is made once for equal items."""
        return self._array_of(class_name, tuple(items))

    def strings(self, items: Iterable[str]) -> JavaArray:
        return self.cached_array(classes.STRING, items)

    def string_set(self, items: Iterable[str]) -> JavaObject:
        out = self.java_class(classes.HASH_SET)()
        for item in items:
            out.add(item)
        return out

    def array_list(self, items: Iterable[Any]) -> JavaObject:
        out = self.java_class(classes.ARRAY_LIST)()
        for item in items:
            out.add(item)
        return out

    def map(self, items: Mapping[str, Any]) -> JavaObject:
        """A Java map. Texts and numbers cross at once, as JSON, Java's objects one by one."""
        plain = {key: value for key, value in items.items() if isinstance(value, (str, int))}
        out = self.compiled("Entries").of(json.dumps(plain))
        for key in items.keys() - plain.keys():
            out.put(key, items[key])
        return out

    def seq(self, items: Iterable[Any]) -> JavaObject:
        """A Scala Seq."""
        values = [*items]
        return self._to_seq(values) if values else self.empty_seq

    def scala_map(self, items: Mapping[str, Any]) -> JavaObject:
        """An immutable Scala Map."""
        return self.constant(classes.PYTHON_UTILS, "toScalaMap")(self.map(items))

    @cached_property
    def _to_seq(self) -> Any:
        return self.constant(classes.PYTHON_UTILS, "toSeq")

    @cached_property
    def empty_seq(self) -> JavaObject:
        return self._to_seq([])

    @cached_property
    def empty_map(self) -> JavaObject:
        """A Scala Map without entries."""
        return self.scala_map({})

    @cached_property
    def none(self) -> JavaObject:
        return self.java_class(classes.OPTION).empty()

    def some(self, value: Any) -> JavaObject:
        return self.java_class(classes.SOME)(value)

    def option(self, value: Any | None) -> JavaObject:
        """A Scala Option."""
        return self.none if value is None else self.some(value)

    def as_java(self, entries: JavaObject) -> JavaObject:
        """A Scala collection as Java's."""
        return self.java_class(classes.COLLECTION_CONVERTERS).asJava(entries)

    def paths(self, paths: Iterable[str]) -> JavaObject:
        """A Scala Seq of Hadoop paths, in a few crossings however many there are."""
        joined = _NUL.join(paths)
        if not joined:
            return self.empty_seq
        strings = self.constant(classes.HADOOP_STRINGS, "getStrings")(joined, _NUL)
        found = self.constant(classes.HADOOP_STRINGS, "stringToPath")(strings)
        return self.scala_object(classes.ARRAY_SEQ).unsafeWrapArray(found)

    # -- types --------------------------------------------------------------------------------------------------------
    def struct_type(self, schema: StructType) -> JavaObject:
        return self._type_of_json(schema.json())

    def data_type(self, data_type: DataType) -> JavaObject:
        return self._type_of_json(data_type.json())

    def columns(self, schema: StructType) -> JavaArray:
        """Connector columns of a schema."""
        return self._columns_of_json(schema.json())

    @cached_property
    def opens_unicode_names(self) -> bool:
        """Return whether this JVM opens files with names beyond ASCII: in the locale C it does not."""
        return str(self.java_class(classes.SYSTEM).getProperty("sun.jnu.encoding")).upper() == "UTF-8"

    def _make_array(self, class_name: str, items: tuple[Any, ...]) -> JavaArray:
        out = self.gateway.new_array(self.java_class(class_name), len(items))
        for i, item in enumerate(items):
            if hasattr(item, "Java"):  # py4j assigns no proxies
                self.java_class(classes.REFLECTED_ARRAY).set(out, i, self.fronted(item))
            else:
                out[i] = item
        return out

    def _make_constants(self, class_name: str, members: tuple[str, ...]) -> JavaObject:
        out = self.java_class(classes.HASH_SET)()
        for name in members:
            out.add(self.constant(class_name, name))
        return out

    @hook(
        "`CatalogV2Util.structTypeToV2Columns`",
        "the columns of every table",
        method(classes.CATALOG_UTIL, "structTypeToV2Columns", 1, fits=True),
    )
    def _make_columns(self, schema_json: str) -> JavaArray:
        to_columns, struct = "structTypeToV2Columns", self._type_of_json(schema_json)
        return getattr(self.java_class(classes.CATALOG_UTIL), to_columns)(
            *self.fitted(classes.CATALOG_UTIL, to_columns, struct)
        )


@lru_cache(1)
def jvm_of(context: SparkContext) -> Jvm:
    """The JVM of a context, one object for all who ask."""
    return Jvm(context)


def _keep_connections_once(client: Any) -> None:
    """py4j keeps the connection of a thread twice after a callback, and lets go of one when the thread ends."""
    kept = client.deque

    def give_back(connection: Any) -> None:
        with suppress(ValueError):
            kept.remove(connection)
        kept.append(connection)

    client._give_back_connection = give_back


@lru_cache(_CACHED)
def _compiled(gateway: Any, name: str, without: str) -> JavaObject:
    """See `Jvm.compiled`. A class is compiled once per gateway: py4j finds methods by the name of their class, so it
    would call a method of one class on an object of another class with the same name."""
    nothing = gateway.new_array(JavaClass(classes.JAVA_CLASS, gateway._gateway_client), 0)
    made = _compiler(gateway, name, without).getClassLoader().loadClass(name).getDeclaredConstructor(nothing)
    return made.newInstance(gateway.new_array(JavaClass(classes.OBJECT, gateway._gateway_client), 0))


def _compiler(gateway: Any, name: str, without: str) -> JavaObject:
    """One that has compiled a source in `java/`."""

    def java_class(full: str) -> Any:
        return JavaClass(full, gateway._gateway_client)

    compiler = java_class(classes.JANINO_COMPILER)()
    compiler.setParentClassLoader(java_class(classes.SPARK_UTILS).getContextOrSparkClassLoader())
    source = files(java).joinpath(f"{name}.java").read_text("utf-8")
    compiler.cook(re.sub(rf"/\*{without}\*/.*?/\*\*/", "", source) if without else source)
    return compiler


def kill_jvm() -> None:
    """End the JVM that PySpark started for this process, whatever it does: also one that is stopped, which does not see
    that this process ends."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def _line(member: Member) -> str:
    """A member as `Members.java` reads it."""
    arity = "" if member.arity is None else str(member.arity)
    return "\t".join((member.kind, member.owner, member.name, arity, "fits" if member.fits else ""))


def _is_in_python(member: Member) -> bool:
    try:
        reduce(getattr, member.name.split("."), importlib.import_module(member.owner))
    except (ImportError, AttributeError):
        return False
    return True


def stack_names(jvm: Jvm) -> str:
    """The methods and classes of the JVM that are under way while it waits for an answer, as one text."""
    trace = jvm.java_class(classes.THREAD).currentThread().getStackTrace()
    return str(jvm.java_class(classes.SCALA_RUNTIME).stringOf(trace))


def simple_name(value: JavaObject) -> str:
    """The name of a Java object's class, without its package. Only modules of this folder compare it."""
    return str(value.getClass().getSimpleName())


def accessible_field(value: JavaObject, name: str) -> JavaObject:
    """A private field of a Java object's class, which `get(value)` reads and `set(value, new)` writes."""
    field = value.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def declared_constructors(jvm: Jvm, class_name: str) -> Sequence[JavaObject]:
    """The constructors of a Java class, private ones too."""
    return list(jvm.java_class(classes.JAVA_CLASS).forName(class_name).getDeclaredConstructors())
