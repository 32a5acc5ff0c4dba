"""The process that Spark forks its Python workers from, with all that they need imported: after each task that fails
Spark starts another worker, which would import it again. tests/cluster has workers that start as users' do."""

from __future__ import annotations

import os

import pyspark.worker  # noqa: F401  what a worker runs
from pyspark.daemon import manager

import paimon_sql.spark.worker  # noqa: F401

if __name__ == "__main__":
    os.fsync = lambda _: None  # as tests/conftest.py says
    manager()
