from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidNameError, InvalidOptionError, TableNotFoundError
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.write.compaction.sort_job import SortJob
from paimon_sql import procedures
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, Parameter, Procedure, ProcedureContext, procedure
from paimon_sql.procedures.registry import procedures_of
from tests.support.tables import fields


class NoExecutor:
    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        raise AssertionError(f"{job.description} needs no tasks")

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        raise AssertionError(f"{condition} is not to be asked")

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        raise AssertionError(f"{description} sorts nothing")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = load_catalog({"warehouse": str(tmp_path)})
    made.create_database("db")
    for database, table in (("default", "t"), ("db", "t"), ("db", "a.b"), ("db", "a`b")):
        made.create_table(Identifier(database, table), new_table_schema(fields(k=INT)))
    return made


def context(catalog: Catalog, database: str = "default") -> ProcedureContext:
    return ProcedureContext(catalog, database, NoExecutor())


def test_a_procedure_is_made_of_its_signature() -> None:
    @procedure(name="string", rows="bigint")
    def repeat(
        context: ProcedureContext, text: str, times: int = 1, upper: bool = False, suffix: str | None = None
    ) -> Sequence[tuple[Any, ...]]:
        """Say it again.

        More than once.
        """
        said = text.upper() if upper else text
        return [(said + (suffix or ""), times)] * times

    assert isinstance(repeat, Procedure)
    assert repeat.name == "repeat"
    assert repeat.summary == "Say it again.\n\nMore than once."
    assert repeat.parameters == (
        Parameter("text", "string", True),
        Parameter("times", "bigint", False),
        Parameter("upper", "boolean", False),
        Parameter("suffix", "string", False),
    )
    assert repeat.columns == (("name", "string"), ("rows", "bigint"))
    nothing: Any = None
    assert repeat.call(nothing, {"text": "a"}) == [("a", 1)]
    assert repeat.call(nothing, {"text": "a", "times": 2, "upper": True, "suffix": "!"}) == [("A!", 2)] * 2


def test_the_procedures_of_every_module_are_registered() -> None:
    modules = [import_module(m.name) for m in walk_packages(procedures.__path__, f"{procedures.__name__}.")]
    assert procedures_of(*modules) == PROCEDURES
    twin = ModuleType("twin")
    twin.tag = replace(PROCEDURES["create_tag"], body=lambda context: [])  # type: ignore[attr-defined]
    twin.tag.body.__module__ = "twin"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="same name"):
        procedures_of(*modules, twin)


def test_a_type_that_sql_has_not_is_refused_when_the_procedure_is_made() -> None:
    with pytest.raises(KeyError):

        @procedure(result="boolean")
        def broken(context: ProcedureContext, when: bytes) -> Sequence[tuple[Any, ...]]:
            return []


def test_what_a_call_has_to_say(catalog: Catalog) -> None:
    with pytest.raises(InvalidOptionError, match="create_tag needs a value for table, tag, not NULL"):
        PROCEDURES["create_tag"].call(context(catalog), {})
    for name in ("remove_orphan_files", "remove_unexisting_files"):
        with pytest.raises(InvalidOptionError, match="parallelism cannot be 0"):
            PROCEDURES[name].call(context(catalog), {"table": "t", "parallelism": 0})


def test_registered_procedures_go_by_their_names_and_explain_themselves() -> None:
    assert PROCEDURES
    for name, known in PROCEDURES.items():
        assert known.name == name
        assert len(known.summary.splitlines()) > 1
        assert all(kind in ("string", "bigint", "int", "boolean", "double") for _, kind in known.columns)
        assert {p.type for p in known.parameters} <= {"string", "bigint", "int", "boolean", "map<string,string>"}
        assert [p.required for p in known.parameters] == sorted((p.required for p in known.parameters), reverse=True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t", "default.t"),
        ("`t`", "default.t"),
        ("db.t", "db.t"),
        ("`db`.`t`", "db.t"),
        ("paimon.db.t", "db.t"),
        ("db.`a.b`", "db.a.b"),
        ("db.`a``b`", "db.a`b"),
    ],
)
def test_names_of_tables(catalog: Catalog, text: str, name: str) -> None:
    assert context(catalog).load_table(text).name == name


def test_a_name_alone_is_looked_up_in_the_current_database(catalog: Catalog) -> None:
    assert context(catalog, "db").load_table("t").name == "db.t"
    with pytest.raises(TableNotFoundError):
        context(catalog, "db").load_table("nowhere")


@pytest.mark.parametrize(
    "text", ["", ".", "t.", ".t", "a..t", "a.b.c.d", "`t", "`a`b", "a`b`", "``", "db.`..`", "../t", "t$files", "t$"]
)
def test_what_is_no_name_of_a_table(catalog: Catalog, text: str) -> None:
    with pytest.raises(InvalidNameError):
        context(catalog).load_table(text)
