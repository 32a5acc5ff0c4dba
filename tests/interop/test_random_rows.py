"""Rows that hypothesis makes up, of every type, in each format and kind of table: one engine writes, both read."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from tests.interop.engines import ENGINES, Engines

ROWS = 24
ORC_EPOCH = datetime(1970, 1, 1)
MOMENTS = st.datetimes(datetime(1583, 1, 1), datetime(9999, 12, 31))
TEXTS = st.text(max_size=12) | st.sampled_from(["", " ", "NULL", "%2F", "a/b=c", "\U0010ffff", "\0"])


def number(bits: int) -> st.SearchStrategy[int]:
    most = 2 ** (bits - 1)
    return st.integers(-most, most - 1) | st.sampled_from([-most, most - 1, 0])


def decimal(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = Decimal(10**precision - 1).scaleb(-scale) if precision < 28 else Decimal(f"{'9' * (precision - scale)}")
    return st.decimals(-most, most, places=scale, allow_nan=False)


TYPES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "o": ("BOOLEAN", st.booleans()),
    "t": ("TINYINT", number(8)),
    "h": ("SMALLINT", number(16)),
    "i": ("INT", number(32)),
    "b": ("BIGINT", number(64)),
    "f": ("FLOAT", st.floats(width=32) | st.just(-0.0)),
    "d": ("DOUBLE", st.floats() | st.just(-0.0)),
    "m": ("DECIMAL(9, 2)", decimal(9, 2)),
    "n": ("DECIMAL(38, 10)", decimal(38, 10)),
    "s": ("STRING", TEXTS),
    "x": ("BINARY", st.binary(max_size=12)),
    "y": ("DATE", st.dates(date(1583, 1, 1))),
    "z": ("TIMESTAMP_NTZ", MOMENTS),
    "l": ("TIMESTAMP", MOMENTS),
}
NESTED = {
    "a": ("ARRAY<STRING>", st.lists(st.none() | TEXTS, max_size=3)),
    "k": ("MAP<INT, BIGINT>", st.dictionaries(number(32), st.none() | number(64), max_size=3)),
    "r": ("STRUCT<q: INT, w: STRING>", st.fixed_dictionaries({"q": st.none() | number(32), "w": st.none() | TEXTS})),
}
COLUMNS = TYPES | NESTED
KINDS = {
    "append": ("", ""),
    "keyed": ("", "'primary-key' = 'id,s', 'bucket' = '2', "),
    "partitioned": ("PARTITIONED BY (s)", "'primary-key' = 's,id', 'bucket' = '1', "),
}


def literal(value: Any) -> str:
    """A value as SQL of both engines: texts by their bytes, which no parser can mistake."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | Decimal():
            return f"{value:f}" if isinstance(value, Decimal) else str(value).lower()
        case float():
            return f"'{value!r}'".replace("'inf", "'Infinity").replace("'-inf", "'-Infinity")
        case str():
            return f"CAST(X'{value.encode().hex()}' AS STRING)"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"'{value.isoformat(' ')}'"
        case date():
            return f"'{value}'"
        case list():
            return f"array({', '.join(map(literal, value))})"
        case {"q": q, "w": w}:
            return f"named_struct('q', CAST({literal(q)} AS INT), 'w', CAST({literal(w)} AS STRING))"
    return f"map({', '.join(f'{k}, CAST({literal(v)} AS BIGINT)' for k, v in value.items())})"


def in_format(name: str, column: str, value: Any) -> Any:
    """ORC files hold no microseconds before 1970; Java's shift days that are long ago."""
    if name != "orc" or column not in "yzl" or value is None:
        return value
    return max(value, date(1900, 1, 1) if column == "y" else ORC_EPOCH)


def made_up() -> list[dict[str, Any]]:
    """Each example is a row; the first are simple ones."""
    rows: list[dict[str, Any]] = []
    columns = {c: values if c == "s" else st.none() | values for c, (_, values) in COLUMNS.items()}

    @seed(20)
    @settings(max_examples=ROWS, database=None, phases=[Phase.generate])
    @given(st.fixed_dictionaries(columns))
    def collect(row: dict[str, Any]) -> None:
        rows.append(row)

    collect()
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("writer", ENGINES)
def test_random_rows(engines: Engines, writer: str, name: str, kind: str) -> None:
    rows = []
    for i, row in enumerate(made_up()):
        values = [f"CAST({literal(in_format(name, c, row[c]))} AS {t})" for c, (t, _) in COLUMNS.items()]
        rows.append(f"({i}, {', '.join(values)})")
    columns = ", ".join(f"{c} {t}{' NOT NULL' * (c == 's')}" for c, (t, _) in COLUMNS.items())
    partitioned, keys = KINDS[kind]
    options = f"{keys}'file.format' = '{name}', 'write-only' = 'true'"
    engines.run(writer, f"CREATE TABLE t (id INT NOT NULL, {columns}) {partitioned} TBLPROPERTIES ({options})")
    engines.run(writer, f"INSERT INTO t VALUES {', '.join(rows)}")
    assert len(engines.both("SELECT * FROM t")) == ROWS
    conditions = [f"{c} > (SELECT max({c}) FROM t WHERE id < 9)" for c in ("b", "s", "z")]
    conditions += ["d = 'NaN'", "f <= 0", "s = ''", "n < 0 AND i > 0", "x IS NULL"]
    engines.both(" UNION ALL ".join(f"SELECT {i} AS c, id FROM t WHERE {c}" for i, c in enumerate(conditions)))
