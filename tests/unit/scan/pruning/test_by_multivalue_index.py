"""Indexes of the elements of ARRAYs never lose a row that matches, and have no row without the element."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import And, HasAny, In, IsNotNull, IsNull, Not, Or, Predicate
from paimon_core.expressions.prune import may_match
from paimon_core.indexes.global_index.bitmap import encode_bitmap_index
from paimon_core.indexes.global_index.block_codecs import compression
from paimon_core.indexes.global_index.file_meta import encode_file_meta
from paimon_core.indexes.global_index.grouped_rows import RowIds
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import GLOBAL_INDEX_FILES, MULTIVALUE, key_type
from paimon_core.indexes.matching_rows import matching_rows
from paimon_core.scan.pruning.by_global_index import GlobalIndex, IndexedRows, indexed_column
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import BIGINT, FLOAT, INT, STRING, CollectionType, DataType, Kind, VectorType
from paimon_core.write.indexes.global_index import indexed_rows
from tests.support.examples import examples
from tests.support.file_indexes import column_of
from tests.unit.indexes.file_index.test_matching_rows import COLUMNS, compound

# of Java's writer after 2.0, in blocks of 64 bytes: row r of 50 has the element k if (7 r + k) % (k + 2) == 0; and of
# three rows without an element
JAVA = bytes.fromhex(
    "0100000000000000000000003a300000010000000000130010000000000002000400060008000a000c000e00100012001400160018001a00"
    "1c001e0020002200240026000100000000000000000000003a3000000100000000000c00100000000200050008000b000e00110014001700"
    "1a001d002000230026000100000000000000000000003a300000010000000000090010000000020006000a000e00120016001a001e002200"
    "26000100000000000000000000003a300000010000000000070010000000010006000b00100015001a001f00240001000000000000000000"
    "00003a300000010000000000060010000000020008000e0014001a00200026000100000000000000000000003a3000000100000000000400"
    "1000000006000e0016001e0026000100000000000000000000003a300000010000000000030010000000080011001a002300010000000000"
    "0000000000003a300000010000000000030010000000060010001a0024000100000000000000000000003a30000001000000000003001000"
    "0000050010001b0026000100000000000000000000003a30000001000000000003001000000002000e001a00260001000000000000000000"
    "00003a300000010000000000020010000000040011001e000100000000000000000000003a3000000100000000000100100000000b001a00"
    "0b027461004402746244360274637a30027464aa012c027465d6012a027467800226027468a60224027469ca022402746aee022402746b92"
    "032402746cb603220037035cda0102746ed8032000a84384fc0000000000000000000000000000000002027461f8034002746ebd04070099"
    "f66a7300000000000002490000000800000000000002510000000800000000000002590000000d0000000c0000000142474958"
)
JAVA_META = bytes.fromhex("02000000746102000000746e000100")
JAVA_EMPTY = bytes.fromhex(
    "000000000000000000000000000000000000ff12d94100000000000000000000000800000000000000080000000800000000000000100000"
    "0001000000000000000142474958"
)
JAVA_EMPTY_META = bytes.fromhex("0000000000000000000103")
POOL = ThreadPoolExecutor(1)
TYPES = [name for name, (data_type, _) in COLUMNS.items() if KeyFormat.of(data_type) is not None]


def array_of(element: DataType) -> CollectionType:
    return CollectionType(Kind.ARRAY, element=element)


def arrays_of(values: Sequence[Any], element: DataType) -> pa.ListArray:
    """Return an Arrow column, a slice of a longer one, of lists in the form of predicates."""
    given = [["x"], *values]  # what is before the slice is not read
    flat = column_of([v for array in values for v in array or ()], element)
    first = pa.nulls(1, flat.type)
    lengths = [len(array or ()) for array in given]
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    mask = pa.array([array is None for array in given])
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays([first, flat]), mask=mask).slice(1)


def part(values: Sequence[Any], element: DataType, first: int, block_size: int = 50) -> IndexedRows:
    """A file of the rows from id `first` on."""
    column = pa.chunked_array([arrays_of(values, element)])
    grouped = indexed_rows(MULTIVALUE, column, array_of(element), np.arange(len(values), dtype=np.int64))
    assert grouped.row_count == len(values)
    content = encode_bitmap_index(grouped, block_size, compression("o", "none", 1))
    key_format, meta = KeyFormat.of(element), grouped.meta
    assert key_format is not None
    opened = GLOBAL_INDEX_FILES[MULTIVALUE]("f", len(content), key_format, lambda at, size: content[at : at + size])
    assert (set(opened.values()), set(opened.nulls()), meta.has_nulls) == (set(), set(), False)
    keys = None if meta.first is None else (key_format.read("f", meta.first), key_format.read("f", meta.last or b""))
    return IndexedRows(opened, first, len(content), keys, meta.has_nulls)


def has_any(array: Sequence[Any] | None, values: Sequence[Any], element: DataType) -> bool:
    """SQL's answer where it is true: NaN equals NaN, and blanks at the end of a CHAR do not count."""

    def form(value: Any) -> Any:
        if isinstance(value, float):
            value = float(np.float32(value)) if element.kind is Kind.FLOAT else value
            return "NaN" if value != value else value
        return value.rstrip(" ") if element.kind is Kind.CHAR else value

    return bool({form(v) for v in array or () if v is not None} & {form(v) for v in values if v is not None})


def truth(predicate: Predicate, array: Sequence[Any] | None, element: DataType) -> bool | None:
    """SQL's answer for an array, None if it is unknown."""
    match predicate:
        case And(children) | Or(children):
            decisive = isinstance(predicate, Or)
            answers = [truth(c, array, element) for c in children]
            return decisive if decisive in answers else None if None in answers else not decisive
        case Not(child):
            answer = truth(child, array, element)
            return None if answer is None else not answer
        case HasAny(_, values):
            if has_any(array, values, element):
                return True
            return None if array is None or (array and None in (*array, *values)) else False
    return (array is None) == isinstance(predicate, IsNull)


@pytest.mark.parametrize(
    ("arrays", "expected", "meta"),
    [
        (
            [
                [f"t{chr(97 + k)}" for k in range(13, -1, -1) if r < 40 and (7 * r + k) % (k + 2) == 0]
                for r in range(50)
            ],
            JAVA,
            JAVA_META,
        ),
        ([None, [], [None]], JAVA_EMPTY, JAVA_EMPTY_META),
    ],
)
def test_java_writes_the_same(arrays: list[Any], expected: bytes, meta: bytes) -> None:
    column = pa.chunked_array([pa.array(arrays, pa.list_(pa.string()))])
    grouped = indexed_rows(MULTIVALUE, column, array_of(STRING), np.arange(len(arrays)))
    assert encode_bitmap_index(grouped, 64, compression("o", "none", 1)) == expected
    assert encode_file_meta(grouped.meta) == meta


@pytest.mark.parametrize("of", TYPES)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_no_matching_row_is_lost(of: str, data: st.DataObject) -> None:
    element, domain = COLUMNS[of]
    values = data.draw(st.lists(st.none() | st.lists(st.none() | domain, max_size=4), min_size=2, max_size=10))
    leaf = st.builds(HasAny, st.just("c"), st.lists(st.none() | domain, max_size=3).map(tuple))
    predicate = data.draw(compound(st.one_of(leaf, leaf, st.builds(IsNull, st.just("c")))))
    cut, block_size = data.draw(st.integers(1, len(values) - 1)), data.draw(st.sampled_from([1, 40, 2**16]))
    first, last = (part(v, element, i, block_size) for v, i in ((values[:cut], 0), (values[cut:], cut)))
    matching = {i for i, v in enumerate(values) if truth(predicate, v, element)}
    for files, others in (((first, last), ()), ((first,), range(cut, len(values)))):
        index = GlobalIndex(files, RowIds(others), 2**20, POOL)
        rows = matching_rows(predicate, {"c": indexed_column(array_of(element), [index])}.get)
        assert rows is None or matching <= set(rows) <= set(range(len(values)))
        if isinstance(predicate, HasAny):  # it is exact
            assert rows is not None and set(rows) == matching | set(others)


def test_other_questions_are_not_asked_of_elements() -> None:
    file = part([["a", "b"], [], None, [None]], STRING, 0)
    column = indexed_column(array_of(STRING), [GlobalIndex([file], RowIds(), 2**20, POOL)])
    for predicate in (IsNull("c"), IsNotNull("c"), In("c", ("a",)), Not(HasAny("c", ("a",)))):
        assert matching_rows(predicate, {"c": column}.get) is None
    assert list(matching_rows(HasAny("c", ("b", None)), {"c": column}.get) or ()) == [0]
    of_values = replace(column, of_elements=False)
    assert matching_rows(HasAny("c", ("b",)), {"c": of_values}.get) is None


def test_which_columns_have_such_an_index() -> None:
    assert key_type(MULTIVALUE, array_of(INT)) == INT
    assert key_type(MULTIVALUE, INT) is None
    assert key_type(MULTIVALUE, array_of(array_of(INT))) is None
    assert key_type(MULTIVALUE, VectorType(Kind.ARRAY, element=FLOAT, length=2)) is None
    assert key_type("bitmap", array_of(INT)) is None
    assert key_type("btree", BIGINT) == BIGINT


@pytest.mark.parametrize("of", [t for t in TYPES if t not in ("time", "char")])
@settings(max_examples=examples(12))
@given(data=st.data())
def test_rows_are_filtered_by_elements(of: str, data: st.DataObject) -> None:
    element, domain = COLUMNS[of]
    values = data.draw(st.lists(st.none() | st.lists(st.none() | domain, max_size=4), min_size=1, max_size=8))
    leaf = st.builds(HasAny, st.just("c"), st.lists(st.none() | domain, max_size=3).map(tuple))
    predicate = data.draw(compound(st.one_of(leaf, st.builds(IsNull, st.just("c")))))
    rows = pa.record_batch([arrays_of(values, element), pa.array(range(len(values)))], ["c", "n"])
    condition = to_arrow(predicate, rows.schema)
    kept = rows if condition is None else condition.filter(rows)
    matching = {i for i, v in enumerate(values) if truth(predicate, v, element)}
    assert matching <= set(kept.column("n").to_pylist())
    if condition is not None and isinstance(predicate, HasAny):
        assert set(kept.column("n").to_pylist()) == matching


def test_not_is_left_to_the_engine() -> None:
    """`NOT array_contains(c, 'a')` is NULL, not true, if an element is NULL."""
    rows = pa.record_batch([pa.array([["a"], ["b"], ["b", None], None])], ["c"])
    assert to_arrow(Not(HasAny("c", ("a",))), rows.schema) is None
    both = to_arrow(And((Not(Or((HasAny("c", ("a",)), IsNull("c")))), IsNotNull("c"))), rows.schema)
    assert both is not None and both.filter(rows).num_rows == 3


def test_statistics_do_not_decide_it() -> None:
    """The statistics of some formats count elements that are NULL, not rows."""
    assert may_match(HasAny("c", ("a",)), lambda _: ColumnStats(None, None, 2), 2)
