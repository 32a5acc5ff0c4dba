"""A session of ours with the settings of the session of Paimon's Java connector, so that measurements are
comparable.
"""

from __future__ import annotations

from typing import Any

import paimon_sql

_LIKE_JAVA = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
}


def session(warehouse: str) -> Any:
    """The session, on a warehouse."""
    return paimon_sql.connect(warehouse, **_LIKE_JAVA)
