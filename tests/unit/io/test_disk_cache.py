from __future__ import annotations

import fcntl
import multiprocessing
import os
import random
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.io import disk_cache
from paimon_core.io.disk_cache import DiskCache, check_private
from tests.support.waiting import wait_until

MOST = 2**20
KEY = ("s3", "s3://lake/t/manifest/manifest-1", "whole")


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(str(tmp_path), MOST)


def root(tmp_path: Path) -> Path:
    return tmp_path / f"paimon-sql-{os.geteuid()}"


def entries(tmp_path: Path) -> list[Path]:
    return sorted(root(tmp_path).glob("??/*"))


def used(tmp_path: Path) -> int:
    """Return the bytes that the files of the cache take, in whole blocks, while no process adds files."""
    with (root(tmp_path) / "used").open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return sum(-(-path.stat().st_size // 4096) * 4096 for path in entries(tmp_path))


def test_a_content_is_returned_for_its_own_key(cache: DiskCache, tmp_path: Path) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    cache.put(("s3", "other", "whole"), b"")
    assert cache.get(KEY) == b"content" and cache.get(("s3", "other", "whole")) == b""
    assert cache.get(("s3", *KEY)) is None and cache.get(("s", "3", *KEY[1:])) is None
    assert all(b"lake" not in path.read_bytes() and "lake" not in str(path) for path in entries(tmp_path))


def test_only_the_user_can_open_the_cache(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(KEY, b"content")
    assert stat.S_IMODE(root(tmp_path).stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in root(tmp_path).rglob("*") if p.is_file()} == {0o600}


@pytest.mark.parametrize("kind", ["open to others", "link", "file"])
def test_a_folder_that_others_can_change_is_refused(tmp_path: Path, kind: str) -> None:
    place = root(tmp_path)
    if kind == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "theirs")
    elif kind == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o755)
    with pytest.raises(InvalidOptionError, match="'local-cache.dir'"):
        check_private(str(tmp_path))
    cache = DiskCache(str(tmp_path), MOST)
    cache.put(KEY, b"content")
    assert cache.get(KEY) is None


def test_entries_that_were_not_used_make_room(cache: DiskCache, tmp_path: Path) -> None:
    size, keys = 2**15, [("k", str(n)) for n in range(60)]
    for number, key in enumerate(keys):
        cache.put(key, bytes(size))
        cache.get(keys[0])
        for path in entries(tmp_path):
            os.utime(path, (number, number)) if path.stat().st_mtime > 1e6 else None
        path = root(tmp_path) / disk_cache._opened(os.getpid(), str(tmp_path)).name(keys[0])  # type: ignore[union-attr]
        os.utime(path, (number, number))
        assert used(tmp_path) <= MOST
    assert cache.get(keys[0]) is not None and cache.get(keys[-1]) is not None
    assert cache.get(keys[1]) is None
    cache.put(("too", "large"), bytes(MOST // 4))
    assert cache.get(("too", "large")) is None


def test_a_use_is_noted_once_a_minute(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(KEY, b"content")
    (path,) = entries(tmp_path)
    os.utime(path, (1, 1))
    cache.get(KEY)
    now = path.stat().st_mtime
    assert now > 1e9
    cache.get(KEY)
    assert path.stat().st_mtime == now


@pytest.mark.parametrize("damage", ["cut", "empty", "longer", "flipped", "another", "huge"])
def test_a_damaged_entry_is_no_entry(cache: DiskCache, tmp_path: Path, damage: str) -> None:
    cache.put(KEY, b"content")
    (path,) = entries(tmp_path)
    data = path.read_bytes()
    cache.put(("other",), b"other")
    other = next(p for p in entries(tmp_path) if p != path)
    changed = {
        "cut": data[:-1],
        "empty": b"",
        "longer": data + b"x",
        "flipped": data[:-1] + bytes([data[-1] ^ 1]),
        "another": other.read_bytes(),
    }
    if damage == "huge":
        os.truncate(path, 2**40)
    else:
        path.write_bytes(changed[damage])
    assert cache.get(KEY) is None and not path.exists()
    cache.put(KEY, b"content")
    assert cache.get(KEY) == b"content"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_read(cache: DiskCache, tmp_path: Path, kind: str) -> None:
    cache.put(KEY, b"content")
    (path,) = entries(tmp_path)
    data = path.read_bytes()
    path.unlink()
    if kind == "link":
        (tmp_path / "theirs").write_bytes(data)
        path.symlink_to(tmp_path / "theirs")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    assert cache.get(KEY) is None


@pytest.mark.parametrize("text", [b"", b"x" * 20, b"9" * 20, b"1"])
def test_a_damaged_number_of_bytes_is_counted_again(cache: DiskCache, tmp_path: Path, text: bytes) -> None:
    cache.put(KEY, b"content")
    (root(tmp_path) / "used").write_bytes(text)
    cache.put(("other",), b"other")
    assert cache.get(KEY) == b"content" and cache.get(("other",)) == b"other"
    assert int((root(tmp_path) / "used").read_bytes()) == used(tmp_path)


def test_a_damaged_secret_is_replaced(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(KEY, b"content")
    (root(tmp_path) / "key").write_bytes(b"short")
    disk_cache._opened.cache_clear()
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    disk_cache._opened.cache_clear()
    assert cache.get(KEY) == b"content"


def test_a_process_that_holds_the_lock_delays_nobody(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(KEY, b"content")
    with (root(tmp_path) / "used").open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        cache.put(("other",), b"other")
        assert cache.get(KEY) == b"content" and cache.get(("other",)) is None


def test_a_full_disk_is_no_error(cache: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    cache.put(KEY, b"content")
    monkeypatch.setattr(os, "rename", full)
    cache.put(("other",), b"other")
    assert cache.get(KEY) == b"content" and cache.get(("other",)) is None


def _content(number: int) -> bytes:
    return random.Random(number).randbytes(1000 + number * 137 % 30_000)


def _use(folder: str, seed: int, done: Any, most: int) -> None:
    """Read and add contents that only their key decides, `most` times."""
    cache, dice = DiskCache(folder, MOST), random.Random(seed)
    for _ in range(most):
        number = dice.randrange(200)
        found = cache.get(("n", str(number)))
        assert found is None or found == _content(number)
        if found is None:
            cache.put(("n", str(number)), _content(number))
        done.value += 1


def test_processes_that_are_killed_leave_a_bounded_cache_with_whole_entries(tmp_path: Path) -> None:
    context, dice = multiprocessing.get_context("fork"), random.Random(0)

    def started(seed: int, most: int) -> tuple[Any, Any]:
        done = context.Value("q", 0, lock=False)
        process = context.Process(target=_use, args=(str(tmp_path), seed, done, most))
        process.start()
        return process, done

    stays = [started(seed, 3000)[0] for seed in (1, 2)]
    for seed in range(3, 33):
        process, done = started(seed, 10**9)
        least = dice.randrange(1, 60)
        wait_until(lambda done=done, least=least: done.value >= least)  # type: ignore[misc]
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert used(tmp_path) <= MOST
    for process in stays:
        process.join()
    assert [p.exitcode for p in stays] == [0, 0]
    cache = DiskCache(str(tmp_path), MOST)
    cache.put(("n", "0"), _content(0))
    found = [cache.get(("n", str(n))) for n in range(200)]
    assert all(content in (None, _content(n)) for n, content in enumerate(found))
    assert sum(content is not None for content in found) > 20 and used(tmp_path) <= MOST
    assert {p.name for p in root(tmp_path).iterdir() if len(p.name) > 2} - {"new"} == {"key", "used"}
