from __future__ import annotations

import pytest

from paimon_core.errors import CorruptFileError
from paimon_sql.shell.errors import describe, line_in_statement

ANALYSIS = """[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found.
To tolerate the error on drop use DROP TABLE IF EXISTS. SQLSTATE: 42P01; line 3 pos 2;
'Project [*]
+- 'UnresolvedRelation [nope], [], false
"""
PARSE = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 2, pos 0)

== SQL ==

SELEC * FROM nope
^^^
"""
CAST = """[CAST_INVALID_INPUT] The value 'x' cannot be cast to "INT". SQLSTATE: 22018
== SQL (line 1, position 8) ==
SELECT CAST('x' AS INT)
       ^^^^^^^^^^^^^^^^

JVM stacktrace:
org.apache.spark.SparkNumberFormatException
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.x(QueryExecutionErrors.scala:147)
"""
PY4J = """An error occurred while calling o56.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 1.0 (TID 1) (host executor driver): java.lang.IllegalStateException: no space left
\tat org.apache.spark.x.Y.z(Y.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.x(DAGScheduler.scala:2)
"""
WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/worker.py", line 19, in read
    raise CorruptFileError(path, cause)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
paimon_core.errors.CorruptFileError: File /w/m-1 is corrupt: 0 bytes;
restore the file.

\tat org.apache.spark.api.python.BasePythonRunner.x(PythonRunner.scala:1)
"""
CHAINED = """Traceback (most recent call last):
  File "/x.py", line 1, in f
KeyError: 'inner'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x.py", line 2, in g
ValueError: outer
"""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (ANALYSIS, ANALYSIS[: ANALYSIS.index("; line")]),
        (PARSE, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 2, pos 0)"),
        (CAST, "[CAST_INVALID_INPUT] The value 'x' cannot be cast to \"INT\". SQLSTATE: 22018"),
        (PY4J, "no space left"),
        (WORKER, "File /w/m-1 is corrupt: 0 bytes;\nrestore the file."),
        (CHAINED, "ValueError: outer"),
        ("one; two: three", "one; two: three"),
        ("", "RuntimeError"),
    ],
)
def test_one_message(message, expected):
    assert describe(RuntimeError(message)) == expected


def test_errors_of_the_library_are_their_message():
    assert describe(CorruptFileError("/w/f", "empty")) == str(CorruptFileError("/w/f", "empty"))


@pytest.mark.parametrize(("message", "line"), [(ANALYSIS, 3), (PARSE, 2), (CAST, 1), ("no position", 1), ("", 1)])
def test_the_line_spark_names(message, line):
    assert line_in_statement(RuntimeError(message)) == line


def test_a_file_that_cannot_be_opened_is_named_in_words() -> None:
    assert describe(FileNotFoundError(2, "No such file or directory", "a.sql")) == (
        "Cannot open a.sql: No such file or directory."
    )
    assert describe(OSError("no file")) == "no file"
