"""Fifteen kinds of secrets on fifteen surfaces: none is shown anywhere.

Each secret is an option of one catalog, and of a table whose schema another engine wrote; then every surface is asked
once for its text. A cell is a kind and a surface. Statements with a secret are run last: that Spark keeps their text
and shows it in its UI, SECURITY.md says. What Spark writes into its event log is in tests/spark/test_secrets.py.
"""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import FileHistory
from pyspark.errors.exceptions.base import PySparkException

import paimon_sql
from paimon_core.errors import CorruptFileError, PaimonError, StorageError
from paimon_core.io.file_io import storage_error
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from paimon_sql.server.serve import StatementLog
from paimon_sql.shell.terminal import StatementHistory
from paimon_sql.spark.jvm.servers import EndedStatement

pytestmark = pytest.mark.spark

# a kind's option, and its value but for the secret
KINDS = {
    "access key of S3": ("s3.access-key", "{}"),
    "secret key of S3": ("s3.secret-key", "{}"),
    "session token of S3": ("s3.session-token", "{}"),
    "secret key of Hadoop's S3A": ("fs.s3a.secret.key", "{}"),
    "secret of OSS": ("fs.oss.accessKeySecret", "{}"),
    "account key of Azure": ("fs.azure.account.key.lake.dfs.core.windows.net", "{}"),
    "SAS token of Azure": ("fs.azure.sas.container.lake", "sv=2024&sig={}"),
    "password of a database": ("jdbc.password", "{}"),
    "password in an address": ("uri", "jdbc:postgresql://ann:{}@host/db"),
    "token of a REST catalog": ("token", "{}"),
    "secret of DLF": ("dlf.access-key-secret", "{}"),
    "password of a Hive metastore": ("javax.jdo.option.ConnectionPassword", "{}"),
    "bearer of a header": ("header.Authorization", "Bearer {}"),
    "password of a warehouse's user": ("password", "{}"),
    "key in an address": ("endpoint", "https://host/p?sig={}&x=1"),
}
SECRETS = {kind: f"Canary{i:02}xQ7" for i, kind in enumerate(KINDS)}
OPTIONS = {key: text.format(SECRETS[kind]) for kind, (key, text) in KINDS.items()}
Surface = Callable[["Place"], str]


class Place:
    """A session with a catalog that has all secrets, and a table in whose schema they are."""

    def __init__(self, session: Any, folder: Path, log: list[str]) -> None:
        self.session, self.folder, self.log = session, folder, log
        self.warehouse = str(folder / "warehouse")
        session.conf.set("spark.sql.catalog.guarded", "paimon_sql.SparkCatalog")
        session.conf.set("spark.sql.catalog.guarded.warehouse", self.warehouse)
        for key, value in OPTIONS.items():
            session.conf.set(f"spark.sql.catalog.guarded.{key}", value)
        paimon_sql.install(session)
        session.sql("USE guarded.default")
        session.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        (path,) = Path(self.warehouse).glob("*/t/schema/schema-0")
        schema = json.loads(path.read_bytes())
        schema["options"] |= OPTIONS
        path.write_text(json.dumps(schema), encoding="utf-8")

    def rows(self, *queries: str) -> str:
        return "\n".join(str(row) for q in queries for row in self.session.sql(q).collect())

    def refused(self, *statements: str) -> str:
        """What is said of statements that fail."""
        said = []
        for statement in statements:
            try:
                self.session.sql(statement).collect()
            except (PySparkException, PaimonError) as error:
                said.append(f"{error} {error!r}")
        return "\n".join(said)


def errors(place: Place) -> str:
    addresses = [f"https://ann:{s}@host/p?token={s}" for s in SECRETS.values()]
    raised = [CorruptFileError(a, "it is") for a in addresses] + [
        StorageError(str(storage_error("read", a, "no"))) for a in addresses
    ]
    said = place.refused(
        "SELECT * FROM missing",
        "SELECT nothing FROM t",
        *(
            f"CREATE TABLE u (k INT) TBLPROPERTIES ('{k}' = '{v}')"
            for k, v in OPTIONS.items()
            if k not in ("uri", "endpoint")
        ),
        *(
            f"ALTER TABLE t SET TBLPROPERTIES ('{k}' = '{v}')"
            for k, v in OPTIONS.items()
            if k not in ("uri", "endpoint")
        ),
        *(f"CREATE TABLE u (k INT) LOCATION '{a}'" for a in addresses),
    )
    return said + "\n".join(f"{e} {e!r}" for e in raised)


def texts_of_objects(place: Place) -> str:
    catalog = load_catalog({"warehouse": place.warehouse, **OPTIONS})
    table = catalog.load_table(Identifier("default", "t"))
    found = [catalog, table, getattr(table, "store", None), getattr(catalog, "io", None), place.session]
    return "\n".join(f"{o!r} {o}" for o in found) + f"{table.schema.options.keys()}"


def plans(place: Place) -> str:
    frame = place.session.sql("SELECT v, count(*) FROM t WHERE k > 0 GROUP BY v")
    return frame._jdf.queryExecution().toString() + place.rows(
        "EXPLAIN EXTENDED SELECT * FROM t", "EXPLAIN FORMATTED SELECT * FROM t"
    )


def pages(place: Place) -> str:
    """What the UI shows: settings, statements and their plans."""
    context = place.session._sc._jsc.sc()
    settings = context.statusStore().environmentInfo().toString()
    executions = place.session._jsparkSession.sharedState().statusStore().executionsList()
    shown = [executions.apply(i) for i in range(executions.size())][-30:]
    return "\n".join([settings, *(f"{e.description()} {e.details()} {e.physicalPlanDescription()}" for e in shown)])


def calls() -> list[str]:
    """Statements with passwords that no option's name stands before."""
    password = SECRETS["password of a warehouse's user"]
    return [
        f"CALL sys.init_file_based_privilege('{password}')",
        f'CALL paimon.sys.create_privileged_user("ann", "{password}")',
    ]


def statement_log(place: Place) -> str:
    statements = [f"CREATE CATALOG c WITH ('{k}' = '{v}')" for k, v in OPTIONS.items()]
    statements += [f"SET spark.sql.catalog.c.{k} = {v}" for k, v in OPTIONS.items()]
    statements += calls()
    ended = [EndedStatement("thrift", str(i), "ann", s, 1, "FINISHED") for i, s in enumerate(statements)]
    return "\n".join(StatementLog().new_lines(ended, lambda _: None))


def history(place: Place) -> str:
    path = place.folder / "history"
    kept: FileHistory = StatementHistory(str(path))
    for key, value in OPTIONS.items():
        kept.store_string(f"CREATE CATALOG c WITH ('{key}' = '{value}')")
    for statement in calls():
        kept.store_string(statement)
    kept.store_string("SELECT 'what is kept'")
    return path.read_text()


def command_lines(place: Place) -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


SURFACES: dict[str, tuple[Surface, str]] = {  # its text, and what has to be in it, for it to be one
    "logs": (lambda place: "\n".join(place.log), "paimon"),
    "SHOW CREATE TABLE": (lambda place: place.rows("SHOW CREATE TABLE t"), "s3.secret-key"),
    "DESCRIBE EXTENDED": (
        lambda place: place.rows("DESCRIBE EXTENDED t", "DESCRIBE DATABASE EXTENDED default"),
        "s3.secret-key",
    ),
    "SHOW TBLPROPERTIES": (lambda place: place.rows("SHOW TBLPROPERTIES t"), "s3.secret-key"),
    "catalogs": (lambda place: place.rows("SHOW CATALOGS", "SELECT * FROM sys.catalog_options"), "guarded"),
    "$options and $schemas": (
        lambda place: place.rows(
            "SELECT * FROM `t$options`", "SELECT * FROM `t$schemas`", "SELECT * FROM sys.all_table_options"
        ),
        "s3.secret-key",
    ),
    "EXPLAIN and plans": (plans, "Physical Plan"),
    "SET": (lambda place: place.rows("SET", "SET -v"), "spark.sql.catalog.guarded.s3.secret-key"),
    "Spark's UI": (pages, "Physical Plan"),
    "doctor": (lambda place: f"{paimon_sql.doctor(place.session)} {paimon_sql.doctor(place.session)!r}", "Spark"),
    "texts of objects": (texts_of_objects, "s3.secret-key"),
    "command lines": (command_lines, "java"),
    "statement log of a server": (statement_log, "CREATE CATALOG c WITH"),
    "history of the prompt": (history, "what is kept"),
    "errors": (errors, "missing"),
}


@pytest.fixture(scope="module")
def texts(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What each surface shows."""
    log: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log.append(f"{record.name} {self.format(record)}")

    ours, handler = [logging.getLogger(n) for n in ("paimon_core", "paimon_sql")], Kept()
    before = [logger.level for logger in ours]
    for logger in ours:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        place = Place(root_session.newSession(), tmp_path_factory.mktemp("secrets"), log)
        shown = {name: show(place) for name, (show, _) in SURFACES.items() if name != "logs"}
        logging.getLogger("paimon_core").debug("paimon: so that there is a line")
        yield shown | {"logs": "\n".join(log)}
    finally:
        for logger, level in zip(ours, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_is_there(texts: dict[str, str], surface: str) -> None:
    assert SURFACES[surface][1] in texts[surface], texts[surface][:2000]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_shown(texts: dict[str, str], kind: str, surface: str) -> None:
    at = texts[surface].find(SECRETS[kind])
    assert at < 0, texts[surface][max(0, at - 200) : at + 50]
