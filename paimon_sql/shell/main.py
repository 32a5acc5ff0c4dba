"""The command `paimon-sql`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import paimon_sql
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.shell.arguments import FileGiven, hand_to_spark_submit, parser
from paimon_sql.shell.jars import make_jar, print_options
from paimon_sql.shell.opening import open_session
from paimon_sql.shell.pipelines import run_pipelines
from paimon_sql.shell.programs import run_program
from paimon_sql.shell.prompt import make_reader, run_prompt
from paimon_sql.shell.runner import BYTE_ORDER_MARK, FOR_PEOPLE, Options, Shell, read_script, script_text
from paimon_sql.shell.serving import run_server
from paimon_sql.shell.startup import quiet_start

QUICKSTART = Path(__file__).with_name("quickstart.sql")
_INTERRUPTED = 130
_COMMANDS = {
    "run": run_program,
    "serve": run_server,
    "pipelines": run_pipelines,
    "jar": make_jar,
    "spark-options": print_options,
}


class GivenScript(NamedTuple):
    text: str
    name: str  # empty if the text is from the command line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status: 0, 1 after an error, 2 for wrong arguments, 130 if stopped."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] and words[0] in _COMMANDS:
        return _COMMANDS[words[0]](words[1:])
    if words == ["doctor"]:
        return _doctor()
    quickstart = words[:1] == ["quickstart"]
    arguments = parser().parse_args(words[1:] if quickstart else words)
    if quickstart:
        arguments.scripts.insert(0, FileGiven(str(QUICKSTART)))
    shell = Shell(None, sys.stdout, sys.stderr, _options(arguments))
    try:
        first = [_script(path) for path in arguments.init]
        scripts = _scripts(arguments)
        hand_to_spark_submit(arguments, os.environ)
        shell.session = _connect(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        shell.report(error)
        return 1
    try:
        return _run(shell, [*first, *scripts], interactive=arguments.interactive or not scripts)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of the output has gone; keep Python from flushing into the closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        shell.session.stop()


def _doctor() -> int:
    """Print the Spark internals that this package uses, and problems with Java and with the Python of executors. Return
    the exit status, 1 if statements need something that is missing.
    """
    try:
        with quiet_start():
            found = paimon_sql.doctor()
    except Exception as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{found}\n")
    return 0 if found.is_sound else 1


def _options(arguments: argparse.Namespace) -> Options:
    max_rows = arguments.max_rows
    if max_rows is None:
        max_rows = Options.max_rows if arguments.output in FOR_PEOPLE else 0
    return Options(
        output=arguments.output,
        max_rows=max_rows,
        echo=not arguments.silent,
        verbose=arguments.verbose,
        debug=arguments.debug,
        pages=not arguments.no_pager,
    )


def _scripts(arguments: argparse.Namespace) -> list[GivenScript]:
    """Return the statements of `-e` and the scripts of `-f`, in the order of the command line."""
    scripts = [
        _script(given.path) if isinstance(given, FileGiven) else GivenScript(given.text, "")
        for given in arguments.scripts
    ]
    if not (scripts or arguments.interactive or sys.stdin.isatty()):
        scripts.append(_script("-"))
    return scripts


def _script(path: str) -> GivenScript:
    """Return a script by its path; `-` is standard input."""
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)  # missing if a program has replaced the stream
        text = script_text(stream.read(), "stdin") if stream else sys.stdin.read().removeprefix(BYTE_ORDER_MARK)
        return GivenScript(text, "stdin")
    return GivenScript(read_script(path), path)


def _connect(arguments: argparse.Namespace) -> Any:
    settings = {"spark.ui.showConsoleProgress": "false"}  # the shell draws its own
    if not (arguments.master or arguments.properties_file):  # the shell uses only this machine
        settings["spark.ui.enabled"] = "false"
    settings.update(arguments.conf)
    if not arguments.debug:
        warnings.filterwarnings("ignore", module="pyspark")
        logging.disable()  # PySpark logs every refused statement, Py4J every interrupted one
    with nullcontext() if arguments.debug else quiet_start():
        session = open_session(arguments, settings)
    session.sparkContext.setLogLevel("WARN" if arguments.debug else "OFF")
    for key, value in (*arguments.hiveconf, *arguments.define):
        session.conf.set(key, value)
    if arguments.database:
        session.sql(f"USE {quoted_name(arguments.database)}")
    return session


def _run(shell: Shell, scripts: Sequence[GivenScript], interactive: bool) -> int:
    status = 0
    for script in scripts:
        status = shell.run_script(script.text, script.name)
        if status or shell.is_left:
            break
    interactive = interactive and not shell.is_left
    return run_prompt(shell, make_reader(shell.session)) if interactive else status
