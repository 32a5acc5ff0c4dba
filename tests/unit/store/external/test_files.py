"""Tables whose folder somebody else has written to: what they name outside of it is neither read nor deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, NotAllowedError, PaimonError, UnfamiliarFormError
from paimon_core.io.load import check_no_secrets
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.release import delete_files
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.manifests.record_files import encode_avro
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.manifest import ENTRY_VERSION, MANIFEST_ENTRY, ManifestEntry
from paimon_core.store.allowed import EXTERNAL_PATHS, MARK_DONE_URLS, Allowed
from paimon_core.store.blob.values import DescribedBlobs
from paimon_core.store.branches import branch_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.store.manifests import data_manifests, live_files, read_manifest
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import T, create_table, insert, open_table, read, write

UUID = "2f263ef1-16cf-4371-aff6-a7507dc21b42"
ROOTS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"


def external(home: Path, path: str | None = None, **more: str) -> Table:
    """A table with files outside of it, in `home/ext`."""
    paths = path or f"file://{home}/ext"
    return create_table(str(home / "wh"), **{ROOTS: paths, STRATEGY: "round-robin"}, **more)


def declare(table: Table, **options: str) -> None:
    """Put options into the table's schema file."""
    path = Path(table.store.paths.schema(0))
    schema = json.loads(path.read_bytes())
    schema["options"] |= {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    path.write_text(json.dumps(schema), encoding="utf-8")


def forge(table: Table, change: Callable[[ManifestEntry], ManifestEntry]) -> None:
    """Put other entries into the manifests of the table's latest version."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    for manifest in data_manifests(table.store, snapshot):
        entries = [change(e) for e in read_manifest(table.store, manifest.file_name)]
        data = encode_avro(MANIFEST_ENTRY, ENTRY_VERSION, entries, "zstd")
        Path(table.store.paths.manifest(manifest.file_name)).write_bytes(data)


def at(path: Path | str) -> Callable[[ManifestEntry], ManifestEntry]:
    """An entry of the file at a path, by its name."""
    name = str(path).rpartition("/")[2]
    return lambda e: replace(e, file=replace(e.file, file_name=name, external_path=f"file:{path}"))


def let_victims_work(home: Path) -> list[PaimonError]:
    """Read the table, replace its rows, expire what was before, look for orphans; what that raised."""

    def overwrite(table: Table) -> None:
        messages = write(table, [(9, "z")])
        table.commit(messages, CommitInfo(user="victim"), Overwrite())

    def expire(table: Table) -> None:
        expire_snapshots(table.store, Retention(most=1, least=1, older_than=2**60, limit=100), 2**60)

    raised = []
    for act in (read, overwrite, expire, lambda t: remove_orphans(t.store, 2**60)):
        try:
            act(open_table(str(home / "wh")))
        except PaimonError as error:
            raised.append(error)
    return raised


def test_files_in_external_paths_are_expired_with_their_version(tmp_path: Path) -> None:
    table = external(tmp_path, path=f"file:///{str(tmp_path / 'ext').lstrip('/')}/, file:{tmp_path}/ext2")
    for k in range(3):
        insert(table, [(k, "a")])
    before = set(tmp_path.glob("ext*/bucket-0/data-*"))
    assert len(before) == 3
    other = tmp_path / "ext" / "bucket-0" / f"data-{UUID}-0.parquet"
    other.parent.mkdir(parents=True, exist_ok=True)
    other.touch()
    assert let_victims_work(tmp_path) == []
    after = set(tmp_path.glob("ext*/bucket-0/data-*"))
    assert before & after == set() and other in after, "what no version names is not the table's, as far as is known"
    assert read(open_table(str(tmp_path / "wh"))) == [(9, "z")]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, "/home/secret.csv"),
        ({ROOTS: "/"}, "/home/secret.csv"),
        ({ROOTS: "file:/"}, f"/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME"}, "/home/secret.csv"),
        ({ROOTS: "HOME/home"}, "/home/bucket-0/secret.csv"),
        ({ROOTS: "HOME/home"}, f"/home/bucket-1/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/home"}, f"/home/deeper/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/ext"}, f"/ext/../home/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/ext/../home"}, f"/ext/../home/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/other"}, f"/home/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/wh/default.db/u"}, "VICTIM"),
        ({ROOTS: "HOME/wh/default.db/u/data"}, f"/wh/default.db/u/data/bucket-0/data-{UUID}-0.parquet"),
        ({ROOTS: "HOME/wh", "data-file.path-directory": "default.db/u"}, "VICTIM"),
    ],
)
def test_hostile_tables(options: dict[str, str], path: str, tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "wh"))
    insert(table, [(1, "a")])
    warehouse = load_catalog({"warehouse": str(tmp_path / "wh")})
    warehouse.create_table(replace(T, table="u"), table.schema)
    victim = warehouse.load_table(replace(T, table="u"))
    insert(victim, [(2, "b")])
    (live,) = Path(victim.store.root).glob("bucket-0/data-*")
    target = Path(f"{tmp_path}{path}") if path.startswith(("/home", "/ext", "/wh")) else Path(path)
    target = live if path == "VICTIM" else target
    forge(table, at(str(target)))
    declare(table, **{k: v.replace("HOME", f"file:{tmp_path}") for k, v in options.items()}, **{STRATEGY: "none"})
    if target.is_relative_to(tmp_path) and target != live:
        (tmp_path / "ext").mkdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(live.read_bytes())
    raised = let_victims_work(tmp_path)
    assert raised and all(isinstance(e, NotAllowedError | UnfamiliarFormError) for e in raised), raised
    assert not target.is_relative_to(tmp_path) or target.exists()
    assert read(victim) == [(2, "b")]
    if "/bucket-1/" not in path:  # which is wrong only for its entry
        delete_files(open_table(str(tmp_path / "wh")).store, [str(target)])
    assert not target.is_relative_to(tmp_path) or target.exists(), "what is to be deleted is looked at once more"


def test_rows_do_not_go_into_other_tables(tmp_path: Path) -> None:
    table = external(tmp_path, path=f"file:{tmp_path}/wh/default.db/u")
    load_catalog({"warehouse": str(tmp_path / "wh")}).create_table(replace(T, table="u"), table.schema)
    with pytest.raises(
        NotAllowedError, match=r"default\.t cannot have files in .*folder of another table.*" + EXTERNAL_PATHS
    ):
        insert(table, [(1, "a")])
    assert not list(tmp_path.rglob("data-*"))


def test_a_partition_folder_that_is_a_table(tmp_path: Path) -> None:
    """`k=1` is the name of a table, and of a partition of one whose external path is the database."""
    catalog = load_catalog({"warehouse": str(tmp_path / "wh")})
    name = replace(T, table="k=1")
    catalog.create_table(name, create_table(str(tmp_path / "wh")).schema)
    victim = catalog.load_table(name)
    insert(victim, [(2, "b")])
    (live,) = Path(victim.store.root).glob("bucket-0/data-*")
    table = open_table(str(tmp_path / "wh"))
    hostile = replace(table.schema, partition_keys=("k",), options={ROOTS: f"file:{tmp_path}/wh/default.db"})
    delete_files(table.store.under(hostile, ""), [str(live)])
    assert live.exists()


def test_what_the_catalog_allows(tmp_path: Path) -> None:
    table = external(tmp_path)
    insert(table, [(1, "a")])
    (kept,) = tmp_path.rglob("data-*")
    lost = tmp_path / "ext" / "bucket-0" / f"data-{UUID}-0.parquet"
    lost.touch()

    def under(allowed: str) -> Table:
        return load_catalog({"warehouse": str(tmp_path / "wh"), EXTERNAL_PATHS: allowed}).load_table(T)

    for refused in ("", f"{tmp_path}/ex", f"{tmp_path}/ext/bucket-0", "s3://bucket/x"):
        with pytest.raises(NotAllowedError, match=f"outside of the locations in '{EXTERNAL_PATHS}'"):
            read(under(refused))
        with pytest.raises(NotAllowedError, match=EXTERNAL_PATHS):
            insert(under(refused), [(2, "b")])
        delete_files(under(refused).store, [str(kept)])
    for allowed in ("/", str(tmp_path), f"s3://bucket/x, file://{tmp_path}/ext/"):
        assert read(under(allowed)) == [(1, "a")]
    declare(table, **{ROOTS: f"file:{tmp_path}/other"})
    assert read(under(str(tmp_path))) == [(1, "a")]
    declare(table, **{ROOTS: f"file:{tmp_path}/ext"})
    assert remove_orphans(under(str(tmp_path)).store, 2**60).paths == (str(lost),)
    assert kept.exists() and not lost.exists()


def test_an_option_that_was_changed(tmp_path: Path) -> None:
    """Files stay where they are when new ones go elsewhere, or home."""
    table = external(tmp_path)
    insert(table, [(1, "a")])
    newer = replace(table.schema, id=1, options={})
    Path(table.store.paths.schema(1)).write_bytes(
        json.dumps(
            {**json.loads(Path(table.store.paths.schema(0)).read_bytes()), "id": 1, "options": dict(newer.options)}
        ).encode()
    )
    table = open_table(str(tmp_path / "wh"))
    assert table.schema.id == 1 and not table.schema.options
    insert(table, [(2, "b")])
    assert read(table) == [(1, "a"), (2, "b")]
    assert {e.file.external_path is None for e in live_files(table.store, table.latest_snapshot()).values()} == {
        True,
        False,
    }


def test_branches_that_lead_out(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    create_branch(table.store, "x")
    out = "x/../../../../default.db/t"
    assert Path(table.store.paths.branch_dir, f"branch-{out}", "schema", "schema-0").exists()
    assert branch_schema(table.store, "x") == table.schema and branch_schema(table.store, out) is None
    with pytest.raises(UnfamiliarFormError, match="not a file name"):
        _ = replace(table.store, branch=out).paths.snapshot_dir


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://hooks.example/paimon", True),
        ("https://HOOKS.example/paimon/done?x=1", True),
        ("https://hooks.example/paimonade", False),
        ("https://hooks.example/paimon/../admin", False),
        ("https://hooks.example", False),
        ("http://hooks.example/paimon", False),
        ("https://hooks.example:8443/paimon", False),
        ("https://hooks.example.evil/paimon", False),
        ("https://hooks.example@evil/paimon", False),
        ("https://user:word@hooks.example/paimon", False),
        ("http://169.254.169.254/latest", False),
        ("https://[broken", False),
    ],
)
def test_addresses(url: str, taken: bool) -> None:
    allowed = Allowed.of({MARK_DONE_URLS: "http://other, https://hooks.example/paimon/"})
    assert allowed.takes_url(url) is taken
    assert not Allowed().takes_url(url)


def test_options_of_catalogs_that_are_none(tmp_path: Path) -> None:
    wrong: Any
    for wrong in ({MARK_DONE_URLS: "hooks.example"}, {EXTERNAL_PATHS: "s3://"}, {EXTERNAL_PATHS: "s3://u:p@b/x"}):
        with pytest.raises(InvalidOptionError):
            load_catalog({"warehouse": str(tmp_path), **wrong})


def test_reports_are_refused_where_they_are_defined(tmp_path: Path) -> None:
    address = {"partition.mark-done-action": "http-report", "partition.mark-done-action.http.url": "http://hook/x"}
    with pytest.raises(NotAllowedError, match=MARK_DONE_URLS):
        create_table(str(tmp_path), **address)
    table = create_table(str(tmp_path))
    changes = [SetOption(key, value) for key, value in address.items()]
    with pytest.raises(NotAllowedError, match=MARK_DONE_URLS):
        load_catalog({"warehouse": str(tmp_path)}).alter_table(T, changes)
    assert open_table(str(tmp_path)).schema == table.schema
    load_catalog({"warehouse": str(tmp_path), MARK_DONE_URLS: "http://hook"}).alter_table(T, changes)


def test_storages_of_descriptors_are_options_of_the_catalog() -> None:
    allowed = Allowed.of({"blob-descriptor.s3.secret-key": "hush", "s3.secret-key": "own", "warehouse": "w"})
    assert allowed.descriptors == (("s3.secret-key", "hush"),) and "hush" not in repr(allowed)


@pytest.mark.parametrize(
    "key", ["blob-descriptor.s3.secret-key", "s3.secret-key", "kafka.password", "My-Token", "lake.account.key.api_key"]
)
def test_no_table_has_a_secret(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidOptionError, match="every reader of the table can see") as refused:
        check_no_secrets("t", {"bucket": "1", key: "hush"})
    assert "hush" not in str(refused.value)
    table = create_table(str(tmp_path))
    with pytest.raises(InvalidOptionError, match="every reader of the table can see"):
        load_catalog({"warehouse": str(tmp_path)}).alter_table(T, [SetOption(key, "hush")])
    assert open_table(str(tmp_path)).schema == table.schema


@pytest.mark.parametrize(
    "key",
    [
        "fields.token_count.aggregate-function",
        "fields.api_key,secret.sequence-group",
        "file-index.bloom-filter.password_hash.fpp",
        "parquet.enable.dictionary#token",
    ],
)
def test_options_may_name_columns_that_are_called_like_secrets(tmp_path: Path, key: str) -> None:
    check_no_secrets("t", {"bucket": "1", key: "x"})
    for hidden in (f"s3.{key}.password", "parquet.encryption-key#token", "s3.secret-key#fields."):
        with pytest.raises(InvalidOptionError, match="every reader of the table can see"):
            check_no_secrets("t", {hidden: "hush"})


def test_files_that_blobs_name(tmp_path: Path) -> None:
    store = create_table(str(tmp_path / "wh")).store
    paths = [Path(store.root, "f"), tmp_path / "ext" / "f", tmp_path / "other" / "f"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"bytes")

    def found(allowed: Allowed) -> list[bool]:
        blobs, results = DescribedBlobs.of(replace(store, allowed=allowed)), []
        for path in paths:
            try:
                results.append(blobs.read(BlobDescriptor(f"file:{path}")) == b"bytes")
            except NotAllowedError as error:
                assert str(path) in str(error) and EXTERNAL_PATHS in str(error)
                results.append(False)
        return results

    assert found(Allowed()) == [True, True, True]
    assert found(Allowed.of({EXTERNAL_PATHS: ""})) == [True, False, False]
    assert found(Allowed.of({EXTERNAL_PATHS: f"{tmp_path}/ext"})) == [True, True, False]
