"""The differences between users' machines and sessions that tests do not vary: the machine's zone, the spelling of
settings.

A suite of VARIED runs in surroundings that depend on its name, the same in every run of a commit. A number in
PAIMON_SQL_SURROUNDINGS replaces the name; `make campaign NAME=surroundings` runs each number below COMBINATIONS. A test
of these suites that expects a zone must set it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zlib import crc32

SESSION_ZONE = "spark.sql.session.timeZone"
VARIABLE = "PAIMON_SQL_SURROUNDINGS"
# files of tests/spark, without their extension. test_upkeep is left out, because it stops jobs in time
VARIED: frozenset[str] = frozenset(
    (
        "test_analyze",
        "test_buckets",
        "test_changes",
        "test_create_like",
        "test_defaults",
        "test_differential",
        "test_filters",
        "test_format_tables",
        "test_if_exists",
        "test_migration",
        "test_moments",
        "test_overwrite_options",
        "test_paimon_statements",
        "test_schema_changes",
        "test_settings",
        "test_show_create",
        "test_variables",
        "test_versions",
        "test_views",
    )
)

MACHINES = ("Asia/Shanghai", "America/New_York", "UTC", "Asia/Kolkata", "America/Los_Angeles", "Europe/London")
SESSIONS = (None, "America/St_Johns", None, "+08:00", None, "PST")  # None: not set, so the machine's zone is used
LOCALES = ("tr-TR", "en-US", "de-DE")
UMASKS = (0o077, 0o022, 0o027)
WORKER_LOCALES = ("C", "C.UTF-8", "POSIX")
WORKER_UMASK = "PAIMON_SQL_TEST_UMASK"  # tests/support/spark_daemon.py applies it
# Spark's defaults, in another spelling
CAPITALS: Mapping[str, str] = MappingProxyType(
    {"spark.sql.caseSensitive": "FALSE", "spark.sql.sources.partitionOverwriteMode": "STATIC"}
)
COMBINATIONS = 6


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The zones of the machine and of the session, the locales of the JVM and of Python workers, their and the
    driver's umask.

    Also whether settings are in capitals, whether the path of the warehouse has a blank and a percent sign, and whether
    the working directory is read-only.
    """

    machine: str
    session: str | None
    locale: str
    umask: int
    worker_locale: str
    capitals: bool
    odd_path: bool
    fixed_folder: bool

    @classmethod
    def numbered(cls, number: int) -> Surroundings:
        """Return the surroundings of a number. The first COMBINATIONS numbers have every value of each difference."""
        return cls(
            machine=MACHINES[number % 6],
            session=SESSIONS[number % 6],
            locale=LOCALES[number % 3],
            umask=UMASKS[number % 3],
            worker_locale=WORKER_LOCALES[number % 3],
            capitals=number % 2 == 0,
            odd_path=number % 4 < 2,
            fixed_folder=number % 3 != 1,
        )

    @classmethod
    def of(cls, module: str) -> Surroundings | None:
        """Return the surroundings of a module of tests, None for a module that does not vary."""
        folder, _, suite = module.rpartition(".")
        if folder != "tests.spark" or suite not in VARIED:
            return None
        asked = os.environ.get(VARIABLE, "")
        return cls.numbered(int(asked) if asked else crc32(suite.encode()))

    def warehouse(self, folder: Path) -> Path:
        return folder / ("ware house%20" if self.odd_path else "warehouse")

    def enter(self, session: Any) -> None:
        """Apply the surroundings to a session."""
        session.conf.unset(SESSION_ZONE)
        for key, value in (CAPITALS if self.capitals else {}).items():
            session.conf.set(key, value)
        if self.session is not None:
            session.conf.set(SESSION_ZONE, self.session)

    @contextmanager
    def around(self, session: Any) -> Iterator[None]:
        """Apply the surroundings to this process, its JVM and its workers; `session` is any session of the process."""
        with ExitStack() as stack:
            stack.enter_context(machine_zone(session, self.machine))
            stack.enter_context(jvm_locale(session, self.locale))
            workers = {"LC_ALL": self.worker_locale, WORKER_UMASK: str(self.umask)}
            stack.enter_context(_entries(session.sparkContext.environment, workers))
            stack.callback(os.umask, os.umask(self.umask))
            if self.fixed_folder:
                stack.callback(os.chdir, Path.cwd())
                os.chdir("/proc/self")
            yield


@contextmanager
def machine_zone(session: Any, name: str) -> Iterator[None]:
    """Put this process, its JVM and the workers that it starts into a zone, as if the machine were there."""
    zones = session._jvm.java.util.TimeZone
    java_before = zones.getDefault()
    try:
        with _entries(os.environ, {"TZ": name}), _entries(session.sparkContext.environment, {"TZ": name}):
            time.tzset()
            zones.setDefault(zones.getTimeZone(name))
            yield
    finally:
        zones.setDefault(java_before)
        time.tzset()


@contextmanager
def jvm_locale(session: Any, name: str) -> Iterator[None]:
    locales = session._jvm.java.util.Locale
    before = locales.getDefault()
    locales.setDefault(locales.forLanguageTag(name))
    try:
        yield
    finally:
        locales.setDefault(before)


@contextmanager
def _entries(environment: Any, entries: Mapping[str, str]) -> Iterator[None]:
    """Add entries to an environment. Workers with another environment have another daemon."""
    before = {key: environment.get(key) for key in entries}
    environment.update(entries)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                environment.pop(key, None)
            else:
                environment[key] = value
