"""Make the tables anew: `python -m tests.interop.zoo.make [WRITER-VERSION …]`, all of them without arguments.

Maven brings the jars of Paimon's Java, and pip the packages of Python and Rust, each into an environment of its own in
`~/.cache/paimon-sql`. It takes minutes for each writer: a campaign, of which `made/` has the result.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.interop.zoo.fixtures import DATABASE, pack

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


def make(writer: str, folder: Path) -> None:
    """Make the tables of a writer in an empty folder, and pack them."""
    kind, _, version = writer.rpartition("-")
    warehouse, read = folder / "warehouse", folder / "expected.json"
    if kind == "java":
        _run_java(JAVA[version], folder, warehouse, read)
    else:
        maker = "rust_tables" if kind == "pypaimon-rust" else "python_tables"
        command = [environment(kind, version), "-m", f"tests.interop.zoo.{maker}", warehouse, read]
        subprocess.run(command, cwd=_ROOT, check=True)
    pack(writer, warehouse / f"{DATABASE}.db", read, one_format=writer in _ONE_FORMAT)


def _run_java(version: str, folder: Path, warehouse: Path, read: Path) -> None:
    jars = _jars(f"paimon-bundle-{version}", [f"org.apache.paimon:paimon-bundle:{version} *"])
    hadoop = _jars(f"hadoop-{_HADOOP_VERSION}", [f"org.apache.hadoop:{name}:{_HADOOP_VERSION}" for name in _HADOOP])
    classes = folder / "classes"
    subprocess.run(["javac", "-nowarn", "-cp", f"{jars}:{hadoop}", "-d", classes, _HERE / "Zoo.java"], check=True)
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.nio", "sun.nio.ch")]
    command = ["java", *opened, "-Xmx512m", "-cp", f"{jars}:{hadoop}:{classes}", "Zoo", warehouse, read]
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
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"{package}=={version}", "pyarrow"], check=True)
    return python


def main(chosen: list[str]) -> None:
    """Make the tables of the chosen writers."""
    for writer in chosen or writers():
        with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
            make(writer, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
