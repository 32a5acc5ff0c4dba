"""Scan builders that Spark gives Catalyst's filters. From 4.1 on, any scan builder can request them. Spark 4.0 gives
them only to its own class, so a builder of this class wraps ours.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, mention
from paimon_sql.spark.jvm.scans.files import file_index

_ASKING = Variant.of("to those that ask", mention(f"{classes.PUSH_DOWN}$", classes.SUPPORTS_PUSH_DOWN_CATALYST_FILTERS))
_FILE_SCANS = Variant.of("to scans of files", constructor(classes.FILE_SCAN_BUILDER, 3))


@hook("`PushDownUtils.pushFilters`", "filters: every file is read", _ASKING, _FILE_SCANS)
def taking_filters(jvm: Jvm, session: JavaObject, builder: Any) -> Any:
    """Return the scan builder in a form that Spark pushes Catalyst's filters to."""
    if jvm.variant(taking_filters) is _ASKING:
        return builder
    nothing = file_index(jvm, session, ()), jvm.struct_type(StructType([]))
    return jvm.compiled("FileScanBuilders").before(builder, session, *nothing)
