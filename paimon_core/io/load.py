"""Open the `FileIO` of a location, with the options of its catalog."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from paimon_core.errors import InvalidOptionError
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.io.schemes import FSSPEC, HDFS_NATIVE, KEY_STORES, OBSTORE, PREFIXES, scheme_of
from paimon_core.lazy import ImportedOnCall, regex
from paimon_core.secrets import is_secret, without_secrets

if TYPE_CHECKING:
    from hmac import digest

    from paimon_core.io.cached import with_cache
    from paimon_core.io.fsspec import FsspecFileIO, url_options
    from paimon_core.io.hadoop import with_hadoop
    from paimon_core.io.hdfs import HdfsFileIO
    from paimon_core.io.hdfs_settings import hdfs_options, is_hdfs_option
    from paimon_core.io.objects.clients import check_installed
    from paimon_core.io.objects.settings import check_endpoint, settings_of
    from paimon_core.io.objects.store import ObjectStoreFileIO
else:
    digest = ImportedOnCall("hmac", "digest")  # loads OpenSSL
    with_cache = ImportedOnCall("paimon_core.io.cached", "with_cache")
    ObjectStoreFileIO = ImportedOnCall("paimon_core.io.objects.store", "ObjectStoreFileIO")
    check_installed = ImportedOnCall("paimon_core.io.objects.clients", "check_installed")
    FsspecFileIO = ImportedOnCall("paimon_core.io.fsspec", "FsspecFileIO")
    url_options = ImportedOnCall("paimon_core.io.fsspec", "url_options")
    HdfsFileIO = ImportedOnCall("paimon_core.io.hdfs", "HdfsFileIO")
    with_hadoop = ImportedOnCall("paimon_core.io.hadoop", "with_hadoop")
    hdfs_options = ImportedOnCall("paimon_core.io.hdfs_settings", "hdfs_options")
    is_hdfs_option = ImportedOnCall("paimon_core.io.hdfs_settings", "is_hdfs_option")
    settings_of = ImportedOnCall("paimon_core.io.objects.settings", "settings_of")
    check_endpoint = ImportedOnCall("paimon_core.io.objects.settings", "check_endpoint")

_URI = regex(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_PASSTHROUGH = "fsspec."
_SALT = os.urandom(16)
_STORAGE_OPTIONS = (_PASSTHROUGH, "hadoop.", "spark.hadoop.", *(p for prefixes in PREFIXES.values() for p in prefixes))
_FILE_URI = regex(r"file:(?://(?P<host>[^/]*)(?=/))?(?P<path>/(?!/).*)", re.IGNORECASE | re.DOTALL)


def load_file_io(uri: str, options: Mapping[str, str]) -> FileIO:
    """Return the storage of a location.

    `docs/storages.md` lists the options of each storage; `fsspec.NAME` passes NAME to fsspec's file system, for schemes
    that only fsspec supports. Raises `InvalidOptionError` for an invalid location or option, `UnsupportedFeatureError`
    if the package for its scheme is not installed or a setting cannot be used.
    """
    location = normalize(uri)
    match = _URI.match(location)
    if not match:
        return LocalFileIO()
    return _FACTORIES[scheme_of(match[1]).library](match[1], location, options)


def _object_store(scheme: str, location: str, options: Mapping[str, str]) -> FileIO:
    check_installed(scheme)
    prefixes = (*PREFIXES[scheme_of(scheme).kind], _PASSTHROUGH, KEY_STORES)
    found = {key: value for key, value in with_hadoop(options).items() if key.startswith(prefixes)}
    check_endpoint(settings_of(scheme_of(scheme).kind, location.split("/")[2], found))
    return with_cache(ObjectStoreFileIO(scheme, found), options)


def _fsspec(scheme: str, location: str, options: Mapping[str, str]) -> FileIO:
    given = {key.removeprefix(_PASSTHROUGH): _flag(v) for key, v in options.items() if key.startswith(_PASSTHROUGH)}
    return FsspecFileIO(scheme, {**url_options(location), **given})


def _hdfs(scheme: str, location: str, options: Mapping[str, str]) -> FileIO:
    return HdfsFileIO("/".join(location.split("/")[:3]), hdfs_options(options))


_FACTORIES: dict[str, Callable[[str, str, Mapping[str, str]], FileIO]] = {
    OBSTORE: _object_store,
    HDFS_NATIVE: _hdfs,
    FSSPEC: _fsspec,
}


def same_storage(io: FileIO) -> str:
    """Return a text that differs between storages, within this process: two endpoints may have buckets of one name.

    The text shows nothing about the settings of the storage.
    """
    return digest(_SALT, pickle.dumps(io), "sha256").hex()[:16]


def check_no_secrets(table: str, options: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` if options of a table are secrets: every reader of the table can read its schema."""
    if found := sorted(k for k in options if is_secret(k)):
        raise InvalidOptionError(
            f"Table {table} cannot have the option {found[0]!r}: every reader of the table can see the table's "
            f"options. Set it on the catalog, as spark.sql.catalog.NAME.{found[0]}."
        )


def check_location(uri: str) -> None:
    """Raise `InvalidOptionError` for a location that contains a secret: locations are shown with their tables."""
    if without_secrets(uri) != uri:
        raise InvalidOptionError(
            f"The location {without_secrets(uri)} contains a user and a password, or a key in its query part: pass "
            "them as catalog options."
        )


def is_storage_option(key: str) -> bool:
    """Return whether an option configures a storage. Such an option belongs to a catalog, and may be a secret."""
    return key.lower().startswith(_STORAGE_OPTIONS) or is_hdfs_option(key)


def without_links(path: str) -> str:
    """Return a normalized location. In a local location, each symbolic link is replaced by its target."""
    return path if "://" in path else os.path.realpath(path)


def normalize(uri: str) -> str:
    """Return a location in the form that is compared: absolute and without a trailing slash. Nothing is unescaped.

    `wh`, `/wh/`, `file:/wh` and `file:///wh` are local and become plain paths. `scheme://bucket/key/` keeps its scheme.
    """
    if not uri.strip():
        raise InvalidOptionError("The location is empty: give a path or a URI such as s3://bucket/warehouse.")
    if re.match(r"[^/]+:/*[^/]*:[^/]*@", uri):
        raise InvalidOptionError("The location contains a user and a password: pass them as catalog options.")
    if match := _FILE_URI.fullmatch(uri):
        if match["host"] not in (None, "", "localhost"):
            raise InvalidOptionError(
                f"Location {without_secrets(uri)!r} names the host {match['host']!r}: write it as file:///path."
            )
        return _local(match["path"])
    if (match := _URI.fullmatch(uri)) and match[1].lower() != "file":
        scheme, rest = match[1].lower(), match[2].rstrip("/")
        if not rest:
            raise InvalidOptionError(
                f"Location {without_secrets(uri)!r} names no bucket: write it as {scheme}://bucket/path."
            )
        return f"{scheme}://{rest}"
    if re.match(r"[^/]*:/|file:", uri, re.IGNORECASE):
        raise InvalidOptionError(
            f"Location {without_secrets(uri)!r} is not a URI: write it as scheme://bucket/path or file:///path."
        )
    return _local(uri)


def _local(path: str) -> str:
    return "/" + os.path.abspath(path).lstrip("/")  # `abspath` would keep two leading slashes


def _flag(value: str) -> str | bool:
    return {"true": True, "false": False}.get(value.lower(), value)
