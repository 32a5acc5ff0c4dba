"""The members that this Spark has, and the variants of hooks that follow from them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.conversions import JavaValues
from paimon_sql.spark.jvm.hooks import Member, MemberKind, Variant, hook, hook_of, method

_CACHED = 256


class SparkMembers(JavaValues):
    """Looks up members in this Spark, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._there: dict[Member, bool] = {}
        self._variants: dict[Callable[..., Any], Variant] = {}
        self._added = lru_cache(_CACHED)(self._find_added)
        self._columns_of_json = lru_cache(_CACHED)(self._make_columns)

    def probe(self, members: Iterable[Member]) -> None:
        """Look up members in this Spark, all members of the JVM in one call. Then `has` needs no call of the JVM."""
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
        fits. `install` checks this for all hooks, so it happens later only if Spark has changed since.
        """
        if function not in self._variants:
            found = hook_of(function)
            chosen = found.chosen(self.has)
            if chosen is None:
                lacking = ", ".join(map(str, found.missing(self.has)))
                raise UnsupportedFeatureError(f"This Spark lacks {lacking}, so this does not work: {found.breaks}.")
            self._variants[function] = chosen
        return self._variants[function]

    def interfaces(self, wanted: Sequence[str]) -> Sequence[str]:
        """Return those interfaces of a proxy that this Spark has."""
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

    def columns(self, schema: StructType) -> JavaArray:
        """Connector columns of a schema."""
        return self._columns_of_json(schema.json())

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


def _line(member: Member) -> str:
    """Return a member as a line that `Members.java` reads."""
    arity = "" if member.arity is None else str(member.arity)
    return "\t".join((member.kind, member.owner, member.name, arity, "fits" if member.fits else ""))


def _is_in_python(member: Member) -> bool:
    try:
        reduce(getattr, member.name.split("."), importlib.import_module(member.owner))
    except (ImportError, AttributeError):
        return False
    return True
