from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.rights import GrantedRights
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption, apply_changes
from paimon_core.store.features import check_readable, check_writable
from paimon_core.store.manifests import data_manifests
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.golden import golden_table
from tests.support.tables import data_file, fields, info, message, new_store

BOTH = {
    "data-evolution.enabled": "true",
    "fields.v.map.storage-layout": "some-later-one",
    "manifest.format": "csv",
    "primary-key.nullable": "true",
}
WRITES = {
    "row-tracking.enabled": "true",
    "file.format": "lance",
    "vector.file.format": "vortex",
    "pk-vector.index.columns": "v",
    "pk-some-later-kind.index.columns": "v",
    "metadata.iceberg.format-version": "3",
}
HARMLESS = {  # of Java's and others', none of which changes what files hold
    "fields.v.map.shared-shredding.max-columns": "7",
    "metadata.iceberg.format-version": "2",
    "metadata.iceberg.storage": "disabled",
    "pk-btree.index.columns": "",
    "pk-some-later-kind.index.columns": "",
    "fields.v.some-later-option": "x",
    "some.later-option": "x",
}

OF_MERGES = ("merge-engine", "changelog-producer")


def keyed(tmp_path: Path, **options: str) -> TableStore:
    return new_store(tmp_path, primary_key="k", bucket="1").with_options(options)


@pytest.mark.parametrize("option", BOTH)
def test_features_that_would_be_misread_are_refused(tmp_path: Path, option: str) -> None:
    store = keyed(tmp_path, **{option: BOTH[option]})
    for check in (check_readable, check_writable):
        with pytest.raises(UnsupportedFeatureError, match=rf"db\.t .*{option}.*{BOTH[option]}.*works?"):
            check(store)


@pytest.mark.parametrize("option", WRITES)
def test_features_that_only_writers_must_keep_up(tmp_path: Path, option: str) -> None:
    store = keyed(tmp_path, **{option: WRITES[option]})
    check_readable(store)
    with pytest.raises(UnsupportedFeatureError, match=option):
        check_writable(store)


def test_options_that_change_no_file_are_taken(tmp_path: Path) -> None:
    store = keyed(tmp_path, **HARMLESS)
    check_readable(store)
    check_writable(store)
    given = {"primary-key": "k", "bucket": "1", **HARMLESS}
    assert new_table_schema(fields(k=INT, v=INT), options=given).options.items() >= HARMLESS.items()


@pytest.mark.parametrize(("option", "value"), sorted((BOTH | WRITES).items()))
def test_no_table_is_made_or_altered_that_could_not_be_written(option: str, value: str) -> None:
    keys = {"primary-key": "k", "bucket": "1"}
    with pytest.raises(PaimonError, match=f"{option}|'v'|Data evolution"):
        new_table_schema(fields(k=INT, v=INT), options=keys | {option: value})
    plain = new_table_schema(fields(k=INT, v=INT), options=keys)
    with pytest.raises(PaimonError, match=f"{option}|'v'|Data evolution"):
        apply_changes(plain, [SetOption(option, value)], 0)


def test_iceberg_metadata_is_not_left_behind(tmp_path: Path) -> None:
    store = keyed(tmp_path, **{"metadata.iceberg.format-version": "3"})
    with pytest.raises(UnsupportedFeatureError, match="readers of Iceberg would see old rows.*'2'"):
        check_writable(store)
    given_up = apply_changes(store.schema, [SetOption("metadata.iceberg.format-version", "2")], 0)
    check_writable(store.with_options(given_up.options))


def test_who_may_see_what_is_asked_for_in_vain(tmp_path: Path) -> None:
    """No option of a use takes back what the table asks for, nor does an older schema; writers are not asked."""
    plain = keyed(tmp_path)
    asking = plain.under(apply_changes(plain.schema, [SetOption("query-auth.enabled", "true")], 0), "")
    granted = replace(asking, rights=GrantedRights("ann", select=True, insert=True))
    for store in (
        *(asking, asking.with_options({"query-auth.enabled": "false"}), replace(asking, schema=plain.schema)),
        *(plain.with_options({"query-auth.enabled": "true"}), granted),
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"db\.t cannot be read: 'query-auth.enabled'.*REST catalog"):
            check_readable(store)
        check_writable(store)
    check_readable(plain)


def test_append_tables_ignore_options_of_keys(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({"changelog-producer": "lookup", "ignore-delete": "true"})
    check_readable(store)
    check_writable(store)


def test_a_store_travels_without_its_cache() -> None:
    store = golden_table("part_pk").store
    snapshot = latest_snapshot(store)
    assert snapshot is not None and data_manifests(store, snapshot) and len(store.cache) > 0
    there = pickle.loads(pickle.dumps(store))  # noqa: S301
    assert there == store and len(there.cache) == 0
    assert there != replace(store, root="elsewhere")


@pytest.mark.parametrize(
    ("option", "value", "is_read"),
    [
        *(("bucket", "some", False), ("merge-engine", "later", False), ("changelog-producer", "later", False)),
        *(("sequence.field", "gone", False), ("bucket-key", "gone", True), ("bucket-function.type", "later", True)),
        *(("write-only", "maybe", True), ("target-file-size", "1 parsec", True), ("data-file.prefix", "a/b", True)),
    ],
)
def test_values_of_other_engines_are_refused_before_a_file_is_written(
    tmp_path: Path, option: str, value: str, *, is_read: bool
) -> None:
    """The refusal names the table, the option, its value and the valid ones."""
    plain = keyed(tmp_path)
    store = replace(plain, schema=replace(plain.schema, options={**plain.schema.options, option: value}))
    store = store.with_options({option: value})
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidOptionError, match=rf"Table db\.t cannot be written.*{option}.*{value}") as refused:
        Table(store).check_writable()
        open_writer(store, sequence_start=0)
    assert re.search("must be|Set the option to", str(refused.value))
    if option not in OF_MERGES:  # a commit of files that are there, such as a copy, merges nothing
        with pytest.raises(InvalidOptionError, match=rf"Table db\.t cannot be written.*{option}"):
            Table(store).commit([message(plain, data_file(plain, 1, 1))], info())
    if is_read:
        check_readable(store)
    else:
        with pytest.raises(InvalidOptionError, match=rf"Table db\.t cannot be read.*{option}.*{value}"):
            check_readable(store)
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize(
    ("column", "reason"),
    [("", "needs 'record-level.time-field'"), ("gone", "'gone'"), ("v", "'v'.*of type INT, BIGINT")],
)
def test_rows_that_expire_need_a_column_with_their_times(tmp_path: Path, column: str, reason: str) -> None:
    """Java refuses such a table when it opens a writer; its reads do not need the column."""
    store = keyed(tmp_path, **{"record-level.expire-time": "1 d", "record-level.time-field": column})
    check_readable(store)
    with pytest.raises(InvalidOptionError, match=rf"Table db\.t cannot be written\. .*{reason}"):
        check_writable(store)
    check_writable(store.with_options({"record-level.time-field": "k"}))
