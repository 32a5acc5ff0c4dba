"""JSON objects from files and between processes, with checks of their members' types.

Metadata files of tables are read by the rules of Paimon's Java. Java reads most files with Jackson (`as_…`): numbers
and texts may replace each other, null is like a missing member, unknown members are ignored. Java's own code reads
schemas (`node_…`): null is 0, and a number in a text may have a fraction. Two rules are stricter here than in Java: a
text that is not a number is refused (Java reads 0), and an object instead of a text is refused.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from reprlib import repr as shortened
from typing import Any, NoReturn

from paimon_core.errors import CorruptFileError, InvalidDataError, UnfamiliarFormError
from paimon_core.lazy import regex

_INTEGER = regex(r"[+-]?\d{1,40}")
_NUMBER = regex(r"[+-]?\d{1,40}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,3})?")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7  # Java writes doubles between these without an exponent


class _NotANumberError(ValueError):
    """NaN or an infinity, which some JSON writers write."""


class JsonFloat(float):
    """A number with a fraction or an exponent. `text` is its spelling in the file."""

    text: str

    def __new__(cls, text: str | float) -> JsonFloat:
        made = super().__new__(cls, text)
        made.text = str(text)
        return made


def decode_json_object(path: str, data: bytes) -> dict[str, Any]:
    """Return the JSON object in a metadata file, with or without a byte order mark.

    Raises `CorruptFileError`, and `UnfamiliarFormError` for other JSON."""
    if data.startswith(_UTF_16):
        with suppress(ValueError, RecursionError):  # if this fails, the bytes are damaged
            json.loads(data.decode("utf-16"))
            raise UnfamiliarFormError(path, "it is a text in UTF-16, and must be in UTF-8")
    try:
        node = json.loads(data.decode("utf-8-sig"), parse_float=JsonFloat, parse_constant=_not_a_number)
        if b"\\u" in data:
            json.dumps(node, ensure_ascii=False).encode()  # half of a surrogate pair is not a character
    except _NotANumberError as e:
        raise UnfamiliarFormError(path, f"it is not valid JSON ({e})") from e
    except (ValueError, RecursionError) as e:
        raise CorruptFileError(path, f"it is not valid JSON ({e})") from e
    if not isinstance(node, dict):
        kind = "float" if isinstance(node, float) else type(node).__name__
        raise UnfamiliarFormError(path, f"a JSON object is expected, not {kind}")
    return node


def _not_a_number(text: str) -> NoReturn:
    raise _NotANumberError(f"{text} is not a number of JSON")


def encode_json_object(node: Mapping[str, Any]) -> bytes:
    """Return the bytes of a metadata file. Raises `InvalidDataError` for a text that is not valid Unicode."""
    try:
        return json.dumps(node, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError as e:
        found = e.object[max(e.start - 20, 0) : e.end + 20]
        raise InvalidDataError(
            f"{found!r} cannot be written to metadata: {e.object[e.start : e.end]!r} is half of a character."
        ) from e


def member(node: Any, key: str, kind: Any, *default: Any) -> Any:
    """Return the value of a key. It must have one of the types in `kind`.

    Raises `TypeError` for another type, and for a missing key without a default."""
    if not isinstance(node, dict) or (key not in node and not default):
        raise TypeError(f"there is no {key!r}")
    value = node.get(key, *default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{key!r} is {shortened(value)}")
    return value


def text_map(node: Any, key: str) -> dict[str, str]:
    """Return a member that maps names to texts, or an empty mapping if it is missing. Raises `TypeError`."""
    found = member(node, key, dict | None, None) or {}
    if not all(isinstance(v, str) for v in found.values()):
        raise TypeError(f"{key!r} has values that are not texts")
    return dict(found)


def text_list(node: Any, key: str) -> list[str]:
    """Return a member that is a list of texts, or an empty list if it is missing. Raises `TypeError`."""
    found = member(node, key, list | None, None) or []
    if not all(isinstance(v, str) for v in found):
        raise TypeError(f"{key!r} has entries that are not texts")
    return list(found)


def as_integer(key: str, value: Any, bits: int = 64) -> int | None:
    """Return the integer that Jackson reads, or None for null and a blank text. Raises `TypeError` naming `key`."""
    if isinstance(value, str):
        text = value.strip()
        if text in ("", "null"):
            return None
        value = int(text) if _INTEGER.fullmatch(text) else text
    return None if value is None else _whole(key, value, bits)


def as_text(key: str, value: Any) -> str | None:
    """Return the text that Jackson reads. For a number, it is the number's spelling in the file.

    Raises `TypeError` naming `key`.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value.text if isinstance(value, JsonFloat) else str(value)
    raise _mistyped(key, value, "a text")


def as_texts(key: str, value: Any) -> dict[str, str] | None:
    """Return the texts that Jackson reads from an object's values, without null values.

    Raises `TypeError` naming `key`.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _mistyped(key, value, "an object")
    texts = {name: as_text(f"{key}.{name}", v) for name, v in value.items()}
    return {name: text for name, text in texts.items() if text is not None}


def as_choice(key: str, value: Any, names: Sequence[str]) -> str | None:
    """Return the name that Jackson finds in an enumeration, by name or position. Raises `TypeError` naming `key`."""
    text = value.strip() if isinstance(value, str) else value
    if text is None or text in names:
        return text
    if isinstance(text, str) and _INTEGER.fullmatch(text):
        text = int(text)
    if not isinstance(text, int) or isinstance(text, bool) or not 0 <= text < len(names):
        raise _mistyped(key, value, f"one of {', '.join(names)}")
    return names[text]


def node_integer(node: Mapping[str, Any], key: str, bits: int = 32) -> int:
    """Return the integer of a member as Java reads it from a schema: 0 for null. Raises `TypeError` naming `key`."""
    value = _required(node, key)
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _NUMBER.fullmatch(text) else value
        value = int(text) if _INTEGER.fullmatch(text) else value
    return 0 if value is None else _whole(key, value, bits)


def node_text(node: Mapping[str, Any], key: str) -> str:
    """Return the text of a member as Java reads it from a schema. Raises `TypeError` naming `key`."""
    value = _required(node, key)
    text = _double_text(value) if isinstance(value, float) else as_text(key, value)
    if text is None:
        raise _mistyped(key, value, "a text")
    return text


def _required(node: Mapping[str, Any], key: str) -> Any:
    if key not in node:
        raise TypeError(f"there is no {key!r}")
    return node[key]


def _whole(key: str, value: Any, bits: int) -> int:
    """Return a number without its fraction. Raises `TypeError` if it needs more than `bits` bits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mistyped(key, value, "a number")
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):  # true for infinity, too
        raise _mistyped(key, value, f"a number of {bits} bits")
    return int(value)


def _mistyped(key: str, value: Any, kind: str) -> TypeError:
    return TypeError(f"{key!r} is {shortened(value)}, not {kind}")


def _double_text(value: float) -> str:
    """Return a number in the form of Java's `Double.toString`."""
    if not value or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(float(value))).as_tuple()
    if not isinstance(exponent, int):
        return repr(float(value))  # infinity
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    exponent += len(digits) - 1
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{exponent}"
