"""The types of the arguments that programs pass to public methods.

A wrong type would fail somewhere below, with an error that names neither the method nor the argument. So each public
function and method is `checked`: it compares its arguments with its annotations, and its error names the types to pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.spec.split import DataSplit

Options: TypeAlias = "Mapping[str, str]"  # values of other types count as their texts
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class")


@dataclass(frozen=True, slots=True)
class ArgumentType:
    """A type of arguments: its description in errors, and a check of values."""

    wanted: str
    fits: Callable[[Any], bool]


def _is_a(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_several(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of values that can be iterated more than once."""
    return lambda value: _is_several(value) and hasattr(value, "__len__") and all(map(fits, value))


def _is_dict_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(fits, value.values()))


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_either(*known: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(fits(value) for fits in known)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_is_text = _is_a(str)
_is_texts = _is_list_of(_is_text)
_is_option = _is_a(str, bool, int, float)
_is_condition = _is_a(str, pc.Expression)
_VERSION = ArgumentType(
    "the id of a snapshot, the name of a tag, or a datetime", _is_either(_is_whole, _is_a(str, datetime))
)
_NEEDED = {
    "str": ArgumentType("a text", _is_text),
    "bool": ArgumentType("True or False", _is_a(bool)),
    "int": ArgumentType("a whole number", _is_whole),
    "float": ArgumentType("a number", _is_either(_is_whole, _is_a(float))),
    "Sequence[str]": ArgumentType("a list of names", _is_texts),
    "str | Sequence[str]": ArgumentType("a name or a list of names", _is_either(_is_text, _is_texts)),
    "Sequence[float]": ArgumentType("a list of numbers", _is_several),
    "Options": ArgumentType("a dict of texts by the names of options", _is_dict_of(_is_option)),
    "Mapping[str, str]": ArgumentType("a dict of texts by names", _is_dict_of(_is_text)),
    "Mapping[str, str | None]": ArgumentType(
        "a dict of texts, or None, by the names of options", _is_dict_of(_is_either(_is_option, _is_a(type(None))))
    ),
    "Mapping[str, Any]": ArgumentType("a dict of values by the names of columns", _is_dict_of(_is_a(object))),
    "str | Mapping[str, Any]": ArgumentType(
        "a text of JSON, or a dict of it", _is_either(_is_text, _is_dict_of(_is_a(object)))
    ),
    "Mapping[str, pa.DataType]": ArgumentType(
        "a dict of pyarrow types by the names of columns", _is_dict_of(_is_a(pa.DataType))
    ),
    "Where": ArgumentType("a condition: SQL as a text, or an expression of pyarrow.compute", _is_condition),
    "pc.Expression": ArgumentType("an expression of pyarrow.compute", _is_a(pc.Expression)),
    "pa.Schema": ArgumentType("a pyarrow.Schema", _is_a(pa.Schema)),
    "int | str": ArgumentType("the id of a snapshot or the name of a tag", _is_either(_is_whole, _is_text)),
    "int | str | datetime": _VERSION,
    "datetime | date | str | int": ArgumentType(
        "a datetime, a text as in SQL, or epoch milliseconds", _is_either(_is_whole, _is_a(str, date))
    ),
    "Sequence[DataSplit]": ArgumentType("a list of splits", _is_list_of(_is_a(DataSplit))),
    "Iterable[WrittenPart]": ArgumentType("a list of parts", _is_several),
}
COLUMN_NAMES: Mapping[str, ArgumentType | None] = {"columns": _NEEDED["Sequence[str]"]}
# these methods check what they are given, or take anything
_UNCHECKED = frozenset(("Any", "object", "Clauses"))


def checked(function: _Function) -> _Function:
    """Decorate a public function: an argument of a wrong type raises a `TypeError` that names the types to pass.

    Texts that are not Unicode raise `InvalidDataError`. Annotations must be types that this module can compare.
    """
    code, types = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = {name: _type_of(types[name]) for name in names if name in types and name != "self"}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        check_arguments(function.__qualname__, known, {**dict(zip(names, args, strict=False)), **named})
        return function(*args, **named)

    return call  # type: ignore[return-value]


def checked_methods(cls: type[_Class]) -> type[_Class]:
    """Decorate a class: its public methods are `checked`."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(cls, name, checked(member))
    return cls


def check_arguments(called: str, known: Mapping[str, ArgumentType | None], given: Mapping[str, Any]) -> None:
    """Raise `TypeError` for an argument of another type than its name has."""
    for name, value in given.items():
        wanted = known.get(name)
        if wanted is not None and not wanted.fits(value):
            raise TypeError(f"{called}: {name} must be {wanted.wanted}, not a value of type {type(value).__name__}.")
        if isinstance(value, str) and not _is_unicode(value):
            raise InvalidDataError(f"{called}: {name} is not valid Unicode: it contains half of a surrogate pair.")


def check_keywords(called: str, known: Mapping[str, ArgumentType | None], given: Mapping[str, Any]) -> None:
    """Raise `TypeError` for an argument with another name than the known ones, or of another type."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise TypeError(f"{called} has no argument {unknown!r}; it has {', '.join(known)}.")
    check_arguments(called, known, given)


def keyword_types(declared: type) -> dict[str, ArgumentType | None]:
    """Return the types of keyword arguments that a `TypedDict` declares."""
    return {name: _type_of(reference.__forward_arg__) for name, reference in declared.__annotations__.items()}


def _type_of(annotation: str) -> ArgumentType | None:
    """Return the type of an annotation, None for what is not checked here."""
    if annotation in _UNCHECKED:
        return None
    name = annotation.removesuffix(" | None")
    needed = _NEEDED[name]
    if name == annotation:
        return needed
    return ArgumentType(f"{needed.wanted}, or None", lambda value: value is None or needed.fits(value))
