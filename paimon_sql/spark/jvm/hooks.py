"""The hooks: functions that use internals of Spark, each marked with the members that it needs.

Versions of Spark differ in these internals, and vendors put some internals of a newer version into an older one. So a
hook lists the members that it needs. If Spark's versions differ, it has variants, the newest first, and the first
variant with all its members is used; `Jvm.variant` chooses it once for a JVM. The number of the version does not
matter.

`docs/ARCHITECTURE.md` lists the hooks; `tests/unit/spark/jvm/test_hook_list.py` keeps the list complete.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from paimon_core.dataclass import dataclass

_F = TypeVar("_F", bound=Callable[..., Any])


class MemberKind(StrEnum):
    """The kind of a member."""

    CLASS = "class"
    METHOD = "method"
    CONSTRUCTOR = "constructor"
    FIELD = "field"
    MENTION = "mention"
    GRAMMAR = "grammar"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Member:
    """A part of Spark that a version may lack: a member of the class `owner`, another class that its code mentions, an
    SQL statement (`name`) that its parser accepts, or an attribute of PySpark's module `owner`. `arity` is the number
    of parameters of a method or constructor; None means any number. With `fits`, it may have more parameters, if their
    types have an empty value (see `Jvm.fitted`).
    """

    kind: MemberKind
    owner: str
    name: str = ""
    arity: int | None = None
    fits: bool = False

    def __str__(self) -> str:
        short = self.owner.rpartition(".")[2]
        match self.kind:
            case MemberKind.CLASS:
                return short
            case MemberKind.GRAMMAR:
                return f"the syntax {self.name}"
            case MemberKind.MENTION:
                return f"{self.name.rpartition('.')[2]} in {short}"
            case MemberKind.PYTHON:
                return f"{self.owner}.{self.name}"
            case MemberKind.FIELD:
                return f"{short}.{self.name}"
        called = short if self.kind is MemberKind.CONSTRUCTOR else f"{short}.{self.name}"
        count = "…" if self.arity is None else f"{self.arity}{' or more' if self.fits else ''}"
        return f"{called}({count})"


def java_type(owner: str) -> Member:
    """A class or an interface."""
    return Member(MemberKind.CLASS, owner)


def method(owner: str, name: str, arity: int | None = None, *, fits: bool = False) -> Member:
    """Return a method of a class or of an object, its own or inherited."""
    return Member(MemberKind.METHOD, owner, name, arity, fits)


def constructor(owner: str, arity: int | None = None, *, fits: bool = False) -> Member:
    """Return a constructor, which may be private."""
    return Member(MemberKind.CONSTRUCTOR, owner, "", arity, fits)


def field(owner: str, name: str) -> Member:
    """Return a field that the class itself declares, which may be private."""
    return Member(MemberKind.FIELD, owner, name)


def mention(owner: str, name: str) -> Member:
    """Return a class that the code of another class mentions. It distinguishes versions of Spark with equal methods."""
    return Member(MemberKind.MENTION, owner, name)


def grammar(statement: str) -> Member:
    """Return a statement that Spark's parser accepts."""
    return Member(MemberKind.GRAMMAR, "", statement)


def python(module: str, name: str) -> Member:
    """Return an attribute of a module of PySpark or py4j: a name, or names joined by dots."""
    return Member(MemberKind.PYTHON, module, name)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to use an internal, if Spark has everything that it `needs`; `name` is unique among the variants of a
    hook.
    """

    name: str
    needs: tuple[Member, ...]

    @classmethod
    def of(cls, name: str, *needs: Member) -> Variant:
        return cls(name, needs)


@dataclass(frozen=True, slots=True)
class Hook:
    """An internal of Spark's or py4j's, the features that fail if no variant fits, and the variants, best first."""

    internal: str
    breaks: str
    variants: tuple[Variant, ...]

    def chosen(self, is_there: Callable[[Member], bool]) -> Variant | None:
        """Return the first variant that a Spark supports, None if it supports none."""
        return next((v for v in self.variants if all(map(is_there, v.needs))), None)

    def missing(self, is_there: Callable[[Member], bool]) -> tuple[Member, ...]:
        """Return the missing members of the variant that lacks the fewest; an empty tuple if a variant fits."""
        lacking = [tuple(m for m in v.needs if not is_there(m)) for v in self.variants]
        return min(lacking, key=len)

    @property
    def members(self) -> frozenset[Member]:
        """Return the members that any variant needs."""
        return frozenset(m for v in self.variants for m in v.needs)


def hook(internal: str, breaks: str, *needs: Member | Variant) -> Callable[[_F], _F]:
    """Mark a function as the only code that uses an internal part of Spark. The function gets its `Hook` as the
    attribute `hook`. `needs` are the members that it uses, or its variants.
    """
    members = tuple(n for n in needs if isinstance(n, Member))
    variants = tuple(n for n in needs if isinstance(n, Variant))
    assert not (members and variants), "variants name all that they need"

    def mark(function: _F) -> _F:
        vars(function)["hook"] = Hook(internal, breaks, variants or (Variant("", members),))
        return function

    return mark


def hook_of(function: Callable[..., Any]) -> Hook:
    """Return the hook that a function is marked with."""
    found = vars(function)["hook"]
    assert isinstance(found, Hook)
    return found
