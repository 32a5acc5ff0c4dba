from __future__ import annotations

from paimon_sql.shell.render import Result, csv_text, json_lines, markdown, table, vertical
from tests.unit.shell.fakes import kind


def result(columns: dict[str, str], *rows: tuple) -> Result:
    return Result(columns=list(columns), kinds=[kind(name) for name in columns.values()], rows=rows)


FLIGHTS = result({"carrier": "string", "n": "long"}, ("UA", 58665), (None, 7), ("a|b\n", None))


def test_table():
    assert table(FLIGHTS) == (
        " carrier |     n\n"
        "---------+-------\n"
        " UA      | 58665\n"
        " NULL    |     7\n"
        " a|b\\n   |  NULL\n"
    )  # fmt: skip


def test_table_without_rows():
    assert table(result({"a": "long", "name": "string"})) == " a | name\n---+------\n"


def test_wide_characters_take_two_columns():
    assert table(result({"k": "string", "v": "long"}, ("这是", 1), ("e\u0301x", 22))) == (
        " k    |  v\n"
        "------+----\n"
        " 这是 |  1\n"
        " e\u0301x   | 22\n"
    )  # fmt: skip


def test_wide_values_are_cut():
    rows = [(1, "x" * 81), (2, "y" * 80), (3, "这" * 41)]
    lines = table(result({"n": "long", "a": "string"}, *rows)).splitlines()
    assert lines[2] == " 1 | " + "x" * 79 + "…"
    assert lines[3] == " 2 | " + "y" * 80
    assert lines[4] == " 3 | " + "这" * 39 + "…"


def test_a_single_column_is_not_cut():
    assert table(result({"a": "string"}, ("x" * 200,))).splitlines()[2] == " " + "x" * 200


def test_one_column_of_long_texts_is_not_a_table():
    assert table(result({"plan": "string"}, ("== Plan ==\n" + "x" * 200 + "\n",))) == "== Plan ==\n" + "x" * 200 + "\n"


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in table(result({"a\x1b": "string"}, ("\x1b[2J",)))


def test_csv():
    assert csv_text(FLIGHTS) == 'carrier,n\nUA,58665\n,7\n"a|b\n",\n'


def test_json():
    assert json_lines(FLIGHTS) == (
        '{"carrier": "UA", "n": 58665}\n{"carrier": null, "n": 7}\n{"carrier": "a|b\\n", "n": null}\n'
    )


def test_markdown():
    assert markdown(FLIGHTS) == ("| carrier | n |\n| --- | ---: |\n| UA | 58665 |\n| NULL | 7 |\n| a\\|b\\n | NULL |\n")


def test_vertical_rows_are_lines_of_their_columns():
    result = Result(columns=["id", "a\nname"], kinds=[kind("long"), kind("string")], rows=[(1, "x" * 200), (22, None)])
    assert vertical(result) == (
        f"-[ row 1 ]\nid      | 1\na\\nname | {'x' * 200}\n-[ row 2 ]\nid      | 22\na\\nname | NULL\n"
    )
