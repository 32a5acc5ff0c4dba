"""The functions of `sys` that take columns: `path_to_descriptor`, `descriptor_to_string`, `bucket`, `mod_bucket` and
`hive_bucket`.

Spark requests the expression that replaces a call. This module returns the call of a Python function over Arrow
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType

from paimon_core.arrow.columns import fixed_values
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.hashing.bucket_functions import check_bucket_key
from paimon_core.spec.types import DataField
from paimon_core.write.buckets.bucketing import BucketFunction
from paimon_sql.spark.jvm.classes import FUNCTION_1
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import column, constant_of, data_type_of, expression, literal
from paimon_sql.spark.jvm.functions import column_udf
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.named_functions import expression_function
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.types import from_spark

Arrays = Callable[..., pa.Array]


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """A function: a check of its arguments' types, the type of its result, and `make`, which returns the computation
    for the types of a call.
    """

    takes: Callable[[Sequence[str]], bool]
    usage: str
    result: DataType
    make: Callable[[Sequence[str]], Arrays]


def describe_paths(paths: pa.Array) -> pa.Array:
    """Return the descriptors of whole files, given their paths."""
    found = [None if path is None else BlobDescriptor(path).encode() for path in paths.to_pylist()]
    return pa.array(found, pa.binary())


def show_descriptors(descriptors: pa.Array) -> pa.Array:
    """Return descriptors as texts. Raises `InvalidDataError` for a value that is not a descriptor."""
    found = [None if data is None else BlobDescriptor.decode(data).text() for data in descriptors.to_pylist()]
    return pa.array(found, pa.string())


def _bucket_numbers(fields: tuple[DataField, ...], kind: str, counts: pa.Array, *keys: pa.Array) -> pa.Array:
    rows = pa.RecordBatch.from_arrays(list(keys), names=[f.name for f in fields])
    wanted, found = fixed_values(counts, np.int32), np.zeros(len(counts), dtype=np.int32)
    for count in np.unique(wanted).tolist():
        found = np.where(wanted == count, BucketFunction(fields, count, kind)(rows), found)
    return pa.array(found, pa.int32())


def _bucket(kind: str) -> ColumnFunction:
    def make(types: Sequence[str]) -> Arrays:
        fields = tuple(DataField(id=i, name=f"c{i}", type=from_spark(t)) for i, t in enumerate(types[1:]))
        check_bucket_key(fields, kind)
        return partial(_bucket_numbers, fields, kind)  # a closure would be pickled as code

    return ColumnFunction(
        lambda types: len(types) > 1 and types[0] == '"integer"',
        "a number of buckets, INT, and the columns of the bucket key",
        IntegerType(),
        make,
    )


COLUMN_FUNCTIONS = {
    "bucket": _bucket("default"),
    "mod_bucket": _bucket("mod"),
    "hive_bucket": _bucket("hive"),
    "path_to_descriptor": ColumnFunction(
        lambda types: list(types) == ['"string"'], "a path, STRING", BinaryType(), lambda _: describe_paths
    ),
    "descriptor_to_string": ColumnFunction(
        lambda types: list(types) == ['"binary"'], "a blob descriptor, BINARY", StringType(), lambda _: show_descriptors
    ),
}


class _Call(Proxy):
    """A Scala function that makes the expression of a call from the expressions of its arguments."""

    def __init__(self, jvm: Jvm, name: str) -> None:
        super().__init__(jvm)
        self.name, self.function = name, COLUMN_FUNCTIONS[name]

    def apply(self, arguments: Any) -> Any:
        expressions = items(arguments)
        types = [str(e.dataType().json()) for e in expressions]
        if not self.function.takes(types):
            given = ", ".join(str(e.dataType().sql()) for e in expressions)
            raise UnsupportedFeatureError(f"Function sys.{self.name} takes {self.function.usage}, not ({given}).")
        make, result = self.function.make(types), self.function.result
        if len(types) == 1 and expressions[0].foldable():  # VALUES accepts only constants
            return literal(self.jvm, _constant(make, constant_of(expressions[0])), result)
        call = column_udf(self.jvm, make, [data_type_of(e) for e in expressions], result)
        return expression(self.jvm, call(*(column(self.jvm, e) for e in expressions)))

    class Java:
        implements = [FUNCTION_1]


def _constant(function: Arrays, given: str | bytes | None) -> Any:
    """Return the result of a function for one constant."""
    kind = pa.string() if isinstance(given, str) else pa.binary()
    return function(pa.array([given], kind))[0].as_py()


def column_function_makers(jvm: Jvm) -> dict[str, Any]:
    """Return the Scala functions that make the expressions of calls, by the names of the functions."""
    return {name: _Call(jvm, name) for name in COLUMN_FUNCTIONS}


def column_function(jvm: Jvm, name: str) -> Any:
    """Return the function in the form that Spark's analyzer takes."""
    return expression_function(jvm, name, _Call(jvm, name))
