"""Parquet files with shredded VARIANTs: the columns that a table's options ask for, and the same rows."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.types import arrow_schema, arrow_type
from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet.splice import replace_columns
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import INT, VARIANT, CollectionType, DataField, Kind, RowType
from tests.support.variants import decode, encode, encode_metadata
from tests.unit.arrow.test_shredded import keys_of

V = arrow_type(VARIANT)
N = DataField(id=3, name="n", type=VARIANT)
FIELDS = (
    DataField(id=0, name="id", type=INT),
    DataField(id=1, name="v", type=VARIANT),
    DataField(id=2, name="s", type=RowType(fields=(N,))),
    DataField(id=4, name="l", type=CollectionType(Kind.ARRAY, element=VARIANT)),
)
INFER = {"variant.inferShreddingSchema": "true"}


def given(**parts: Any) -> dict[str, str]:
    def node(part: Any) -> Any:
        if isinstance(part, dict):
            return {"type": "ROW", "fields": [{"name": n, "type": node(p)} for n, p in part.items()]}
        return {"type": "ARRAY", "element": node(part[0])} if isinstance(part, list) else part

    return {"variant.shreddingSchema": json.dumps(node(parts))}


def variant(document: Any) -> dict[str, bytes]:
    keys = sorted(keys_of(document))
    return {"value": encode(document, keys), "metadata": encode_metadata(keys)}


def rows_of(documents: Sequence[Any]) -> pa.Table:
    variants = [None if d is None else variant(d) for d in documents]
    columns = {
        "id": list(range(len(documents))),
        "v": variants,
        "s": [None if i % 3 == 1 else {"n": v} for i, v in enumerate(variants)],
        "l": [[v, v] for v in variants],
    }
    return pa.table(
        [pa.array(v, f.type) for v, f in zip(columns.values(), arrow_schema(FIELDS), strict=True)], names=list(columns)
    )


def write(path: Path, options: dict[str, str], *groups: pa.Table) -> pa.Schema:
    writer = format_of_file(path.name).open_writer(LocalFileIO(), str(path), FIELDS, TableOptions(options))
    for rows in groups:
        writer.write(rows)
    writer.close()
    return pq.read_schema(path)


def read(path: Path) -> list[Any]:
    request = ReadRequest(str(path), FIELDS, None, lambda: FIELDS, TableOptions({}))
    batches = format_of_file(path.name).read(LocalFileIO(), request)
    found = pa.Table.from_batches(batches, arrow_schema(FIELDS)).to_pylist()
    return [{k: _decoded(v) for k, v in row.items()} for row in found]


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    return (
        decode(value["value"], value["metadata"]) if "metadata" in value else {k: _decoded(v) for k, v in value.items()}
    )


def shape(arrow: pa.DataType) -> Any:
    """The parts of a VARIANT in a file, briefly."""
    if not pa.types.is_struct(arrow) or arrow.get_field_index("typed_value") < 0:
        return "whole"
    typed = arrow.field("typed_value").type
    if pa.types.is_struct(typed):
        return {f.name: shape(f.type) for f in typed}
    return [shape(typed.value_type)] if pa.types.is_list(typed) else str(typed)


DOCUMENTS = [
    {"a": 1, "b": "x", "d": 1.5, "l": [1, 2], "o": {"x": True, "y": None}, "rare": 1},
    {"a": 2, "b": "y", "d": 2.5, "l": [3], "o": {"x": False}, "m": 1},
    {"a": 3, "b": "z", "d": 3.5, "l": [], "o": {}, "m": "text"},
    None,
    [1],
    5,
]


@pytest.mark.parametrize(
    ("options", "v", "n"),
    [
        ({}, "whole", "whole"),
        (given(v={"a": "BIGINT", "o": {"x": "BOOLEAN"}}), {"a": "int64", "o": {"x": "bool"}}, "whole"),
        (given(v="STRING", gone="INT"), "string", "whole"),
        (given(s={"n": "STRING"}), "whole", "whole"),
        (given(v={"a": "DATE", "l": ["BIGINT"]}), {"a": "whole", "l": ["int64"]}, "whole"),
        (
            {"parquet.variant.shreddingSchema": given(v={"a": "INT"})["variant.shreddingSchema"]},
            {"a": "int32"},
            "whole",
        ),
        ({**INFER, **given(v={"b": "STRING"})}, {"b": "string"}, "whole"),
    ],
)
def test_columns_are_those_of_the_options(tmp_path: Path, options: dict[str, str], v: Any, n: Any) -> None:
    rows = rows_of(DOCUMENTS)
    schema = write(tmp_path / "f.parquet", options, rows, rows.slice(0, 0), rows.slice(1))
    assert (shape(schema.field("v").type), shape(schema.field("s").type.field("n").type)) == (v, n)
    assert shape(schema.field("l").type.value_type) == "whole"
    plain = tmp_path / "plain.parquet"
    write(plain, {}, rows, rows.slice(1))
    assert read(tmp_path / "f.parquet") == read(plain)


def test_inferred_columns_are_java_s(tmp_path: Path) -> None:
    documents = DOCUMENTS[:3] * 4
    schema = write(
        tmp_path / "f.parquet", {**INFER, "variant.shredding.minFieldCardinalityRatio": "0.4"}, rows_of(documents)
    )
    expected = {"a": "int64", "b": "string", "d": "double", "l": ["whole"], "m": "whole", "o": {"x": "bool"}}
    assert shape(schema.field("v").type) == expected
    assert shape(schema.field("s").type.field("n").type).keys() >= {"a", "b", "d"}
    assert [r["v"] for r in read(tmp_path / "f.parquet")] == documents


@pytest.mark.parametrize(
    ("documents", "options", "expected"),
    [
        ([1, 2**40, None], {}, "int64"),
        ([[1], [2, None]], {}, ["int64"]),
        ([[1], [None]], {}, ["whole"]),
        ([{"a": 1}, [1]], {}, "whole"),
        ([{"a": {"b": 1}}], {"variant.shredding.maxSchemaDepth": "1"}, {"a": "whole"}),
        ([{"a": 1, "b": 2, "c": 3}], {"variant.shredding.maxSchemaWidth": "5"}, {"a": "int64", "b": "int64"}),
        ([{"a": 1}] + [{"b": 1}] * 9, {}, {"a": "int64", "b": "int64"}),
        ([{"a": 1}] + [{"b": 1}] * 10, {}, {"b": "int64"}),
        ([{"a": 1}, {"b": 1}], {"variant.shredding.maxInferBufferRow": "1"}, {"a": "int64"}),
        ([{}], {}, "whole"),
        ([None, None], {}, "whole"),
        ([], {}, "whole"),
    ],
)
def test_limits_of_inference(tmp_path: Path, documents: list[Any], options: dict[str, str], expected: Any) -> None:
    schema = write(tmp_path / "f.parquet", {**INFER, **options}, rows_of(documents))
    assert shape(schema.field("v").type) == expected
    assert [r["v"] for r in read(tmp_path / "f.parquet")] == documents


def nested(levels: int, kind: str, leaf: Any) -> Any:
    for i in range(levels):
        leaf = {"k": leaf} if kind == "objects" or (kind == "mixed" and i % 2) else [leaf]
    return leaf


@pytest.mark.parametrize("kind", ["objects", "arrays", "mixed"])
@pytest.mark.parametrize("levels", [32, 33, 39, 40, 48, 49, 60])
@pytest.mark.parametrize("depth", ["1000"])
def test_files_have_no_more_levels_than_are_read(tmp_path: Path, kind: str, levels: int, depth: str) -> None:
    """The VARIANT in a ROW is a level deeper than the column."""
    documents = [nested(levels, kind, 7), nested(levels, kind, "x"), nested(levels, kind, 7)]
    rows = rows_of(documents)
    schema = write(tmp_path / "f.parquet", {**INFER, "variant.shredding.maxSchemaDepth": depth}, rows)
    assert shape(schema.field("v").type) != "whole" != shape(schema.field("s").type.field("n").type)
    plain = tmp_path / "plain.parquet"
    write(plain, {}, rows)
    assert read(tmp_path / "f.parquet") == read(plain)


@pytest.mark.parametrize("around", [90, 95, 96, 97])
def test_rows_around_a_variant_count_as_levels(tmp_path: Path, around: int) -> None:
    inner = DataField(id=0, name="n", type=VARIANT)
    document: Any = variant({"a": {"b": 1, "c": [2]}})
    for i in range(around):
        inner, document = DataField(id=i, name="n", type=RowType(fields=(inner,))), {"n": document}
    path, fields = tmp_path / "f.parquet", (inner,)
    rows = pa.table([pa.array([document], arrow_schema(fields).field(0).type)], schema=arrow_schema(fields))
    writer = format_of_file(path.name).open_writer(LocalFileIO(), str(path), fields, TableOptions(INFER))
    writer.write(rows)
    writer.close()
    request = ReadRequest(str(path), fields, None, lambda: fields, TableOptions({}))
    found = pa.Table.from_batches(format_of_file(path.name).read(LocalFileIO(), request), arrow_schema(fields))
    assert _decoded(found.to_pylist()[0]) == _decoded({"n": document})
    assert ("typed_value" in str(pq.read_schema(path))) == (around <= 95)


@pytest.mark.parametrize(("kind", "most"), [("objects", 48), ("arrays", 32)])
def test_a_schema_of_the_option_names_no_deeper_parts_than_are_read(tmp_path: Path, kind: str, most: int) -> None:
    rows = rows_of([nested(most, kind, 7)])
    schema = write(tmp_path / "f.parquet", given(v=nested(most, kind, "BIGINT")), rows)
    assert shape(schema.field("v").type) == nested(most, kind, "int64")
    assert [r["v"] for r in read(tmp_path / "f.parquet")] == [nested(most, kind, 7)]
    for levels in (most + 1, most + 10):
        with pytest.raises(
            InvalidOptionError,
            match=r"^Option 'variant.shreddingSchema' cannot be .*: column 'v' would have more than 99 levels in files",
        ):
            format_of_file("f.parquet").check(FIELDS, TableOptions(given(v=nested(levels, kind, "BIGINT"))))


@pytest.mark.parametrize("options", [INFER, given(v={"t": "STRING", "l": ["STRING"]}), given(v="STRING"), {}])
def test_texts_that_are_no_utf8_stay_in_the_value(tmp_path: Path, options: dict[str, str]) -> None:
    """They are written and read as they are, as without the option."""
    metadata, texts = (
        encode_metadata(["l", "t"]),
        [t.encode() for t in ("", "a", "é", "日本", "\U0001f600", "\U0010ffff")],
    )
    texts += [
        b"\xff",
        b"a\x80",
        b"\xc0\xaf",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe6\x97",
        b"\n\xff\n",
    ]
    texts += [("é" * 100).encode() + b"\xc3", ("é" * 100).encode()]
    values = [_text(t) for t in texts]
    array = [b"\x03\x01" + b"\0" + bytes([len(v)]) + v for v in map(_text, texts[:-2])]
    values += [b"\x02\x01\x01\x00" + bytes([len(t)]) + t for t in values[:-2]] + array
    column = [{"value": v, "metadata": metadata} for v in values]
    rows = pa.table([pa.array(column, V)], names=["v"])
    path, fields = tmp_path / "f.parquet", FIELDS[1:2]
    writer = format_of_file(path.name).open_writer(LocalFileIO(), str(path), fields, TableOptions(options))
    for run in (
        (rows.slice(0, 3), rows.slice(3, 12), rows.slice(15)) if options is not INFER else (rows.slice(16), rows)
    ):
        writer.write(run)
    writer.close()
    request = ReadRequest(str(path), fields, None, lambda: fields, TableOptions({}))
    found = pa.Table.from_batches(format_of_file(path.name).read(LocalFileIO(), request), arrow_schema(fields))
    assert found.column(0).to_pylist() == (column if options is not INFER else column[16:] + column)


def _text(content: bytes) -> bytes:
    head = bytes([1 | len(content) << 2]) if len(content) < 64 else b"\x40" + len(content).to_bytes(4, "little")
    return head + content


@pytest.mark.parametrize(
    ("groups", "changed", "copied"),
    [
        ([[{"a": 1, "c": "x"}, {"a": 2, "c": "y"}], [{"b": 1, "a": 7}, {"b": 2, "a": 8}]], {"a": 100, "c": "x"}, False),
        ([[{"a": 1, "c": "x"}, {"a": 2, "c": "y"}], [{"b": "p"}, {"b": "q"}]], {"a": 100, "c": "x"}, False),
        ([[{"a": 1}, {"a": 2}], [{"a": 3, "b": 4}, {"a": 5, "b": 6}]], {"a": 100}, False),
        ([[{"a": 1, "b": 2}, {"a": 2, "b": 2}], [{"a": 3}, {"a": 5}]], {"a": 1, "b": 1}, False),
        ([[{"a": 1}, {"a": 2}], [{"a": 3.5}, {"a": 4.5}]], {"a": 100}, False),
        ([[{"a": 1}, {"a": 2}], [5, "text"]], {"a": 100}, False),
        ([[{"a": 1}, {"a": 2}], [{"a": 3}, {"a": 4}]], {"a": 100}, True),
        ([[{"a": 1}, {"a": 2}], [{"a": 3}, {"a": 4}]], {"b": 100, "a": 1}, False),
    ],
)
def test_other_rows_survive_a_new_value(tmp_path: Path, groups: list[list[Any]], changed: Any, *, copied: bool) -> None:
    """The new values of a row group have other parts than the file, and are copied only if all parts are the same."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    write(old, INFER, *map(rows_of, groups))
    value = pa.array([variant(changed), variant(groups[0][1])], V)

    def change(start: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch if start else batch.set_column(0, batch.schema.field(0), value)

    request = ReadRequest(str(old), FIELDS[1:2], None, lambda: FIELDS, TableOptions(INFER))
    written = replace_columns(LocalFileIO(), request, str(new), change)
    assert ((written is not None), new.exists()) == (copied, copied)
    if copied:
        before, after = read(old), read(new)
        assert [r["v"] for r in after] == [changed, groups[0][1], *groups[1]]
        assert [r | {"v": None} for r in after] == [r | {"v": None} for r in before]


def test_damaged_values_are_refused_by_name(tmp_path: Path) -> None:
    rows = rows_of([{"a": 1}])
    damaged = pa.array([{"value": b"\xfc", "metadata": encode_metadata([])}], V)
    with pytest.raises(
        InvalidDataError, match=r"^Column 'v' has a VARIANT that cannot be stored in parts: .* unknown type"
    ):
        write(tmp_path / "f.parquet", given(v={"a": "INT"}), rows.set_column(1, rows.schema.field(1), damaged))


@pytest.mark.parametrize(
    "text",
    ["[", '"STRING"', '{"type": "ROW"}', '{"type": "ROW", "fields": [{"name": "v", "type": "NONSENSE"}]}', "[" * 9999],
)
def test_schemas_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"^Option 'variant.shreddingSchema' cannot be"):
        format_of_file("f.parquet").check(FIELDS, TableOptions({"variant.shreddingSchema": text}))


class CountedIO(LocalFileIO):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[Counted] = []

    def open_input(self, path: str, size: int | None = None) -> Any:
        self.sources.append(Counted(super().open_input(path, size)))
        return pa.PythonFile(self.sources[-1], mode="r")

    @property
    def count(self) -> int:
        return sum(s.count for s in self.sources)


class Counted(io.RawIOBase):
    def __init__(self, source: Any) -> None:
        self.source, self.count = source, 0

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.source.read(None if size < 0 else size)
        self.count += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.source.seek(offset, whence))

    def tell(self) -> int:
        return int(self.source.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def parts(path: Path, *paths: tuple[str, ...]) -> tuple[list[Any], int]:
    """The values of column `v` with these parts, and the number of bytes read."""
    io, fields = CountedIO(), FIELDS[1:2]
    request = ReadRequest(
        str(path), fields, None, lambda: FIELDS, TableOptions({}), variant_paths={1: paths} if paths else {}
    )
    found = pa.Table.from_batches(format_of_file(path.name).read(io, request), arrow_schema(fields))
    found.validate(full=True)
    return ["NULL" if v is None else _decoded(v) for v in found.column(0).to_pylist()], io.count


def test_only_the_columns_of_wanted_parts_are_read(tmp_path: Path) -> None:
    long = [random.Random(i).randbytes(2000).hex() for i in range(300)]
    documents = [{"a": i, "text": t, "o": {"x": i, "y": t}, "rest": {"text": t}} for i, t in enumerate(long)]
    path = tmp_path / "f.parquet"
    write(path, given(v={"a": "BIGINT", "text": "STRING", "o": {"x": "BIGINT", "y": "STRING"}}), rows_of(documents))
    whole, every_byte = parts(path)
    few, few_bytes = parts(path, ("a",), ("o", "x"))
    assert whole == documents
    assert few == [{"a": i, "o": {"x": i}} for i in range(300)]
    assert few_bytes < every_byte / 20
    rest, rest_bytes = parts(path, ("rest", "text"), ("a", "below a number"))
    assert rest == [{"rest": {"text": t}} for t in long]
    assert few_bytes < rest_bytes < every_byte / 2


@pytest.mark.parametrize(
    "how", [{}, given(v={"a": {"b": "BIGINT"}, "l": ["STRING"], "m": "VARIANT"}), given(v="STRING")]
)
@pytest.mark.parametrize("paths", [[("a",)], [("a", "b")], [("m",), ("l",)], [("none",)], [("a", "b", "c"), ("rare",)]])
def test_parts_are_as_in_whole_values(tmp_path: Path, how: dict[str, str], paths: list[tuple[str, ...]]) -> None:
    documents = [
        *({"a": {"b": 1, "c": 2}, "l": ["x", 1], "m": {"k": 1}}, {"a": {"b": "text"}}, {"a": 5, "rare": [1]}),
        *({"a": {}}, {"a": {"b": None}}, {"a": {"b": {"c": 7}}}, {"l": 3, "m": None}, {}, 7, "text", ["a"], None, None),
    ]
    rows, path = rows_of(documents), tmp_path / "f.parquet"
    write(path, how, rows.slice(0, 11), rows.slice(11))
    found, _ = parts(path, *paths)
    for asked in paths:
        assert [_get(v, asked) for v in found] == [_get(d, asked) for d in documents]
    assert [v == "NULL" for v in found] == [d is None for d in documents]


def _get(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document.get(key, "missing") if isinstance(document, dict) else "missing"
    return document
