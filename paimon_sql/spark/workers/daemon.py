"""The process that Spark forks its Python workers from, with what they need imported: that takes a second, which each
worker would spend again."""

from __future__ import annotations

import pyspark.worker  # noqa: F401  what a worker runs
from pyspark.daemon import manager

from paimon_sql.spark.workers.worker import keep_imports


def main() -> None:
    """Fork workers until Spark ends this process."""
    keep_imports()
    manager()


if __name__ == "__main__":
    main()
