"""What needs a package that is not installed says which one, and how to get it, in the same words everywhere."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.io.fsspec import url_options
from paimon_core.io.load import load_file_io
from paimon_core.lsm.functions.sketches import hll_sketch, theta_sketch
from paimon_core.optional_packages import import_optional
from paimon_sql.catalog.load import load_catalog
from paimon_sql.python.queries import run_query
from paimon_sql.server.rest.door import open_door
from paimon_sql.server.settings import ServerSettings
from paimon_sql.shell import prompt, terminal

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package, and what lies in it, one that is not installed."""

    def block(package: str) -> None:
        for name in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
        known = getattr(sys.modules.get("fsspec.registry"), "_registry", {})  # storages that other tests have opened
        for protocol in [p for p, storage in known.items() if storage.__module__.partition(".")[0] == package]:
            monkeypatch.delitem(known, protocol)
        monkeypatch.setattr(sys, "meta_path", [_Refusing(package), *sys.meta_path])

    return block


class _Refusing:
    """An importer that has no module of one package, as where it is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("package", "use", "message"),
    [
        ("fsspec", lambda: load_file_io("memory://wh", {}), "Storage memory:// needs the package fsspec, which is not"
         " installed. Run: pip install 'paimon-sql[fsspec]'"),
        ("obstore", lambda: load_file_io("s3://wh/x", {}), "Storage s3:// needs the package obstore, which is not"
         " installed. Run: pip install 'paimon-sql[s3]'"),
        ("obstore", lambda: load_file_io("gs://wh/x", {}), "Storage gs:// needs the package obstore, which is not"
         " installed. Run: pip install 'paimon-sql[gcs]'"),
        ("obstore", lambda: load_file_io("oss://wh/x", {}), "Storage oss:// needs the package obstore, which is not"
         " installed. Run: pip install 'paimon-sql[oss]'"),
        ("paramiko", lambda: url_options("sftp://host/x"), "Storage sftp:// needs the package paramiko, which is not"
         " installed. Run: pip install 'paimon-sql[fsspec]' paramiko"),
        ("obstore", lambda: load_file_io("abfss://wh@account/x", {}), "Storage abfss:// needs the package obstore,"
         " which is not installed. Run: pip install 'paimon-sql[azure]'"),
        ("urllib3", lambda: load_catalog({"metastore": "rest", "uri": "http://h"}), "A catalog with 'metastore' ="
         " 'rest' needs the package urllib3, which is not installed. Run: pip install 'paimon-sql[rest]'"),
        ("uvicorn", lambda: open_door({}, ServerSettings(), print).__enter__(), "paimon-sql serve --rest needs the"
         " package uvicorn, which is not installed. Run: pip install 'paimon-sql[rest-server]'"),
        ("duckdb", lambda: run_query(None, "SELECT 1"), "SQL without Spark needs the package"
         " duckdb, which is not installed. Run: pip install 'paimon-sql[duckdb]'"),
        ("datasketches", lambda: theta_sketch(b"", b""), "A merge of sketches needs the package datasketches, which is"
         " not installed. Run: pip install 'paimon-sql[sketches]'"),
        ("datasketches", lambda: hll_sketch(b"", b""), "A merge of sketches needs the package datasketches, which is"
         " not installed. Run: pip install 'paimon-sql[sketches]'"),
    ],
)  # fmt: skip
def test_a_package_that_is_missing_is_named(
    without: Callable[[str], None], package: str, use: Callable[[], object], message: str
) -> None:
    without(package)
    with pytest.raises(UnsupportedFeatureError) as caught:
        use()
    assert str(caught.value) == message


def test_a_package_that_is_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("import of_what_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=r"half_installed, which cannot be imported: .*of_what_it_needs"):
        import_optional("half_installed", "A test", "all")


def test_the_prompt_without_its_package_reads_plain_lines_and_says_so(
    without: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    without("prompt_toolkit")
    with pytest.raises(ModuleNotFoundError):
        importlib.reload(terminal)
    assert "pip install 'paimon-sql[cli]'" in prompt.PLAIN


def test_every_extra_that_is_named_exists_and_all_brings_them() -> None:
    named = set()
    for root in ("paimon_core", "paimon_sql", "catalog", "procedures", "docs"):
        for path in (Path(__file__).parents[2] / root).rglob("*.[pm][yd]"):
            text = path.read_text(encoding="utf-8")
            named |= set(re.findall(r"paimon-sql\[(\w+)\]", text)) | set(
                re.findall(r"install_command\([\"'](\w+)", text)
            )
    assert named and named <= set(EXTRAS)
    brought = set(re.fullmatch(r"paimon-sql\[(.*)\]", EXTRAS["all"][0])[1].split(","))  # type: ignore[index]
    needs_headers = {"hive-kerberos"}  # those of Kerberos, to build
    assert brought == set(EXTRAS) - {"all", "demo", "dev", "docs"} - needs_headers
