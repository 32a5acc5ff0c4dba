"""Settings of a catalog for object stores, in the spelling of Java and Hadoop. Each setting is used, refused, needless
or unknown. A setting is refused if it changes where or how data is stored, or which keys are used, and is not
supported. A needless setting only affects Java's client; `names` lists them. Unknown settings are logged as a warning:
no setting is dropped silently.
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io.objects.names import NEEDLESS, ONLY, REFUSED, USED, plain, refusal
from paimon_core.io.schemes import KEY_STORES, PREFIXES
from paimon_core.lazy import regex

_PASSTHROUGH = "fsspec."
_TIME = regex(r"([0-9]{1,15})(ns|us|ms|s|m|h|d)?")
_NANOS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_SIMPLE = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider", "StaticCredentialsProvider")
_CHAIN = (
    "EnvironmentVariableCredentialsProvider", "IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider",
    "EC2ContainerCredentialsProviderWrapper", "ContainerCredentialsProvider", "DefaultAWSCredentialsProviderChain",
    "DefaultCredentialsProvider", "WebIdentityTokenCredentialsProvider", "WebIdentityTokenFileCredentialsProvider",
)  # fmt: skip
_FSSPEC_NAMES = {
    "key": "access_key_id",
    "secret": "secret_access_key",
    "token": "session_token",
    "endpoint_url": "endpoint",
    "anon": "anonymous",
    "profile": "profile",
    "account_name": "account_name",
    "account_key": "account_key",
    "sas_token": "sas_key",
}
_NEEDED = {  # otherwise the client would ask Amazon
    "obs": "fs.obs.endpoint, such as obs.cn-north-4.myhuaweicloud.com",
    "cos": "fs.cosn.bucket.region, or fs.cosn.bucket.endpoint_suffix, such as cos.ap-beijing.myqcloud.com",
}
_TOKEN_PROVIDER = plain("account.oauth.provider.type")
_ENCRYPTIONS = {
    "AES256": "AES256",
    "SSE-S3": "AES256",
    "SSE-KMS": "aws:kms",
    "DSSE-KMS": "aws:kms:dsse",
    "SSE-C": "sse-c",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that are used, by our names."""

    kind: str
    values: Mapping[str, str] = field(repr=False)

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    def is_on(self, name: str) -> bool:
        return self.get(name).lower() == "true"

    def millis(self, name: str) -> int | None:
        """Return a time by the rules of Hadoop's `Configuration.getTimeDuration`, at least 1 millisecond.

        Return 0 for no limit, None if the setting is missing. A number without a unit is in milliseconds. Raises
        `InvalidOptionError`."""
        text = self.get(name).strip().lower()
        if not text:
            return None
        match = _TIME.fullmatch(text)
        if match is None:
            raise InvalidOptionError(
                f"The setting for {name.replace('_', ' ')} is not a number of milliseconds, or a time such as 30s: "
                f"{text!r}."
            )
        nanos = int(match[1]) * _NANOS[match[2] or "ms"]
        return max(1, nanos // _NANOS["ms"]) if nanos else 0


def settings_of(kind: str, bucket: str, options: Mapping[str, str]) -> Settings:
    """Return the settings for a bucket. Settings of `fs.s3a.bucket.BUCKET.` win.

    Logs a warning for unknown settings. Raises `InvalidOptionError`, `UnsupportedFeatureError`.
    """
    _check_key_stores(options)
    found: dict[str, str] = {}
    for name, key in _by_rank(kind, bucket, options):
        short, value = plain(name), options[key].strip()
        target = USED[kind].get(short)
        if short == _TOKEN_PROVIDER and kind == "azure":
            _check_token_provider(key, value)
        elif (target is None or short in ONLY[kind]) and (reason := refusal(kind, short, value)):
            raise UnsupportedFeatureError(f"The setting {key} cannot be used: {reason}. Remove it from the catalog.")
        elif target is not None:
            found[target] = value
        elif short not in NEEDLESS[kind] and short not in ONLY[kind] and short not in REFUSED[kind]:
            warnings.warn(f"The setting {key} is unknown for {kind} and has no effect.", stacklevel=2)
    for key, value in options.items():
        if key.startswith(_PASSTHROUGH):
            found[_fsspec_name(kind, key)] = value
    return _checked(Settings(kind, found))


def _by_rank(kind: str, bucket: str, options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names of settings without prefix, with the keys of their options.

    A later setting overrides an earlier one.
    """
    ranked = list[tuple[int, str, str]]()
    for key in options:
        name, rank = key, -1
        for place, prefix in enumerate(PREFIXES[kind]):
            if key.startswith(prefix):
                name, rank = key.removeprefix(prefix), len(PREFIXES[kind]) - place
                break
        if rank < 0:
            continue
        if name.startswith("bucket.") and plain(name) not in USED[kind]:
            if not name.startswith(f"bucket.{bucket}."):
                continue
            name, rank = name.removeprefix(f"bucket.{bucket}."), 100
        if kind == "azure":
            name, account = _of_account(name)
            rank += bool(account)
            if account and account != bucket.rpartition("@")[2]:
                continue
        ranked.append((rank, name, key))
    return [(name, key) for _, name, key in sorted(ranked, key=lambda r: r[0])]


_ACCOUNT = regex(r"(.+?)\.([a-z0-9]+\.(?:dfs|blob)\.[\w.]+)")


def _of_account(name: str) -> tuple[str, str]:
    """Split `account.key.NAME.dfs.core.windows.net` into the setting and the account's host."""
    match = _ACCOUNT.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _check_key_stores(options: Mapping[str, str]) -> None:
    wrapped = (f"{prefix}{KEY_STORES}" for prefix in ("", "hadoop.", "spark.hadoop."))
    found = next((key for key in wrapped if key in options), "")
    if options.get(found, "").strip():
        raise UnsupportedFeatureError(
            f"The setting {found} cannot be used: key stores of Java are not read. Set the keys themselves on the "
            f"catalog, and {KEY_STORES} to the empty text."
        )


def _fsspec_name(kind: str, key: str) -> str:
    name = _FSSPEC_NAMES.get(key.removeprefix(_PASSTHROUGH))
    if name is None or name not in {*USED[kind].values(), "anonymous"}:
        raise UnsupportedFeatureError(
            f"The setting {key} cannot be used: this storage is not reached by fsspec. Use a setting of "
            "docs/storages.md."
        )
    return name


def _check_token_provider(key: str, value: str) -> None:
    if not value.endswith("ClientCredsTokenProvider"):
        raise UnsupportedFeatureError(
            f"The setting {key} = {value} cannot be used: tokens are requested with a client id and a secret only. "
            "Set fs.azure.account.oauth2.client.id, .secret and .endpoint, and remove it from the catalog."
        )


def check_endpoint(found: Settings) -> None:
    """Raise `InvalidOptionError` if the endpoint is missing for a storage that has no usual one."""
    if found.kind in _NEEDED and not (found.get("endpoint") or (found.kind == "cos" and found.get("region"))):
        raise InvalidOptionError(f"This storage needs the endpoint of its region: set {_NEEDED[found.kind]}.")


def _checked(found: Settings) -> Settings:
    if found.kind == "s3":
        encryption(found)
        credentials(found)
    for name in ("connect_timeout", "read_timeout"):
        found.millis(name)
    for name in ("retries", "proxy_port"):
        if (text := found.get(name).strip()) and not re.fullmatch(r"[0-9]{1,9}", text):
            raise InvalidOptionError(f"The setting for {name.replace('_', ' ')} is not a number: {text!r}.")
    return found


def encryption(found: Settings) -> dict[str, Any]:
    """Return the client's settings for the encryption of objects.

    Raises `InvalidOptionError`, `UnsupportedFeatureError`."""
    name, key = found.get("encryption"), found.get("encryption_key")
    if not name:
        return {}
    kind = _ENCRYPTIONS.get(name) or (name if name in _ENCRYPTIONS.values() else None)
    if kind is None:
        raise UnsupportedFeatureError(
            f"Objects cannot be encrypted by {name}: this version has AES256, SSE-KMS, DSSE-KMS and SSE-C. "
            "Set fs.s3a.encryption.algorithm to one of them."
        )
    if kind == "AES256":
        return {"server_side_encryption": kind}
    if kind != "sse-c":
        return {"server_side_encryption": kind, **({"sse_kms_key_id": key} if key else {})}
    try:
        size = len(base64.b64decode(key, validate=True))
    except binascii.Error:
        size = 0
    if size != 32:
        raise InvalidOptionError(
            "The setting fs.s3a.encryption.key for SSE-C is not a key of 256 bits in base64. "
            "Encode 32 random bytes in base64."
        )
    return {"server_side_encryption": kind, "sse_customer_key_base64": key}


def credentials(found: Settings) -> str:
    """Return the source of keys: "keys", "anonymous", "profile", "role", or "" for the chain of the environment.

    Raises `UnsupportedFeatureError` for a Java provider without an equivalent.
    """
    if found.is_on("anonymous"):
        return "anonymous"
    if found.get("profile"):
        return "profile"
    for provider in filter(None, (part.strip() for part in found.get("provider").split(","))):
        name = provider.rpartition(".")[2].rpartition("$")[2]
        if name.startswith("Anonymous"):
            return "anonymous"
        if name == "AssumedRoleCredentialProvider":
            if not found.get("role"):
                raise InvalidOptionError("The provider of an assumed role needs the setting fs.s3a.assumed.role.arn.")
            return "role"
        if name.startswith("ProfileCredentials"):
            return "profile"
        if name in _SIMPLE and found.get("access_key_id"):
            return "keys"
        if name not in (*_SIMPLE, *_CHAIN):
            raise UnsupportedFeatureError(
                f"The provider of credentials {provider} cannot be used: it is a Java class without an equivalent "
                "in this version. Set keys, a profile, or a provider of docs/storages.md."
            )
    return "keys" if found.get("access_key_id") else ""
