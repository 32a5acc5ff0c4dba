"""The decorator of the module `dataclasses`, but methods of frozen classes are made at their first use.

The standard decorator compiles the source of up to eight methods for each class. A program that looks a key up imports
170 classes and calls few of their methods: compiling all of them took a fifth of its time. So each of these methods is
a `_MadeAtFirstUse` until it is used, and `__init__` is only compiled after a few calls. The standard decorator still
reads the fields: `fields`, `replace`, `asdict`, pickles and pattern matching are the same. Classes that are not frozen
get the standard decorator.

The code imports this decorator instead of the standard one (tests/unit/test_house.py).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_NOT_FIELDS = ("ClassVar", "typing.ClassVar")
_USUAL_OPTIONS = {"frozen", "slots", "eq", "kw_only"}
_CALLS = 8  # of `__init__` before it is compiled: most classes of a short program have few objects

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        def decorated(cls):
            return _frozen(cls, options) if _is_usual(cls, options) else dataclasses.dataclass(cls, **options)

        return decorated if cls is None else decorated(cls)


class _Factory:
    """The default in the signature of a field with a default factory."""

    def __repr__(self) -> str:
        return "<factory>"


class _MadeAtFirstUse:
    """A member of a class that is made when it is first used, and then replaces this descriptor.

    Two threads may both make it; the results are equal."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[type], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object | None, owner: type) -> Any:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)
        return made.__get__(instance, owner) if callable(made) else made


class _Init(_MadeAtFirstUse):
    """`__init__`, which sets the fields of the first objects itself. Compiling it takes as long as 30 such calls."""

    __slots__ = ("_known", "_left", "_parameters")

    def __init__(self, known: Callable[[type], Sequence[Field[Any]]]) -> None:
        super().__init__(lambda made: _init(made, known(made)))
        self._known, self._left = known, _CALLS
        self._parameters: _Parameters | None = None

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None or not self._left:
            return super().__get__(instance, owner)
        self._left -= 1
        return partial(self._set_fields, instance)

    def _set_fields(self, value: Any, /, *given: Any, **named: Any) -> None:
        if self._parameters is None:
            self._parameters = _Parameters(self._owner, self._known(self._owner))
        values = self._parameters.values(given, named)
        if values is None:
            self._make(self._owner)(value, *given, **named)  # raises an error that describes the arguments
            return
        for name, field_value in values.items():
            object.__setattr__(value, name, field_value)
        if self._parameters.has_more:
            value.__post_init__()


class _Parameters:
    """The parameters of `__init__`: `names` by position, `expected` are all of them. `defaults` and `others` are values
    of parameters and of other fields, each with the function that makes it, or None."""

    __slots__ = ("defaults", "expected", "has_more", "names", "others")

    def __init__(self, cls: type, fields: Sequence[Field[Any]]) -> None:
        self.names = [f.name for f in fields if f.init and not f.kw_only]
        self.expected = {f.name for f in fields if f.init}
        made = [(f, None if f.default_factory is MISSING else f.default_factory) for f in fields]
        known = [(f, f.default, make) for f, make in made if f.default is not MISSING or make is not None]
        self.defaults = [(f.name, default, make) for f, default, make in known if f.init]
        slots = "__slots__" in vars(cls)
        self.others = [(f.name, default, make) for f, default, make in known if not f.init and (slots or make)]
        self.has_more = hasattr(cls, "__post_init__")

    def values(self, given: Sequence[Any], named: dict[str, Any]) -> dict[str, Any] | None:
        """Return the values of all fields for the arguments of a call, or None if the arguments do not fit."""
        found = dict(zip(self.names, given, strict=False)) | named
        if len(found) != len(given) + len(named):
            return None
        for name, default, make in self.defaults:
            if name not in found:
                found[name] = default if make is None else make()
        if found.keys() != self.expected:
            return None
        for name, default, make in self.others:
            found[name] = default if make is None else make()
        return found


def _is_usual(cls: type, options: dict[str, bool]) -> bool:
    if not options.get("frozen") or not options.keys() <= _USUAL_OPTIONS:
        return False
    annotations = vars(cls).get("__annotations__", {}).values()
    if not all(isinstance(a, str) for a in annotations):
        return False
    text = " ".join(annotations)
    return "InitVar" not in text and "KW_ONLY" not in text


def _frozen(cls: type, options: dict[str, bool]) -> type:
    """Return the class with the members of a frozen dataclass. With slots, it is a new class, because Python reads
    `__slots__` only when it creates a class.
    """
    annotations = vars(cls).get("__annotations__", {})
    names = [n for n, a in annotations.items() if not a.startswith(_NOT_FIELDS)]
    given = {n: vars(cls)[n] for n in names if n in vars(cls)}
    declared = {**given, "__annotations__": annotations, "__module__": cls.__module__, "__doc__": "fields"}
    kw_only, own = options.get("kw_only", False), frozenset(vars(cls))
    is_first = not any("__dataclass_fields__" in vars(base) for base in cls.__mro__[1:])

    def known(made: type) -> Sequence[Field[Any]]:
        own = ((n, annotations[n], given.get(n, MISSING)) for n in names)
        return [_field(*field, kw_only=kw_only) for field in own] if is_first else dataclasses.fields(made)

    members: dict[str, Any] = {
        "__dataclass_fields__": _MadeAtFirstUse(lambda made: _fields(made, declared, kw_only)),
        "__dataclass_params__": _MadeAtFirstUse(lambda made: _params(made, options)),
        "__match_args__": _MadeAtFirstUse(_match_args),
        "__init__": _Init(known),
        "__repr__": _MadeAtFirstUse(lambda made: _repr(known(made))),
        "__replace__": _replace,  # copy.replace, from Python 3.13 on, calls it
    }
    if options.get("eq", True):
        members["__eq__"] = _MadeAtFirstUse(lambda made: _eq(known(made)))
        if "__hash__" not in own or (vars(cls)["__hash__"] is None and "__eq__" in own):
            members["__hash__"] = _MadeAtFirstUse(lambda made: _hash(known(made)))
            own -= {"__hash__"}
    members = {name: member for name, member in members.items() if name not in own}
    members |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if options.get("slots"):
        return _with_slots(cls, names, members)
    _set_defaults(cls, given)
    for name, member in members.items():
        setattr(cls, name, member)
        if isinstance(member, _MadeAtFirstUse):
            member.__set_name__(cls, name)
    return cls


def _field(name: str, annotation: str, default: Any, *, kw_only: bool) -> Field[Any]:
    """Return a field for a class without a base that is a dataclass. Such fields do not need the standard decorator."""
    found: Field[Any] = default if isinstance(default, Field) else dataclasses.field(default=default)
    found.name, found.type = name, annotation
    found.kw_only = kw_only if found.kw_only is MISSING else found.kw_only
    return found


def _set_defaults(cls: type, given: dict[str, Any]) -> None:
    for name, default in given.items():
        if isinstance(default, Field):
            if default.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, default.default)


def _with_slots(cls: type, names: Sequence[str], members: dict[str, Any]) -> type:
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    left_out = {*names, "__dict__", "__weakref__"}
    namespace = {n: value for n, value in vars(cls).items() if n not in left_out}
    namespace["__slots__"] = tuple(n for n in names if n not in inherited)
    namespace = {"__getstate__": _state, "__setstate__": _set_state} | namespace | members
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


# -- members that are the same for all classes ------------------------------------------------------------------------
def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=False):
        object.__setattr__(self, field.name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    return dataclasses.replace(self, **changes)


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(value: Any, name: str) -> bool:
    return "__dataclass_fields__" in vars(type(value)) or name in value.__dataclass_fields__


# -- members that are made for a class --------------------------------------------------------------------------------
def _declared(cls: type, namespace: dict[str, Any], **options: bool) -> Any:
    """Return a class without bases, made by the standard decorator from these fields."""
    return dataclasses.dataclass(**options)(type(cls.__name__, (), namespace))


def _fields(cls: type, declared: dict[str, Any], kw_only: bool) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    own = _declared(cls, declared, init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)
    return found | own.__dataclass_fields__  # type: ignore[no-any-return]


def _params(cls: type, options: dict[str, bool]) -> Any:
    return _declared(cls, {"__doc__": "fields"}, **options).__dataclass_params__


def _match_args(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only)


def _init(cls: type, fields: Sequence[Field[Any]]) -> Any:
    known: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _Factory()}
    known |= {f"_default_{f.name}": f.default for f in fields if f.default is not MISSING}
    known |= {f"_make_{f.name}": f.default_factory for f in fields if f.default_factory is not MISSING}
    named = [_parameter(f) for f in fields if f.init and f.kw_only]
    parameters = [
        "_self",
        *(_parameter(f) for f in fields if f.init and not f.kw_only),
        *(["*", *named] if named else []),
    ]
    lines = [
        f"_set(_self, {f.name!r}, {value})" for f in fields if (value := _value(f, slots="__slots__" in vars(cls)))
    ]
    lines += ["_self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    source = f"def make({', '.join(known)}):\n def __init__({', '.join(parameters)}):\n  "
    source += "\n  ".join(lines or ["pass"]) + "\n return __init__"
    made: dict[str, Any] = {}
    exec(source, vars(sys.modules[cls.__module__]), made)  # noqa: S102  its only texts are names of fields
    method = made["make"](**known)
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return method


def _parameter(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=_FACTORY"
    return field.name if field.default is MISSING else f"{field.name}=_default_{field.name}"


def _value(field: Field[Any], *, slots: bool) -> str:
    """Return the source of the value that `__init__` sets, or '' if it sets none."""
    if field.default_factory is not MISSING:
        made = f"_make_{field.name}()"
        return f"{made} if {field.name} is _FACTORY else {field.name}" if field.init else made
    if field.init:
        return field.name
    return f"_default_{field.name}" if slots and field.default is not MISSING else ""


def _eq(fields: Sequence[Field[Any]]) -> Any:
    values = _values([f.name for f in fields if f.compare])

    def __eq__(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(fields: Sequence[Field[Any]]) -> Any:
    values = _values([f.name for f in fields if (f.compare if f.hash is None else f.hash)])

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr(fields: Sequence[Field[Any]]) -> Any:
    names = [f.name for f in fields if f.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    return __repr__


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of an object that returns the values of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, n) for n in names)
