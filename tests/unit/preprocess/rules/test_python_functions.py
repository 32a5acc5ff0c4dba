"""CREATE FUNCTION … LANGUAGE PYTHON, whose body is no SQL."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import CreatePythonFunction, PaimonStatement, PreprocessError, Rewriting, preprocess

BODY = "\n  s = 'it''s; \"' # don't\n  return s[0] -- \\ $x$\n"


def read(text: str) -> CreatePythonFunction:
    found = preprocess(text)
    assert isinstance(found, PaimonStatement) and isinstance(found.value, CreatePythonFunction)
    return found.value


def test_all_of_it() -> None:
    text = (
        "-- a comment\nCREATE OR REPLACE FUNCTION c.`d b`.f(x INT DEFAULT (1 + 2) COMMENT 'as', y STRING) "
        "RETURNS STRUCT<a: INT COMMENT 'as', b: ARRAY<DECIMAL(10, 2)>> LANGUAGE PYTHON NOT DETERMINISTIC "
        f"COMMENT 'it''s' AS $${BODY}$$;"
    )
    assert read(text) == CreatePythonFunction(
        ("c", "d b", "f"),
        "x INT DEFAULT (1 + 2) COMMENT 'as', y STRING",
        "STRUCT<a: INT COMMENT 'as', b: ARRAY<DECIMAL(10, 2)>>",
        BODY,
        replaces=True,
        comment="it's",
        deterministic=False,
    )


@pytest.mark.parametrize("body", ["$$return 1$$", "'return 1'", "r'return 1'"])
def test_little_of_it(body: str) -> None:
    text = f"create function if not exists f() returns int deterministic language python as {body}"
    assert read(text) == CreatePythonFunction(("f",), "", "int", "return 1", lenient=True, deterministic=True)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x -- python",
        "CREATE FUNCTION f(x INT) RETURNS STRING RETURN 'LANGUAGE PYTHON'",
        "CREATE FUNCTION f AS 'python.Class'",
        "CREATE TABLE python (k INT)",
    ],
)
def test_other_statements(text: str) -> None:
    assert preprocess(text) == Rewriting(text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f(x INT) LANGUAGE PYTHON AS $$ return 1 $$",
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON RETURN x",
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON COMMENT 'c'",
        "CREATE OR REPLACE FUNCTION IF NOT EXISTS f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$",
    ],
)
def test_what_contradicts_itself(text: str) -> None:
    with pytest.raises(PreprocessError):
        preprocess(text)
