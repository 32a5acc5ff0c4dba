"""Origins of a plan's nodes as positions in the statement that was written.

What Spark's analyzer and its tasks say later is found where the user wrote it, and shown in the user's words."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.preprocess import Rewriting
from paimon_sql.spark.jvm.gateway import Jvm


def with_written_origins(jvm: Jvm, plan: JavaObject, statement: Rewriting) -> Any:
    """The plan of a rewriting's text, the origins of its nodes moved to what was written."""
    if not statement.edits:
        return plan
    numbers = " ".join(f"{start} {end} {grown}" for start, end, grown in statement.growths())
    return jvm.compiled("StatementOrigins").moved(plan, statement.text, statement.written, numbers)
