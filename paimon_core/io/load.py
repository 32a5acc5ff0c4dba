"""The `FileIO` of a location, made by the options of its catalog."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from paimon_core.errors import InvalidOptionError
from paimon_core.io.file_io import FileIO
from paimon_core.io.fsspec import FsspecFileIO, url_options
from paimon_core.io.hdfs import SCHEMES as HDFS_SCHEMES
from paimon_core.io.hdfs import HdfsFileIO, hdfs_options, is_hdfs_option
from paimon_core.io.local import LocalFileIO
from paimon_core.secrets import is_secret, without_secrets

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FILE_URI = re.compile(r"file:(?://(?P<host>[^/]*)(?=/))?(?P<path>/(?!/).*)", re.IGNORECASE | re.DOTALL)
_PASSTHROUGH = "fsspec."
_PREFIXES = {
    "s3": ("fs.s3a.", "s3a.", "fs.s3.", "s3."),
    "s3a": ("fs.s3a.", "s3a.", "fs.s3.", "s3."),
    "oss": ("fs.oss.",),
}
# Last part of the option, blanked of '.', '-' and case -> fsspec's name.
_NAMES = {
    "accesskey": "key",
    "accesskeyid": "key",
    "secretkey": "secret",
    "accesskeysecret": "secret",
    "sessiontoken": "token",
    "securitytoken": "token",
    "endpoint": "endpoint",
    "region": "region",
    "endpointregion": "region",
    "pathstyleaccess": "path_style",
    "connectionsslenabled": "ssl",
}


def load_file_io(uri: str, options: Mapping[str, str]) -> FileIO:
    """The storage of a location.

    `s3.endpoint`, `s3.access-key`, `s3.secret-key` and their kin, also spelled `fs.s3a.…`, and `fs.oss.…` are
    understood; `dfs.…` and `hadoop-conf-dir` are for HDFS; `fsspec.NAME` hands NAME to fsspec's file system.

    Raises `InvalidOptionError` for an invalid location,
    `UnsupportedFeatureError` if the package for its scheme is not installed.
    """
    location = normalize(uri)
    match = _URI.match(location)
    if not match:
        return LocalFileIO()
    scheme = match[1]
    if scheme in HDFS_SCHEMES:
        return HdfsFileIO(f"{scheme}://{match[2].partition('/')[0]}", hdfs_options(options))
    return FsspecFileIO(scheme, {**url_options(location), **_client_options(scheme, options)})


def check_no_secrets(table: str, options: Mapping[str, str]) -> None:
    """Raises `InvalidOptionError` if options of a table are secrets: every reader of the table can read its schema."""
    if found := sorted(k for k in options if is_secret(k)):
        raise InvalidOptionError(
            f"Table {table} cannot have the option {found[0]!r}: every reader of the table can see the table's "
            f"options. Set it on the catalog, as spark.sql.catalog.NAME.{found[0]}."
        )


def check_location(uri: str) -> None:
    """Raises `InvalidOptionError` for a location that holds a secret: it is shown wherever its tables are."""
    if without_secrets(uri) != uri:
        raise InvalidOptionError(
            f"The location {without_secrets(uri)} contains a user and a password, or a key in its query part: pass "
            "them as catalog options."
        )


def is_storage_option(key: str) -> bool:
    """Whether an option is for reaching a storage: it belongs to a catalog, and may be a secret."""
    prefixes = (_PASSTHROUGH, *(p for prefixes in _PREFIXES.values() for p in prefixes))
    return key.lower().startswith(prefixes) or is_hdfs_option(key)


def without_links(path: str) -> str:
    """A normalized location, each symbolic link of a local one replaced by the folder or file that it leads to."""
    return path if "://" in path else os.path.realpath(path)


def normalize(uri: str) -> str:
    """A location as it is compared: absolute, no trailing slash; local ones are plain paths, nothing is unescaped.

    `wh`, `/wh/`, `file:/wh` and `file:///wh` are local paths; `scheme://bucket/key/` keeps its scheme.
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
    return "/" + os.path.abspath(path).lstrip("/")  # abspath keeps two leading slashes


def _client_options(scheme: str, options: Mapping[str, str]) -> dict[str, Any]:
    """fsspec's options for a scheme, from the options of a catalog."""
    found: dict[str, str] = {}
    for prefix in reversed(_PREFIXES.get(scheme, ())):  # the first prefix wins
        for key, value in options.items():
            if key.startswith(prefix):
                name = _NAMES.get(re.sub(r"[.-]", "", key.removeprefix(prefix)).lower())
                if name:
                    found[name] = value
    given = {key.removeprefix(_PASSTHROUGH): _flag(v) for key, v in options.items() if key.startswith(_PASSTHROUGH)}
    return {**(_ossfs_options(found) if scheme == "oss" else _s3fs_options(found)), **given}


def _ossfs_options(found: dict[str, str]) -> dict[str, Any]:
    return {name: found[name] for name in ("key", "secret", "token", "endpoint") if name in found}


def _s3fs_options(found: dict[str, str]) -> dict[str, Any]:
    mapped: dict[str, Any] = {name: found[name] for name in ("key", "secret", "token") if name in found}
    if endpoint := found.get("endpoint"):
        protocol = "http" if found.get("ssl", "").lower() == "false" else "https"
        mapped["endpoint_url"] = endpoint if "://" in endpoint else f"{protocol}://{endpoint}"
    if region := found.get("region"):
        mapped["client_kwargs"] = {"region_name": region}
    if found.get("path_style", "").lower() == "true":
        mapped["config_kwargs"] = {"s3": {"addressing_style": "path"}}
    return mapped


def _flag(value: str) -> str | bool:
    return {"true": True, "false": False}.get(value.lower(), value)
