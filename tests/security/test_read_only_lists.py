"""What `--read-only` allows, held against all that Spark has: each of it is listed as allowed or as refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.proto import base_pb2

from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.server.reads.listed import Places, Warehouses, allowed, listed, places
from paimon_sql.spark.jvm.client_sessions import allow_lists
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.proxy import Predicate
from tests.support.spark_classes import subclasses

JARS = ("spark-catalyst", "spark-sql", "spark-hive", "spark-hive-thriftserver", "spark-connect", "spark-pipelines")
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
SERVICE = base_pb2.DESCRIPTOR.services_by_name["SparkConnectService"]


def refused(kind: str) -> frozenset[str]:
    """What is refused, by the lists beside this file."""
    text = Path(__file__).with_name("refused_by_read_only.txt").read_text("utf-8")
    return frozenset(text.partition(f"[{kind}]\n")[2].partition("\n\n")[0].split())


def names(base: str) -> set[str]:
    """What the lists call the subclasses of a class."""
    return {full.rpartition(".")[2].removesuffix("$") for full in subclasses(base, (*JARS, "spark-mllib"))}


def messages() -> set[str]:
    """Each message that a client of Spark Connect may send, without the package."""
    found: dict[str, Any] = {}
    left = [method.input_type for method in SERVICE.methods]
    while left:
        one = left.pop()
        if one.full_name not in found:
            found[one.full_name] = one
            left += [field.message_type for field in one.fields if field.message_type]
    return {name.removeprefix("spark.connect.") for name, one in found.items() if not one.GetOptions().map_entry}


@pytest.mark.parametrize(
    ("kind", "find"),
    [
        ("plans", lambda: names(f"{LOGICAL}.LogicalPlan")),
        ("expressions", lambda: names("org.apache.spark.sql.catalyst.expressions.Expression")),
        ("messages", messages),
        ("calls", lambda: {method.name for method in SERVICE.methods}),
    ],
    ids=("plans", "expressions", "messages", "calls"),
)
def test_everything_is_allowed_or_refused(kind: str, find: Callable[[], set[str]]) -> None:
    everything, denied = find(), refused(kind)
    assert len(everything) > 5
    assert everything - allowed(kind) - denied == set(), "neither allowed nor refused: decide, and list it"
    assert allowed(kind) & denied == set()


def test_no_plan_that_writes_is_allowed() -> None:
    writes = re.compile(
        r"^(Insert|Append|Overwrite|Replace|Write|Save|Delete|Update|Merge|Alter|Truncate|Load|Add|Drop|Rename)"
    )
    found = {name for name in allowed("plans") if writes.match(name)}
    assert found == {"DropFunctionCommand", "DropTempViewCommand", "DropVariable"}  # of the session, or looked into
    assert names(f"{LOGICAL}.V2WriteCommand") & allowed("plans") == set()


def test_no_allowed_expression_runs_code() -> None:
    of_catalogs = {"ApplyFunctionExpression", "V2Aggregator"}
    own = names("org.apache.spark.sql.catalyst.expressions.UserDefinedExpression")
    own |= names("org.apache.spark.sql.catalyst.expressions.PythonFuncExpression")
    assert len(own) > 5 and own & allowed("expressions") <= of_catalogs


def test_the_checks_in_java_get_every_list() -> None:
    lines = listed().splitlines()
    assert all(line.count("\t") == 1 for line in lines) and "function\tabs" in lines and "parsed\tDropView" in lines
    assert (
        "expression\tPythonUDF" not in lines and "expression\tPythonUDF" in listed(python_functions=True).splitlines()
    )


@pytest.mark.spark
def test_functions_sources_and_settings_of_the_running_spark(spark: Any) -> None:
    jvm = jvm_of(spark.sparkContext)
    analysis = "org.apache.spark.sql.catalyst.analysis"
    functions = set()
    for registry in ("FunctionRegistry", "TableFunctionRegistry"):
        found = jvm.java_class(f"{analysis}.{registry}").builtin().listFunction()
        functions |= {str(found.apply(i).funcName()) for i in range(found.size())}
    assert len(functions) > 400
    assert functions - allowed("functions") - refused("functions") == set()
    register = jvm.java_class("java.lang.Class").forName("org.apache.spark.sql.sources.DataSourceRegister")
    sources = jvm.java_class("java.util.ServiceLoader").load(register).iterator()
    formats = set()
    while sources.hasNext():
        formats.add(str(sources.next().shortName()).lower())
    assert {"parquet", "jdbc"} <= formats
    assert formats - allowed("sources") - refused("sources") == set()


@pytest.mark.spark
def test_options_of_the_running_spark(spark: Any) -> None:
    jvm, found = jvm_of(spark.sparkContext), set()
    for owner in subclasses("org.apache.spark.sql.catalyst.DataSourceOptions", JARS):
        if "StateSourceOptions" not in owner:  # of a refused source
            each = jvm.java_class("java.lang.Class").forName(owner).getField("MODULE$").get(None).getAllOptions()
            found.update(str(each.mkString(" ")).lower().split())
    assert len(found) > 50
    assert found - allowed("options") - refused("options") == set(), "neither allowed nor refused: decide, and list it"


def test_options_lead_to_no_other_place() -> None:
    assert allowed("options") & refused("options") == set()
    assert all(key == key.lower() for key in allowed("options"))
    leads = re.compile(
        r"path|ur[il]|schema|class|file|dir|server|host|user|password|metastore|warehouse|consumer|auth|query"
    )
    assert {key for key in allowed("options") if leads.search(key)} == {
        "avroschema", "basepath", "enforceschema", "file-index.read.enabled", "ignorecorruptfiles",
        "ignoreinvalidpartitionpaths", "ignoremissingfiles", "ignoredpathsegmentregex", "inferschema", "mergeschema",
        "path", "pathglobfilter", "recursivefilelookup", "source.split.open-file-cost",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "is_allowed"),
    [
        ("scan.snapshot-id", True),
        ("read.changelog", True),
        ("incremental-between", True),
        ("search.arguments", True),
        ("metastore", False),
        ("uri", False),
        ("consumer-id", False),
        ("query-auth.enabled", False),
        ("rowvalidationxsdpath", False),
        ("scan.x\nuri", False),
        ("fs.s3a.endpoint", False),
    ],
)
def test_patterns_of_options(option: str, is_allowed: bool) -> None:
    matches = any(re.fullmatch(pattern, option) for pattern in allowed("option_patterns"))
    assert (matches or option in allowed("options")) is is_allowed


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"spark.sql.catalog.lake.warehouse": "/lake/"}, {"/lake"}),
        ({"spark.sql.catalog.lake.warehouse": "s3://bucket/lake"}, {"s3://bucket/lake"}),
        ({"spark.sql.catalog.far.warehouse": "prod", "spark.sql.catalog.far.metastore": "rest"}, set()),
        ({"spark.sql.warehouse.dir": "file:/tables", "spark.sql.catalog.x.uri": "/other"}, {"/tables"}),
        ({"spark.paimon-sql.read-paths": " /a/b, hdfs://host/c/ ,"}, {"/a/b", "hdfs://host/c"}),
        ({}, set()),
    ],
)
def test_places_of_files(settings: dict[str, str], found: set[str]) -> None:
    lines = listed(places(settings, lambda name: {})).splitlines()
    assert {line for line in lines if line.startswith("place")} == {f"place\t{one}" for one in found}


def test_warehouses_that_get_users(tmp_path: Path) -> None:
    """Files there hold the passwords, and tables that others may not read."""
    options: dict[str, dict[str, str]] = {
        name: {"warehouse": str(tmp_path / name)} for name in ("open", "users", "broken")
    }
    options["broken"]["metastore"] = "unknown"
    settings = {f"spark.sql.catalog.{name}.warehouse": str(tmp_path / name) for name in (*options, "of_others")}
    settings["spark.paimon-sql.read-paths"] = str(tmp_path / "chosen")
    found = places(settings, options.get)
    assert set(found.warehouses) == {str(tmp_path / name) for name in (*options, "of_others")}
    assert found.chosen == {str(tmp_path / "chosen")}
    warehouses = Warehouses(found)
    asked = ("open", "users", "of_others", "broken")
    assert [warehouses.has_users(str(tmp_path / name)) for name in asked] == [False, False, False, True]
    accounts_of(load_catalog(options["users"])).initialize("root's password")
    assert [warehouses.has_users(str(tmp_path / name)) for name in asked] == [False, True, False, True]


def test_a_link_is_a_place_with_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    found = places({"spark.paimon-sql.read-paths": str(tmp_path / "link")}, lambda name: None)
    assert found.chosen == {str(tmp_path / "link"), str((tmp_path / "lake").resolve())}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("path", "is_within"),
    [
        ("/lake", True),
        ("/lake/db/t", True),
        ("file:///lake/*/x", True),
        ("FILE:/lake//x/./y", True),
        ("/lake/{a,b}.csv", True),
        ("s3a://bucket/lake/t", True),
        ("s3://bucket/lake/t", True),
        ("/lakes", False),
        ("/", False),
        ("", False),
        ("lake", False),
        ("/lake/../etc", False),
        ("/lake/\\.\\./etc", False),
        ("/lake/{a/.,b}./etc", False),
        ("{/lake,/etc}/x", False),
        ("//lake/x", False),
        ("file://host/lake", False),
        ("file:lake", False),
        ("jar:file:/lake/x!/y", False),
        ("ftp://host/lake", False),
        ("http://host/lake", False),
        ("s3://other/lake", False),
        ("s3://bucket/lake-2", False),
        ("hdfs:///lake", False),
        ("/lake\n", False),
        pytest.param("/lake" + "/." * 50_000 + "/x/", True, id="many separators"),
        pytest.param("/lake/" + "{" * 3_000 + "/" * 3_000, False, id="many choices"),
    ],
)
def test_paths_below_a_place(spark: Any, path: str, is_within: bool) -> None:
    lists = (
        jvm_of(spark.sparkContext)
        .compiled("AllowLists")
        .of(listed(Places({}, chosen=frozenset({"/lake", "s3://bucket/lake"}))), None)
    )
    assert bool(lists.test("place", path)) is is_within


@pytest.mark.spark
def test_links_below_a_place(spark: Any, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "own").mkdir(parents=True)
    (lake / "in").mkdir()
    (tmp_path / "file").write_text("x")
    (lake / "out").symlink_to(tmp_path)
    (lake / "own" / "file").symlink_to(tmp_path / "file")
    (lake / "in" / "again").symlink_to(lake / "in")
    (lake / "alias").symlink_to(lake / "own")
    (lake / "dangling").symlink_to(tmp_path / "missing")
    lists = jvm_of(spark.sparkContext).compiled("AllowLists").of(listed(Places({str(lake): []})), None)
    found = {path: (lists.test("place", f"{lake}/{path}"), lists.test("tree", f"{lake}/{path}")) for path in (
        "in", "own", "alias", "own/file", "o[w]n/f*", "out/file", "o?t/x", "o?t/file", "*", "none", "dangling",
        "dangling/x", "d*", "i*", "n*/x",
    )}  # fmt: skip
    assert found == {
        "in": (True, True),
        "none": (True, True),
        "own": (True, False),
        "alias": (True, False),
        "*": (False, False),
        "own/file": (False, False),
        "o[w]n/f*": (False, False),
        "out/file": (False, False),
        # whether there is such a file behind a link makes no difference
        "o?t/x": (False, False),
        "o?t/file": (False, False),
        "dangling": (False, False),
        "dangling/x": (False, False),
        "d*": (False, False),
        "i*": (True, True),
        "n*/x": (True, True),
    }


@pytest.mark.spark
@pytest.mark.parametrize(
    ("path", "as_place", "as_tree"),
    [
        ("/lake/t", True, True),
        ("/lake", True, False),
        ("/lake/*/x", False, False),
        ("s3://bucket/*", True, True),
        ("/lake/inner", False, False),
        ("/lake/inner/db/t", False, False),
        ("/lake/inner/open", True, True),
        ("/lake/inner/open/x", True, True),
        ("/lake/inner2", True, True),
        ("/lake/inner*/x", False, False),
        ("/lake/in[n]er/x", False, False),
    ],
)
def test_paths_of_a_warehouse_that_has_users(spark: Any, path: str, as_place: bool, as_tree: bool) -> None:
    jvm = jvm_of(spark.sparkContext)
    found = Places(
        {"/lake": [], "/lake/inner": []}, frozenset({"s3://bucket"}), frozenset({"/lake/inner/open", "/lake"})
    )
    lists = allow_lists(jvm, listed(found), Predicate(jvm, lambda folder: folder == "/lake/inner"))
    assert (lists.test("place", path), lists.test("tree", path)) == (as_place, as_tree)


@pytest.mark.spark
def test_the_check_of_a_plan_asks_a_warehouse_for_users_once(spark: Any, tmp_path: Path) -> None:
    """A plan may name 100,000 files, and each answer takes a request to the storage. The next plan asks again."""
    jvm, asked, answer = jvm_of(spark.sparkContext), list[str](), [False]

    def has_users(folder: str) -> bool:
        asked.append(folder)
        return answer[0]

    (tmp_path / "t").mkdir()
    for number in range(20):
        (tmp_path / "t" / f"f{number}").write_text("")
        (tmp_path / "t" / f"link{number}").symlink_to(tmp_path / "t" / f"f{number}")
    lists = allow_lists(jvm, listed(Places({str(tmp_path): []})), Predicate(jvm, has_users))
    for path in ("t", "t/*", "*/f*", "t/link1"):
        asked.clear()
        assert lists.test("tree", f"{tmp_path}/{path}") and asked == [str(tmp_path)], path
    asked.clear()
    lists.test("plan is checked", True)
    assert all(lists.test("tree", f"{tmp_path}/t/f{number}") for number in range(20)) and asked == [str(tmp_path)]
    lists.test("plan is checked", False)
    answer[0] = True
    assert not lists.test("tree", f"{tmp_path}/t/f1")


VERSIONS = ("4.0", "4.1", "4.2", "4.3")
NEWER = {  # of the allowed settings: the first version that has one
    "spark.sql.execution.pyspark.binaryAsBytes": "4.1",
    "spark.sql.scripting.continueHandlerEnabled": "4.1",
    "spark.sql.scripting.cursorEnabled": "4.2",
}
OF_HIVE = {"hive.server2.thrift.resultset.default.fetch.size"}
OWNERS = (  # Spark has settings once the objects that declare them are loaded
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.sql.internal.StaticSQLConf$",
    "org.apache.spark.sql.hive.HiveUtils$",
    "org.apache.spark.sql.connect.config.Connect$",
)


def refused_settings(version: str) -> set[str]:
    """The settings that a version has and that nobody may set."""
    found: set[str] = set()
    for section in Path(__file__).with_name("refused_settings.txt").read_text("utf-8").split("\n[")[1:]:
        versions, _, words = section.partition("]\n")
        first, last = versions.split()
        if first <= version <= last:
            found.update(words.split())
    return found


@pytest.mark.spark
def test_every_setting_of_the_running_spark_is_listed(spark: Any) -> None:
    jvm = jvm_of(spark.sparkContext)
    for owner in OWNERS:
        jvm.java_class("java.lang.Class").forName(owner)
    entries = jvm.java_class("java.lang.Class").forName(OWNERS[0]).getField("MODULE$").get(None).getConfigEntries()
    each, there = entries.iterator(), set()
    while each.hasNext():
        there.add(str(each.next().key()))
    version = ".".join(str(spark.version).split(".")[:2])
    assert version in VERSIONS and len(there) > 500
    may_be_set = {key for key in allowed("settings") - OF_HIVE if NEWER.get(key, version) <= version}
    assert there - may_be_set - refused_settings(version) == set(), "neither allowed nor refused: decide, and list it"
    assert may_be_set - there == set() and refused_settings(version) - there == set(), "not in this Spark"


def test_no_setting_is_allowed_and_refused() -> None:
    assert set(NEWER) | OF_HIVE <= allowed("settings")
    for version in VERSIONS:
        denied = refused_settings(version)
        assert len(denied) > 400 and denied & allowed("settings") == set()
        patterns = [re.compile(pattern) for pattern in allowed("setting_patterns")]
        assert [key for key in denied if any(pattern.fullmatch(key) for pattern in patterns)] == []


def test_the_lists_are_looked_up_in_one_place() -> None:
    """Each door would else have rules of its own for settings."""
    sources = files("paimon_sql.spark.jvm.java").iterdir()
    kinds = [one.name for one in sources if one.name.endswith(".java") and '" pattern"' in one.read_text("utf-8")]
    assert kinds == ["AllowLists.java"]


def test_settings_lead_to_no_other_place_class_or_secret() -> None:
    suspicious = re.compile(
        r"class|extension|provider|catalog\.|warehouse|path|dir$|secret|password|token|redaction|rules|python\.|hadoop|allowList"
        r"|url|repositor|listener|committer|serializer",
        re.IGNORECASE,
    )
    assert [key for key in allowed("settings") if suspicious.search(key)] == []


@pytest.mark.parametrize(
    ("setting", "is_allowed"),
    [
        ("spark.paimon.scan.snapshot-id", True),
        ("spark.paimon.lake.db.t.scan.mode", True),
        ("spark.paimon.*.db.t.incremental-between", True),
        ("spark.paimon.write-only", False),
        ("spark.paimon.s3.secret-key", False),
        ("spark.paimon.scan.fallback-branch\nspark.sql.catalog.x", False),
        ("spark.sql.catalog.lake.warehouse", False),
        ("fs.s3a.endpoint", False),
        ("pandas_on_Spark.compute.max_rows", True),
    ],
)
def test_patterns_of_settings(setting: str, is_allowed: bool) -> None:
    assert any(re.fullmatch(pattern, setting) for pattern in allowed("setting_patterns")) is is_allowed
