"""Signatures of DLF: an HMAC over each request, with a key that may be valid for only one hour.

    default   DLF4-HMAC-SHA256 over method, path, query and the headers below
    openapi   HMAC-SHA1 as Alibaba Cloud's OpenAPI has it, for `dlfnext` endpoints

Source: `DLFDefaultSigner`, `DLFOpenApiSigner` and `DLFToken` of Paimon.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote, unquote

from paimon_core.dataclass import dataclass
from paimon_core.spec.json_object import member

_ALGORITHM, _PRODUCT, _KIND = "DLF4-HMAC-SHA256", "DlfNext", "aliyun_v4_request"
_UNSIGNED = "UNSIGNED-PAYLOAD"
_SIGNED = frozenset(
    ("content-md5", "content-type", "x-dlf-content-sha256", "x-dlf-date", "x-dlf-version", "x-dlf-security-token")
)


@dataclass(frozen=True, slots=True)
class DlfKey:
    """A key. `expires` is in epoch milliseconds, None for a key that does not expire."""

    id: str
    secret: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The signed parts of a request. `path` is escaped, parameters are not."""

    method: str
    path: str
    parameters: Mapping[str, str]
    body: bytes


def decode_key(node: Any) -> DlfKey:
    """Return the key in the JSON of a token file or the metadata service. Raises `TypeError`, `ValueError`."""
    until = member(node, "Expiration", str | None, None)
    at = None if until is None else datetime.strptime(until, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return DlfKey(
        member(node, "AccessKeyId", str),
        member(node, "AccessKeySecret", str),
        member(node, "SecurityToken", str | None, None),
        None if at is None else int(at.timestamp() * 1000),
    )


def signed(request: Request, key: DlfKey, region: str, now: datetime) -> dict[str, str]:
    """Return the headers that sign a request with the default signature."""
    time = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {"x-dlf-date": time, "x-dlf-content-sha256": _UNSIGNED, "x-dlf-version": "v1"}
    if request.body:
        headers |= {"Content-Type": "application/json", "Content-MD5": _md5(request.body)}
    if key.security_token is not None:
        headers["x-dlf-security-token"] = key.security_token
    query = "&".join(
        f"{name.strip()}={quote(value, safe='*').replace('%20', '+')}" if value else name.strip()
        for name, value in sorted(request.parameters.items())
    )
    covered = sorted((n.lower(), v.strip()) for n, v in headers.items() if n.lower() in _SIGNED)
    canonical = "\n".join((request.method, request.path, query, *(f"{n}:{v}" for n, v in covered), _UNSIGNED))
    scope = f"{time[:8]}/{region}/{_PRODUCT}/{_KIND}"
    text = "\n".join((_ALGORITHM, time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    signing = f"aliyun_v4{key.secret}".encode()
    for step in (time[:8], region, _PRODUCT, _KIND):
        signing = hmac.digest(signing, step.encode(), "sha256")
    signature = hmac.digest(signing, text.encode(), "sha256").hex()
    return {**headers, "Authorization": f"{_ALGORITHM} Credential={key.id}/{scope},Signature={signature}"}


def signed_openapi(request: Request, key: DlfKey, host: str, now: datetime) -> dict[str, str]:
    """Return the headers that sign a request with the signature of OpenAPI.

    They contain a nonce, so they can be sent only once.
    """
    date = format_datetime(now.astimezone(UTC), usegmt=True)
    own = {
        "x-acs-signature-method": "HMAC-SHA1",
        "x-acs-signature-nonce": str(uuid.uuid4()),
        "x-acs-signature-version": "1.0",
        "x-acs-version": "2026-01-18",
    }
    if key.security_token is not None:
        own["x-acs-security-token"] = key.security_token
    md5, kind = (_md5(request.body), "application/json") if request.body else ("", "")
    query = "&".join(f"{n}={v}" if v else n for n, v in sorted(request.parameters.items()))
    resource = unquote(request.path) + (f"?{query}" if query else "")
    lines = "".join(f"{name}:{value.strip()}\n" for name, value in sorted(own.items()))
    text = f"{request.method}\napplication/json\n{md5}\n{kind}\n{date}\n{lines}{resource}"
    signature = base64.b64encode(hmac.digest(key.secret.encode(), text.encode(), "sha1")).decode()
    headers = {"Date": date, "Accept": "application/json", "Host": host, **own}
    if request.body:
        headers |= {"Content-MD5": md5, "Content-Type": kind}
    return {**headers, "Authorization": f"acs {key.id}:{signature}"}


def _md5(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
