"""The schemes of locations: the library for each storage, and how a commit publishes a snapshot there."""

from __future__ import annotations

from paimon_core.dataclass import dataclass

OBSTORE = "obstore"
HDFS_NATIVE = "hdfs-native"
FSSPEC = "fsspec"


@dataclass(frozen=True, slots=True)
class Scheme:
    """A kind of storage.

    `extra` installs its library. `published` is the atomic step of a commit, "" if there is none.
    """

    library: str
    kind: str
    extra: str
    published: str

    @property
    def is_safe(self) -> bool:
        """Whether commits of several writers at once are safe without a lock of the catalog."""
        return bool(self.published)


_S3 = Scheme(OBSTORE, "s3", "s3", "a put with the condition If-None-Match")
_GCS = Scheme(OBSTORE, "gcs", "gcs", "a put with the condition ifGenerationMatch")
_AZURE = Scheme(OBSTORE, "azure", "azure", "a put with the condition If-None-Match")
_OSS = Scheme(OBSTORE, "oss", "oss", "a put with the header x-oss-forbid-overwrite")
_PROVEN = "a conditional put that this storage has proven"
_OBS = Scheme(OBSTORE, "obs", "s3", _PROVEN)
_COS = Scheme(OBSTORE, "cos", "s3", _PROVEN)
_HDFS = Scheme(HDFS_NATIVE, "hdfs", "hdfs", "a rename that does not overwrite")
_MEMORY = Scheme(FSSPEC, "memory", "fsspec", "a lock of the process")
OTHER = Scheme(FSSPEC, "other", "fsspec", "")
SCHEMES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _S3),
    **dict.fromkeys(("gs", "gcs"), _GCS),
    **dict.fromkeys(("abfs", "abfss", "az", "wasb", "wasbs"), _AZURE),
    "oss": _OSS,
    "obs": _OBS,
    **dict.fromkeys(("cosn", "cos"), _COS),
    **dict.fromkeys(("hdfs", "viewfs"), _HDFS),
    "memory": _MEMORY,
}

# The prefixes of a catalog's options for each kind of object store, and of Hadoop's stores of keys.
PREFIXES = {
    "s3": ("fs.s3a.", "s3a.", "fs.s3n.", "fs.s3.", "s3."),
    "oss": ("fs.oss.", "oss."),
    "obs": ("fs.obs.", "obs."),
    "cos": ("fs.cosn.", "cosn."),
    "gcs": ("fs.gs.", "gs."),
    "azure": ("fs.azure.", "azure."),
}
KEY_STORES = "hadoop.security.credential.provider.path"


def scheme_of(name: str) -> Scheme:
    """Return the kind of storage for a scheme. Return `OTHER` for schemes that only fsspec may support."""
    return SCHEMES.get(name, OTHER)
