"""Mark partitions as complete, for processes that wait for them: `partition.mark-done-action`.

success-file    PARTITION/_SUCCESS: {"creationTime": ms, "modificationTime": ms}
http-report     POST of {"params", "table", "path", "partition"}, answered by {"result": "SUCCESS"}
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

from paimon_core.errors import InvalidOptionError, NotAllowedError, StorageError, UnsupportedFeatureError
from paimon_core.maintenance.success_files import write_success_file
from paimon_core.options import (
    PARTITION_MARK_DONE_ACTION,
    PARTITION_MARK_DONE_PARAMS,
    PARTITION_MARK_DONE_URL,
    TableOptions,
)
from paimon_core.secrets import without_secrets
from paimon_core.spec.json_object import decode_json_object
from paimon_core.spec.paths import escape_path_name
from paimon_core.store.allowed import MARK_DONE_URLS, Allowed
from paimon_core.store.table_store import TableStore

Action = Callable[[TableStore, str], None]
_REPORT = "http-report"
_TIMEOUT = 60  # seconds
_MOST_BYTES = 2**20
_METASTORE = ("done-partition", "mark-event")


def mark_done(store: TableStore, specs: Sequence[Mapping[str, str]]) -> None:
    """Run the table's actions for each partition. Partitions are given as in names of folders.

    Raises `UnsupportedFeatureError` for an action that this library does not have or that needs a metastore,
    `InvalidOptionError`, `StorageError`. If an error can be found in advance, it is raised before any action.
    """
    actions = [_action(store, name) for name in store.options[PARTITION_MARK_DONE_ACTION]]
    for spec in specs:
        folder = "/".join(f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items())
        for act in actions:
            act(store, folder)


def _action(store: TableStore, name: str) -> Action:
    found = _ACTIONS.get(name := _spelled(name))
    if found is None:
        why = "needs a metastore, and the catalog of this table has none" if name in _METASTORE else "is not supported"
        raise UnsupportedFeatureError(
            f"Table {store.name}: '{PARTITION_MARK_DONE_ACTION.key}' = '{name}' {why}; {', '.join(_ACTIONS)} work."
        )
    if found is _report:
        check_report(store.name, store.schema.options, store.options, store.allowed)
    return found


def check_report(table: str, declared: Mapping[str, str], options: TableOptions, allowed: Allowed) -> None:
    """Check the address for reports of partitions.

    Raises `InvalidOptionError` if partitions must be reported but no address is set. Raises `NotAllowedError` if the
    address comes from the table's schema, `declared`, and the catalog does not allow it: another user may have written
    the schema."""
    if _REPORT not in [_spelled(name) for name in options[PARTITION_MARK_DONE_ACTION]]:
        return
    key, url = PARTITION_MARK_DONE_URL.key, options[PARTITION_MARK_DONE_URL]
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidOptionError(f"Table {table}: {_REPORT} needs the option '{key}', an http(s) address.")
    if url == declared.get(key) and not allowed.takes_url(url):
        raise NotAllowedError(
            f"Table {table} cannot report its partitions to the address in its '{key}': the catalog's option "
            f"'{MARK_DONE_URLS}' must list that address or a prefix of it. Set it, or 'spark.paimon.{key}' for this "
            "session."
        )


def _spelled(name: str) -> str:
    """Return an action's name in lower case with hyphens. Java accepts any case, and underscores, too."""
    return name.lower().replace("_", "-")


def _write_success_file(store: TableStore, folder: str) -> None:
    write_success_file(store.io, f"{store.paths.data_root}/{folder}/_SUCCESS")


def _report(store: TableStore, folder: str) -> None:
    url, params = store.options[PARTITION_MARK_DONE_URL], store.options[PARTITION_MARK_DONE_PARAMS]
    body = {"params": params, "table": store.name, "path": store.root, "partition": f"{folder}/"}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            result = decode_json_object(url, response.read(_MOST_BYTES)).get("result")
    except (OSError, ValueError) as e:
        raise StorageError(
            f"Partition {folder} of table {store.name} could not be reported: {type(e).__name__}: "
            f"{without_secrets(str(e))}. Check "
            f"'{PARTITION_MARK_DONE_URL.key}', then mark it again."
        ) from e
    if str(result).upper() != "SUCCESS":
        raise StorageError(
            f"Partition {folder} of table {store.name} was reported, but the answer is {result!r}, not 'SUCCESS'. "
            f"Check the service at '{PARTITION_MARK_DONE_URL.key}', then mark the partition again."
        )


_ACTIONS: Mapping[str, Action] = MappingProxyType({"success-file": _write_success_file, _REPORT: _report})
