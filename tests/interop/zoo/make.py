"""Make the tables anew: `python -m tests.interop.zoo.make [--compare] [WRITER-VERSION …]`, all of them without names.

With `--compare` the packages stay as they are, and it fails if a writer reads other rows of its new tables than before.
Maven brings the jars of Paimon's Java, and pip the packages of Python and Rust, each into an environment of its own in
`~/.cache/paimon-sql`. It takes minutes for each writer: a campaign, of which `made/` has the result.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.interop.zoo.fixtures import DATABASE, pack, read_by_writer
from tests.support.quick_jvm import QUICK_JVM

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]
_HADOOP = ("hadoop-client-api", "hadoop-client-runtime")
_HADOOP_VERSION = "3.3.6"
# of each version of Java, what Maven calls it
JAVA = {
    **{v: f"{v}-incubating" for v in ("0.4.0", "0.5.0", "0.6.0", "0.7.0")},
    **{v: v for v in ("0.8.2", "0.9.0", "1.0.1", "1.1.1", "1.2.0", "1.3.1")},
}
PYTHON = ("1.3.2", "1.4.2", "2.0.0", "2.1.0")
RUST = ("0.4.0",)
# versions whose tables of ORC and Avro add nothing to what the version before and the one after have
_ONE_FORMAT = ("java-1.0.1", "java-1.1.1", "java-1.2.0")


def writers() -> list[str]:
    """All writers, oldest Java first."""
    names = [f"java-{v}" for v in JAVA], [f"pypaimon-{v}" for v in PYTHON], [f"pypaimon-rust-{v}" for v in RUST]
    return [name for group in names for name in group]


def make(writer: str, folder: Path) -> Path:
    """Make the tables of a writer in an empty folder; the file with what it reads of them."""
    warehouse, read = folder / "warehouse", folder / "expected.json"
    _run(writer, folder, warehouse, read)
    if writer in _ONE_FORMAT:
        content = json.loads(read.read_text(encoding="utf-8"))
        content["tables"] = {k: v for k, v in content["tables"].items() if not k.endswith(("_orc", "_avro"))}
        read.write_text(json.dumps(content), encoding="utf-8")
    return read


def differences(writer: str, read: Path) -> list[str]:
    """The tables of a package that differ from those made anew: others, or with other rows."""
    new, kept = json.loads(read.read_text(encoding="utf-8"))["tables"], read_by_writer(writer)["tables"]
    return [
        f"{writer} {name}: {new.get(name)}, kept {kept.get(name)}"
        for name in sorted(new.keys() | kept.keys())
        if new.get(name) != kept.get(name)
    ]


def read_tables(writer: str, folder: Path, warehouse: Path) -> dict[str, Any]:
    """What a writer reads of each table in the database: the rows, or the text of its error."""
    found = folder / "found.json"
    _run(writer, folder, "--read", warehouse, found)
    read: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return read


def _run(writer: str, folder: Path, *arguments: str | Path) -> None:
    """Run the program of a writer; `folder` takes the classes of Java's."""
    kind, _, version = writer.rpartition("-")
    if kind == "java":
        _run_java(JAVA[version], folder, *arguments)
    else:
        program = "rust_tables" if kind == "pypaimon-rust" else "python_tables"
        command = [environment(kind, version), "-m", f"tests.interop.zoo.{program}", *arguments]
        subprocess.run(command, cwd=_ROOT, check=True)


def _run_java(version: str, folder: Path, *arguments: str | Path) -> None:
    jars = _jars(f"paimon-bundle-{version}", [f"org.apache.paimon:paimon-bundle:{version} *"])
    hadoop = _jars(f"hadoop-{_HADOOP_VERSION}", [f"org.apache.hadoop:{name}:{_HADOOP_VERSION}" for name in _HADOOP])
    classes = folder / "classes"
    subprocess.run(["javac", "-nowarn", "-cp", f"{jars}:{hadoop}", "-d", classes, _HERE / "Zoo.java"], check=True)
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.nio", "sun.nio.ch")]
    command = ["java", *QUICK_JVM.split(), *opened, "-Xmx512m", "-cp", f"{jars}:{hadoop}:{classes}", "Zoo", *arguments]
    subprocess.run(command, env={**os.environ, "TZ": "UTC"}, check=True)


def _jars(name: str, artifacts: Iterable[str]) -> str:
    """The class path of jars that Maven brings."""
    given = "".join(f"{artifact}\n" for artifact in artifacts)
    done = subprocess.run(
        [_ROOT / "scripts" / "jars", "-", name], input=given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def environment(package: str, version: str) -> Path:
    """The Python of an environment with a package."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "paimon-sql"
    python = cache / f"{package}-{version}" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        needed = (f"{package}=={version}", "pyarrow", "backports.zstd")  # pypaimon 1.4 does not declare the last one
        subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True)
    return python


def main() -> None:
    """Make the tables of the chosen writers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="keep the packages, and compare the rows")
    parser.add_argument("writers", nargs="*", metavar="WRITER-VERSION", help=", ".join(writers()))
    given = parser.parse_args()
    found = []
    for writer in given.writers or writers():
        with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
            read = make(writer, Path(folder))
            if given.compare:
                found += differences(writer, read)
                print(f"{writer}: {len(read_by_writer(writer)['tables'])} tables", flush=True)
            else:
                pack(writer, Path(folder) / "warehouse" / f"{DATABASE}.db", read)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
