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
from paimon_sql.shell.prompt import make_reader, run_prompt
from paimon_sql.shell.render import FORMATS
from paimon_sql.shell.runner import FOR_PEOPLE, Options, Shell
from paimon_sql.shell.startup import quiet_start

_INTERRUPTED = 130


class Script(NamedTuple):
    text: str
    name: str  # empty where the text comes from the command line


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status: 0, 1 after an error, 2 for wrong arguments, 130 where the user stopped it."""
    arguments = _parser().parse_args(argv)
    shell = Shell(None, sys.stdout, sys.stderr, _options(arguments))
    try:
        scripts = _scripts(arguments)
        shell.session = _connect(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        shell.report(error)
        return 1
    try:
        return _run(shell, scripts, interactive=arguments.interactive or not scripts)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # nobody reads the output any more; keep Python from flushing into the closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        shell.session.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="paimon-sql",
        description="SQL on Apache Paimon tables. Without -e and -f: a prompt, or the script on standard input.",
    )
    add = parser.add_argument
    add("-w", "--warehouse", metavar="DIR", default="warehouse", help="where the tables are (default: ./warehouse)")
    add("-e", "--execute", metavar="SQL", action="append", default=[], help="run these statements; may be repeated")
    add("-f", "--file", metavar="FILE", help="run this script; - is standard input")
    setting_help = "a setting of Spark (spark.*) or an option of the catalog; may be repeated"
    add("-c", "--conf", metavar="KEY=VALUE", action="append", default=[], type=_setting, help=setting_help)
    add("--catalog", default="paimon", help="name of the catalog (default: paimon)")
    add("--metastore", default="filesystem", help="where the catalog keeps its tables' names (default: filesystem)")
    add("--uri", help="where the metastore is, such as jdbc:postgresql://host/database")
    add("--database", metavar="NAME", help="current database at the start")
    add("--output", choices=list(FORMATS), default="table", help="how results are printed (default: table)")
    add("--max-rows", metavar="N", type=int, help="print N rows per result, 0: all (default: 1000; csv and json: all)")
    add("-S", "--quiet", action="store_true", help="do not print the comments and statements of a script")
    add("-i", "--interactive", action="store_true", help="a prompt after -e and -f")
    add("--debug", action="store_true", help="whole stack traces, and Spark's log")
    return parser


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _options(arguments: argparse.Namespace) -> Options:
    max_rows = arguments.max_rows
    if max_rows is None:
        max_rows = Options.max_rows if arguments.output in FOR_PEOPLE else 0
    return Options(output=arguments.output, max_rows=max_rows, echo=not arguments.quiet, debug=arguments.debug)


def _scripts(arguments: argparse.Namespace) -> list[Script]:
    scripts = [Script(text, "") for text in arguments.execute]
    if arguments.file and arguments.file != "-":
        scripts.append(Script(Path(arguments.file).read_text(encoding="utf-8"), arguments.file))
    elif arguments.file or not (scripts or arguments.interactive or sys.stdin.isatty()):
        scripts.append(Script(sys.stdin.read(), "stdin"))
    return scripts


def _connect(arguments: argparse.Namespace) -> Any:
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    settings.update(arguments.conf)
    if not arguments.debug:
        warnings.filterwarnings("ignore", module="pyspark")
        logging.disable()  # PySpark logs every refused statement, Py4J every interrupted one
    with nullcontext() if arguments.debug else quiet_start():
        if arguments.uri is not None:
            settings["uri"] = arguments.uri
        session = paimon_sql.connect(
            warehouse=arguments.warehouse, catalog=arguments.catalog, metastore=arguments.metastore, **settings
        )
    session.sparkContext.setLogLevel("WARN" if arguments.debug else "OFF")
    if arguments.database:
        session.sql(f"USE {quoted_name(arguments.database)}")
    return session


def _run(shell: Shell, scripts: Sequence[Script], interactive: bool) -> int:
    status = 0
    for script in scripts:
        status = shell.run_script(script.text, script.name)
        if status:
            break
    return run_prompt(shell, make_reader(shell.session)) if interactive else status
