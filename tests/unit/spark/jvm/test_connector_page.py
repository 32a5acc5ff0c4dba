"""docs/spark-connector.md names every public interface of Spark's connector API; the used ones are in the code."""

from __future__ import annotations

import re
import struct
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from paimon_sql.spark.gaps import VERSIONS, minor

ROOT = Path(__file__).parents[4]
API = "org/apache/spark/sql/connector/"
# bytes of the entries of a class file's constant pool by tag, but for texts (tag 1)
ENTRY = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
PUBLIC, INTERFACE, ANNOTATION = 0x0001, 0x0200, 0x2000


def access_flags(content: bytes) -> int:
    """The access flags of a class file (JVM specification, 4.1)."""
    (count,) = struct.unpack_from(">H", content, 8)
    place, index = 10, 1
    while index < count:
        tag = content[place]
        place += 3 + struct.unpack_from(">H", content, place + 1)[0] if tag == 1 else ENTRY[tag]
        index += 2 if tag in (5, 6) else 1
    return int(struct.unpack_from(">H", content, place)[0])


def interfaces() -> set[str]:
    """The public interfaces of the API in the jars of PySpark, by their names below the package."""
    found = set()
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    for jar in Path(spec.origin).parent.glob("jars/spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith(API) and name.endswith(".class") and "$" not in name:
                    flags = access_flags(archive.read(name))
                    if flags & PUBLIC and flags & INTERFACE and not flags & ANNOTATION:
                        found.add(name.removeprefix(API).removesuffix(".class"))
    return found


def sections() -> dict[str, set[str]]:
    """The interfaces of each section of the page."""
    found: dict[str, set[str]] = {}
    for part in (ROOT / "docs" / "spark-connector.md").read_text("utf-8").split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        names = found.setdefault(title, set())
        for row in re.findall(r"^\| (`.*) \| (.*) \|$", body, re.MULTILINE):
            first, second = (re.findall(r"`([\w/]+)`", cell) for cell in row)
            names |= set(first) if title == "Not used" else {f"{first[0]}/{name}" for name in second}
    return found


@pytest.mark.skipif(minor(version("pyspark")) != VERSIONS[-1], reason="the page is of the newest Spark")
def test_every_interface_is_listed_once() -> None:
    listed = [name for names in sections().values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) == interfaces()


def test_the_code_names_what_is_used_and_nothing_else() -> None:
    bridge = ROOT / "paimon_sql" / "spark"
    files = [*bridge.rglob("*.py"), *bridge.rglob("*.java")]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}
    assert {name for names in sections().values() for name in names if name.rsplit("/")[-1] in words} == sections()[
        "Used"
    ]
