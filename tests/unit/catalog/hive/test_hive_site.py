"""`hive-site.xml`: properties, and nothing that XML could do."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from paimon_sql.catalog.hive.hive_site import read_hive_site


def site(folder: Path, body: str) -> str:
    (folder / "hive-site.xml").write_text(body, encoding="utf-8")
    return str(folder)


def test_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE", "/lake")
    folder = site(
        tmp_path,
        """<?xml version="1.0" encoding="UTF-8"?>
        <!-- a <property> in a comment -->
        <configuration>
          <property><name>hive.metastore.uris</name><value> thrift://${host}:9083 </value><final>true</final></property>
          <property>
            <name> host </name><description>of <b>all</b></description><value>meta&amp;store</value>
          </property>
          <property><name>empty</name><value/></property>
          <property><value>without a name</value></property>
          <property><name>warehouse</name><value>${env.LAKE}/${unknown}</value></property>
          <property><name>a</name><value>${b}</value></property><property><name>b</name><value>${a}</value></property>
        </configuration>""",
    )
    found = read_hive_site(folder)
    assert found["hive.metastore.uris"] == "thrift://meta&store:9083"
    assert (found["empty"], found["warehouse"]) == ("", "/lake/${unknown}")
    assert found["a"] in ("${a}", "${b}")
    assert read_hive_site(f"file://{folder}") == found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><configuration>&x;</configuration>', "DOCTYPE"),
        ('<!DOCTYPE c [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><configuration>&b;</configuration>', "DOCTYPE"),
        ('<!DOCTYPE c SYSTEM "http://127.0.0.1:1/x.dtd"><configuration/>', "DOCTYPE"),
        ("<configuration><property>", "no element found"),
        ("uris=thrift://host", "not well-formed"),
        ("", "no element found"),
        ("<configuration>&unknown;</configuration>", "undefined entity"),
    ],
)
def test_what_is_refused(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        read_hive_site(site(tmp_path, body))


def test_a_variable_that_doubles(tmp_path: Path) -> None:
    values = ["".join(["${v", str(n + 1), "}"]) * 1000 for n in range(5)]
    parts = "".join(f"<property><name>v{n}</name><value>{v}</value></property>" for n, v in enumerate(values))
    assert len(read_hive_site(site(tmp_path, f"<configuration>{parts}</configuration>"))["v0"]) < 2**20


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match=r"hive-site\.xml cannot be read: No such file"):
        read_hive_site(str(tmp_path / "nowhere"))
