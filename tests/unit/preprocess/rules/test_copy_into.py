from __future__ import annotations

import pytest

from paimon_sql.preprocess import PreprocessError, rewrite

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
        (f"COPY INTO t FROM '/x' {FORMAT} OVERWRITE = TRUE", "no such clause here; there are FILE_FORMAT, PATTERN"),
        (f"COPY INTO '/x' FROM t {FORMAT} FORCE = TRUE", "there are FILE_FORMAT, OVERWRITE"),
        (f"COPY INTO t FROM '/x' {FORMAT} ON_ERROR = SKIP_FILE_3", "ABORT_STATEMENT, CONTINUE, SKIP_FILE"),
        (f"COPY INTO t FROM '/x' {FORMAT} PATTERN = x", "regular expression in quotes"),
        (f"COPY INTO t FROM '/x' {FORMAT} FORCE = 1", "FORCE is TRUE or FALSE, not '1'"),
    ],
)
def test_what_is_wrong_is_named(statement: str, message: str) -> None:
    with pytest.raises(PreprocessError, match=message):
        rewrite(statement)


def test_copy_in_other_places_is_a_name() -> None:
    for text in ("SELECT copy FROM copy", "CALL sys.copy('a', 'b')"):
        assert rewrite(text) is text


def test_strings_keep_escapes_that_are_none() -> None:
    format_ = r"FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '\t', NULL_IF = ('\N', '\\N', 'a\'b'))"
    call = rewrite(f"COPY INTO t FROM '/x' {format_} PATTERN = '.*\\.csv'")
    assert r'"FIELD_DELIMITER": "\\t", "NULL_IF": ["\\\\N", "\\\\N", "a\'b"]' in call
    assert call.endswith(r"pattern => '.*\\.csv')")
