"""A process whose threads create, rename, drop and recreate tables and views of two names; it prints how often each
succeeded. It goes on for some seconds, and after these until each kind of call has succeeded once.

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
from tests.support.waiting import PATIENCE

THREADS = 8
NAMES = Identifier("db", "a"), Identifier("db", "b")


def calls_of(catalog: SupportsDatabases, one: Identifier, other: Identifier) -> dict[str, Callable[[], object]]:
    """The calls that race, by their kinds."""
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
    return calls


def act(catalog: SupportsDatabases, seed: int, seconds: float, missing: set[str]) -> Counter[str]:
    """The successes of one thread; `missing` has the kinds of calls that no thread has succeeded with yet."""
    dice, done, began = random.Random(seed), Counter[str](), time.monotonic()
    while (now := time.monotonic() - began) < seconds or missing and now < seconds + PATIENCE:
        calls = calls_of(catalog, *dice.sample(NAMES, 2))
        kind = dice.choice(list(calls))
        if _succeeds(calls[kind]):
            done[kind] += 1
            missing.discard(kind)
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
    kinds = calls_of(catalog, *NAMES)
    missing, total = set(kinds), Counter(dict.fromkeys(kinds, 0))
    with ThreadPoolExecutor(THREADS) as pool:
        for done in pool.map(lambda n: act(catalog, seed * THREADS + n, seconds, missing), range(THREADS)):
            total.update(done)
    print(json.dumps(total))


if __name__ == "__main__":
    main()
