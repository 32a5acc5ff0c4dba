"""`pyarrow.compute` without its import: the functions that a look-up of a key calls, and all others at their first use.

When `pyarrow.compute` is imported, it describes each of its 300 functions, which takes as long as reading a key. The
compiled module below it calls a function by its name. A module that a look-up imports has the line
`from paimon_core import compute as pc`, and calls `pc.take(column, rows)` instead of `column.take(rows)`: methods of
Arrow's columns import `pyarrow.compute`, too (tests/unit/python/test_imports.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pyarrow._compute import CastOptions, Expression, FilterOptions, SetLookupOptions, TakeOptions, call_function

__all__ = ["CastOptions", "Expression", "call_function"]


def _named(name: str) -> Callable[..., Any]:
    """Return a function of columns and scalars; it takes no options."""

    def call(*columns: Any) -> Any:
        return call_function(name, columns)

    return call


equal, not_equal, less, less_equal, greater, greater_equal = map(
    _named, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)
add_checked, subtract_checked, multiply_checked, divide, divide_checked = map(
    _named, ("add_checked", "subtract_checked", "multiply_checked", "divide", "divide_checked")
)
and_, or_, and_kleene, or_kleene, invert = map(_named, ("and", "or", "and_kleene", "or_kleene", "invert"))
is_null, is_valid, is_nan, if_else, coalesce, dictionary_encode, binary_length = map(
    _named, ("is_null", "is_valid", "is_nan", "if_else", "coalesce", "dictionary_encode", "binary_length")
)


def cast(column: Any, wanted: Any) -> Any:
    """Return a column with values of another type. Raises `ArrowInvalid` for a value that does not fit."""
    return call_function("cast", [column], CastOptions.safe(wanted))


def take(rows: Any, positions: Any) -> Any:
    """Return the values of a column, or the rows of a table or batch, at positions."""
    return call_function("take", [rows, positions], TakeOptions(boundscheck=True))


def kept(rows: Any, mask: Any) -> Any:
    """Return the values of a column, or the rows of a table or batch, for which a mask is true. NULL is not true."""
    return call_function("filter", [rows, mask], FilterOptions("drop"))


def is_in(column: Any, value_set: Any) -> Any:
    """Return which values of a column are in a set."""
    return call_function("is_in", [column], SetLookupOptions(value_set))


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("pyarrow.compute"), name)
