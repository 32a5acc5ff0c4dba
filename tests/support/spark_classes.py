"""The classes in the jars of PySpark, and their subclasses: read from class files, without a JVM."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pyspark

JARS = Path(pyspark.__file__).parent / "jars"
_INTERFACE_OR_ABSTRACT = 0x0200 | 0x0400
_NUMBERS = {3: ">i", 7: ">H"}  # an integer, the name of a class
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


def subclasses(base: str, jars: Iterable[str]) -> set[str]:
    """Return the concrete classes that extend a class or an interface, by full names."""
    parents, concrete = _parents(tuple(sorted(jars)))
    found = {base}
    while more := {name for name, above in parents.items() if name not in found and not found.isdisjoint(above)}:
        found |= more
    return {name for name in found if name in concrete}


@cache
def _parents(jars: tuple[str, ...]) -> tuple[Mapping[str, tuple[str, ...]], frozenset[str]]:
    parents: dict[str, tuple[str, ...]] = {}
    concrete = set()
    for jar in jars:
        for code in _class_files(jar):
            flags, name, above = _header(code)
            parents[name] = above
            if not flags & _INTERFACE_OR_ABSTRACT:
                concrete.add(name)
    return parents, frozenset(concrete)


def _class_files(jar: str) -> Iterator[bytes]:
    for path in sorted(JARS.glob(f"{jar}_*.jar")):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.startswith("org/apache/spark/sql/") and entry.endswith(".class") and "$anon" not in entry:
                    yield archive.read(entry)


def constants(code: bytes) -> tuple[dict[int, bytes | int], int]:
    """Return the texts, integers and numbers of names among the constants of a class file, and their end."""
    pool: dict[int, bytes | int] = {}
    (count,) = struct.unpack_from(">H", code, 8)
    at, index = 10, 1
    while index < count:
        tag = code[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", code, at + 1)
            pool[index] = code[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            if tag in _NUMBERS:
                (pool[index],) = struct.unpack_from(_NUMBERS[tag], code, at + 1)
            at += 1 + _WIDTHS[tag]
        index += 2 if tag in (5, 6) else 1
    return pool, at


def _header(code: bytes) -> tuple[int, str, tuple[str, ...]]:
    """Return the flags, the name and the direct parents in a class file."""
    pool, at = constants(code)
    flags, this, above, interfaces = struct.unpack_from(">HHHH", code, at)
    names = [above, *struct.unpack_from(f">{interfaces}H", code, at + 8)]

    def full(number: int) -> str:
        text = pool[int(pool[number])]
        assert isinstance(text, bytes)
        return text.decode().replace("/", ".")

    return flags, full(this), tuple(full(n) for n in names if n)
