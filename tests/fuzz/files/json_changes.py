"""Changes of JSON texts: values of other types, huge numbers, nesting, members that are gone or there twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.fuzz.files.bytes_changes import hostile_number

Place = tuple[Any, Any]  # a list or an object, and an index or a name in it
_LONG = 10_000  # characters of what is not repeated by the thousand, again and again
_DEEP = 20_000
_TEXTS = ("", "\0", "../../x", "a" * 5000, "\ud800", "INT NOT NULL", "ROW<" * 400, "ARRAY<INT>", "-1", "%s", "9" * 5000)


class _Written(str):
    """JSON that is put in as it is."""


def change_json(chance: Random, data: bytes) -> bytes:
    """One or two values changed."""
    try:
        node = json.loads(data)
    except ValueError:
        return data
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_places(node))
        if not places:
            break
        chance.choice(_CHANGES)(chance, *chance.choice(places))
    return _spelled(node).encode("utf-8", "surrogatepass")


def nest_json(chance: Random, data: bytes) -> bytes:
    """A value at the bottom of thousands of lists or objects."""
    opened, closed = chance.choice((("[", "]"), ('{"a":', "}"), ('{"type":', "}")))
    return _with(chance, data, opened * _DEEP + "1" + closed * _DEEP)


def written_number(chance: Random, data: bytes) -> bytes:
    """A number that is none in JSON, or of many digits."""
    return _with(chance, data, chance.choice(("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "1.5", "-0", "1e2")))


def repeat_member(chance: Random, data: bytes) -> bytes:
    """A name that is there twice."""
    text = data.decode("utf-8", "replace")
    node = json.loads(text)
    if not isinstance(node, dict) or not node:
        return data
    name = chance.choice(list(node))
    return text.replace("{", "{" + json.dumps(name) + ":" + chance.choice(("null", "-1", "[]")) + ",", 1).encode()


JSON: tuple[Callable[[Random, bytes], bytes], ...] = (
    change_json,
    change_json,
    nest_json,
    written_number,
    repeat_member,
)


def _with(chance: Random, data: bytes, written: str) -> bytes:
    node = json.loads(data)
    places = list(_places(node))
    if not places:
        return written.encode()
    container, key = chance.choice(places)
    container[key] = _Written(written)
    return _spelled(node).encode()


def _spelled(node: Any) -> str:
    """JSON, with what is `_Written` as it is."""
    found: list[str] = []

    def mark(value: Any) -> Any:
        if isinstance(value, _Written):
            found.append(str(value))
            return f"@{len(found) - 1}@"
        if isinstance(value, dict):
            return {k: mark(v) for k, v in value.items()}
        return [mark(v) for v in value] if isinstance(value, list) else value

    text = json.dumps(mark(node), ensure_ascii=False)
    for i, written in enumerate(found):
        text = text.replace(f'"@{i}@"', written)
    return text


def _places(node: Any) -> Iterator[Place]:
    members = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, value in members:
        yield node, key
        yield from _places(value)


def _number(chance: Random, container: Any, key: Any) -> None:
    old = container[key]
    container[key] = hostile_number(chance, old if isinstance(old, int) else 0)


def _text(chance: Random, container: Any, key: Any) -> None:
    container[key] = chance.choice(_TEXTS)


def _other_type(chance: Random, container: Any, key: Any) -> None:
    container[key] = chance.choice((None, True, [], {}, [None], {"a": 1}, 1.5, "x", [[]], -1))


def _other_value(chance: Random, container: Any, key: Any) -> None:
    container[key] = chance.choice(list(container.values()) if isinstance(container, dict) else container)


def _gone(chance: Random, container: Any, key: Any) -> None:
    del container[key]


def _many(chance: Random, container: Any, key: Any) -> None:
    times = chance.choice((2, 3000))
    container[key] = [container[key]] * (times if len(str(container[key])) < _LONG else 2)


def _unknown_member(chance: Random, container: Any, key: Any) -> None:
    if isinstance(container, dict):
        container[f"{key}2"] = container.pop(key)


_CHANGES: tuple[Callable[[Random, Any, Any], None], ...] = (
    *(_number, _number, _text, _other_type, _other_type, _other_value, _gone, _many, _unknown_member),
)
