"""Every path of a table, built and parsed in one place, and the gate for names that become paths.

    TABLE/schema/schema-N
    TABLE/snapshot/{snapshot-N,EARLIEST,LATEST}
    TABLE/manifest/{manifest-UUID-N,manifest-list-UUID-N,index-manifest-UUID-N}
    TABLE/index/index-UUID-N
    TABLE/[KEY=VALUE/…]bucket-N/data-UUID-N.FORMAT
    TABLE/tag/tag-NAME, TABLE/consumer/consumer-ID, TABLE/changelog/{changelog-N,EARLIEST,LATEST}
    TABLE/statistics/stat-UUID-N
    TABLE/branch/branch-NAME/{schema,snapshot,tag,consumer,changelog}/…   manifests and data are the table's

Source: specification, "Snapshot", "Schema", "Manifest", "DataFile".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from paimon_core.errors import CorruptFileError, InvalidDataError, InvalidNameError
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import DataField, Kind, TimeType

_ESCAPED = frozenset(map(chr, range(0x20))) | frozenset("\"#%'*/:=?\\\x7f{}[]^")
_LOCAL_URI = re.compile(r"file:(?://)?(?P<path>/.*)")
_FORBIDDEN_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\\ud800-\udfff]")
_MILLIS_PER_DAY = 86_400_000
_BLANK = re.compile(r"[^\S\x85\xa0\u2007\u202f]*")  # spaces that do not break a line, and NEL, are no blanks
_SNAPSHOT = re.compile(r"snapshot-([0-9]{1,19})")
_SCHEMA = re.compile(r"schema-([0-9]{1,19})")
_CHANGELOG = re.compile(r"changelog-([0-9]{1,19})")
BRANCH_PREFIX, TAG_PREFIX, CONSUMER_PREFIX = "branch-", "tag-", "consumer-"
MAX_NAME_BYTES = 200  # leaves room for `.db` and for folders beside it in a file name of 255 bytes


def check_name(kind: str, name: str) -> str:
    """`name`, where it can be a folder's name; `kind` is what the error calls it. Raises `InvalidNameError`."""
    if not name or not name.strip():
        raise InvalidNameError(f"The {kind} name {name!r} is empty: give it a name.")
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


def escape_path_name(text: str) -> str:
    """Percent-escape what cannot stand in a partition folder."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape_path_name(text: str) -> str:
    """The reverse of `escape_path_name`."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)


def partition_spec(
    fields: Sequence[DataField], partition: bytes, default_name: str, *, legacy: bool = True
) -> dict[str, str]:
    """Partition columns and their values as folders spell them (not escaped); NULL and blanks are `default_name`.

    `legacy` is `partition.legacy-name`: DATE as epoch days, moments in ISO form; else as a cast to STRING gives them.
    """
    values, spell = decode_row([f.type for f in fields], partition), partition_text if legacy else cast_text
    texts = (None if v is None else spell(f, v) for f, v in zip(fields, values, strict=True))
    return {f.name: default_name if t is None or _BLANK.fullmatch(t) else t for f, t in zip(fields, texts, strict=True)}


def partition_text(field: DataField, value: Any) -> str:
    """A partition value as folder names spell it (`partition.legacy-name`): DATE as epoch days, no casting."""
    kind = field.type.kind
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        return iso_timestamp(*value)
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return float_text(np.float32(value) if kind is Kind.FLOAT else np.float64(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        raise InvalidDataError(f"Column {field.name!r} of type {field.type} cannot be a partition column.")
    return str(value)


def cast_text(field: DataField, value: Any) -> str:
    """A value of a partition as a cast to STRING gives it."""
    if field.type.kind is Kind.DATE:
        return iso_timestamp(value * _MILLIS_PER_DAY, 0).partition("T")[0].removeprefix("+")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(field.type, TimeType) or field.type.kind is Kind.TIME:
        return partition_text(field, value)
    millis, nanos = value
    day, _, time = iso_timestamp(millis - millis % 1000, 0).partition("T")
    digits = f"{millis % 1000 * 1_000_000 + nanos:09d}"
    fraction = digits[: field.type.precision] + digits[field.type.precision :].rstrip("0")
    seconds = time if len(time) == len("hh:mm:ss") else f"{time}:00"
    return f"{day.removeprefix('+')} {seconds}" + (f".{fraction}" if fraction else "")


def iso_timestamp(millis: int, nanos: int) -> str:
    """Epoch milliseconds and the nanoseconds of the millisecond, with seconds where they are not zero."""
    days, millis = divmod(millis, _MILLIS_PER_DAY)
    year, month, day = _civil(days)
    seconds, millis = divmod(millis, 1000)
    fraction = millis * 1_000_000 + nanos
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if fraction:
        digits = f"{fraction:09d}"
        digits = digits[:3] if digits[3:] == "000000" else digits[:6] if digits[6:] == "000" else digits
        return f"{text}:{seconds % 60:02d}.{digits}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


def float_text(number: np.floating[Any]) -> str:
    """The shortest digits, two at least, that tell the value apart; with an exponent below 1e-3 and from 1e7."""
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return str(np.format_float_positional(number, unique=True, trim="0"))
    two_digits = np.format_float_scientific(number, precision=1, unique=False)
    same = type(number)(two_digits) == number  # the nearest of two digits: 4.9E-324, though 5E-324 is shorter
    text = two_digits if same else np.format_float_scientific(number, unique=True, trim="0")
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent)}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month, day of epoch days, for any year (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms")."""
    days += 719_468
    era, doe = divmod(days, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The paths of the table at `root` (no trailing slash), or of one of its branches; `data_dir` is the folder below
    it that holds the data."""

    root: str
    data_dir: str = ""
    branch: str = ""

    @property
    def version_root(self) -> str:
        """The folder of what a branch has of its own: schemas, snapshots, tags, consumers, changelogs."""
        # options can name a branch, and are no names that somebody has checked
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
    def changelog_dir(self) -> str:
        return f"{self.version_root}/changelog"

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
        """Folder of a bucket; `spec` is the partition's, not escaped."""
        parts = [f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items()]
        return "/".join([self.data_root, *parts, bucket_folder(bucket)])


def bucket_folder(bucket: int) -> str:
    """The name of a bucket's folder."""
    return "bucket-postpone" if bucket == -2 else f"bucket-{bucket}"


def data_file_path(bucket_dir: str, file: DataFileMeta) -> str:
    """Where a data file lies: in its bucket, unless it says another place. Raises `CorruptFileError`."""
    return placed_path(bucket_dir, file.file_name, file.external_path)


def plain_path(uri: str) -> str:
    """A URI as storages take it: those of local files without a scheme."""
    match = _LOCAL_URI.fullmatch(uri)
    return match["path"] if match else uri


def index_file_path(bucket_dir: str, name: str) -> str:
    """Where an index file lies that stands beside the data (`index-file-in-data-file-dir`)."""
    return f"{bucket_dir}/{_inside(bucket_dir, name)}"


def data_file_paths(bucket_dir: str, file: DataFileMeta) -> list[str]:
    """The paths of a data file and of the files that go with it. Raises `CorruptFileError`."""
    return paths_of(bucket_dir, file.file_name, file.external_path, file.extra_files)


def paths_of(bucket_dir: str, file_name: str, external_path: str | None, extra_files: Iterable[str]) -> list[str]:
    """As `data_file_paths`, from what a data file's metadata says of its places."""
    path = placed_path(bucket_dir, file_name, external_path)
    folder = path.rpartition("/")[0]
    return [path, *(f"{folder}/{_inside(folder, name)}" for name in extra_files)]


def placed_path(bucket_dir: str, file_name: str, external_path: str | None) -> str:
    """As `data_file_path`, from what metadata says of the place."""
    return plain_path(external_path) if external_path else f"{bucket_dir}/{_inside(bucket_dir, file_name)}"


def _inside(folder: str, name: str) -> str:
    """A file's name as metadata gives it, where it is one: it must not lead out of its folder."""
    if not name or name in (".", "..") or _FORBIDDEN_IN_NAMES.search(name):
        raise CorruptFileError(f"{folder}/{name!r}", "metadata names this file, and it is no file name")
    return name


def parse_snapshot_id(name: str) -> int | None:
    """N of `snapshot-N`, None for any other name."""
    match = _SNAPSHOT.fullmatch(name)
    return int(match[1]) if match else None


def parse_schema_id(name: str) -> int | None:
    """N of `schema-N`, None for any other name."""
    match = _SCHEMA.fullmatch(name)
    return int(match[1]) if match else None


def parse_changelog_id(name: str) -> int | None:
    """N of `changelog-N`, None for any other name."""
    match = _CHANGELOG.fullmatch(name)
    return int(match[1]) if match else None
