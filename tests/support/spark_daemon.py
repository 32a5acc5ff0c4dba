"""`paimon_sql.spark.daemon`, whose workers do not wait for the disk. tests/cluster has workers that start without."""

from __future__ import annotations

import os

from paimon_sql.spark.daemon import main

if __name__ == "__main__":
    os.fsync = lambda _: None  # as tests/conftest.py says
    main()
