"""All paths of a table. Only this module builds and parses them, and checks names before they become paths.

    TABLE/schema/schema-N
    TABLE/snapshot/{snapshot-N,EARLIEST,LATEST}
    TABLE/manifest/{manifest-UUID-N,manifest-list-UUID-N,index-manifest-UUID-N}
    TABLE/index/index-UUID-N
    TABLE/[KEY=VALUE/…]bucket-N/data-UUID-N.FORMAT
    TABLE/tag/tag-NAME, TABLE/consumer/consumer-ID, TABLE/changelog/{changelog-N,EARLIEST,LATEST}
    TABLE/statistics/stat-UUID-N
    TABLE/upkeep/turn-N   the turn to remove versions, if writers do not queue; only this library has it
    TABLE/upkeep/running-UUID   work that is running; only this library has it
    TABLE/stream/stream-USER/commit-N   the state of commit N of a stream of writes; only this library has it
    TABLE/branch/branch-NAME/{schema,snapshot,tag,consumer,changelog,stream}/…   manifests and data are the table's

Source: specification, "Snapshot", "Schema", "Manifest", "DataFile".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError, UnfamiliarFormError
from paimon_core.lazy import regex
from paimon_core.spec.manifest import DataFileMeta

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # part of file names
_ESCAPED = frozenset(map(chr, range(0x20))) | frozenset("\"#%'*/:=?\\\x7f{}[]^")
_LOCAL_URI = regex(r"file:(?://)?(?P<path>/.*)")
_FORBIDDEN_IN_NAMES = regex(r"[\x00-\x1f\x7f-\x9f/\\\ud800-\udfff]")
# Java and all other writers spell numbers in this way. Other names, such as `schema-007`, are files of unknown meaning.
_NUMBER = "0|[1-9][0-9]{0,18}"
_LARGEST_NUMBER = 2**63 - 1
_SNAPSHOT = regex(rf"snapshot-({_NUMBER})")
_SCHEMA = regex(rf"schema-({_NUMBER})")
_CHANGELOG = regex(rf"changelog-({_NUMBER})")
_TURN = regex(rf"turn-({_NUMBER})")
_RUNNING = regex(rf"running-{UUID}")
_STREAM_COMMIT = regex(rf"commit-({_NUMBER})")
BRANCH_PREFIX, TAG_PREFIX, CONSUMER_PREFIX, STREAM_PREFIX = "branch-", "tag-", "consumer-", "stream-"
MAX_NAME_BYTES = 200  # leaves room for `.db` and for folders beside it in a file name of 255 bytes


def check_name(kind: str, name: str) -> str:
    """Return `name` if it can be a folder's name. Raises `InvalidNameError`, with `kind` in its text."""
    if not name or not name.strip():
        raise InvalidNameError(f"The {kind} name {name!r} is empty: choose a name.")
    problem = None
    if name in (".", "..") or name != name.strip():
        problem = "it is '.', '..' or has blanks around it"
    elif match := _FORBIDDEN_IN_NAMES.search(name):
        problem = f"it contains {match.group()!r}"
    elif "$" in name:
        problem = "'$' starts the name of a system table"
    elif len(name.encode()) > MAX_NAME_BYTES:
        problem = f"it is longer than {MAX_NAME_BYTES} bytes"
    if problem:
        raise InvalidNameError(f"The {kind} name {name!r} cannot be a folder's name: {problem}. Choose another name.")
    return name


def is_file_name(name: str) -> bool:
    """Return whether a name from a file or a statement can be the name of a file or folder."""
    return bool(name) and name not in (".", "..") and not _FORBIDDEN_IN_NAMES.search(name)


def escape_path_name(text: str) -> str:
    """Percent-escape characters that the name of a partition folder cannot have."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape_path_name(text: str) -> str:
    """Reverse `escape_path_name`."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The paths of the table at `root` (without a trailing slash), or of one of its branches.

    `data_dir` is the folder of the data, relative to `root`."""

    root: str
    data_dir: str = ""
    branch: str = ""

    @property
    def version_root(self) -> str:
        """Return the folder of a branch's own schemas, snapshots, tags, consumers and changelogs."""
        # The name of a branch may come from an option, and options are not checked.
        return f"{self.branch_dir}/{BRANCH_PREFIX}{_inside(self.branch_dir, self.branch)}" if self.branch else self.root

    @property
    def branch_dir(self) -> str:
        return f"{self.root}/branch"

    @property
    def schema_dir(self) -> str:
        return f"{self.version_root}/schema"

    @property
    def snapshot_dir(self) -> str:
        return f"{self.version_root}/snapshot"

    @property
    def tag_dir(self) -> str:
        return f"{self.version_root}/tag"

    @property
    def consumer_dir(self) -> str:
        return f"{self.version_root}/consumer"

    @property
    def stream_dir(self) -> str:
        return f"{self.version_root}/stream"

    @property
    def changelog_dir(self) -> str:
        return f"{self.version_root}/changelog"

    @property
    def turn_dir(self) -> str:
        """Return the folder of the turns of upkeep, shared by a table and its branches."""
        return f"{self.root}/upkeep"

    @property
    def index_dir(self) -> str:
        return f"{self.root}/index"

    @property
    def statistics_dir(self) -> str:
        return f"{self.root}/statistics"

    @property
    def data_root(self) -> str:
        return f"{self.root}/{self.data_dir}" if self.data_dir else self.root

    @property
    def manifest_dir(self) -> str:
        return f"{self.root}/manifest"

    def schema(self, schema_id: int) -> str:
        return f"{self.schema_dir}/schema-{schema_id}"

    def snapshot(self, snapshot_id: int) -> str:
        return f"{self.snapshot_dir}/snapshot-{snapshot_id}"

    @property
    def latest_hint(self) -> str:
        return f"{self.snapshot_dir}/LATEST"

    @property
    def earliest_hint(self) -> str:
        return f"{self.snapshot_dir}/EARLIEST"

    def tag(self, name: str) -> str:
        return f"{self.tag_dir}/{TAG_PREFIX}{_inside(self.tag_dir, name)}"

    def tag_success(self, name: str) -> str:
        folder = f"{self.tag_dir}/tag-success-file"
        return f"{folder}/{_inside(folder, name)}_SUCCESS"

    def consumer(self, consumer_id: str) -> str:
        return f"{self.consumer_dir}/{CONSUMER_PREFIX}{_inside(self.consumer_dir, consumer_id)}"

    def stream(self, user: str) -> str:
        """Return the folder of a commit user, which may be any text."""
        return f"{self.stream_dir}/{_inside(self.stream_dir, STREAM_PREFIX + escape_path_name(user))}"

    def stream_commit(self, user: str, identifier: int) -> str:
        return f"{self.stream(user)}/commit-{identifier}"

    def turn(self, number: int) -> str:
        return f"{self.turn_dir}/turn-{number}"

    def running(self, work: str) -> str:
        """Return the path of the file about running work, which has a UUID."""
        return f"{self.turn_dir}/running-{work}"

    def changelog(self, snapshot_id: int) -> str:
        return f"{self.changelog_dir}/changelog-{snapshot_id}"

    @property
    def changelog_latest_hint(self) -> str:
        return f"{self.changelog_dir}/LATEST"

    @property
    def changelog_earliest_hint(self) -> str:
        return f"{self.changelog_dir}/EARLIEST"

    def statistics(self, name: str) -> str:
        return f"{self.statistics_dir}/{_inside(self.statistics_dir, name)}"

    def manifest(self, name: str) -> str:
        return f"{self.manifest_dir}/{_inside(self.manifest_dir, name)}"

    def index_file(self, name: str) -> str:
        folder = self.index_dir
        return f"{folder}/{_inside(folder, name)}"

    def bucket_dir(self, spec: dict[str, str], bucket: int) -> str:
        """Return the folder of a bucket. `spec` has the values of the partition, not escaped."""
        parts = [f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items()]
        return "/".join([self.data_root, *parts, bucket_folder(bucket)])


def bucket_folder(bucket: int) -> str:
    """The name of a bucket's folder."""
    return "bucket-postpone" if bucket == -2 else f"bucket-{bucket}"


def data_file_path(bucket_dir: str, file: DataFileMeta) -> str:
    """Return the path of a data file: its external path, or else its path in the bucket.

    Raises `UnfamiliarFormError`.
    """
    return resolved_path(bucket_dir, file.file_name, file.external_path)


def plain_path(uri: str) -> str:
    """Return a URI in the form that storages expect: local files have no scheme."""
    match = _LOCAL_URI.fullmatch(uri)
    return match["path"] if match else uri


def index_file_path(bucket_dir: str, name: str) -> str:
    """Return the path of an index file beside the data files (`index-file-in-data-file-dir`)."""
    return f"{bucket_dir}/{_inside(bucket_dir, name)}"


def data_file_paths(bucket_dir: str, file: DataFileMeta) -> list[str]:
    """Return the paths of a data file and of its extra files. Raises `CorruptFileError`."""
    return paths_of(bucket_dir, file.file_name, file.external_path, file.extra_files)


def paths_of(bucket_dir: str, file_name: str, external_path: str | None, extra_files: Iterable[str]) -> list[str]:
    """Return the paths of `data_file_paths`, from parts of a data file's metadata."""
    path = resolved_path(bucket_dir, file_name, external_path)
    folder = path.rpartition("/")[0]
    return [path, *(f"{folder}/{_inside(folder, name)}" for name in extra_files)]


def resolved_path(bucket_dir: str, file_name: str, external_path: str | None) -> str:
    """Return the path of `data_file_path`, from parts of the metadata."""
    return plain_path(external_path) if external_path else f"{bucket_dir}/{_inside(bucket_dir, file_name)}"


def _inside(folder: str, name: str) -> str:
    """Return the path of a file from metadata in its folder. The name must not lead out of the folder."""
    if not is_file_name(name):
        raise UnfamiliarFormError(f"{folder}/{name!r}", "metadata lists this file, but its name is not a file name")
    return name


def parse_snapshot_id(name: str) -> int | None:
    """Return N for the name `snapshot-N`, None for any other name."""
    return _number_in(_SNAPSHOT, name)


def parse_schema_id(name: str) -> int | None:
    """Return N for the name `schema-N`, None for any other name."""
    return _number_in(_SCHEMA, name)


def parse_changelog_id(name: str) -> int | None:
    """Return N for the name `changelog-N`, None for any other name."""
    return _number_in(_CHANGELOG, name)


def parse_turn(name: str) -> int | None:
    """Return N for the name `turn-N`, None for any other name."""
    return _number_in(_TURN, name)


def is_running_work(name: str) -> bool:
    """Return whether a file of the folder `upkeep` is about running work."""
    return _RUNNING.fullmatch(name) is not None


def parse_stream_commit(name: str) -> int | None:
    """Return N for the name `commit-N`, None for any other name."""
    return _number_in(_STREAM_COMMIT, name)


def _number_in(pattern: re.Pattern[str], name: str) -> int | None:
    match = pattern.fullmatch(name)
    return int(match[1]) if match and int(match[1]) <= _LARGEST_NUMBER else None
