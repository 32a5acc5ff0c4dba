"""The places outside of a table's folder that a catalog allows its tables to name. A limit is needed because a table's
schema is a file that others may write.

    allowed-external-paths    locations that may contain data and index files. If it is not set, a table may have the
                              external paths that it declares, see `external_paths`; other files are never touched
    allowed-mark-done-urls    addresses that done partitions may be reported to; if it is not set, none
    allowed-iceberg-catalogs  Iceberg catalogs that may register tables: metastores, `thrift://host:port`, and servers,
                              `https://host`; if it is not set, only the ones that the catalog itself has
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import SplitResult, unquote, urlsplit

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import normalize, without_links
from paimon_core.lazy import regex
from paimon_core.options import names

EXTERNAL_PATHS, MARK_DONE_URLS = "allowed-external-paths", "allowed-mark-done-urls"
ICEBERG_CATALOGS = "allowed-iceberg-catalogs"
DESCRIPTORS = "blob-descriptor."
_ALIKE = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "wasbs": "abfs", "wasb": "abfs"}
_PORT = regex(r":(?:8020|9000|9820|9870|443|80)$")


@dataclass(frozen=True, slots=True)
class Allowed:
    """The limits of a catalog.

    `external_paths` None means that the catalog does not set the option. `with_users` is the warehouse if it has users,
    else "". `descriptors` are the options for access to the storages of blob descriptors."""

    external_paths: tuple[str, ...] | None = None
    mark_done_urls: tuple[str, ...] = ()
    iceberg_catalogs: tuple[str, ...] = ()
    with_users: str = ""
    descriptors: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @staticmethod
    def of(options: Mapping[str, str]) -> Allowed:
        """Read the limits from a catalog's options. Raises `InvalidOptionError`."""
        paths, urls = options.get(EXTERNAL_PATHS), names(options.get(MARK_DONE_URLS, ""))
        catalogs = names(options.get(ICEBERG_CATALOGS, ""))
        for url in urls:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise InvalidOptionError(f"Option '{MARK_DONE_URLS}' cannot have {url!r}: write https://host/path.")
        given = sorted((k.removeprefix(DESCRIPTORS), v) for k, v in options.items() if k.startswith(DESCRIPTORS))
        allowed = None if paths is None else tuple(_location(p) for p in names(paths))
        return Allowed(allowed, urls, catalogs, descriptors=tuple(given))

    def takes_path(self, path: str) -> bool:
        """Return whether a normalized path is one of the locations, or below one."""
        return any(_is_in(path, allowed) for allowed in self.external_paths or ())

    @property
    def limits_files(self) -> bool:
        """Return whether rows and options of tables may only name files in some locations."""
        return self.external_paths is not None or bool(self.with_users)

    def takes_named_file(self, path: str, root: str) -> bool:
        """Return whether the table at `root` may read the file at `path`; see `named_file`."""
        return self.named_file(path, root) is not None

    def named_file(self, path: str, root: str) -> str | None:
        """Return the location of the file at `path` if it may be read, else None. Rows or options of the table at
        `root` name this path.

        If the catalog has neither the option nor users, every file may be read. Else the file must be below the table,
        or below an allowed location, and not in another folder of a warehouse with users. Links are followed before
        this check. The returned location has no links, because links may change after the check.
        """
        if not self.limits_files:
            return path
        real, own = without_links(path), without_links(root)
        if ".." in _plain(path).split("/"):
            return None
        if _is_in(path, root) and _is_in(real, own):
            return real
        warehouses = (self.with_users, without_links(self.with_users)) if self.with_users else ()
        if any(_is_in(_plain(p), _plain(warehouse)) for p in (path, real) for warehouse in warehouses):
            return None
        is_allowed = self.takes_path(path) and any(_is_in(real, without_links(p)) for p in self.external_paths or ())
        return real if is_allowed else None

    def takes_url(self, url: str) -> bool:
        """Return whether an address is allowed: it is an allowed address, or below one with the same scheme, host and
        port.
        """
        return _takes(self.mark_done_urls, url)

    def takes_iceberg_server(self, url: str) -> bool:
        """Return the same as `takes_url` for a server of Iceberg's REST API."""
        return _takes(self.iceberg_catalogs, url)


def lies_below(path: str, folder: str) -> bool:
    """Return whether a normalized location is below a folder, in any spelling of both, and wherever links lead."""
    folders = {_plain(place) for place in (folder, without_links(folder))}
    return any(_is_in(_plain(place), f) for place in (path, without_links(path)) for f in folders)


def _is_in(path: str, folder: str) -> bool:
    return ".." not in path.split("/") and f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _plain(path: str) -> str:
    """Return a location in one spelling for all storages: one scheme per kind of storage, hosts in lower case and
    without their usual port, no escapes, no empty parts."""
    scheme, found, rest = path.partition("://")
    host, _, folders = rest.partition("/") if found else ("", "", path)
    parts = [part for part in unquote(folders).replace("\\", "/").split("/") if part not in ("", ".")]
    place = _PORT.sub("", host.lower())
    return "/".join((f"{_ALIKE.get(scheme, scheme)}://{place}" if found else "", *parts))


def _location(path: str) -> str:
    """Normalize a location. `scheme://bucket/` means a whole bucket."""
    return normalize(path) if path.strip("/") else "/"


def _takes(urls: tuple[str, ...], url: str) -> bool:
    try:
        given = urlsplit(url)
        return any(_is_below(given, urlsplit(allowed)) for allowed in urls)
    except ValueError:
        return False


def _is_below(given: SplitResult, allowed: SplitResult) -> bool:
    here = (allowed.scheme, allowed.hostname, allowed.port or allowed.scheme)
    there = (given.scheme, given.hostname, given.port or given.scheme)
    plain = ".." not in given.path and "\\" not in given.path and "@" not in given.netloc
    return plain and here == there and f"{given.path}/".startswith(f"{allowed.path.rstrip('/')}/")
