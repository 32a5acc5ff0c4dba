"""`paimon-sql run`: runs any program, and its Spark sessions can use the configured catalogs.

The program starts with the folder `paimon_sql/autoload` at the front of `PYTHONPATH`. Python runs the
`sitecustomize.py` of that folder before the program, and in every Python process that the program starts. It makes
`SparkSession.builder.getOrCreate()` install each session that it returns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from paimon_core.errors import InvalidOptionError
from paimon_sql.shell.arguments import WholeWords, add_submit_options, hand_to_spark_submit

AUTOLOAD = Path(__file__).parents[1] / "autoload"


def run_program(words: Sequence[str]) -> int:
    """Run a program with its arguments, and return its exit status; 2 if it cannot be started."""
    parser = _parser()
    arguments = parser.parse_args(words)
    if not arguments.program:
        parser.error("name the program to run")
    try:
        environment = _environment(arguments, os.environ)
    except InvalidOptionError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    program, *rest = arguments.program
    if program.lower().endswith(".sql"):
        sys.stderr.write(f"error: {program} is a script in SQL, not a program: run it by paimon-sql -f {program}\n")
        return 2
    python = [sys.executable] if program.endswith(".py") else []
    try:
        return subprocess.run([*python, program, *rest], env=environment, check=False).returncode
    except OSError as error:
        sys.stderr.write(f"error: {program} cannot be run: {error.strerror}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paimon-sql run",
        description="Runs a program. Its Spark sessions can use the Paimon catalogs of Spark's settings.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    add_submit_options(made)
    made.add_argument("program", nargs=argparse.REMAINDER, help="JOB.py or a command, and its arguments")
    return made


def _environment(arguments: argparse.Namespace, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the program. Raises `InvalidOptionError`."""
    made = dict(environment)
    hand_to_spark_submit(arguments, made, arguments.conf)
    made["PYTHONPATH"] = os.pathsep.join(filter(None, (str(AUTOLOAD), environment.get("PYTHONPATH"))))
    made.setdefault("PYSPARK_PYTHON", sys.executable)
    return made
