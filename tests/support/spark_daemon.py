"""`paimon_sql.spark.workers.daemon` with workers that do not wait for the disk, and that have the umask of a test.

Workers of tests/cluster start without it.
"""

from __future__ import annotations

import os

from paimon_sql.spark.workers.daemon import main
from tests.support.surroundings import WORKER_UMASK

if __name__ == "__main__":
    os.fsync = lambda _: None  # as in tests/conftest.py
    if umask := os.environ.get(WORKER_UMASK):
        os.umask(int(umask))
    main()
