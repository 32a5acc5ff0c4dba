"""Java's and Scala's collections as Python's. `conversions.py` has the other direction.

Functions with a `jvm` parameter call the JVM once. The others call it several times for each entry.
"""

from __future__ import annotations

import json
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm.gateway import Jvm


def items(sequence: JavaObject) -> list[Any]:
    """The members of a Scala Seq."""
    return [sequence.apply(i) for i in range(sequence.size())]


def texts(sequence: JavaObject) -> tuple[str, ...]:
    """The members of a Scala Seq of strings."""
    return tuple(str(item) for item in items(sequence))


def product_items(product: JavaObject) -> list[Any]:
    """The members of a Scala tuple or case class."""
    return [product.productElement(i) for i in range(product.productArity())]


def value_of(option: JavaObject) -> Any | None:
    """Return the value of a Scala Option, None for an empty one."""
    return option.get() if option.isDefined() else None


def python_map(java_map: Any) -> dict[str, str]:
    """Return a Java map of strings as a dict. It is read through an array: the end of a Java iterator is an exception,
    which costs 70 ms in py4j.
    """
    return {str(e.getKey()): str(e.getValue()) for e in java_map.entrySet().toArray()}


def option_map(jvm: Jvm, options: Any) -> dict[str, str]:
    """Return the options of a statement, a `CaseInsensitiveStringMap`, with names as typed."""
    found = json.loads(jvm.compiled("Entries").options(options))
    return {key: str(value) for key, value in found.items()}


def known_texts(jvm: Jvm, entries: Any) -> dict[str, str]:
    """Return a Scala map of strings as a dict, without entries that are null."""
    found = json.loads(jvm.compiled("Entries").map(entries))
    return {key: value for key, value in found.items() if value is not None}


def text_list(jvm: Jvm, sequence: Any) -> list[str]:
    """The members of a Scala Seq of strings."""
    found: list[str] = json.loads(jvm.compiled("Entries").seq(sequence))
    return found


def plain_members(jvm: Jvm, plan: Any) -> dict[str, Any]:
    """Return the members of a plan by their names: texts, numbers, booleans, and lists and dicts of them.

    An Option is an empty list, or a list of its value. Members of other types become None.
    """
    found: dict[str, Any] = json.loads(jvm.compiled("Entries").members(plan))
    return found


def identifier_parts(jvm: Jvm, identifier: Any) -> tuple[list[str], str]:
    """The namespace and the name of an `Identifier`."""
    *namespace, name = json.loads(jvm.compiled("Entries").identifier(identifier))
    return namespace, name


def scala_map(entries: Any) -> dict[str, str | None]:
    """Return a Scala map of strings as a dict; a value may be null."""
    return {str(e._1()): None if e._2() is None else str(e._2()) for e in items(entries.toSeq())}


def values_of(entries: Any) -> dict[str, str]:
    """Return a Scala map of strings as a dict, without entries that are null."""
    return {key: value for key, value in scala_map(entries).items() if value is not None}
