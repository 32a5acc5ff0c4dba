"""Settings of HDFS. Each setting is passed to the library hdfs-native, used here, refused, needless or unknown. A
setting is refused if it changes the stored bytes or the way to the cluster, and the library does not read it. The name
node itself decides some settings for every client, such as encryption of data in transit. Unknown settings are logged
as a warning. The driver reads its site files and passes the settings on as options, so executors need no files.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io.hadoop import CONF_DIR, STORAGES, with_hadoop

PRINCIPAL, KEYTAB = "security.kerberos.login.principal", "security.kerberos.login.keytab"
REPLICATION, BLOCK_SIZE, UMASK = "dfs.replication", "dfs.blocksize", "fs.permissions.umask-mode"
PREFIXES = ("dfs.", "fs.defaultfs", "fs.viewfs.", UMASK, "hadoop.", "ipc.", "security.kerberos.login.")  # in lower case
_OUTER = ("hadoop.", "spark.hadoop.")
_WRAPPED = tuple(f"{outer}{name}" for outer in _OUTER for name in STORAGES)
_RPC_PROTECTION = "hadoop.rpc.protection"
_KEY_PROVIDER = "hadoop.security.key.provider.path"
_RENAMED = {
    "dfs.encryption.key.provider.uri": _KEY_PROVIDER,
    "dfs.block.size": BLOCK_SIZE,
    "dfs.umaskmode": UMASK,
}
_HANDED = re.compile(
    r"fs\.defaultFS|dfs\.nameservices|fs\.viewfs\.mounttable\..+|dfs\.ha\.namenodes\..+|"
    r"dfs\.namenode\.rpc-address(?:\..+)?|"
    r"dfs\.client\.failover\.(?:resolve-needed|resolver\.useFQDN|random\.order|proxy\.provider)(?:\..+)?|"
    r"dfs\.client\.failover\.(?:max\.attempts|sleep\.base\.millis|sleep\.max\.millis)|"
    r"dfs\.client\.block\.write\.replace-datanode-on-failure\.(?:enable|enabled|policy|best-effort)|"
    r"dfs\.client\.use\.datanode\.hostname|dfs\.client\.socket-timeout|dfs\.data\.transfer\.protection|"
    r"dfs\.user\.home\.dir\.prefix|hadoop\.security\.authentication|" + re.escape(_KEY_PROVIDER)
)
_USED = frozenset({CONF_DIR, PRINCIPAL, KEYTAB, REPLICATION, BLOCK_SIZE, UMASK})
_OF_THIS_CLIENT = (CONF_DIR, REPLICATION, BLOCK_SIZE, UMASK, "dfs.user.home.dir.prefix")
_PATIENCE = re.compile(
    r"dfs\.client\.(?:failover\.(?:max|sleep|random)\..+|socket-timeout|block\.write\..+)|fs\.viewfs\..+"
)
# For each setting, the library's value, and the reason why other values are refused.
_STANDARD = "org.apache.hadoop.net.StandardSocketFactory"
_ONLY = {
    "dfs.checksum.type": ("CRC32C", "the cluster decides the type of checksums; set it there"),
    "dfs.bytes-per-checksum": ("512", "the cluster decides the distance of checksums; set it there"),
}
_RESOLVERS = "classes of Java cannot be used; set dfs.data.transfer.protection"
_SOCKETS = "the cluster is reached directly; run this program in a network that has its hosts"
_REFUSED = {
    "dfs.data.transfer.saslproperties.resolver.class": _RESOLVERS,
    "hadoop.security.saslproperties.resolver.class": _RESOLVERS,
    "dfs.trustedchannel.resolver.class": _RESOLVERS,
    "hadoop.rpc.socket.factory.class.default": _SOCKETS,
    "hadoop.rpc.socket.factory.class.ClientProtocol": _SOCKETS,
    "hadoop.socks.server": _SOCKETS,
}
# Settings that only affect Java's client, that the name node decides for every client, or that follow from other
# settings.
_NEEDLESS_NAMES = """
dfs.internal.nameservices dfs.encrypt.data.transfer dfs.encrypt.data.transfer.algorithm
dfs.encrypt.data.transfer.cipher.suites dfs.encrypt.data.transfer.cipher.key.bitlength
dfs.namenode.kerberos.principal dfs.namenode.kerberos.principal.pattern dfs.datanode.kerberos.principal
dfs.block.access.token.enable dfs.namenode.http-address dfs.namenode.https-address dfs.http.policy
dfs.permissions.enabled dfs.support.append dfs.client.read.shortcircuit dfs.client.read.shortcircuit.skip.checksum
dfs.client.read.shortcircuit.streams.cache.size dfs.client.read.shortcircuit.streams.cache.expiry.ms
dfs.client.read.shortcircuit.buffer.size dfs.domain.socket.path dfs.client.domain.socket.data.traffic
dfs.client.use.legacy.blockreader.local dfs.client.datanode-restart.timeout dfs.client.retry.policy.enabled
dfs.client.retry.policy.spec dfs.client.retry.max.attempts dfs.client.max.block.acquire.failures
dfs.client.hedged.read.threadpool.size dfs.client.hedged.read.threshold.millis dfs.client.cached.conn.retry
dfs.client.socketcache.capacity dfs.client.socketcache.expiryMsec dfs.client.block.write.retries
dfs.client.block.write.locateFollowingBlock.retries dfs.client.write.exclude.nodes.cache.expiry.interval.millis
dfs.client.slow.io.warning.threshold.ms dfs.client.failover.connection.retries
dfs.client.failover.connection.retries.on.timeouts dfs.client-write-packet-size dfs.stream-buffer-size
dfs.datanode.socket.write.timeout hadoop.tmp.dir hadoop.security.authorization hadoop.security.auth_to_local
hadoop.security.credential.provider.path hadoop.security.crypto.cipher.suite hadoop.security.crypto.buffer.size
hadoop.security.kms.client.encrypted.key.cache.size hadoop.security.kms.client.timeout hadoop.util.hash.type
ipc.client.connect.max.retries ipc.client.connect.max.retries.on.timeouts ipc.client.connect.retry.interval
ipc.client.connect.timeout ipc.client.connection.maxidletime ipc.client.tcpnodelay ipc.client.low-latency
ipc.client.ping ipc.client.rpc-timeout.ms ipc.client.kill.max ipc.maximum.data.length
ipc.client.fallback-to-simple-auth-allowed
"""
_NEEDLESS = frozenset(_NEEDLESS_NAMES.split())
_RIGHTS, _PLACES = {"r": 4, "w": 2, "x": 1}, {"u": 6, "g": 3, "o": 0}
_SIZE = re.compile(r"(\d+)([kmgtp]?)b?", re.IGNORECASE)
_UNITS = {unit: 1024**power for power, unit in enumerate(("", "k", "m", "g", "t", "p"))}


def is_hdfs_option(key: str) -> bool:
    """Return whether an option of a catalog is a setting of HDFS."""
    return key.lower() == CONF_DIR or key.lower().startswith(PREFIXES)


def hdfs_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of HDFS in a catalog's options and in the site files, by Hadoop's names.

    Logs a warning for unknown settings. Raises `UnsupportedFeatureError`, `InvalidOptionError`.
    """
    found: dict[str, str] = {}
    merged = with_hadoop(options)
    for name, value in merged.items():
        if not is_hdfs_option(name) or any(name.startswith(prefix) for prefix in _WRAPPED):
            continue
        target, is_own = _RENAMED.get(name, name), any(f"{prefix}{name}" in options for prefix in ("", *_OUTER))
        if target != name and target in merged:
            continue
        if target in _USED or _HANDED.fullmatch(target):
            found[target] = value
        elif reason := _refusal(target, value.strip(), is_own):
            raise UnsupportedFeatureError(f"The setting {name} cannot be used: {reason}. Remove it from the catalog.")
        elif is_own:
            _warn(target, value.strip())
    file_settings(found)
    return found


def cluster_settings(root: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that another client needs, so that it reaches the same cluster as the same user.

    `root` is the location without its path, `options` come from `hdfs_options`.
    """
    wanted = {name: value for name, value in options.items() if name not in _OF_THIS_CLIENT}
    if root.partition("://")[2]:  # otherwise fs.defaultFS is the cluster
        wanted.pop("fs.defaultFS", None)
    return {name: value for name, value in wanted.items() if not _PATIENCE.fullmatch(name)}


def _refusal(name: str, value: str, is_own: bool) -> str:
    """Return the reason why a setting is refused.

    Site files may contain settings that match the cluster's behaviour anyway.
    """
    if is_own and name in _ONLY and value:
        usual, reason = _ONLY[name]
        return "" if value.upper() == usual else reason
    return _REFUSED.get(name, "") if value not in ("", _STANDARD) else ""


def _warn(name: str, value: str) -> None:
    if name == _RPC_PROTECTION:
        if value != "authentication":
            warnings.warn(f"The name node decides {name}, not the catalog's value {value!r}.", stacklevel=3)
    elif name not in {*_NEEDLESS, *_ONLY, *_REFUSED}:
        warnings.warn(f"The setting {name} is unknown for hdfs and has no effect.", stacklevel=3)


def file_settings(options: Mapping[str, str]) -> dict[str, int]:
    """Return the arguments for a new file: its replication, the size of its blocks and its permission.

    Raises `InvalidOptionError`.
    """
    made: dict[str, int] = {}
    if text := options.get(REPLICATION, "").strip():
        if not re.fullmatch(r"[1-9]\d{0,3}", text):
            raise InvalidOptionError(f"The setting {REPLICATION} is not a positive number: {text!r}.")
        made["replication"] = int(text)
    if text := options.get(BLOCK_SIZE, "").strip():
        match = _SIZE.fullmatch(text)
        if match is None or not int(match[1]):
            raise InvalidOptionError(f"The setting {BLOCK_SIZE} is not a size such as 128m: {text!r}.")
        made["block_size"] = int(match[1]) * _UNITS[match[2].lower()]
    if (mask := umask(options)) is not None:
        made["permission"] = 0o666 & ~mask
    return made


def umask(options: Mapping[str, str]) -> int | None:
    """Return the permission bits that new files and folders do not get, or None if this is not set.

    Raises `InvalidOptionError`.
    """
    text = options.get(UMASK, "").strip()
    if not text:
        return None
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8) & 0o777
    if not re.fullmatch(r"[ugoa]+=[rwx]*(,[ugoa]+=[rwx]*)*", text):
        raise InvalidOptionError(f"The setting {UMASK} is not an umask such as 022 or u=rwx,g=rx,o=: {text!r}.")
    allowed = 0
    for part in text.split(","):  # this form lists the permissions that new files get, unlike the number
        people, _, rights = part.partition("=")
        for person in people.replace("a", "ugo"):
            allowed |= sum(_RIGHTS[right] for right in set(rights)) << _PLACES[person]
    return 0o777 & ~allowed
