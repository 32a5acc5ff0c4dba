from __future__ import annotations

import pickle

from paimon_core.store.cache import MetadataCache


def test_values_are_loaded_once_and_the_oldest_goes_first() -> None:
    cache, loads = MetadataCache(capacity=90), list[str]()

    def load(name: str) -> tuple[int, ...]:
        loads.append(name)
        return (1,) * 9

    for name in ("a", "b", "a", "c", "a", "b"):
        cache.get(name, lambda name=name: load(name))
    assert loads == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_what_does_not_fit_is_not_kept() -> None:
    cache = MetadataCache(capacity=3)
    assert cache.get("big", lambda: (1, 2, 3, 4)) == (1, 2, 3, 4)
    assert len(cache) == 0


def test_many_small_values_are_bounded_too() -> None:
    cache = MetadataCache(capacity=1000)
    for number in range(1000):
        cache.get(str(number), lambda: (1, 2))
    assert 20 < len(cache) < 40


def test_deleted_files_are_forgotten() -> None:
    cache = MetadataCache(capacity=100)
    for name in ("a", "b"):
        cache.get(name, lambda: (1,))
    cache.forget(["a", "unknown"])
    assert len(cache) == 1
    cache.get("c", lambda: (1,))
    assert len(cache) == 2, "what is forgotten weighs nothing"


def test_it_travels_empty() -> None:
    cache = MetadataCache(capacity=3)
    cache.get("a", lambda: (1,))
    assert len(pickle.loads(pickle.dumps(cache))) == 0  # noqa: S301
