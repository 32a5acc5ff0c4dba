from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, UnfamiliarFormError
from paimon_core.io.cached import CachedFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.io.objects.files import WHOLE
from paimon_core.spec.types import INT, STRING
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from tests.support.object_server import ObjectServer, object_server
from tests.support.stored import T, insert, read
from tests.support.tables import fields

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
UUID = "0a4bd7b5-93f4-4be0-a9bd-9d4f4e3b4a10"
META = f"s3://lake/wh/d.db/t/manifest/manifest-{UUID}-0"
DATA = f"s3://lake/wh/d.db/t/bucket-0/data-{UUID}-0.parquet"
CACHED = {
    "meta": [
        META,
        f"s3://lake/wh/d.db/t/manifest/manifest-list-{UUID}-1",
        f"s3://lake/wh/d.db/t/manifest/index-manifest-{UUID}-1",
        f"s3://lake/wh/d.db/t/statistics/stat-{UUID}-0",
    ],
    "global-index": [f"s3://lake/wh/d.db/t/index/btree-global-index-{UUID}.index"],
    "bucket-index": [f"s3://lake/wh/d.db/t/index/index-{UUID}-3"],
    "file-index": [f"s3://lake/wh/d.db/t/p=1/bucket-0/data-{UUID}-0.parquet.index"],
    "data": [DATA, f"s3://elsewhere/p=a/bucket-postpone/changelog-{UUID}-0.orc"],
}
MUTABLE = [
    "snapshot/snapshot-1", "snapshot/LATEST", "snapshot/EARLIEST", "schema/schema-0", "tag/tag-x", "consumer/c-x",
    "changelog/changelog-1", "upkeep/turn-1", f"tag/tag-{UUID}", f"consumer/consumer-{UUID}", "manifest/manifest-1",
    f"branch/branch-{UUID}/snapshot/snapshot-1", f"snapshot/snapshot-{UUID}", f"stream/stream-{UUID}/commit-1",
    f"manifest/manifest-{UUID}-0/snapshot/LATEST", f"metadata/{UUID}.metadata.json", f"{UUID}.parquet",
]  # fmt: skip


def opened(server: ObjectServer, folder: Path, kinds: str = "", **more: str) -> FileIO:
    cache = {"local-cache.enabled": "true", "local-cache.dir": str(folder)}
    chosen = {"local-cache.whitelist": kinds} if kinds else {}
    return load_file_io("s3://lake/wh", {**server.options, **cache, **chosen, **more})


def asked(server: ObjectServer) -> list[str]:
    """The keys that were requested since the last call."""
    found = [request.key for request in server.requests if request.key]
    server.requests.clear()
    return found


def test_another_process_reads_metadata_from_the_disk(tmp_path: Path) -> None:
    with object_server() as server:
        io = opened(server, tmp_path)
        io.write_bytes(META, b"content")
        asked(server)
        assert io.read_bytes(META) == b"content" and len(asked(server)) == 1
        other = pickle.loads(pickle.dumps(io))  # noqa: S301  our own bytes
        assert other == io and other.read_bytes(META) == b"content" and asked(server) == []
        with pytest.raises(UnfamiliarFormError):
            io.read_bytes(META, 3)


@pytest.mark.parametrize("name", MUTABLE)
def test_a_file_that_may_change_is_read_from_the_storage(tmp_path: Path, name: str) -> None:
    path = f"s3://lake/wh/d.db/t/{name}"
    with object_server() as server:
        io = opened(server, tmp_path, ",".join(CACHED))
        for content in (b"old", b"new"):
            io.write_bytes(path, content)
            assert io.read_bytes(path) == content and io.read_tagged(path)[0] == content
            assert io.open_input(path, len(content)).read() == content
            assert io.read_ranges(path, [(0, 2)]) == [content[:2]]


@pytest.mark.parametrize("kind", CACHED)
def test_kinds_of_files(tmp_path: Path, kind: str) -> None:
    with object_server() as server:
        only, others = (
            opened(server, tmp_path / "a", kind),
            opened(server, tmp_path / "b", ",".join(CACHED.keys() - {kind})),
        )
        for path in CACHED[kind]:
            key = path.removeprefix("s3://").partition("/")[2]
            server.objects[key] = b"0123456789"
            if not path.startswith("s3://lake/"):
                continue
            for io, times in ((only, 1), (others, 2)):
                asked(server)
                assert [io.read_bytes(path) for _ in range(2)] == [b"0123456789"] * 2 and len(asked(server)) == times


def test_parts_of_large_files(tmp_path: Path) -> None:
    content = os.urandom(WHOLE + 2**20)
    with object_server() as server:
        io = opened(server, tmp_path, "data")
        io.write_bytes(DATA, content)
        for times in (1, 0):
            asked(server)
            assert io.read_ranges(DATA, [(5, 10), (0, 0), (WHOLE, 100)]) == [content[5:15], b"", content[WHOLE:][:100]]
            assert bool(asked(server)) == bool(times)
            with io.open_input(DATA, len(content)) as file:
                assert file.read() == content
            assert bool(asked(server)) == bool(times)


def test_keys_and_endpoints_have_entries_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_server() as one, object_server() as two:
        one.objects["wh/d.db/t/manifest/" + META.rpartition("/")[2]] = b"one"
        two.objects["wh/d.db/t/manifest/" + META.rpartition("/")[2]] = b"two"
        assert opened(one, tmp_path).read_bytes(META) == b"one"
        assert opened(two, tmp_path).read_bytes(META) == b"two"
        asked(one)
        for other in ({"s3.access-key": "another"}, {"s3.secret-key": "another"}, {"s3.session.token": "another"}):
            assert opened(one, tmp_path, **other).read_bytes(META) == b"one" and len(asked(one)) == 1
        monkeypatch.setenv("AWS_PROFILE", "")
        assert opened(one, tmp_path).read_bytes(META) == b"one" and len(asked(one)) == 1
        assert opened(one, tmp_path).read_bytes(META) == b"one" and not asked(one)


def test_a_new_session_plans_by_the_manifests_on_the_disk(tmp_path: Path) -> None:
    with object_server() as server:
        options = {"warehouse": "s3://lake/wh", "local-cache.enabled": "true", "local-cache.dir": str(tmp_path)}

        def new_session() -> Table:
            table = load_catalog({**options, **server.options}).load_table(T)
            return Table(replace(table.store, cache=MetadataCache()))

        load_catalog({**options, **server.options}).create_table(T, new_table_schema(fields(k=INT, v=STRING)))
        for number in range(3):
            insert(new_session(), [(number, "x")])
        assert read(new_session()) == [(n, "x") for n in range(3)]
        asked(server)
        assert read(new_session()) == [(n, "x") for n in range(3)]
        found = asked(server)
        assert not any("/manifest/" in key for key in found) and any("/bucket-0/" in key for key in found)
        insert(new_session(), [(3, "x")])
        assert read(new_session()) == [(n, "x") for n in range(4)]


def test_a_missing_file_and_a_failure_are_not_kept(tmp_path: Path) -> None:
    with object_server() as server:
        io = opened(server, tmp_path)
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                io.read_bytes(META)
        io.write_bytes(META, b"content")
        assert io.read_bytes(META) == b"content"


def test_a_file_of_another_size_than_metadata_says_is_not_served(tmp_path: Path) -> None:
    with object_server() as server:
        io = opened(server, tmp_path, "data")
        io.write_bytes(DATA, b"cut")
        assert io.open_input(DATA, 10).read() == b"cut"  # the reader finds the damage
        io.write_bytes(DATA, b"0123456789")  # mended
        assert io.open_input(DATA, 10).read() == b"0123456789"


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with object_server() as server:
        plain = load_file_io("s3://lake/wh", server.options)
        assert not isinstance(plain, CachedFileIO)
        usual = load_file_io("s3://lake/wh", {**server.options, "local-cache.enabled": "TRUE"})
        assert isinstance(usual, CachedFileIO) and usual.cache.most == 2**30
        assert usual.cache.folder == str(tmp_path / "home" / "paimon-sql" / "files")
        assert "hunter2" not in repr(usual)
        assert opened(server, tmp_path, **{"local-cache.max-size": "64 mb"}).cache.most == 2**26  # type: ignore[attr-defined]
        for wrong in (
            {"local-cache.whitelist": "meta,else"},
            {"local-cache.max-size": "1 kb"},
            {"local-cache.max-size": "many"},
            {"local-cache.enabled": "maybe"},
            {"local-cache.dir": "relative"},
            {"local-cache.dir": "/proc/none"},
        ):
            with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
                opened(server, tmp_path, **wrong)
    assert load_file_io(str(tmp_path), {"local-cache.enabled": "true"}).is_near
