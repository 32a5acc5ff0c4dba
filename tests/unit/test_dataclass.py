"""Classes of `paimon_core.dataclass` behave like classes of the standard decorator."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from paimon_core.dataclass import dataclass

T = TypeVar("T")
Decorator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True)
class Labelled(Point):
    label: str = field(default="", compare=False)


def plain(decorator: Decorator, **options: bool) -> type:
    @decorator(frozen=True, **options)
    class Plain:
        """A class with every kind of field."""

        LIMIT: ClassVar[int] = 3
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, hash=False)
        d: str = field(default="secret", repr=False)
        e: int = field(default=5, compare=False)
        f: int = field(default=6, init=False)
        g: int = field(default=7, kw_only=True)

        def twice(self) -> int:
            return 2 * self.a

    return Plain


def derived(decorator: Decorator, **options: bool) -> type:
    base = plain(decorator, **options)

    @decorator(frozen=True, **options)
    class Derived(base):  # type: ignore[misc,valid-type]
        b: str = "other"
        h: tuple[int, ...] = ()

        def __post_init__(self) -> None:
            object.__setattr__(self, "h", (*self.h, self.a))

    return Derived


def own_methods(decorator: Decorator, **options: bool) -> type:
    @decorator(frozen=True, **options)
    class OwnMethods:
        a: int
        b: int = 1

        def __eq__(self, other: object) -> bool:
            return isinstance(other, OwnMethods) and self.a == other.a

        def __repr__(self) -> str:
            return f"own {self.a}"

    return OwnMethods


def hashed_by_itself(decorator: Decorator, **options: bool) -> type:
    @decorator(frozen=True, **options)
    class HashedByItself:
        a: int
        b: list[int] = field(default_factory=list)

        def __hash__(self) -> int:
            return self.a

    return HashedByItself


def generic(decorator: Decorator, **options: bool) -> type:
    @decorator(frozen=True, **options)
    class OfAnyType(Generic[T]):
        a: T
        b: int = 0

    return OfAnyType


def without_fields(decorator: Decorator, **options: bool) -> type:
    @decorator(frozen=True, **options)
    class WithoutFields:
        pass

    return WithoutFields


BODIES = (plain, derived, own_methods, hashed_by_itself, generic)


@pytest.fixture(params=[False, True], ids=["dict", "slots"])
def slots(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def outcome(function: Callable[[], Any]) -> Any:
    """Return the result, or the class and the text of the error."""
    try:
        return function()
    except Exception as e:
        return type(e), str(e)


def facts(cls: type, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """Return the answers of a class and an object of it that do not depend on the identity of the class."""
    value = cls(*arguments, **named)
    other, changed = cls(*arguments, **named), dataclasses.replace(value, a=9)
    return [
        repr(value),
        outcome(lambda: hash(value)),
        outcome(lambda: hash(changed)),
        value == other,
        value == changed,
        value != other,
        value.__eq__(3),
        [(f.name, f.type, f.default, f.init, f.compare, f.repr, f.kw_only) for f in dataclasses.fields(cls)],
        dataclasses.asdict(value),
        dataclasses.is_dataclass(cls),
        repr(changed),
        cls.__match_args__,  # type: ignore[attr-defined]
        str(inspect.signature(cls)),
        repr(copy.copy(value)),
        repr(copy.deepcopy(value)),
        hasattr(value, "__dict__"),
        outcome(lambda: setattr(value, "a", 1)),
        outcome(lambda: delattr(value, "a")),
        outcome(lambda: cls()),
        outcome(lambda: cls(*range(20))),
        outcome(lambda: cls(1, unknown=2)),
        outcome(lambda: getattr(cls, "b") if not hasattr(value, "__slots__") else None),  # noqa: B009
        cls.__dataclass_params__.frozen,  # type: ignore[attr-defined]
        cls.__name__,
        cls.__qualname__,
        cls.__module__,
        cls.__init__.__qualname__,  # type: ignore[misc]
        cls.__init__.__annotations__,  # type: ignore[misc]
    ]


@pytest.mark.parametrize("body", BODIES, ids=[b.__name__ for b in BODIES])
def test_the_first_objects_are_as_the_later_ones(body: Callable[..., type], slots: bool) -> None:
    """`__init__` is compiled after some calls."""
    ours, standard = body(dataclass, slots=slots), body(dataclasses.dataclass, slots=slots)
    calls: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
        ((1,), {}),
        ((1, "x"), {}),
        ((), {"a": 1, "b": 2}),
        ((), {}),
        ((1, 2), {"a": 3}),
        (tuple(range(30)), {}),
        ((1,), {"unknown": 2}),
        ((1,), {"f": 2}),
    )

    def made(cls: type) -> list[str]:
        return [str(outcome(lambda: vars_of(cls(*given, **named)))) for given, named in calls]  # noqa: B023

    def vars_of(value: Any) -> dict[str, Any]:
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}

    expected = made(standard)
    for _ in range(5):
        assert made(ours) == expected


@pytest.mark.parametrize("kw_only", [False, True], ids=["by-position", "by-name"])
@pytest.mark.parametrize("body", BODIES, ids=[b.__name__ for b in BODIES])
def test_a_class_is_as_the_standard_one(body: Callable[..., type], slots: bool, kw_only: bool) -> None:
    arguments, named = ((), {"a": 1}) if kw_only else ((1,), {})
    ours, standard = (body(d, slots=slots, kw_only=kw_only) for d in (dataclass, dataclasses.dataclass))
    assert facts(ours, arguments, named) == facts(standard, arguments, named)


def test_attributes_that_are_not_fields_are_refused(slots: bool) -> None:
    value = plain(dataclass, slots=slots)(1)  # the standard one with slots fails before Python 3.13
    for change in (lambda: setattr(value, "unknown", 1), lambda: delattr(value, "unknown")):
        with pytest.raises(FrozenInstanceError, match="field 'unknown'"):
            change()


def test_a_class_without_fields_is_as_the_standard_one(slots: bool) -> None:
    ours, standard = (without_fields(d, slots=slots)() for d in (dataclass, dataclasses.dataclass))
    assert (repr(ours), hash(ours), ours == copy.copy(ours)) == (repr(standard), hash(standard), True)


@pytest.mark.parametrize(
    "use",
    [hash, repr, dataclasses.fields, lambda v: v == Point(1, 2), lambda v: dataclasses.replace(v, y=3), pickle.dumps],
    ids=["hash", "repr", "fields", "eq", "replace", "pickle"],
)
def test_each_member_may_be_the_first_one_that_is_used(use: Callable[[Any], Any]) -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        x: int
        y: int

    value = object.__new__(Fresh)  # no member is made yet
    object.__setattr__(value, "x", 1)
    object.__setattr__(value, "y", 2)
    if use is pickle.dumps:
        assert value.__getstate__() == [1, 2]
    else:
        use(value)
    assert (value.x, value.y) == (1, 2)


def test_values_travel_by_pickle_before_their_members_are_made() -> None:
    for value in (Point(1, 2), Labelled(1, 2, "x")):
        text = pickle.dumps(value)
        program = f"import pickle; print(pickle.loads({text!r}))"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert (done.stdout.strip(), pickle.loads(text)) == (repr(value), value)  # noqa: S301  made above


def test_values_have_the_method_of_copy_replace() -> None:
    """The function is new in Python 3.13."""
    value = Labelled(1, 2, "x").__replace__(y=3)  # type: ignore[attr-defined]
    assert (value, value.label) == (Labelled(1, 3, "x"), "x")


def test_values_match_patterns() -> None:
    match Point(1, 2):
        case Point(1, second):
            assert second == 2
        case _:
            raise AssertionError


def test_a_subclass_without_the_decorator_may_have_attributes_of_its_own() -> None:
    class Named(Point):
        pass

    value = Named(1)
    value.name = "one"  # type: ignore[attr-defined]
    assert (value.name, value.x, value == Named(1), value == Point(1)) == ("one", 1, True, False)  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2  # type: ignore[misc]


def test_standard_classes_extend_ours() -> None:
    @dataclasses.dataclass(frozen=True)
    class Standard(Point):
        z: int = 3

    assert repr(Standard(1)).endswith("Standard(x=1, y=0, z=3)")
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @dataclasses.dataclass
        class Thawed(Point):  # type: ignore[misc]
            z: int = 3


def test_a_class_that_is_not_frozen_is_the_standard_one() -> None:
    @dataclass(slots=True)
    class Changing:
        x: int = 0

    value = Changing()
    value.x = 4
    assert value == Changing(4)
    assert Changing.__hash__ is None


def test_threads_may_use_a_new_class_at_the_same_time() -> None:
    for _ in range(50):

        @dataclass(frozen=True, slots=True)
        class Shared:
            x: int
            y: tuple[int, ...] = ()

        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(Shared, range(8)))
        assert [(v.x, v.y) for v in made] == [(i, ()) for i in range(8)]
