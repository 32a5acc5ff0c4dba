"""The versions of a Python and its packages, and the problems if executors have other versions than the driver.

Executors may lack this package. So `versions_here` travels as code, and imports only modules of Python itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from paimon_core.dataclass import dataclass

_PACKAGE = "paimon_sql"
_SHARED = ("pyarrow", "numpy")  # tasks exchange objects of these
_UNKNOWN = "an unknown version"


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """A fact about the surroundings of Spark, why it matters, and what to do. `fails`: some statements will fail."""

    fact: str
    reason: str
    remedy: str
    fails: bool = True


@dataclass(frozen=True, slots=True)
class PythonVersions:
    """The Python of a process: its host and path, and the versions of Python and packages, None for a missing one."""

    host: str
    path: str
    python: str
    packages: tuple[tuple[str, str | None], ...]


def versions_here(_: Iterable[int] = ()) -> Iterator[tuple[str, str, str, tuple[tuple[str, str | None], ...]]]:
    """Yield the fields of the `PythonVersions` of this process."""
    # imports and names are in the function, which executors get without its module
    import importlib.metadata  # noqa: PLC0415
    import importlib.util  # noqa: PLC0415
    import platform  # noqa: PLC0415
    import sys  # noqa: PLC0415

    def version(module: str, *distributions: str) -> str | None:
        if importlib.util.find_spec(module) is None:
            return None
        for name in distributions:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
        return "an unknown version"

    packages = (
        ("paimon_sql", version("paimon_sql", "paimon-sql", "paimon-sql-core")),
        ("pyarrow", version("pyarrow", "pyarrow")),
        ("numpy", version("numpy", "numpy")),
    )
    yield platform.node(), sys.executable, platform.python_version(), packages


def compare_versions(driver: PythonVersions, workers: Sequence[PythonVersions]) -> list[SetupFinding]:
    """Return the findings about the versions of executors. Each finding names one executor of those with the same
    versions.
    """
    found = []
    own = dict(driver.packages)
    for worker in {(w.python, w.path, w.packages): w for w in workers}.values():
        where = f"the Python {worker.path!r} of executors, on host {worker.host!r} for one,"
        for name, version in worker.packages:
            reason = _reason(name, own.get(name), version)
            if reason is not None:
                here = own.get(name) or _UNKNOWN
                fact = (
                    f"{where} lacks {name}" if version is None else f"{where} has {name} {version}, the driver {here}"
                )
                found.append(SetupFinding(fact, reason, _remedy(name, own.get(name))))
    return found


def _reason(name: str, here: str | None, there: str | None) -> str | None:
    """Return why the versions of a package do not fit, None if they do."""
    if there is None:
        return "tasks that read, write and compact import it"
    if here in (None, _UNKNOWN) or there == _UNKNOWN or here == there:
        return None
    if name == _PACKAGE:
        return "the driver pickles tasks, and another version may fail to read them, or run them in another way"
    if name in _SHARED and here is not None and here.partition(".")[0] != there.partition(".")[0]:
        return "tasks exchange its objects with the driver, and another major version may not read them"
    return None


def _remedy(name: str, here: str | None) -> str:
    package = name.replace("_", "-")
    pinned = package if here in (None, _UNKNOWN) else f"{package}=={here}"
    return f"run pip install {pinned} for that Python, or set PYSPARK_PYTHON to one that has it"
