"""Python's values as Java's and Scala's: collections, types, proxies. `collections.py` has the other direction."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject
from pyspark.sql.types import DataType, StructType

from paimon_core.lazy import cached_property
from paimon_sql.spark.jvm import classes

_NUL = "\0"  # a path cannot contain it
_FILLED = 8  # elements of an array that cross at once, see `Entries.fill`
_CACHED = 256  # values per kind: Spark requests the same ones in every statement, and never changes them


class JavaValues(ABC):
    """Make Java values of Python values, by means of Java's classes."""

    def __init__(self) -> None:
        self._type_of_json = lru_cache(_CACHED)(lambda text: self.java_class(classes.DATA_TYPE).fromJson(text))
        self._array_of = lru_cache(_CACHED)(self._make_array)
        self._set_of = lru_cache(_CACHED)(self.string_set)
        self._constants_of = lru_cache(_CACHED)(self._make_constants)

    @abstractmethod
    def java_class(self, name: str) -> Any:
        """A Java class by its full name (`$` before nested ones): call it to construct, or use its static members."""

    @abstractmethod
    def scala_object(self, name: str) -> Any:
        """A Scala singleton by its full name, without the trailing `$`."""

    @abstractmethod
    def constant(self, class_name: str, name: str) -> Any:
        """Return a static member of a Java class, a value or a method. It is looked up once."""

    @abstractmethod
    def compiled(self, name: str, without: str = "") -> JavaObject:
        """Return an object of a class in `java/`, compiled once. The text from `/*without*/` to `/**/` is left out of
        the source.
        """

    @abstractmethod
    def new_array(self, class_name: str, size: int) -> JavaArray:
        """Return an array of nulls."""

    # -- proxies and constants ----------------------------------------------------------------------------------------
    def fronted(self, value: Any) -> Any:
        """Return a Python proxy behind an object that caches the answers of the methods in `CACHED`, and passes on any
        error of the methods in `RAISING`. Return other values unchanged."""
        kind = type(value)  # a Java object has members of every name
        cached, raising = getattr(kind, "CACHED", ()), getattr(kind, "RAISING", ())
        if not cached and not raising:
            return value
        return self.compiled("ProxyFronts").before(value, self._set_of(cached), self._set_of(raising))

    def constants(self, class_name: str, *names: str) -> JavaObject:
        """Return a set of static members of a Java class."""
        return self._constants_of(class_name, names)

    # -- collections --------------------------------------------------------------------------------------------------
    def array(self, class_name: str, items: Iterable[Any]) -> JavaArray:
        values = tuple(items)
        return self._make_array(class_name, values) if values else self.cached_array(class_name, ())

    def cached_array(self, class_name: str, items: Iterable[Hashable]) -> JavaArray:
        """Return an array; equal items share one array."""
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
        """Return a Java map. All texts and numbers cross at once, as JSON; Java's objects cross one by one."""
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
        """Return a Scala collection as a Java collection."""
        return self.java_class(classes.COLLECTION_CONVERTERS).asJava(entries)

    def paths(self, paths: Iterable[str]) -> JavaObject:
        """Return a Scala Seq of Hadoop paths, in a fixed number of crossings."""
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

    def _make_array(self, class_name: str, items: tuple[Any, ...]) -> JavaArray:
        out, fill = self.new_array(class_name, len(items)), self.compiled("Entries").fill
        for start in range(0, len(items), _FILLED):
            fill(out, start, *map(self.fronted, items[start : start + _FILLED]))
        return out

    def _make_constants(self, class_name: str, members: tuple[str, ...]) -> JavaObject:
        out = self.java_class(classes.HASH_SET)()
        for name in members:
            out.add(self.constant(class_name, name))
        return out
