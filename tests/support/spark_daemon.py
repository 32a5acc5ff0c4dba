"""`paimon_sql.spark.workers.daemon`, whose workers do not wait for the disk. Workers of tests/cluster start without."""

from __future__ import annotations

import os

from paimon_sql.spark.workers.daemon import main

if __name__ == "__main__":
    os.fsync = lambda _: None  # as tests/conftest.py says
    main()
