"""A small object store on the loopback device that supports S3's protocol, the dialects of OSS, OBS and COS, or
Google's XML API, with faults on request.

It does not check signatures. Creates are atomic: a lock is held from the lookup of an object to its put.
"""

from __future__ import annotations

import hashlib
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_HEADERS = {  # by dialect: the header of a create, and the code of its refusal
    "oss": ("x-oss-forbid-overwrite", "FileAlreadyExists"),
    "obs": ("x-obs-forbid-overwrite", "ObjectAlreadyExists"),
    "cosn": ("x-cos-forbid-overwrite", "FileAlreadyExists"),
}


@dataclass(frozen=True)
class Request:
    """A request that the server has received."""

    method: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """An answer in place of the right one. If `done`, the request has its effect nevertheless."""

    status: int
    code: str = ""
    message: str = "as asked"
    done: bool = False


@dataclass
class ObjectServer:
    """The content of one bucket. `fault` may return another answer to a request; None for the right one."""

    bucket: str = "lake"
    dialect: str = "s3"
    honours: bool = True
    fault: Callable[[Request], Answer | None] = lambda request: None
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    endpoint: str = ""

    @property
    def options(self) -> dict[str, str]:
        if self.dialect == "gs":
            return {"fs.gs.storage.root.url": self.endpoint, "fs.gs.auth.type": "UNAUTHENTICATED"}
        if self.dialect == "oss":
            keys = {"fs.oss.accessKeyId": "id", "fs.oss.accessKeySecret": "hunter2"}
            return {"fs.oss.endpoint": self.endpoint, **keys}
        if self.dialect == "obs":
            return {"fs.obs.endpoint": self.endpoint, "fs.obs.access.key": "id", "fs.obs.secret.key": "hunter2"}
        if self.dialect == "cosn":
            keys = {"fs.cosn.userinfo.secretId": "id", "fs.cosn.userinfo.secretKey": "hunter2"}
            return {"fs.cosn.bucket.endpoint_suffix": self.endpoint, **keys}
        keys = {"s3.access-key": "id", "s3.secret-key": "hunter2", "s3.region": "us-east-1"}
        return {"s3.endpoint": self.endpoint, **keys}

    def refuses(self, request: Request) -> Answer | None:
        """Return the answer if the condition of a put is not met; None if it is."""
        if self.dialect in _HEADERS:
            if "if-none-match" in request.headers:
                return Answer(501, "NotImplemented") if self.dialect == "oss" else Answer(400, "InvalidArgument")
            header, code = _HEADERS[self.dialect]
            taken = request.headers.get(header) == "true" and request.key in self.objects
            return Answer(409, code) if taken and self.honours else None
        wanted, there = request.headers.get("if-match"), self.objects.get(request.key)
        if self.dialect == "gs":
            asked = request.headers.get("x-goog-if-generation-match")
            is_met = asked is None or asked == (_generation(there) if there is not None else "0")
            return None if is_met or not self.honours else Answer(412, "PreconditionFailed")
        if wanted is not None and there is None:
            return Answer(404, "NoSuchKey")
        is_met = not ("if-none-match" in request.headers and there is not None)
        is_met = is_met and (wanted is None or there is None or wanted == _etag(there))
        return None if is_met or not self.honours else Answer(412, "PreconditionFailed")


@contextmanager
def object_server(**settings: Any) -> Iterator[ObjectServer]:
    """A server until the block ends."""
    server = ObjectServer(**settings)
    handler = type("Handler", (_Handler,), {"store": server})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    server.endpoint = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectServer

    def log_message(self, *arguments: object) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        split = urlsplit(self.path)
        bucket, _, key = unquote(split.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(split.query, keep_blank_values=True).items()}
        request = Request(self.command, key, query, {name.lower(): value for name, value in self.headers.items()})
        with self.store.lock:
            self.store.requests.append(request)
            answer = self.store.fault(request)
            if answer is not None and not answer.done:
                self._refuse(answer)
                return
            if bucket != self.store.bucket:
                self._refuse(Answer(404, "NoSuchBucket"))
                return
            status, headers, content = self._act(request, body)
        if answer is not None:
            self._refuse(answer)
            return
        self._send(status, content, headers)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _serve

    def _act(self, request: Request, body: bytes) -> tuple[int, dict[str, str], bytes]:
        objects, key = self.store.objects, request.key
        copied = request.headers.get("x-amz-copy-source") or request.headers.get("x-goog-copy-source")
        if request.method == "PUT" and copied:
            source = unquote(copied).lstrip("/").partition("/")[2]
            if source not in objects:
                return _error(Answer(404, "NoSuchKey"))
            objects[key] = objects[source]
            return 200, {}, b"<CopyObjectResult><ETag>e</ETag></CopyObjectResult>"
        if request.method == "PUT" and "uploadId" in request.query:
            self.store.uploads[request.query["uploadId"]][int(request.query["partNumber"])] = body
            return 200, {"ETag": '"part"'}, b""
        if request.method == "PUT":
            if refusal := self.store.refuses(request):
                return _error(refusal)
            objects[key] = body
            return 200, _tags(body), b""
        if request.method == "POST":
            return self._post(request, body)
        if request.method == "DELETE":
            objects.pop(key, None)
            return 204, {}, b""
        if not key:
            return 200, {}, self._listing(request.query)
        if key not in objects:
            return _error(Answer(404, "NoSuchKey"))
        return _content(objects[key], request.headers.get("range"))

    def _post(self, request: Request, body: bytes) -> tuple[int, dict[str, str], bytes]:
        objects = self.store.objects
        if "delete" in request.query:
            keys = [n.text or "" for n in ET.fromstring(body).iter() if n.tag.endswith("Key")]
            for deleted in keys:
                objects.pop(deleted, None)
            parts = "".join(f"<Deleted><Key>{escape(deleted)}</Key></Deleted>" for deleted in keys)
            return 200, {}, f"<DeleteResult>{parts}</DeleteResult>".encode()
        if "uploads" in request.query:
            number = f"upload-{len(self.store.uploads)}"
            self.store.uploads[number] = {}
            return 200, {}, f"<R><UploadId>{number}</UploadId></R>".encode()
        upload = self.store.uploads.pop(request.query["uploadId"])
        objects[request.key] = b"".join(upload[n] for n in sorted(upload))
        return 200, {}, b'<R><ETag>"whole"</ETag></R>'

    def _listing(self, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token", "")
        entries: dict[str, bytes | None] = {}
        for key in sorted(self.store.objects):
            if key.startswith(prefix):
                below = key[len(prefix) :]
                folder = delimiter and delimiter in below
                entries[prefix + below.split(delimiter)[0] + delimiter if folder else key] = (
                    None if folder else self.store.objects[key]
                )
        names = [name for name in entries if name > after]
        page, rest = names[:1000], names[1000:]
        parts = [f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>"]
        if rest:
            parts.append(f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>")
        for name in page:
            data = entries[name]
            if data is None:
                parts.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
            else:
                parts.append(
                    f"<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size>"
                    f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{escape(_etag(data))}</ETag></Contents>"
                )
        return f"<ListBucketResult>{''.join(parts)}</ListBucketResult>".encode()

    def _refuse(self, answer: Answer) -> None:
        status, headers, content = _error(answer)
        self._send(status, content, headers)

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(content)


def _error(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    text = f"<Error><Code>{answer.code}</Code><Message>{answer.message}</Message></Error>" if answer.code else ""
    return answer.status, {}, text.encode()


def _content(data: bytes, asked: str | None) -> tuple[int, dict[str, str], bytes]:
    headers = _tags(data)
    if asked is None:
        return 200, headers, data
    first, _, last = asked.removeprefix("bytes=").partition("-")
    begin = int(first) if first else max(0, len(data) - int(last))
    if begin >= len(data):
        return _error(Answer(416, "InvalidRange"))
    end = min(int(last) + 1, len(data)) if first and last else len(data)
    return 206, {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}, data[begin:end]


def _tags(data: bytes) -> dict[str, str]:
    return {"ETag": _etag(data), "x-goog-generation": _generation(data)}


def _generation(data: bytes) -> str:
    """Return a number that differs between contents, as Google numbers the versions of an object."""
    return str(int(hashlib.sha256(data).hexdigest()[:12], 16) + 1)


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'
