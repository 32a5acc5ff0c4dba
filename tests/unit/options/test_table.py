from __future__ import annotations

from typing import Any

import pytest

from paimon_core import options
from paimon_core.errors import InvalidOptionError
from paimon_core.options import Option, TableOptions
from paimon_core.options.option import AtLeast, OneOf, default_text, stats_mode, stats_mode_by_level
from paimon_core.options.support import OPTIONS
from tests.support.paimon_options import paimon_options

ALL = options.TABLE_OPTIONS
NUMBERS = {"0": 0, "-1": -1, "+5": 5, " 12 ": 12, "007": 7, "2147483647": 2**31 - 1}
LONGS = NUMBERS | {"9" * 18: 10**18 - 1, "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)}
SIZES = {
    "0": 0,
    "5": 5,
    "5b": 5,
    "5 bytes": 5,
    "1k": 2**10,
    "1 KB": 2**10,
    "2 kibibytes": 2**11,
    "128 mb": 2**27,
    "128m": 2**27,
    "1 mebibytes": 2**20,
    " 3 Gb ": 3 * 2**30,
    "1g": 2**30,
    "1 gibibytes": 2**30,
    "2t": 2**41,
    "2 TB": 2**41,
    "9223372036854775807 b": 2**63 - 1,
    "1 tebibytes": 2**40,
}
DURATIONS = {
    "0": 0,
    "15": 15,
    "15ms": 15,
    "1 milli": 1,
    "2 millis": 2,
    "1 millisecond": 1,
    "3 milliseconds": 3,
    "10 s": 10_000,
    "1sec": 1000,
    "2 secs": 2000,
    "1 second": 1000,
    "2 seconds": 2000,
    "5m": 300_000,
    "5 min": 300_000,
    "1 minute": 60_000,
    "2 Minutes": 120_000,
    "1h": 3_600_000,
    "1 hour": 3_600_000,
    "2 hours": 7_200_000,
    "1d": 86_400_000,
    "1 day": 86_400_000,
    " 2 DAYS ": 172_800_000,
}
BOOLEANS = {"true": True, "TRUE": True, " False ": False, "false": False}
NAMES = {"": (), "a": ("a",), " a , b ,": ("a", "b"), "größe,a b": ("größe", "a b"), ",": ()}
FOLDERS = {"data": "data", "/data/": "data", "a/b c/ä": "a/b c/ä", "..a": "..a"}
LEVELS: dict[str, dict[int, str]] = {"": {}, "0:avro": {0: "avro"}, " 0:lz4, 5: zstd ,": {0: "lz4", 5: "zstd"}}
GOOD: dict[Any, dict[str, Any]] = {
    options.integer: NUMBERS,
    options.long_integer: LONGS,
    options.decimal_number: {"0.5": 0.5, " 2 ": 2.0, "-1e3": -1000.0},
    options.memory_size: SIZES,
    options.duration: DURATIONS,
    options.boolean: BOOLEANS,
    options.names: NAMES,
    options.folder: FOLDERS,
    options.file_prefix: {"": "", "data-": "data-", "..ä ": "..ä "},
    options.by_level: LEVELS,
    options.weights: {"1": (1,), " 10, 5 ": (10, 5)},
    str: {"": "", " a ": " a "},
    str.strip: {"": "", " b ": "b"},
    str.lower: {"Parquet": "parquet"},
    stats_mode: {"FULL": "full", " none ": "none", "Truncate(16)": "truncate(16)"},
    stats_mode_by_level: {"": {}, "0:Full, 5:truncate(1)": {0: "full", 5: "truncate(1)"}},
}
NO_NUMBERS = ("", "x", "1.5", "1e3", "1_000", "0x10", "- 1", "٣", "9" * 19, "1;2")
BAD: dict[Any, tuple[tuple[str, ...], str]] = {
    options.integer: ((*NO_NUMBERS, "2147483648", "-2147483649"), "a whole number"),
    options.long_integer: ((*NO_NUMBERS, "9223372036854775808"), "a whole number"),
    options.decimal_number: (("", "x", "nan", "inf", "1,5"), "a number"),
    options.memory_size: (
        ("", "mb", "-1", "1.5 mb", "1 pb", "1 mb 2", "1 m b", "1\n2", "٣ mb", "9" * 19, "8388608 tb", "9" * 5000),
        "a size",
    ),
    options.duration: (("", "s", "-1 s", "1.5 s", "1 week", "1h30m", "1us", "٣ s", "9" * 5000), "a duration"),
    options.boolean: (("", "yes", "1", "t", "truefalse"), "true or false"),
    options.by_level: (("zero:lz4", "lz4", "0", "0:", "1:a,b"), "levels and values"),
    stats_mode: (("", "some", "truncate", "truncate(0)", "truncate( 1)", "truncate(٣)"), "none, counts"),
    stats_mode_by_level: (("0:some", "1:full,2:truncate(0)"), "none, counts"),
    options.weights: (("", "0", "1,", "-1,2", "1;2", "1.5"), "numbers above 0"),
    options.folder: (("", "/", "..", "a/../b", ".", "a//b", "a/ b", "a\0b", "a\nb"), "the path of a folder below"),
    options.file_prefix: (
        ("/", "../x-", "a/b", "a\\b", "a\0", "a\nb", "\x1b[2J", "\ud800"),
        "the beginning of a file name",
    ),
}


@pytest.mark.parametrize("option", ALL, ids=lambda o: o.key)
def test_every_option_has_a_default_of_its_kind_and_says_what_it_is(option: Option[Any]) -> None:
    assert TableOptions({})[option] == option.default
    assert option.doc.endswith(".")
    assert option not in TableOptions({})
    good = GOOD.get(option.parse)
    sample = next(iter(good.values())) if good else option.default
    assert option.default is None or type(option.default) is type(sample)


@pytest.mark.parametrize("option", ALL, ids=lambda o: o.key)
def test_every_option_parses_or_is_named(option: Option[Any]) -> None:
    for text, value in GOOD.get(option.parse, {}).items():
        parsed = TableOptions({option.key: text})
        assert parsed[option] == value
        assert option in parsed
    texts, meant = BAD.get(option.parse, ((), ""))
    for text in texts:
        with pytest.raises(InvalidOptionError) as caught:
            TableOptions({option.key: text})[option]
        assert str(caught.value).startswith(f"Option '{option.key}' cannot be {text!r}: it must be {meant}")
        assert option.doc in str(caught.value)
        assert f"Default: {option.default!r}." in str(caught.value)


def test_every_way_to_parse_is_tested() -> None:
    parsers = {o.parse for o in ALL}
    assert set(GOOD) <= parsers
    assert set(BAD) <= set(GOOD)
    assert all(isinstance(p, OneOf) for p in parsers - set(GOOD))


def test_every_option_is_in_the_registry() -> None:
    assert {id(o) for o in vars(options).values() if isinstance(o, Option)} <= {id(o) for o in OPTIONS.values()}
    assert {o.key for o in OPTIONS.values() if o.supported} == {o.key for o in ALL}
    assert all(OPTIONS[key].key == key for key in OPTIONS)


def test_the_registry_agrees_with_the_configuration_page() -> None:
    parsers = {"Boolean": {options.boolean}, "Integer": {options.integer}, "Duration": {options.duration}}
    parsers |= {"MemorySize": {options.memory_size}, "Long": {options.long_integer, options.duration}}
    for known in paimon_options():
        if known.key in OPTIONS and known.kind in parsers:
            parse = OPTIONS[known.key].parse
            assert parse in parsers[known.kind] or isinstance(parse, AtLeast), known.key


# where none is set, statements count the rows of a new partition, and `global-index.search-mode` holds
OTHER_DEFAULTS = {
    "postpone.default-bucket-num",
    *(f"{kind}-index.search-mode" for kind in ("full-text", "scalar", "vector")),
}


def test_defaults_are_those_of_the_configuration_page() -> None:
    for known in paimon_options():
        option = OPTIONS.get(known.key)
        if option is None or not option.supported or known.default in ("", "infinite"):
            continue
        assert (option.parse(known.default) == option.default) is (known.key not in OTHER_DEFAULTS), known.key


def test_keys_differ() -> None:
    keys = [o.key for o in OPTIONS.values()]
    assert len({k.lower() for k in keys}) == len(keys) > 25
    assert all(k == k.strip() for k in keys)


@pytest.mark.parametrize("engine", ["deduplicate", "Partial-Update", " AGGREGATION ", "first-row"])
def test_one_of_several(engine: str) -> None:
    assert TableOptions({"merge-engine": engine})[options.MERGE_ENGINE] == engine.strip().lower()


def test_an_error_names_the_values_there_are() -> None:
    for text in ("", "dedup", "deduplicate,first-row"):
        with pytest.raises(InvalidOptionError, match="one of deduplicate, partial-update, aggregation, first-row"):
            TableOptions({"merge-engine": text})[options.MERGE_ENGINE]


def test_options_override_one_another_and_unknown_ones_are_kept() -> None:
    table = TableOptions({"bucket": "2", "x": "y"})
    more = table.merged({"bucket": "3", "z": "w"})
    assert (table[options.BUCKET], more[options.BUCKET]) == (2, 3)
    assert more.values == {"bucket": "3", "x": "y", "z": "w"}
    assert table.values == {"bucket": "2", "x": "y"}


def test_defaults_are_spelled_as_values() -> None:
    texts = {o.key: default_text(o) for o in OPTIONS.values()}
    assert texts["snapshot.time-retained"] == "1 h" and texts["write-only"] == "false" and texts["bucket"] == "-1"
    assert texts["manifest.target-file-size"] == "8 mb" and texts["consumer.expiration-time"] == ""
    for option in OPTIONS.values():
        if texts[option.key]:
            assert option.parse(texts[option.key]) == option.default, option.key
