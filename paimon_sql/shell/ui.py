"""`paimon-sql ui`: pages over a catalog for the browser of one user, without Spark and without a JVM. `--spark` starts
Spark for queries in its SQL.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import paimon_sql
from paimon_core.errors import InvalidOptionError, PaimonError
from paimon_core.optional_packages import import_optional
from paimon_sql.shell.arguments import WholeWords, add_catalog_options, setting
from paimon_sql.shell.errors import describe
from paimon_sql.shell.opening import catalog_options, check_without_spark
from paimon_sql.shell.startup import quiet_start

if TYPE_CHECKING:
    from paimon_sql.server.ui.queries import Queries

_SETTINGS = {
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "256m",  # an answer has few rows, but they may be large
}
_GRACE = 30.0  # seconds for Spark to stop


def run_ui(words: Sequence[str], stop: threading.Event | None = None) -> int:
    """Serve pages until Ctrl-C or SIGTERM, or until `stop` is set. Return the exit status: 0, or 1 after an error."""
    arguments = _parser().parse_args(words)
    try:
        _serve(arguments, stop)
    except (PaimonError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _serve(arguments: argparse.Namespace, stop: threading.Event | None) -> None:
    for package in ("starlette", "uvicorn"):
        import_optional(package, "paimon-sql ui", "ui")
    from paimon_sql.server.rest.run import serving  # noqa: PLC0415  an extra
    from paimon_sql.server.ui.app import UiApp  # noqa: PLC0415  an extra
    from paimon_sql.server.ui.guard import Guard, is_loopback  # noqa: PLC0415  an extra

    host = arguments.host
    if not is_loopback(host) and not arguments.insecure:
        raise InvalidOptionError(
            f"Pages on {host} can be reached from other machines, and the token travels unencrypted: listen on "
            "127.0.0.1, and reach it by ssh -L. --insecure starts it anyway."
        )
    if not arguments.spark:
        check_without_spark(arguments.conf, "paimon-sql ui", ", or pass --spark")
    options = catalog_options(arguments, arguments.conf)
    with ExitStack() as opened:
        catalog = opened.enter_context(paimon_sql.open_catalog(**options, time_zone=arguments.time_zone))
        catalog.list_databases()  # errors of the catalog come before the address
        queries = opened.enter_context(_spark_queries(arguments, options)) if arguments.spark else None
        ended = _ended(arguments) if stop is None else stop
        names = frozenset() if is_loopback(host) else frozenset((host.lower(), socket.gethostname().lower()))
        guard = Guard(host, secrets.token_urlsafe(32), names)
        app = UiApp(catalog, guard, queries=queries)
        try:
            with serving(app, host, arguments.port, name="paimon-sql ui") as port:
                spelled = f"[{host}]" if ":" in host else host
                sys.stdout.write(f"http://{spelled}:{port}/?token={guard.token}\n")
                sys.stdout.flush()
                sys.stderr.write("Open this address in a browser. It is valid until Ctrl-C.\n")
                ended.wait()
        finally:
            app.close()


def _ended(arguments: argparse.Namespace) -> threading.Event:
    """Return an event that SIGTERM and Ctrl-C set. Call this after PySpark has started, because PySpark sets its own
    handler for Ctrl-C.
    """
    ended = threading.Event()

    def end(*_: object) -> None:
        if arguments.spark and not ended.is_set():
            from paimon_sql.shell.serving import end_after  # noqa: PLC0415  needs PySpark

            end_after(_GRACE)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return ended


@contextmanager
def _spark_queries(arguments: argparse.Namespace, options: Mapping[str, str]) -> Iterator[Queries]:
    """Start Spark with the catalog, and stop it at the end. Yield queries in sessions of it that only read."""
    settings = dict(_SETTINGS) | {key: value for key, value in arguments.conf if key.startswith("spark.")}
    if arguments.time_zone:
        settings["spark.sql.session.timeZone"] = arguments.time_zone
    warnings.filterwarnings("ignore", module="pyspark")
    with quiet_start():
        session = paimon_sql.connect(catalog=arguments.catalog or "paimon", **options, **settings)
        session.sparkContext.setLogLevel("OFF")
    from paimon_sql.server.serve import stop_driver  # noqa: PLC0415  needs PySpark
    from paimon_sql.server.ui.spark_queries import SparkQueries, quiet_refusals  # noqa: PLC0415  needs PySpark

    quiet_refusals()
    try:
        yield SparkQueries(session, describe)
    finally:
        stop_driver(session)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paimon-sql ui",
        description="Shows a catalog in the browser: databases, tables, their files, pictures, rows and advice. It "
        "only reads. It prints its address, which has a token.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    add = made.add_argument
    add_catalog_options(made)
    add("-c", "--conf", metavar="KEY=VALUE", action="append", default=[], type=setting,
        help="an option of the catalog; may be repeated")  # fmt: skip
    add("--spark", action="store_true",
        help="start Spark: queries are then in Spark's SQL; -c takes its settings, too (spark.*)")  # fmt: skip
    add("--time-zone", metavar="ZONE", help="zone of moments (default: this machine's)")
    add("--port", metavar="PORT", type=_port, default=0, help="port to listen on (default: any free one)")
    add("--host", metavar="ADDRESS", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    add("--insecure", action="store_true", help="listen beyond this machine; the token then travels unencrypted")
    return made


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
