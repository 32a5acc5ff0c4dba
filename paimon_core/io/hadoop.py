"""Hadoop's settings that a catalog uses in addition to its own: `hadoop.*`, `spark.hadoop.*` and `core-site.xml`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

from paimon_core.errors import InvalidOptionError

CONF_DIR = "hadoop-conf-dir"
_FILES = ("core-site.xml", "hdfs-site.xml")
_WRAPPED = ("hadoop.", "spark.hadoop.")  # the first prefix wins
STORAGES = ("fs.", "dfs.", "hadoop.security.", "hadoop.rpc.", "hadoop.socks.", "ipc.client.")
_VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
_DEPTH = 20  # the deepest nesting of variables, as in Hadoop


def with_hadoop(options: Mapping[str, str]) -> dict[str, str]:
    """Return options, with Hadoop's settings under their own names. Options of the catalog win.

    `hadoop-conf-dir` names the folder of Hadoop's files, else the environment's HADOOP_CONF_DIR. Raises
    `InvalidOptionError` for a file that cannot be read.
    """
    found: dict[str, str] = {}
    if folder := options.get(CONF_DIR) or os.environ.get("HADOOP_CONF_DIR"):
        for name in _FILES:
            path = Path(folder, name)
            if path.is_file():
                found |= _properties(str(path), path.stat().st_mtime_ns)
    for prefix in reversed(_WRAPPED):
        for key, value in options.items():
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and name.startswith(STORAGES):
                found[name] = value
    return {**found, **options}


@lru_cache(maxsize=16)
def _properties(path: str, modified: int) -> dict[str, str]:
    try:
        root = ElementTree.parse(path).getroot()  # the administrator's file
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidOptionError(f"Hadoop's settings {path} cannot be read: {error}. Correct the file.") from error
    pairs = ((p.findtext("name") or "", p.findtext("value") or "") for p in root.iter("property"))
    found = {name.strip(): value.strip() for name, value in pairs if name}
    return {name: _expanded(value, found) for name, value in found.items() if name.startswith(STORAGES)}


def _expanded(value: str, found: Mapping[str, str]) -> str:
    for _ in range(_DEPTH):
        match = _VARIABLE.search(value)
        if match is None:
            break
        name = match[1]
        known = os.environ.get(name[4:]) if name.startswith("env.") else found.get(name)
        if known is None:
            break
        value = value[: match.start()] + known + value[match.end() :]
    return value
