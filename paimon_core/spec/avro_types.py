"""What the schema inside an Avro file may be. A file brings the schema it was written with, and that one decodes it:
a column of another type would give values of another type, a recursive type could exhaust the stack, and an array whose
items take no bytes the memory, as could records that repeat others by name: 30 of them, each with the one before twice,
make a billion values of no bytes. So only fixed types and enums may be referred to by name.
"""

from __future__ import annotations

from typing import Any

from paimon_core.errors import reason

_LEAST_BYTES = {"null": 0} | dict.fromkeys(("boolean", "int", "long", "float", "double", "bytes", "string"), 1)
PRIMITIVES = frozenset(_LEAST_BYTES)


def check_schema(avro: Any) -> None:
    """Raises `ValueError` for what is no Avro type, and where values could be without bound."""
    try:
        _least_bytes(avro, {})
    except RecursionError as e:
        raise ValueError("its schema is nested too deeply") from e
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"its schema is no Avro schema ({reason(e)})") from e


def _least_bytes(avro: Any, named: dict[str, int | None]) -> int:
    """The least bytes that a value of an Avro type takes; `named` has those of the named types before it."""
    if isinstance(avro, list):
        return 1 + min((_least_bytes(t, named) for t in avro), default=0)
    if not isinstance(avro, dict):
        least = _LEAST_BYTES.get(avro, named.get(_last_name(avro)))
        if least is None:
            raise ValueError(f"type {avro!r} refers to another")
        return least
    if not isinstance(avro.get("logicalType", ""), str):
        raise TypeError("a logical type that is no text")
    match avro["type"]:
        case "record":
            if not all(isinstance(f["name"], str) for f in avro["fields"]):
                raise TypeError("a field without a name")
            _remember(named, avro, None)
            return sum(_least_bytes(f["type"], named) for f in avro["fields"])
        case "array" | "map" as kind:
            items = _least_bytes(avro["items" if kind == "array" else "values"], named)
            if kind == "array" and items == 0:
                raise ValueError("items of an array take no bytes")
            return 1
        case "fixed":
            return _remember(named, avro, max(0, int(avro["size"])))
        case "enum":
            return _remember(named, avro, 1)
        case plain:
            return _least_bytes(plain, {})


def _remember(named: dict[str, int | None], avro: Any, least: int | None) -> int:
    """Add a type to the named ones: None for a record, and for several types of one name in different namespaces."""
    name = _last_name(avro.get("name"))
    named[name] = least if named.get(name, least) == least else None
    return least or 0


def _last_name(name: Any) -> str:
    """A name without its namespace, which a reference may leave out."""
    return str(name).rpartition(".")[2]


def fits(found: Any, expected: Any) -> bool:
    """Whether values of one Avro type are values of another: int for long, no NULLs for a type that admits them."""
    found, found_null = _without_null(found)
    expected, expected_null = _without_null(expected)
    if found_null and not expected_null:
        return False
    if isinstance(expected, dict) and expected["type"] == "array":
        return isinstance(found, dict) and found["type"] == "array" and fits(found["items"], expected["items"])
    return _plain(found) == _plain(expected) and _logical(found) in (None, _logical(expected))


def without_null(avro: Any) -> Any:
    """An Avro type without its NULLs."""
    return _without_null(avro)[0]


def _without_null(avro: Any) -> tuple[Any, bool]:
    if not isinstance(avro, list):
        return avro, avro == "null"
    others = [t for t in avro if t != "null"]
    return (others[0] if len(others) == 1 else others), len(others) < len(avro)


def _plain(avro: Any) -> str:
    kind = str(avro["type"] if isinstance(avro, dict) else avro)
    return "long" if kind == "int" else kind


def _logical(avro: Any) -> Any:
    return avro.get("logicalType") if isinstance(avro, dict) else None
