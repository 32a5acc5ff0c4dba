"""Large files whose size metadata knows: no request for the size, and the same rows if metadata is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from paimon_core.errors import StorageError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.io.load import load_file_io
from paimon_core.io.objects import store
from paimon_core.io.objects.files import END, WHOLE
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.support.object_server import Answer, ObjectServer, object_server
from tests.support.stored import T, insert, read
from tests.support.tables import fields

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
PATH = "s3://lake/wh/file"


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    store._proof.cache_clear()  # a server may get the address of an earlier one
    with object_server() as found:
        yield found


def ranges(server: ObjectServer, ending: str) -> list[str]:
    """The ranges of the requests for files with this ending since the last call, "" for a whole file."""
    found = [r.headers.get("range", "") for r in server.requests if r.key.endswith(ending)]
    server.requests.clear()
    return found


def test_a_large_file_of_known_size_is_opened_by_a_request_for_its_end(server: ObjectServer) -> None:
    content = os.urandom(WHOLE + 2**20)
    io = load_file_io("s3://lake/wh", server.options)
    server.objects["wh/file"] = content
    with io.open_input(PATH, len(content)) as file:
        assert file.size() == len(content)
        assert file.read_at(8, len(content) - 8) == content[-8:]
        assert file.read_at(END, len(content) - END) == content[-END:]
    assert ranges(server, "file") == [f"bytes={len(content) - END}-{len(content) - 1}"]


@pytest.mark.parametrize("actual", [0, 10, END, WHOLE, WHOLE + 1, 2 * WHOLE])
def test_a_file_is_read_with_its_own_size_whatever_metadata_says(server: ObjectServer, actual: int) -> None:
    content = os.urandom(actual)
    io = load_file_io("s3://lake/wh", server.options)
    server.objects["wh/file"] = content
    for known in (None, -1, 0, 10, WHOLE, WHOLE + 1, 2 * WHOLE - 5, 2 * WHOLE, 2 * WHOLE + END, 3 * WHOLE, 2**63 - 1):
        with io.open_input(PATH, known) as file:
            assert file.size() == actual, known
            assert file.read() == content, known


def test_errors_are_those_of_a_file_of_unknown_size(server: ObjectServer) -> None:
    io = load_file_io("s3://lake/wh", server.options)
    with pytest.raises(FileNotFoundError):
        io.open_input(PATH, 2 * WHOLE)
    assert len(ranges(server, "file")) == 1
    server.objects["wh/file"] = bytes(2 * WHOLE)
    server.fault = lambda request: Answer(403, "AccessDenied")
    errors = []
    for known in (None, 2 * WHOLE):
        with pytest.raises(StorageError) as error:
            io.open_input(PATH, known)
        errors.append(str(error.value))
    assert errors[0] == errors[1] and "AccessDenied" in errors[0]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_data_file_is_read_without_a_request_for_its_size(server: ObjectServer, file_format: str) -> None:
    catalog = load_catalog({"warehouse": "s3://lake/wh", **server.options})
    options = {"file.format": file_format, "file.compression": "none"}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=options))
    rows = [(k, os.urandom(768).hex()) for k in range(6_000)]
    insert(catalog.load_table(T), rows)
    (key,) = (k for k in server.objects if k.endswith(f".{file_format}"))
    size = len(server.objects[key])
    server.requests.clear()
    assert read(catalog.load_table(T)) == rows
    found = ranges(server, file_format)
    assert size > WHOLE and "" not in found and found[0] == f"bytes={size - END}-{size - 1}", (size, found)
    if file_format == "parquet":
        assert len(found) <= 3, "the end of the file, and its chunks in parts of 8 MB side by side"


def test_a_data_file_of_another_size_than_metadata_says_has_the_same_rows(server: ObjectServer) -> None:
    catalog = load_catalog({"warehouse": "s3://lake/wh", **server.options})
    for file_format in ("parquet", "orc", "avro"):
        options = {"file.format": file_format, "file.compression": "none"}
        catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING), options=options))
        insert(catalog.load_table(T), [(k, os.urandom(768).hex()) for k in range(6_000)])
        (key,) = (k for k in server.objects if k.endswith(f".{file_format}"))
        size, io = len(server.objects[key]), load_file_io("s3://lake/wh", server.options)

        def rows(known: int | None, key: str = key, io: object = io) -> list[dict[str, object]]:
            request = ReadRequest(f"s3://lake/{key}", tuple(fields(k=INT, v=STRING)), by_name=True, size=known)
            return [row for batch in format_of_file(key).read(io, request) for row in batch.to_pylist()]

        right = rows(None)
        for known in (size, 10, size - 1, size + 1, size + 2 * END, size - 2 * END, 10 * size):
            assert rows(known) == right, (file_format, known)
        catalog.drop_table(T)
