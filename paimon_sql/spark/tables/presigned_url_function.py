"""The functions `sys.descriptor_to_presigned_url(table, descriptor, validity)`, and the same with `try_`.

The name of the table and the validity are constants: the driver checks them while Spark analyzes the statement, with
the rights of the catalog's user. Tasks make the URLs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql.types import BinaryType, StringType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.store.blob.presigned import PresignedUrls
from paimon_core.table import Table
from paimon_sql.spark.jvm.classes import FUNCTION_1
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import column, constant_of, expression
from paimon_sql.spark.jvm.functions import column_udf
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import Proxy

URL, TRY_URL = "descriptor_to_presigned_url", "try_descriptor_to_presigned_url"
URL_FUNCTIONS = (URL, TRY_URL)
FindTable = Callable[[str], Table]
_UNITS = ("day", "hour", "minute", "second")


class PresignedUrlCall(Proxy):
    """A Scala function that makes the expression of a call from the expressions of its arguments."""

    def __init__(self, jvm: Jvm, name: str, find: FindTable) -> None:
        super().__init__(jvm)
        self.name, self.find = name, find

    def apply(self, arguments: Any) -> Any:
        expressions = items(arguments)
        types = [str(e.dataType().json()).strip('"') for e in expressions]
        fits = types[:2] == ["string", "binary"] and len(types) == 3 and _is_time(types[2])
        if not fits or not expressions[0].foldable() or not expressions[2].foldable():
            given = ", ".join(str(e.dataType().sql()) for e in expressions)
            raise UnsupportedFeatureError(
                f"Function sys.{self.name} takes the name of a table as a constant, a blob descriptor, BINARY, and a "
                f"constant INTERVAL of days to seconds, not ({given})."
            )
        table, micros = constant_of(expressions[0]), constant_of(expressions[2])
        if table is None or micros is None:
            raise UnsupportedFeatureError(
                f"Function sys.{self.name}: the table and the validity cannot be NULL. Pass constants."
            )
        store = replace(self.find(str(table)).store, others=None)
        urls = PresignedUrls.of(store, int(micros), lenient=self.name == TRY_URL)
        call = column_udf(self.jvm, urls, [BinaryType()], StringType())
        return expression(self.jvm, call(column(self.jvm, expressions[1])))

    class Java:
        implements = [FUNCTION_1]


def _is_time(kind: str) -> bool:
    words = kind.split(" to ")
    return words[0].startswith("interval ") and {words[0].removeprefix("interval "), *words[1:]} <= set(_UNITS)
