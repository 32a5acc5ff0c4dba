"""Servers of object stores on the loopback device, for the contract of storages: versitygw and azurite, which the
environment names (`make campaign NAME=object-stores`), and our own models of S3 and OSS.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.object_server import Answer, Request, object_server

_ACCOUNT = "devstoreaccount1"  # of each azurite, with this key
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Storage:
    """A bucket: the options of a user who may do everything in it, and of one who may only read."""

    root: str
    options: Mapping[str, str] = field(repr=False)
    reader: Mapping[str, str] = field(repr=False)
    many: int = 5000  # objects that the server deletes by one call before a client gives up


@contextmanager
def versitygw(folder: Path) -> Iterator[Storage]:
    """A server of S3's protocol."""
    import boto3  # noqa: PLC0415  only campaigns have it

    program, port = os.environ["PAIMON_SQL_VERSITYGW"], _free_port()
    for name in ("data/lake", "users"):
        (folder / name).mkdir(parents=True)
    settings = ["--port", f"127.0.0.1:{port}", "--region", "us-east-1", "--iam-dir", str(folder / "users"), "--quiet"]
    keys = {"ROOT_ACCESS_KEY": "root", "ROOT_SECRET_KEY": "hunter2hunter2"}
    endpoint = f"http://127.0.0.1:{port}"
    with _running([program, *settings, "posix", str(folder / "data")], folder / "log", port, keys):
        admin = ["admin", "--access", "root", "--secret", "hunter2hunter2", "--endpoint-url", endpoint]
        user = ["create-user", "--access", "reader", "--secret", "hunter3hunter3", "--role", "user"]
        subprocess.run([program, *admin, *user], check=True, capture_output=True)
        client = boto3.client(
            "s3", endpoint_url=endpoint, aws_access_key_id="root", aws_secret_access_key="hunter2hunter2",
            region_name="us-east-1",
        )  # fmt: skip
        allowed = {"Effect": "Allow", "Principal": "reader", "Action": ["s3:GetObject", "s3:ListBucket"]}
        policy = {"Statement": [{**allowed, "Resource": ["arn:aws:s3:::lake", "arn:aws:s3:::lake/*"]}]}
        client.put_bucket_policy(Bucket="lake", Policy=json.dumps(policy))
        yield Storage("s3://lake", _s3(endpoint, "root", "hunter2hunter2"), _s3(endpoint, "reader", "hunter3hunter3"))


def versitygw_as(scheme: str) -> Callable[[Path], AbstractContextManager[Storage]]:
    """The same server as the endpoint of OBS or COS, with the options of their clients."""
    names = {
        "obs": ("fs.obs.endpoint", "fs.obs.access.key", "fs.obs.secret.key", "fs.obs.region"),
        "cosn": (
            "fs.cosn.bucket.endpoint_suffix",
            "fs.cosn.userinfo.secretId",
            "fs.cosn.userinfo.secretKey",
            "fs.cosn.bucket.region",
        ),
    }[scheme]
    given = dict(zip(("s3.endpoint", "s3.access-key", "s3.secret-key", "s3.region"), names, strict=True))

    def named(options: Mapping[str, str]) -> dict[str, str]:
        return {given[key]: value for key, value in options.items() if key in given}

    @contextmanager
    def serve(folder: Path) -> Iterator[Storage]:
        with versitygw(folder) as found:
            yield Storage(f"{scheme}://lake", named(found.options), named(found.reader))

    return serve


def _s3(endpoint: str, key: str, secret: str) -> dict[str, str]:
    keys = {"s3.access-key": key, "s3.secret-key": secret, "s3.region": "us-east-1"}
    return {**keys, "s3.endpoint": endpoint, "s3.path.style.access": "true"}


@contextmanager
def azurite(folder: Path) -> Iterator[Storage]:
    """Microsoft's stand-in for Azure's blobs, without its telemetry."""
    port = _free_port()
    settings = ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence"]
    command = [os.environ["PAIMON_SQL_AZURITE"], "--blobHost", "127.0.0.1", "--blobPort", str(port), *settings]
    folder.mkdir()
    endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
    with _running(command, folder / "log", port, {}):
        _create_container(endpoint)
        options = {"fs.azure.endpoint": endpoint, "fs.azure.account.name": _ACCOUNT}
        reader = {**options, "fs.azure.sas.fixed.token": _token("rl")}
        yield Storage("az://lake", {**options, "fs.azure.account.key": _KEY}, reader, many=500)


def _signature(text: str) -> str:
    return base64.b64encode(hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()).decode()


def _create_container(endpoint: str) -> None:
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": date, "x-ms-version": "2020-10-02"}
    shown = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{shown}/{_ACCOUNT}/{_ACCOUNT}/lake\nrestype:container"
    headers |= {"Authorization": f"SharedKey {_ACCOUNT}:{_signature(text)}", "Content-Length": "0"}
    request = urllib.request.Request(f"{endpoint}/lake?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(request, timeout=30).close()


def _token(permissions: str) -> str:
    """Return a token for the container until 2040, with some permissions."""
    until, version = "2040-01-01T00:00:00Z", "2018-11-09"
    text = "\n".join([permissions, "", until, f"/blob/{_ACCOUNT}/lake", "", "", "", version, "c", *[""] * 6])
    signature = urllib.request.quote(_signature(text), safe="")  # type: ignore[attr-defined]
    return f"sv={version}&sr=c&se={until.replace(':', '%3A')}&sp={permissions}&sig={signature}"


def model(dialect: str) -> Callable[[Path], AbstractContextManager[Storage]]:
    """Our own model of S3 or OSS. Its reader has another key, which may not change anything."""

    @contextmanager
    def serve(folder: Path) -> Iterator[Storage]:
        def refuse(request: Request) -> Answer | None:
            by_reader = "reader" in request.headers.get("authorization", "")
            reads = request.method in ("GET", "HEAD")
            return Answer(403, "AccessDenied") if by_reader and not reads else None

        with object_server(dialect=dialect, fault=refuse) as server:
            key = "s3.access-key" if dialect == "s3" else "fs.oss.accessKeyId"
            yield Storage(f"{dialect}://lake", server.options, {**server.options, key: "reader"})

    return serve


@contextmanager
def _running(command: list[str], log: Path, port: int, environment: dict[str, str]) -> Iterator[None]:
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **environment}) as server,
    ):
        try:
            _wait(port, server, log)
            yield
        finally:
            server.terminate()


def _wait(port: int, server: subprocess.Popen[Any], log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"The server did not start: {log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
