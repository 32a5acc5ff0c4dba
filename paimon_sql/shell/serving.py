"""`paimon-sql serve`: the options of its command line, and its run."""

from __future__ import annotations

import argparse
import faulthandler
import getpass
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from paimon_core.errors import PaimonError
from paimon_core.escapes import visible
from paimon_sql.server.passwords import set_password
from paimon_sql.server.rest.door import open_door, wait
from paimon_sql.server.rest.users import add_token
from paimon_sql.server.serve import serve, stop_driver
from paimon_sql.server.settings import ServerSettings, check, spark_settings
from paimon_sql.shell.arguments import WholeWords, add_catalog_options, add_submit_options, hand_to_spark_submit
from paimon_sql.shell.errors import describe
from paimon_sql.shell.opening import catalog_options, check_without_spark, open_session
from paimon_sql.shell.startup import quiet_start
from paimon_sql.spark.jvm.gateway import kill_jvm

KEYSTORE_PASSWORD = "PAIMON_SQL_KEYSTORE_PASSWORD"
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_ENDS = "-XX:+ExitOnOutOfMemoryError"  # otherwise a driver without free memory keeps running, but cannot serve
_GRACE = 30  # seconds after the time limit of the statements until the process ends in any case
_STDERR = 2  # the file descriptor: Python closes its own file while it shuts down
_LAST = 5.0  # further seconds until C code ends the process, in case Python can run no thread


def run_server(words: Sequence[str]) -> int:
    """Serve until SIGTERM or Ctrl-C. Return the exit status: 0, or 1 after an error or if statements were stopped."""
    parser = _parser()
    arguments = parser.parse_args(words)
    logging.disable()  # PySpark logs every refused statement with its text
    try:
        if arguments.add_user:
            return _add_user(arguments)
        if arguments.add_token:
            return _add_token(arguments)
        settings = _settings(arguments)
        check(settings)
        hand_to_spark_submit(arguments, os.environ)
        return _run(arguments, settings)
    except (PaimonError, OSError) as error:
        sys.stderr.write(f"error: {describe(error)}\n")
        return 1


def _run(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    stop = threading.Event()

    def ask_to_stop(*_: object) -> None:
        if not stop.is_set():
            stop.set()
            end_after(settings.drain + _GRACE)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    has_spark = settings.thrift is not None or settings.connect is not None
    if not has_spark:
        check_without_spark(arguments.conf, "paimon-sql serve --rest")
    with ExitStack() as doors:
        if settings.rest is not None:
            doors.enter_context(open_door(catalog_options(arguments, arguments.conf), settings, _say))
        if not has_spark:
            wait(settings, stop, _say)
            return 0
        session = server_session(arguments, settings)
        signal.signal(signal.SIGINT, ask_to_stop)  # PySpark has set a handler that cancels all statements
        try:
            return 0 if serve(session, settings, stop, _say) else 1
        finally:
            end_after(_GRACE)
            stop_driver(session)


def end_after(seconds: float) -> None:
    """End this process and its JVM after some seconds, in any case: otherwise a JVM that does not answer would keep
    both alive forever.

    A Python thread ends them. If it does not run, C code ends the process shortly afterwards: Python runs no thread
    while it shuts down, or while another thread holds its lock.
    """
    timer = threading.Timer(seconds, _end)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(seconds + _LAST, exit=True, file=_STDERR)


def _end() -> None:
    kill_jvm()
    os._exit(1)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paimon-sql serve",
        description="Serves Paimon's catalogs to clients: JDBC and ODBC (HiveServer2), Spark Connect, REST.",
        allow_abbrev=False,
        formatter_class=WholeWords,
    )
    add = made.add_argument
    add("--thrift", metavar="PORT", type=_port, help="HiveServer2, for beeline, PyHive, DBeaver, Superset, Tableau")
    add("--connect", metavar="PORT", type=_port, help="Spark Connect, for pyspark-client and notebooks elsewhere")
    add("--rest", metavar="PORT", type=_port, help="Paimon's REST API, for catalogs with metastore=rest; needs no Java")
    add("--health", metavar="PORT", type=_port, help="GET /health returns 200 while the server runs")
    add("--host", metavar="ADDRESS", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    add("--users", metavar="FILE", type=Path, help="--thrift requires a password from this file; see --add-user")
    add("--add-user", metavar="NAME", help="ask for a password, add it to the file of --users, and end")
    add("--ldap", metavar="URL", help="--thrift checks passwords by this LDAP server")
    add("--ldap-base", metavar="DN", help="entry of the LDAP server that contains the users")
    add("--tls-keystore", metavar="FILE", type=Path, help=f"TLS for --thrift; {KEYSTORE_PASSWORD} has the password")
    add("--token-file", metavar="FILE", type=Path, help="--connect requires the token in this file")
    add("--rest-tokens", metavar="FILE", type=Path, help="--rest requires a token from this file; see --add-token")
    add("--add-token", metavar="NAME", help="print a new token, add its hash to the file of --rest-tokens, and end")
    add("--tls-certificate", metavar="FILE", type=Path, help="TLS for --rest: the certificate chain, PEM")
    add("--tls-key", metavar="FILE", type=Path, help="TLS for --rest: the key, PEM")
    add("--insecure", action="store_true", help="listen beyond this machine without passwords or TLS")
    add(
        "--read-only",
        action="store_true",
        help="refuse statements that may write; with --add-token: for that user only",
    )
    add(
        "--session-statements",
        metavar="N",
        type=_count,
        default=0,
        help="most statements that a session runs at the same time",
    )
    add("--result-rows", metavar="N", type=_count, default=0, help="refuse results with more rows")
    add("--statement-timeout", metavar="SECONDS", type=_count, default=0, help="end statements that take longer")
    add(
        "--drain",
        metavar="SECONDS",
        type=int,
        default=30,
        help="how long to wait for statements at the end (default: 30)",
    )
    add_catalog_options(made)
    add_submit_options(made)
    return made


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _settings(arguments: argparse.Namespace) -> ServerSettings:
    token = arguments.token_file.read_text("utf-8").strip() if arguments.token_file else ""
    same = (
        "host",
        "thrift",
        "connect",
        "health",
        "rest",
        "rest_tokens",
        "tls_certificate",
        "tls_key",
        "users",
        "ldap",
        "ldap_base",
        "insecure",
        "read_only",
        "session_statements",
        "result_rows",
        "statement_timeout",
        "drain",
    )
    return ServerSettings(
        **{name: getattr(arguments, name) for name in same},
        keystore=arguments.tls_keystore,
        keystore_password=os.environ.get(KEYSTORE_PASSWORD, ""),
        token=token,
    )


def server_session(arguments: argparse.Namespace, settings: ServerSettings) -> Any:
    """Open the session of a server."""
    given = dict(arguments.conf)
    given[_JAVA_OPTIONS] = " ".join(filter(None, (given.get(_JAVA_OPTIONS), _ENDS)))
    warnings.filterwarnings("ignore", module="pyspark")
    with quiet_start():
        session = open_session(arguments, {**spark_settings(settings), **given})
    session.sparkContext.setLogLevel("OFF")
    return session


def _add_token(arguments: argparse.Namespace) -> int:
    if arguments.rest_tokens is None:
        sys.stderr.write("error: --add-token needs the token file: pass --rest-tokens FILE\n")
        return 2
    token = add_token(arguments.rest_tokens, arguments.add_token, read_only=arguments.read_only)
    sys.stdout.write(f"{token}\n")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {visible(line, '')}\n")


def _add_user(arguments: argparse.Namespace) -> int:
    if arguments.users is None:
        sys.stderr.write("error: --add-user needs the user file: pass --users FILE\n")
        return 2
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    set_password(arguments.users, arguments.add_user, password)
    return 0
