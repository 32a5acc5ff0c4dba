"""A process whose threads create, rename, drop and recreate tables and views of two names; it prints how often each
succeeded.

python -m tests.catalogs.racing OPTIONS SEED SECONDS
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from paimon_core.errors import AlreadyExistsError, CommitConflictError, NotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsDatabases, SupportsViews
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import SCHEMA, VIEW

THREADS = 8
NAMES = Identifier("db", "a"), Identifier("db", "b")


def act(catalog: SupportsDatabases, seed: int, seconds: float) -> Counter[str]:
    """What one thread gets done."""
    dice, done, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    while time.monotonic() < end:
        one, other = dice.sample(NAMES, 2)
        calls: dict[str, Callable[[], object]] = {
            "create": partial(catalog.create_table, one, SCHEMA),
            "rename": partial(catalog.rename_table, one, other),
            "drop": partial(catalog.drop_table, one),
            "load": partial(catalog.load_table, one),
        }
        if isinstance(catalog, SupportsViews):
            calls |= {
                "create view": partial(catalog.create_view, one, VIEW),
                "replace view": partial(catalog.replace_view, one, VIEW),
                "rename view": partial(catalog.rename_view, one, other),
                "drop view": partial(catalog.drop_view, one),
            }
        kind = dice.choice(list(calls))
        done[kind] += _succeeds(calls[kind])
    return done


def _succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except (AlreadyExistsError, NotFoundError, CommitConflictError):
        return False
    return True


def main() -> None:
    options, seed, seconds = json.loads(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    catalog = load_catalog(options)
    total = Counter[str]()
    with ThreadPoolExecutor(THREADS) as pool:
        for done in pool.map(lambda n: act(catalog, seed * THREADS + n, seconds), range(THREADS)):
            total += done
    print(json.dumps(total))


if __name__ == "__main__":
    main()
