"""Presigned URLs of BLOBs: on a server, for readers with the right, and of nothing else."""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pyarrow as pa
import pytest

from paimon_core.errors import (
    InvalidDataError,
    InvalidOptionError,
    NoPrivilegeError,
    NotAllowedError,
    PaimonError,
    StorageError,
    UnsupportedFeatureError,
)
from paimon_core.io.file_io import SignsUrls
from paimon_core.io.load import load_file_io
from paimon_core.io.objects.store import _proof
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.blob.presigned import PresignedUrls
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.catalog.privileges.rules import Privilege
from tests.support.evolving import EVOLVES, EvolvingRows, read
from tests.support.object_server import Answer, ObjectServer, object_server
from tests.support.tables import fields

ROWS = EvolvingRows({"k": pa.int32(), "v": pa.binary()})
VALUES = [(1, b"one"), (2, b""), (3, None), (4, b"\xff\xd8" * 1000)]
MINUTE = 60_000_000
SECRETS = ("hunter2",)


@pytest.fixture(params=["s3", "oss"])
def server(request: pytest.FixtureRequest) -> Iterator[ObjectServer]:
    pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
    _proof.cache_clear()
    with object_server(dialect=request.param) as found:
        yield found


def options_of(server: ObjectServer) -> dict[str, str]:
    return {"warehouse": f"{server.dialect}://lake/wh", **server.options}


def new_table(options: dict[str, str]) -> Table:
    catalog = load_catalog(options)
    catalog.create_database("a")
    schema = new_table_schema(fields(k=INT, v=BYTES), options=EVOLVES | {"blob-field": "v"})
    catalog.create_table(Identifier("a", "t"), schema)
    table: Any = catalog.load_table(Identifier("a", "t"))
    ROWS.insert(table, VALUES)
    return Table(table.store)


def descriptors(table: Table) -> pa.Array:
    found = Table(table.store.with_options({"blob-as-descriptor": "true"}))
    return pa.array([d for (d,) in read(found, "v")], pa.binary())


def urls(table: Table, given: pa.Array, *, micros: int = 5 * MINUTE, lenient: bool = False) -> list[str | None]:
    return PresignedUrls.of(table.store, micros, lenient=lenient)(given).to_pylist()


def fetched(url: str | None) -> bytes | None:
    if url is None:
        return None
    with urlopen(url) as answer:  # noqa: S310  the server of this test
        return bytes(answer.read())


def test_anyone_reads_the_value_at_the_url(server: ObjectServer, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(options_of(server))
    given = descriptors(table)
    with caplog.at_level(logging.DEBUG):
        found = urls(table, given)
    assert [fetched(url) for url in found] == [v for _, v in VALUES]
    for url in filter(None, found):
        query = parse_qs(urlsplit(url).query)
        assert query["X-Amz-Expires"] == ["300"] and query["X-Amz-Signature"]
        assert url.startswith(server.endpoint) and not any(secret in url for secret in SECRETS)
    assert not any(text in caplog.text for text in ("X-Amz-Signature", *SECRETS))
    copies = {key: data for key, data in server.objects.items() if "/_bloburl_" in key}
    assert sorted(copies.values()) == sorted(v for _, v in VALUES if v is not None)
    puts = sum(r.method == "PUT" for r in server.requests)
    again = pickle.loads(pickle.dumps(PresignedUrls.of(table.store, MINUTE, lenient=False)))(given)  # noqa: S301
    assert [fetched(url) for url in again.to_pylist()] == [v for _, v in VALUES]
    assert sum(r.method == "PUT" for r in server.requests) == puts  # the copies are used again
    assert parse_qs(urlsplit(again[0].as_py()).query)["X-Amz-Expires"] == ["60"]
    key = next(iter(copies))
    server.objects[key] = b"not of this length"
    assert [fetched(url) for url in urls(table, given)] == [v for _, v in VALUES]


def test_cleaning_and_reading_pass_the_copies_over(server: ObjectServer) -> None:
    table = new_table(options_of(server))
    given = descriptors(table)
    found = urls(table, given)
    remove_orphans(table.store, 2**62)
    assert [fetched(url) for url in found] == [v for _, v in VALUES]
    assert sorted(read(table, "k")) == [(k,) for k, _ in VALUES]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (b"bytes", InvalidDataError),
        (b"", InvalidDataError),
        (BlobDescriptor("{root}/schema/schema-0").encode(), NotAllowedError),
        (BlobDescriptor("{root}/snapshot/LATEST").encode(), NotAllowedError),
        (BlobDescriptor("{root}x/bucket-0/a.blob").encode(), NotAllowedError),
        (BlobDescriptor("{root}/../b/a.blob").encode(), NotAllowedError),
        (BlobDescriptor("{root}/%2e%2e/b/a.blob").encode(), NotAllowedError),
        (BlobDescriptor("{scheme}://other/wh/a.db/t/a.blob").encode(), NotAllowedError),
        (BlobDescriptor("/etc/passwd.blob").encode(), NotAllowedError),
        (BlobDescriptor("https://example.com/a.blob").encode(), NotAllowedError),
        (BlobDescriptor("{root}/bucket-0/gone.blob", 0, 3).encode(), InvalidDataError),
        (BlobDescriptor("{blob}", 0, 2**40).encode(), InvalidDataError),
        (BlobDescriptor("{blob}", 2**40, 1).encode(), InvalidDataError),
        (BlobDescriptor("{blob}", -5, 1).encode(), InvalidDataError),
    ],
    ids=range(14),
)
def test_other_files_have_no_url(server: ObjectServer, given: bytes, error: type[PaimonError]) -> None:
    table = new_table(options_of(server))
    valid = descriptors(table)
    if given.startswith(b"\2"):
        named = BlobDescriptor.decode(given)
        blob = BlobDescriptor.decode(valid[0].as_py()).uri
        uri = named.uri.format(root=table.store.root, blob=blob, scheme=server.dialect)
        given = BlobDescriptor(uri, named.offset, named.length).encode()
    before = dict(server.objects)
    array = pa.array([given], pa.binary())
    with pytest.raises(error):
        urls(table, array)
    assert urls(table, array, lenient=True) == [None]
    assert server.objects == before
    assert urls(table, pa.concat_arrays([array, valid]), lenient=True)[1] is not None


@pytest.mark.parametrize("micros", [0, -MINUTE, 1, MINUTE + 1, 8 * 86_400_000_000])
def test_the_validity_is_whole_seconds_up_to_a_week(server: ObjectServer, micros: int) -> None:
    table = new_table(options_of(server))
    with pytest.raises(InvalidOptionError, match="whole seconds, from one second to seven days"):
        urls(table, descriptors(table), micros=micros, lenient=True)


def test_errors_of_the_storage_show_no_secret(server: ObjectServer) -> None:
    table = new_table(options_of(server))
    given = descriptors(table)
    server.fault = lambda r: Answer(403, "AccessDenied") if r.method == "PUT" else None
    with pytest.raises(StorageError) as caught:
        urls(table, given)
    assert not any(secret in str(caught.value) for secret in SECRETS)
    assert urls(table, given, lenient=True)[0] is None


def test_the_reader_needs_the_right_to_read(server: ObjectServer) -> None:
    options = options_of(server)
    table = new_table(options)
    given = descriptors(table)
    accounts = accounts_of(load_catalog(options))
    accounts.initialize("root-password")
    accounts.create_user("ben", "ben-password")

    def of_ben() -> Table:
        ben = load_catalog(options | {"user": "ben", "password": "ben-password"})
        found: Any = ben.load_table(Identifier("a", "t"))
        return Table(found.store)

    accounts.grant("ben", "a.t", Privilege.ALTER_TABLE)
    with pytest.raises(NoPrivilegeError, match="SELECT on table a.t"):
        urls(of_ben(), given)
    accounts.grant("ben", "a.t", Privilege.SELECT)
    with pytest.raises(NoPrivilegeError, match="INSERT on table a.t"):
        urls(of_ben(), given)  # a copy is needed
    urls(table, given)
    assert fetched(urls(of_ben(), given)[0]) == b"one"


def test_other_storages_are_refused_by_name(tmp_path: Path) -> None:
    table = new_table({"warehouse": str(tmp_path)})
    with pytest.raises(UnsupportedFeatureError, match="on storage file://, which has no presigned URLs"):
        urls(table, descriptors(table), lenient=True)
    assert not list(tmp_path.rglob("_bloburl_*"))


def test_google_signs_with_the_key_of_an_account(tmp_path: Path) -> None:
    make = ("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    key = subprocess.run(make, capture_output=True, text=True, check=True).stdout  # noqa: S603
    account = {"type": "service_account", "client_email": "me@example.com", "private_key": key, "private_key_id": "1"}
    (tmp_path / "account.json").write_text(json.dumps(account))
    io = load_file_io("gs://lake", {"fs.gs.auth.service.account.json.keyfile": str(tmp_path / "account.json")})
    assert isinstance(io, SignsUrls)
    query = parse_qs(urlsplit(io.signed_url("gs://lake/a.blob", 60)).query)
    assert query["X-Goog-Expires"] == ["60"] and query["X-Goog-Credential"][0].startswith("me@example.com/")
