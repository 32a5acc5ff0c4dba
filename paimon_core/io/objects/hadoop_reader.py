"""The settings by which Hadoop's connector S3A reads the objects of a bucket with the keys of a catalog.

Hadoop keeps one file system for each scheme and bucket, whatever the settings. So two catalogs with different keys or
endpoints for one bucket would share the first catalog's file system. Therefore each set of settings has a scheme of its
own, which the process chooses at random: the scheme shows nothing about the keys.

Only keys that are settings of the catalog are passed to Hadoop. Java finds keys of the environment, of profiles and of
roles by other rules. Tokens expire, but a file system of Hadoop lives as long as its process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_core.io.cached import CachedFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.objects.clients import endpoint_of
from paimon_core.io.objects.settings import Settings, credentials, encryption, settings_of
from paimon_core.io.objects.store import ObjectStoreFileIO
from paimon_core.io.schemes import scheme_of

CONNECTOR = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PROVIDERS = {
    "keys": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "anonymous": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]*")  # other names are not hosts, and Hadoop finds no bucket in a URI with them
_INHERITED = ("AWS_ENDPOINT", "AWS_SESSION_TOKEN", "AWS_SKIP_SIGNATURE", "AWS_VIRTUAL")  # our client reads these, too
_REGION = "us-east-1"  # our client takes this region, too, if no region is set
# With these settings of a session, requests with the catalog's keys would go elsewhere, or would have other keys.
_NEVER_INHERITED = ("accesspoint.arn", "delegation.token.binding")
_SALT = secrets.token_bytes(16)


@dataclass(frozen=True, slots=True)
class HadoopReader:
    """A scheme of Hadoop for one bucket, and the settings that belong to it. They contain the keys."""

    bucket: str
    scheme: str
    settings: Mapping[str, str] = field(repr=False)

    def opens(self, path: str) -> bool:
        """Return whether an object is in the bucket."""
        scheme, _, rest = path.partition("://")
        return scheme_of(scheme).kind == "s3" and rest.startswith(f"{self.bucket}/")

    def path(self, path: str) -> str:
        """Return the path of an object of the bucket for Hadoop."""
        return f"{self.scheme}://{path.partition('://')[2]}"


def hadoop_reader(io: FileIO, root: str) -> HadoopReader | None:
    """Return Hadoop's reader of the objects below `root`, with the same keys, or None if Hadoop cannot use them."""
    if isinstance(io, CachedFileIO):
        io = io.inner
    if not isinstance(io, ObjectStoreFileIO) or scheme_of(io.scheme).kind != "s3":
        return None
    if any(name.startswith(_INHERITED) for name in os.environ):
        return None
    bucket = root.split("/")[2]
    found = settings_of("s3", bucket, io.options)
    provider = _PROVIDERS.get(credentials(found))
    if provider is None or found.get("session_token") or not _BUCKET.fullmatch(bucket):
        return None
    own = {
        f"fs.s3a.bucket.{bucket}.{name}": value for name, value in _connector_settings(found, bucket, provider).items()
    }
    digest = hmac.new(_SALT, json.dumps(own, sort_keys=True).encode(), hashlib.sha256).hexdigest()[:16]
    scheme = f"paimon-s3a-{digest}"
    return HadoopReader(bucket, scheme, {**own, f"fs.{scheme}.impl": CONNECTOR})


def _connector_settings(found: Settings, bucket: str, provider: str) -> dict[str, str]:
    """Return settings of S3A, without prefix. A setting that the catalog lacks is set to its default, if the session's
    own value would change what is read.
    """
    endpoint, is_host = endpoint_of(found, bucket)
    region = found.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    is_encrypted = "sse_customer_key_base64" in encryption(found)
    given = {
        "endpoint": endpoint,
        "endpoint.region": region or _REGION,
        "path.style.access": str(not is_host).lower(),
        "connection.ssl.enabled": str(not endpoint.startswith("http://")).lower(),
        "aws.credentials.provider": provider,
        "access.key": found.get("access_key_id"),
        "secret.key": found.get("secret_access_key"),
        "requester.pays.enabled": str(found.is_on("requester_pays")).lower(),
        "encryption.algorithm": "SSE-C" if is_encrypted else "",
        "encryption.key": found.get("encryption_key") if is_encrypted else "",
        "proxy.host": found.get("proxy_host"),
        "proxy.port": found.get("proxy_port"),
        "proxy.username": found.get("proxy_user"),
        "proxy.password": found.get("proxy_password"),
        "proxy.ssl.enabled": found.get("proxy_tls"),
        **dict.fromkeys(_NEVER_INHERITED, ""),
    }
    wanted = ("endpoint", "encryption.algorithm", "encryption.key", "proxy.host", *_NEVER_INHERITED)
    return {name: value for name, value in given.items() if value or name in wanted}
