"""The check of a request before a page is made: its method, its host, its origin and its token.

A page on the internet must not reach this server through the user's browser. So the name in the header `Host` must be
one of this server (a foreign name may lead here, too: DNS rebinding), and the browser must not say that another site
made the request. The token comes once in the address that the command prints. Then it is in a cookie that scripts and
other sites do not get.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import field
from urllib.parse import parse_qs, urlencode

from paimon_core.dataclass import dataclass

TOKEN = "token"  # the parameter of the address
_LOCAL = frozenset(("127.0.0.1", "::1", "localhost"))
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::\d{1,5})?")
_MOST_PARAMETERS = 20
_OWN_SITES = ("none", "same-origin")  # of the header Sec-Fetch-Site: the user's own address, or a page of this server
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request: its method, its path as it was sent, its query and its headers, with names in lower case."""

    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]

    def header(self, name: str) -> str | None:
        """Return the only header of a name, None if there are none or several."""
        found = [value for key, value in self.headers if key == name]
        return found[0] if len(found) == 1 else None

    def parameters(self) -> dict[str, str]:
        """Return the parameters of the query, the first of each name."""
        found = parse_qs(self.query, max_num_fields=_MOST_PARAMETERS, errors="replace")
        return {key: values[0] for key, values in found.items()}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that gets no page: a status and a reason."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Guard:
    """The checks of a server at an address (`host`) with a token. `names` are further names of the server."""

    host: str
    token: str = field(repr=False)
    names: frozenset[str] = frozenset()

    @property
    def cookie(self) -> str:
        """The name of the cookie, a different one for each server: browsers send cookies to all ports of a machine."""
        return f"paimon_sql_{hashlib.sha256(self.token.encode()).hexdigest()[:12]}"

    @property
    def set_cookie(self) -> str:
        """The header that gives a browser the cookie."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def refusal(self, request: PageRequest) -> Refusal | None:
        """Return the reason to refuse a request, or None. A request with the token in its address passes, too."""
        if request.method != "GET":
            return Refusal(405, "This server only answers GET.")
        if request.query.count("&") >= _MOST_PARAMETERS:
            return Refusal(400, "The address has too many parameters.")
        if not self._is_own_host(request.header("host")):
            return Refusal(
                421, "This server has another name than the address. Open the address that the command has printed."
            )
        if not self.brings_token(request):
            if (request.header("sec-fetch-site") or "none") not in _OWN_SITES:
                return Refusal(
                    403, "A page of another site has sent this request. Open this page by its address instead."
                )
            if not self._has_cookie(request):
                return Refusal(403, "The request has no token. Open the address that the command has printed.")
        return None

    def brings_token(self, request: PageRequest) -> bool:
        """Return whether the address of a request has the token."""
        return self._is_token(request.parameters().get(TOKEN, ""))

    @staticmethod
    def without_token(request: PageRequest) -> str:
        """Return the address of a request without the token, which would stay in the browser's history."""
        left = urlencode({key: value for key, value in request.parameters().items() if key != TOKEN})
        return f"/{request.path.lstrip('/')}{'?' if left else ''}{left}"  # two slashes would begin a host

    def _has_cookie(self, request: PageRequest) -> bool:
        given = (part.strip().partition("=") for k, v in request.headers if k == "cookie" for part in v.split(";"))
        return any(name == self.cookie and self._is_token(value) for name, _, value in given)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def _is_own_host(self, header: str | None) -> bool:
        match = _HOST.fullmatch(header or "")
        if match is None:
            return False
        name = (match["six"] or match["name"]).lower()
        # another site can give this machine a name, but not an address
        return name in _LOCAL or name in self.names or (_is_address(name) and not is_loopback(self.host))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
