"""Clients of object stores: one for each process, bucket and set of options. The client's threads do not survive a
fork. A child process that used the client would wait for ever, so it gets an error instead. The first request of a
client has short timeouts and is not repeated, so a server that never answers is reported within seconds. After the
first answer, failed requests are repeated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any, TypeVar

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.io.objects.failures import AGAIN, is_transient, is_unreachable
from paimon_core.io.objects.settings import Settings, credentials, encryption, settings_of
from paimon_core.io.schemes import scheme_of
from paimon_core.optional_packages import import_optional

T = TypeVar("T")
_CONNECT, _READ, _FIRST_READ, _LONGEST = "5s", "30s", "7s", "1h"
_RETRIES, _RETRY_TIMEOUT = 8, timedelta(seconds=60)
_LOCAL_HOST = re.compile(r"https?://(?:localhost|\d+\.\d+\.\d+\.\d+|\[)")
_GOOGLE, _OF_ACCOUNT = "https://storage.googleapis.com", ("client_email", "private_key", "private_key_id")
_HEADERS = {kind: f"x-{kind}-forbid-overwrite" for kind in ("oss", "obs", "cos")}
_OF_REGION = re.compile(r"\b(?:obs|cos)\.([a-z0-9-]+)\.")
_AZURE_HOST = re.compile(r"([a-z0-9]+)\.(?:dfs|blob)\.(core\.[\w.]+)")


class Client:
    """The stores of one bucket: `usual` repeats requests; `_first` is used until the server has answered."""

    def __init__(self, scheme: str, bucket: str, options: Mapping[str, str]) -> None:
        kind = scheme_of(scheme).kind
        self._found = settings_of(kind, bucket, options)
        self._scheme, self._bucket = scheme, bucket
        self.usual = self._store(_RETRIES, _READ)
        header = _HEADERS.get(kind)
        self.creating = self._store(_RETRIES, _READ, {header: "true"}) if header else self.usual
        self._first = self._store(0, _FIRST_READ)
        self._has_answered = False

    def call(self, act: Callable[[Any], T]) -> T:
        """Call `act` with a store. Raises the errors of the client."""
        if self._has_answered:
            return act(self.usual)
        try:
            result = act(self._first)
        except Exception as error:
            if is_unreachable(error):
                raise
            self._has_answered = True
            if not is_transient(error):
                raise
            try:
                return act(self.usual)
            except Exception as later:
                later.add_note(AGAIN)
                raise
        self._has_answered = True
        return result

    def _store(self, retries: int, read_timeout: str, headers: Mapping[str, str] | None = None) -> Any:
        found = self._found
        wanted = int(found.get("retries") or retries)
        retry = {
            "max_retries": min(wanted, retries),
            "retry_timeout": _RETRY_TIMEOUT,
            "backoff": {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(seconds=4), "base": 2},
        }
        make = {"s3": _s3, "oss": _s3, "obs": _s3, "cos": _s3, "gcs": _gcs, "azure": _azure}[found.kind]
        client = _client_options(found, read_timeout)
        if headers:
            client["default_headers"] = dict(headers)
        stores = import_optional("obstore.store", f"Storage {self._scheme}://", scheme_of(self._scheme).extra)
        return make(stores, self._bucket, found, {"client_options": client, "retry_config": retry})


def client_of(scheme: str, bucket: str, options: Mapping[str, str]) -> Client:
    """Return the client of this process.

    Raises `UnsupportedFeatureError` in a forked process, if its parent process has used a client."""
    if _first_process() != os.getpid():
        raise UnsupportedFeatureError(
            f"Cannot reach {scheme}://{bucket} from this process: it was forked from a process that has used an "
            "object store, and would wait for ever. Start such processes by spawn or forkserver, for example by "
            "multiprocessing.set_start_method('spawn'), or fork them before the first read."
        )
    return _client(scheme, bucket, tuple(sorted(options.items())))


@lru_cache(maxsize=64)
def _client(scheme: str, bucket: str, options: tuple[tuple[str, str], ...]) -> Client:
    return Client(scheme, bucket, dict(options))


@cache
def _first_process() -> int:
    return os.getpid()


def check_installed(scheme: str) -> None:
    """Raise `UnsupportedFeatureError` if the package for a scheme is not installed."""
    import_optional("obstore", f"Storage {scheme}://", scheme_of(scheme).extra)


def _client_options(found: Settings, read_timeout: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "allow_http": True,  # the endpoint decides
        "connect_timeout": _time(found.millis("connect_timeout"), _CONNECT),
        "read_timeout": read_timeout if read_timeout != _READ else _time(found.millis("read_timeout"), _READ),
        "timeout": _LONGEST,  # for a whole request: a large object may take long
    }
    host, _, port = found.get("proxy_address").rpartition("://")[2].partition(":")
    if host := found.get("proxy_host") or host:
        user = found.get("proxy_user")
        access = f"{user}:{found.get('proxy_password')}@" if user else ""
        protocol = "https" if found.is_on("proxy_tls") else "http"
        made["proxy_url"] = f"{protocol}://{access}{host}:{found.get('proxy_port') or port or 8080}"
    return made


def _time(millis: int | None, usual: str) -> str:
    """Return a time in the client's spelling. In Hadoop, 0 means a time without a limit."""
    return usual if millis is None else f"{millis}ms" if millis else _LONGEST


def _s3(stores: Any, bucket: str, found: Settings, more: dict[str, Any]) -> Any:
    config: dict[str, Any] = {**encryption(found), **_endpoint(found, bucket)}
    for name in ("access_key_id", "secret_access_key", "session_token", "region"):
        if value := found.get(name):
            config[name] = value
    if found.is_on("requester_pays"):
        config["request_payer"] = True
    if found.kind in _HEADERS:
        config["disable_bulk_delete"] = True
        region = _OF_REGION.search(found.get("endpoint"))
        config.setdefault("region", region[1] if region else found.kind)
    return stores.S3Store(bucket, config=config, **_credentials(found, config), **more)


def _endpoint(found: Settings, bucket: str) -> dict[str, Any]:
    endpoint, is_host = endpoint_of(found, bucket)
    if not endpoint:
        return {"virtual_hosted_style_request": is_host}
    if not is_host:
        return {"endpoint": endpoint, "virtual_hosted_style_request": False}
    protocol, _, host = endpoint.partition("://")
    return {"endpoint": f"{protocol}://{bucket}.{host}", "virtual_hosted_style_request": True}


def endpoint_of(found: Settings, bucket: str) -> tuple[str, bool]:
    """Return the endpoint with its protocol, "" for Amazon's own, and whether the bucket is a part of the host name."""
    endpoint = found.get("endpoint")
    if not endpoint and found.kind == "cos":
        endpoint = f"cos.{found.get('region')}.myqcloud.com"
    if not endpoint:
        return "", not found.is_on("path_style") and "." not in bucket
    if "://" not in endpoint:
        endpoint = f"{'http' if found.get('tls').lower() == 'false' else 'https'}://{endpoint}"
    endpoint = endpoint.rstrip("/")
    # Only Amazon, OSS, OBS and COS certainly have a host name for each bucket; other storages have one if the setting
    # requires it.
    is_named = found.kind in _HEADERS or "amazonaws.com" in endpoint or found.get("path_style").lower() == "false"
    is_path = not is_named or found.is_on("path_style") or _LOCAL_HOST.match(endpoint) or "." in bucket
    return endpoint, not is_path


def _credentials(found: Settings, config: dict[str, Any]) -> dict[str, Any]:
    """Return the provider of keys, if the settings do not contain the keys. Add to the store's configuration."""
    way = credentials(found)
    if way == "anonymous":
        config["skip_signature"] = True
    elif way in ("profile", "role") or (not way and os.environ.get("AWS_PROFILE")):
        purpose = "A profile of AWS, or an assumed role,"
        boto3 = import_optional("boto3", purpose, "s3-profiles")
        providers = import_optional("obstore.auth.boto3", purpose, "s3-profiles")
        keys = {f"aws_{name}": found.get(name) for name in ("access_key_id", "secret_access_key", "session_token")}
        given = {name: value for name, value in keys.items() if value}
        session = boto3.Session(profile_name=found.get("profile") or None, **given)
        for name in ("access_key_id", "secret_access_key", "session_token"):
            config.pop(name, None)
        if way != "role":
            return {"credential_provider": providers.Boto3CredentialProvider(session)}
        role = {"RoleArn": found.get("role"), "RoleSessionName": found.get("role_session") or "paimon-sql"}
        return {"credential_provider": providers.StsCredentialProvider(session, **role)}
    return {}


def _gcs(stores: Any, bucket: str, found: Settings, more: dict[str, Any]) -> Any:
    config: dict[str, Any] = {}
    if path := found.get("service_account"):
        config["service_account"] = path
    if endpoint := found.get("endpoint"):
        config["base_url"] = endpoint.rstrip("/")
    if found.is_on("anonymous") or found.get("auth_type").upper() == "UNAUTHENTICATED":
        # With `skip_signature` alone, the client requests a token for a put.
        none = {"gcs_base_url": config.pop("base_url", _GOOGLE), "disable_oauth": True}
        config["service_account_key"] = json.dumps({**none, **dict.fromkeys(_OF_ACCOUNT, "")})
        config["skip_signature"] = True
    return stores.GCSStore(bucket, config=config, **more)


def _azure(stores: Any, bucket: str, found: Settings, more: dict[str, Any]) -> Any:
    container, _, host = bucket.partition("@")
    config: dict[str, Any] = {}
    if host:
        config["account_name"] = host.partition(".")[0]
        if (known := _AZURE_HOST.fullmatch(host)) and known[2] != "core.windows.net":
            config["endpoint"] = f"https://{known[1]}.blob.{known[2]}"
    for name in ("account_name", "account_key", "client_id", "client_secret"):
        if value := found.get(name):
            config[name] = value
    if token := found.get("sas_key"):
        config["sas_key"] = token.lstrip("?")
    if endpoint := found.get("endpoint"):
        config["endpoint"] = endpoint.rstrip("/")
    if tenant := re.search(r"//[^/]+/([^/]+)/oauth2", found.get("token_endpoint")):
        config["tenant_id"] = tenant[1]
    if found.is_on("anonymous"):
        config["skip_signature"] = True
    return stores.AzureStore(container, config=config, **more)
