"""The options of `paimon-sql`: options of `spark-sql` and `spark-submit` under their own names, and further options."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import MutableMapping, Sequence
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_sql.shell.render import FORMATS

# options of spark-submit that work for a program in this process, as Spark spells them
SUBMIT_OPTIONS = (
    "--master", "--deploy-mode", "--name", "--properties-file", "--jars", "--packages", "--exclude-packages",
    "--repositories", "--py-files", "--files", "--archives", "--driver-memory", "--driver-java-options",
    "--driver-library-path", "--driver-class-path", "--driver-cores", "--executor-memory", "--executor-cores",
    "--total-executor-cores", "--num-executors", "--queue", "--principal", "--keytab", "--proxy-user",
)  # fmt: skip
SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"  # arguments that PySpark passes to spark-submit, which starts its JVM
_GATEWAY = "PYSPARK_GATEWAY_PORT"  # set if spark-submit has started the JVM and this process


_SCRIPT = "run this script; - is standard input"


@dataclass(frozen=True, slots=True)
class StatementsGiven:
    """The statements of one `-e`."""

    text: str


@dataclass(frozen=True, slots=True)
class FileGiven:
    """The path of one `-f`; `-` is standard input."""

    path: str


class WholeWords(argparse.HelpFormatter):
    """A formatter of help that does not break lines inside of a word: argparse breaks `--driver-memory`
    after a hyphen.
    """

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False, break_long_words=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = self._split_lines(text, width - len(indent))
        return "\n".join(indent + line for line in lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the shell; `warehouse`, `catalog`, `metastore` and `uri` default to None."""
    made = argparse.ArgumentParser(
        prog="paimon-sql",
        description="SQL on Apache Paimon tables. Without -e and -f: a prompt, or a script from standard input.",
        epilog="paimon-sql quickstart: a script that shows what Paimon tables can do. "
        "paimon-sql run JOB.py: any program, with Paimon's catalogs in the program's Spark sessions. "
        "paimon-sql serve: a server for JDBC and Spark Connect. "
        "paimon-sql pipelines: Spark's declarative pipelines. paimon-sql doctor: a check of this Spark. "
        "paimon-sql jar, paimon-sql spark-options: for spark-sql, spark-shell and JVM programs. "
        "paimon-sql head, schema, count, inspect, query, call, picture, ui, doctor TABLE: without Spark.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    add = made.add_argument
    add_catalog_options(made)
    add("-H", action="help", help=argparse.SUPPRESS)  # as in spark-sql
    add("--version", action="version", version=f"paimon-sql {_version('paimon-sql')}, PySpark {_version('pyspark')}")
    add("--database", metavar="NAME", help="current database at the start")
    execute, in_order = "run these statements; may be repeated", "may be repeated; -e and -f run in the order given"
    both = partial(add, dest="scripts", action="append", default=[])
    both("-e", "--execute", metavar="SQL", type=StatementsGiven, help=execute)
    both("-f", "--file", metavar="FILE", type=FileGiven, help=f"{_SCRIPT}; {in_order}")
    add("-i", "--init", metavar="FILE", action="append", default=[], help="a script to run first; may be repeated")
    add("--interactive", action="store_true", help="open a prompt after -e and -f")
    add("--output", choices=list(FORMATS), default="table", help="how results are printed (default: table)")
    add("--max-rows", metavar="N", type=int, help="print N rows per result, 0: all (default: 1000; csv and json: all)")
    add(
        "--no-pager",
        action="store_true",
        help="at the prompt, print results that do not fit the screen without a pager",
    )
    add("-S", "--silent", "--quiet", action="store_true", help="do not print the comments and statements of a script")
    add("-v", "--verbose", action="store_true", help="print the statements of -e, too")
    add("--debug", action="store_true", help="print whole stack traces, and Spark's log")
    variable = "a variable that statements use as ${KEY}; may be repeated"
    names = ("-d", "-D", "--define", "--hivevar")  # Hive has -d, Spark --define, and Java's users type -D
    add(*names, metavar="KEY=VALUE", action="append", default=[], type=setting, help=variable)
    add("--hiveconf", metavar="KEY=VALUE", action="append", default=[], type=setting, help="a setting of the session")
    add_submit_options(made)
    return made


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  commands on tables need none of it

    try:
        return version(package)
    except PackageNotFoundError:  # without its metadata, for example in an archive on the path of a cluster
        return "of an unknown version"


def add_catalog_options(made: argparse.ArgumentParser) -> None:
    """Add `warehouse`, `catalog`, `metastore` and `uri`, which default to None."""
    made.add_argument("-w", "--warehouse", metavar="DIR", help="folder of the tables (default: ./warehouse)")
    made.add_argument("--catalog", help="name of the catalog (default: paimon)")
    made.add_argument(
        "--metastore", help="kind of the catalog: where it keeps the names of tables (default: filesystem)"
    )
    made.add_argument(
        "--uri", help="address of the metastore: jdbc:postgresql://host/database, thrift://host:9083, https://host"
    )


def add_submit_options(made: argparse.ArgumentParser) -> None:
    """Add the options of spark-submit, and `-c`."""
    help_ = "a setting of Spark (spark.*) or, for the shell, an option of the catalog; may be repeated"
    made.add_argument("-c", "--conf", metavar="KEY=VALUE", action="append", default=[], type=setting, help=help_)
    group = made.add_argument_group("options of spark-submit")
    for name in SUBMIT_OPTIONS:
        group.add_argument(name, metavar=name.rpartition("-")[2].upper(), help=argparse.SUPPRESS)
    group.description = " ".join(SUBMIT_OPTIONS)


def setting(text: str) -> tuple[str, str]:
    """Parse KEY=VALUE. Raises `argparse.ArgumentTypeError`."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def hand_to_spark_submit(
    arguments: argparse.Namespace, environment: MutableMapping[str, str], settings: Sequence[tuple[str, str]] = ()
) -> None:
    """Make PySpark start its JVM with the given options of spark-submit and with settings.

    Raises `InvalidOptionError` for options that cannot have an effect: another deploy mode than `client`, settings that
    are not Spark's, and any option if the program already runs under spark-submit.
    """
    values = ((name, getattr(arguments, name[2:].replace("-", "_"))) for name in SUBMIT_OPTIONS)
    given = [(name, value) for name, value in values if value is not None]
    if dict(given).get("--deploy-mode", "client") != "client":
        raise InvalidOptionError(
            "--deploy-mode can only be 'client': the driver is this process. To run a script in a cluster's driver, "
            "hand a Python job that calls paimon_sql.connect() to spark-submit."
        )
    if others := [key for key, _ in settings if not key.startswith("spark.")]:
        raise InvalidOptionError(f"Only settings of Spark (spark.*) can be given here, not {', '.join(others)}.")
    given += [("--conf", f"{key}={value}") for key, value in settings]
    if given and _GATEWAY in environment:
        names = ", ".join(dict(given))
        raise InvalidOptionError(f"Under spark-submit, give {names} to spark-submit: Spark runs already.")
    if given:
        before = shlex.split(environment.get(SUBMIT_ARGS, "pyspark-shell"))
        environment[SUBMIT_ARGS] = shlex.join([text for pair in given for text in pair] + before)
