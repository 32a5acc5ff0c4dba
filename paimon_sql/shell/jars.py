"""`paimon-sql jar` and `paimon-sql spark-options`: the jar and the settings for JVM programs with Paimon tables."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from paimon_core.errors import InvalidOptionError
from paimon_core.secrets import is_secret, without_secrets
from paimon_sql.java import find_java
from paimon_sql.shell.arguments import WholeWords, add_catalog_options, setting
from paimon_sql.shell.opening import catalog_options
from paimon_sql.shell.startup import quiet_start

DEFAULT_JAR = "paimon-sql-door.jar"
EXTENSIONS, CATALOG = "paimon_sql.Extensions", "paimon_sql.SparkCatalog"
GENERIC, SESSION_CATALOG = "paimon_sql.SparkGenericCatalog", "spark_catalog"
_MANIFEST = b"Manifest-Version: 1.0\r\nImplementation-Title: paimon-sql\r\n\r\n"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # of every entry: the same classes make the same file
_PLAIN = re.compile(r"[\w./:=,@%+~-]*")  # what the shell leaves alone in `$(…)`


def make_jar(words: Sequence[str]) -> int:
    """Write the jar, and return the exit status: 0, 1 after an error."""
    parser = argparse.ArgumentParser(
        prog="paimon-sql jar",
        description="Makes the jar with which spark-sql, spark-shell, spark-submit and Spark's servers use Paimon "
        "tables: the jar starts this Python. It fits every version of Spark from 4.0 on.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    parser.add_argument("--out", metavar="FILE", default=DEFAULT_JAR, help=f"the jar (default: {DEFAULT_JAR})")
    out = Path(parser.parse_args(words).out)
    try:
        content = jar_of(_compiled_classes())
        _replace(out, content)
    except Exception as error:
        sys.stderr.write(f"error: {out} could not be made: {error}\n")
        return 1
    sys.stdout.write(f"{out}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}\n")
    return 0


def _compiled_classes() -> Mapping[str, bytes]:
    find_java()
    with quiet_start():
        made: Mapping[str, bytes] = importlib.import_module("paimon_sql.spark.jvm.programs").door_classes()
    return made


def jar_of(classes: Mapping[str, bytes]) -> bytes:
    """Return a jar of classes by their names. The same classes give the same bytes on every machine."""
    entries = {"META-INF/MANIFEST.MF": _MANIFEST}
    entries |= {f"{name.replace('.', '/')}.class": classes[name] for name in sorted(classes)}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as jar:
        for path, content in entries.items():
            jar.writestr(zipfile.ZipInfo(path, _LONG_AGO), content)
    return made.getvalue()


def _replace(out: Path, content: bytes) -> None:
    """Replace a file at once: a program that starts meanwhile sees the old jar or the new one."""
    written = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        written.write_bytes(content)
        written.replace(out)
    finally:
        written.unlink(missing_ok=True)


def print_options(words: Sequence[str]) -> int:
    """Print the options of a catalog for Spark's commands, and return the exit status: 0, 1 after an error."""
    arguments = _options_parser().parse_args(words)
    try:
        settings = spark_settings(arguments)
        text = _as_properties(settings) if arguments.properties else _as_words(settings)
    except InvalidOptionError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def _options_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paimon-sql spark-options",
        description="Prints options for spark-sql, spark-shell, spark-submit and Spark's servers, with the jar of "
        'paimon-sql jar and a Paimon catalog: spark-sql $(paimon-sql spark-options -w /lake) -e "SHOW TABLES".',
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    add_catalog_options(made)
    help_ = "a setting of Spark (spark.*) or an option of the catalog; may be repeated"
    made.add_argument("-c", "--conf", metavar="KEY=VALUE", action="append", default=[], type=setting, help=help_)
    made.add_argument("--jar", metavar="FILE", default=DEFAULT_JAR, help=f"the jar (default: {DEFAULT_JAR})")
    made.add_argument("--properties", action="store_true", help="print lines for spark-defaults.conf")
    return made


def spark_settings(arguments: argparse.Namespace) -> dict[str, str]:
    """Return Spark's settings for a catalog of the command line. Raises `InvalidOptionError` without the jar."""
    jar = Path(arguments.jar).absolute()
    if not jar.is_file():
        raise InvalidOptionError(f"There is no jar {jar}. Make it by paimon-sql jar --out {arguments.jar}")
    name = arguments.catalog or "paimon"
    options = catalog_options(arguments, arguments.conf)
    warehouse = options.get("warehouse", "").strip()
    if warehouse and "://" not in warehouse and not warehouse.startswith("file:"):
        place = Path(warehouse)
        options["warehouse"] = str((place.expanduser() if place.parts[0] == "~" else place).absolute())
    given = {key: value for key, value in arguments.conf if key.startswith("spark.")}
    known = ",".join(filter(None, (given.pop("spark.sql.extensions", ""), EXTENSIONS)))
    prefix = f"spark.sql.catalog.{name}"
    made = {
        "spark.jars": ",".join(filter(None, (given.pop("spark.jars", ""), str(jar)))),
        "spark.sql.extensions": known,
        prefix: GENERIC if name == SESSION_CATALOG else CATALOG,
        **{f"{prefix}.{key}": value for key, value in options.items()},
        "spark.sql.defaultCatalog": name,
        "spark.pyspark.driver.python": sys.executable,
    }
    return made | given


def _as_words(settings: Mapping[str, str]) -> str:
    """Return settings as words of a command line. Raises `InvalidOptionError` for a secret, which other users of the
    machine would see there, and for a value that a shell changes."""
    for key, value in settings.items():
        if is_secret(key) or without_secrets(value) != value:
            raise InvalidOptionError(
                f"{key} contains a secret, which a command line would show: print lines for spark-defaults.conf by "
                "--properties, and give the file to Spark by --properties-file."
            )
        if not _PLAIN.fullmatch(value):
            raise InvalidOptionError(
                f"{key} cannot stand in a command line, as a shell changes {value!r}: print lines for "
                "spark-defaults.conf by --properties, and give the file to Spark by --properties-file."
            )
    return "".join(f"--conf {key}={value}\n" for key, value in settings.items())


def _as_properties(settings: Mapping[str, str]) -> str:
    """Return settings as lines of a file of properties of Java's."""
    return "".join(f"{_escaped(key, is_key=True)} {_escaped(value)}\n" for key, value in settings.items())


def _escaped(text: str, *, is_key: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if is_key:
        return re.sub(r"([ =:])", r"\\\1", text)
    return "\\" + text if text.startswith((" ", "=", ":")) else text
