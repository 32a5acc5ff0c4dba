"""A check of a Spark: every hook, its variant in use, and the features that do not work without it.

`install` refuses a Spark that lacks a hook, whatever its version number. It accepts an untested version that has all
hooks.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_sql import spark
from paimon_sql.spark.gaps import GAPS, VERSIONS, Gap, gaps_of, minor
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Hook
from paimon_sql.spark.jvm.older.syntax import GRAMMAR
from paimon_sql.spark.jvm.sessions import java_version
from paimon_sql.spark.workers.versions import SetupFinding

_PACKAGE = f"{spark.__name__}."


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook in a Spark. `variant` is the name of the variant in use, empty for a hook with one variant, and None if no
    variant fits. Then `missing` lists the members that this Spark lacks.
    """

    name: str
    hook: Hook
    variant: str | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of the check; their text is the output of `paimon-sql doctor`."""

    spark: str
    java: str
    python: str
    hooks: tuple[FoundHook, ...]
    gaps: tuple[Gap, ...]
    findings: tuple[SetupFinding, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether this Spark version has been tested with the hooks."""
        return minor(self.spark) in VERSIONS

    @property
    def moved(self) -> tuple[FoundHook, ...]:
        """Return the hooks that this Spark lacks."""
        return tuple(found for found in self.hooks if found.variant is None)

    @property
    def is_sound(self) -> bool:
        """Return whether nothing is missing that statements need."""
        return not self.moved and not any(found.fails for found in self.findings)

    def __str__(self) -> str:
        lines = [f"Spark {self.spark}, Java {self.java}, Python {self.python}"]
        if not self.is_known:
            lines.append(f"This version has not been tested. Tested versions: {', '.join(VERSIONS)}.")
        width = max(len(found.name) for found in self.hooks)
        lines += ["", f"{len(self.hooks)} hooks into Spark, {len(self.moved)} of them moved:"]
        lines += [f"  {found.name:{width}}  {_state(found)}".rstrip() for found in self.hooks]
        lines += ["", "What does not work:"]
        lines += [f"  {found.hook.breaks} ({found.name} needs {', '.join(found.missing)})" for found in self.moved]
        lines += [f"  {gap.refusal(self.spark)}" for gap in self.gaps]
        lines += [] if self.moved or self.gaps else ["  nothing known"]
        lines += ["", "Java, and Python of the executors:"]
        lines += [f"  {f.fact}\n    why: {f.reason}\n    do: {f.remedy}" for f in self.findings]
        return "\n".join(lines if self.findings else [*lines, "  nothing to mend"])


def _state(found: FoundHook) -> str:
    return f"MOVED: no {', '.join(found.missing)}" if found.variant is None else found.variant or "found"


def hooks_of(module: ModuleType) -> Iterator[tuple[str, Hook]]:
    """Yield the hooks that a module defines, with their names."""
    owners: list[Any] = [module]
    owners += [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
    for owner in owners:
        for name, member in vars(owner).items():
            found = getattr(member, "hook", None)
            if isinstance(found, Hook) and member.__module__ == module.__name__:
                yield f"{owner.__name__}.{name}" if owner is not module else name, found


@lru_cache(1)
def all_hooks() -> tuple[tuple[str, Hook], ...]:
    """Return every hook of the bridge, named by its module and function, in the order of modules."""
    modules = (importlib.import_module(info.name) for info in pkgutil.walk_packages(spark.__path__, _PACKAGE))
    return tuple(
        (f"{module.__name__.removeprefix(_PACKAGE).replace('.', '/')}.{name}", found)
        for module in modules
        for name, found in hooks_of(module)
    )


def diagnose(jvm: Jvm) -> Diagnosis:
    """Look for every hook, in one crossing to the JVM."""
    every = all_hooks()
    jvm.probe([*(m for _, found in every for m in found.members), *GRAMMAR, *(gap.needs for gap in GAPS)])
    found = []
    for name, known in every:
        chosen = known.chosen(jvm.has)
        missing = () if chosen else tuple(map(str, known.missing(jvm.has)))
        found.append(FoundHook(name, known, None if chosen is None else chosen.name, missing))
    python = ".".join(map(str, sys.version_info[:3]))
    return Diagnosis(jvm.spark_version, java_version(jvm), python, tuple(found), gaps_of(jvm.has))


@lru_cache(1)
def check_spark(jvm: Jvm) -> None:
    """Raise `UnsupportedFeatureError` if a hook has moved; warn about an untested version."""
    found = diagnose(jvm)
    if found.moved:
        names = "; ".join(f"{m.name} needs {', '.join(m.missing)}" for m in found.moved)
        raise UnsupportedFeatureError(
            f"Spark {found.spark} lacks internals that paimon-sql uses: {names}. paimon-sql works with Spark "
            f"{VERSIONS[0]} to {VERSIONS[-1]}; run paimon-sql doctor for the features that depend on them."
        )
    if not found.is_known:
        warnings.warn(
            f"paimon-sql has not been tested with Spark {found.spark}, only with {', '.join(VERSIONS)}. This Spark "
            "has all internals that it uses; run paimon-sql doctor, and your own tests.",
            stacklevel=3,
        )
