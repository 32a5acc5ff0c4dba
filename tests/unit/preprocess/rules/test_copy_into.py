from __future__ import annotations

import pytest

from paimon_sql.preprocess import PaimonStatement, PreprocessError, preprocess, rewrite
from paimon_sql.preprocess.statements import CopyIntoFolder, CopyIntoTable

FORMAT = "FILE_FORMAT = (TYPE = CSV)"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("COPY INTO t FROM '/x'", r"needs FILE_FORMAT .*\(line 1, column 18\)"),
        ("COPY INTO", "needs a table's name"),
        ("COPY INTO t", "FROM 'path of the files'"),
        (f"COPY INTO t FROM u {FORMAT}", "FROM 'path of the files'"),
        (f"COPY INTO '/x' {FORMAT}", "needs FROM a table"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = CSV", "options in parentheses"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = ()", "needs a TYPE"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = (SKIP_HEADER = 1)", "needs a TYPE"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = (TYPE = CSV, TYPE = CSV)", "Duplicate option TYPE"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = (TYPE = )", "needs a word"),
        ("COPY INTO t FROM '/x' FILE_FORMAT = (TYPE = CSV", "with commas"),
        (
            f"COPY INTO t FROM '/x' {FORMAT} OVERWRITE = TRUE",
            "does not have this clause here; use FILE_FORMAT, PATTERN",
        ),
        (f"COPY INTO '/x' FROM t {FORMAT} FORCE = TRUE", "use FILE_FORMAT, OVERWRITE"),
        (f"COPY INTO t FROM '/x' {FORMAT} ON_ERROR = SKIP_FILE_3", "ABORT_STATEMENT, CONTINUE, SKIP_FILE"),
        (f"COPY INTO t FROM '/x' {FORMAT} PATTERN = x", "regular expression in quotes"),
        (f"COPY INTO t FROM '/x' {FORMAT} FORCE = 1", "FORCE must be TRUE or FALSE, not '1'"),
    ],
)
def test_what_is_wrong_is_named(statement: str, message: str) -> None:
    with pytest.raises(PreprocessError, match=message):
        preprocess(statement)


def test_copy_may_be_a_name() -> None:
    for text in ("SELECT copy FROM copy", "CALL sys.copy('a', 'b')"):
        assert rewrite(text) is text


def test_what_is_copied() -> None:
    assert preprocess("COPY INTO db.t FROM '/data/csv' FILE_FORMAT = (TYPE = CSV);") == PaimonStatement(
        CopyIntoTable(("db", "t"), "/data/csv", {"TYPE": "CSV"})
    )
    assert preprocess(
        r"""COPY INTO cat.db.`my t` (a, `b c`)
        FROM '/data/json'
        FILE_FORMAT = (type = json, NULL_IF = ('NULL', '\\N', ''), MULTI_LINE = TRUE)
        PATTERN = '.*[.]json'
        FORCE = TRUE ON_ERROR = skip_file"""
    ) == PaimonStatement(
        CopyIntoTable(
            table=("cat", "db", "my t"),
            source="/data/json",
            format={"TYPE": "json", "NULL_IF": ["NULL", r"\N", ""], "MULTI_LINE": "TRUE"},
            columns=("a", "b c"),
            pattern=".*[.]json",
            force=True,
            on_error="SKIP_FILE",
        )
    )
    assert preprocess(
        "EXPLAIN COPY INTO '/out' FROM t$snapshots FILE_FORMAT = (TYPE = PARQUET, COMPRESSION = gzip) OVERWRITE = TRUE"
    ) == PaimonStatement(
        CopyIntoFolder("/out", "TABLE `t$snapshots`", {"TYPE": "PARQUET", "COMPRESSION": "gzip"}, True), "EXPLAIN"
    )
    assert preprocess(
        "COPY INTO '/out' FROM (SELECT 'a)' AS x FROM t WHERE y IN (1, 2)) FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)"
    ) == PaimonStatement(
        CopyIntoFolder("/out", "SELECT 'a)' AS x FROM t WHERE y IN (1, 2)", {"TYPE": "CSV", "SKIP_HEADER": "1"})
    )


def test_strings_keep_escapes_that_are_none() -> None:
    format_ = r"FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '\t', NULL_IF = ('\N', '\\N', 'a\'b'))"
    found = preprocess(f"COPY INTO t FROM '/x' {format_} PATTERN = '.*\\.csv'")
    assert isinstance(found, PaimonStatement) and isinstance(found.value, CopyIntoTable)
    assert found.value.format == {"TYPE": "CSV", "FIELD_DELIMITER": "\t", "NULL_IF": [r"\N", r"\N", "a'b"]}
    assert found.value.pattern == r".*\.csv"
