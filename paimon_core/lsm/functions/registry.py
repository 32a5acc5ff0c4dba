"""The aggregate functions by their names in `fields.<column>.aggregate-function`.

Source: Paimon's page "Aggregation".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, MergeRefusedError
from paimon_core.lsm.functions import nested, numbers, picks, sketches, texts
from paimon_core.lsm.functions.field_options import FieldOptions
from paimon_core.lsm.functions.steps import RETRACT, Steps
from paimon_core.spec.kinds import NUMBERS
from paimon_core.spec.types import (
    MAX_LENGTH,
    NESTED_KINDS,
    CollectionType,
    DataField,
    DataType,
    Kind,
    LengthType,
    MapType,
    RowType,
    VectorType,
)

Kernel = Callable[[pa.Array, Steps], pa.Array]
_COUNTS = frozenset((Kind.INT, Kind.BIGINT))
_UNORDERED = NESTED_KINDS | {Kind.BOOLEAN}  # Java does not compare these
PRIMARY_KEY, LAST_VALUE, LAST_NON_NULL_VALUE = "primary-key", "last_value", "last_non_null_value"
COUNT = "count"  # writers store 1 for a value and 0 for NULL (`counted`), so that merging adds
# functions that change a value if it is merged with itself
ADDING = frozenset((COUNT, "collect", "listagg", "nested_update", "product", "sum"))


@dataclass(frozen=True, slots=True)
class _Definition:
    """A function: its constructor, the types that it accepts and their name in messages, and whether it retracts
    values.
    """

    make: Callable[[DataField, FieldOptions], Kernel]
    takes: Callable[[DataType], bool] = lambda _: True
    taken: str = "any type"
    retracts: bool = False


@dataclass(frozen=True, slots=True)
class FieldFunction:
    """The aggregate function of one column."""

    name: str
    column: str
    kernel: Kernel
    retracts: bool
    ignore_retract: bool = False

    @property
    def refuses_retract(self) -> bool:
        return not self.retracts and not self.ignore_retract

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        """Return one value per group. Raises `MergeRefusedError` for values that the function cannot merge."""
        if steps.retracts:
            self.check_retract()
            steps = steps.without(RETRACT) if self.ignore_retract else steps
        try:
            return self.kernel(column, steps)
        except MergeRefusedError as e:
            raise MergeRefusedError(f"Column {self.column!r}, aggregated by {self.name!r}: {e}.") from e

    def check_retract(self) -> None:
        """Raise `MergeRefusedError` if the function cannot retract values."""
        if self.refuses_retract:
            raise MergeRefusedError(
                f"Column {self.column!r} is aggregated by {self.name!r}, which cannot retract values (DELETE, "
                f"UPDATE_BEFORE). Set 'fields.{self.column}.ignore-retract' = 'true' to keep the value in this case."
            )


def field_function(field: DataField, name: str, options: FieldOptions) -> FieldFunction:
    """Return the function of a column. Raises `InvalidOptionError` for an unknown function or an unsupported type."""
    definition = FUNCTIONS.get(name)
    if definition is None:
        raise InvalidOptionError(
            f"Column {field.name!r} cannot be aggregated by {name!r}: there is no such aggregate function. "
            f"Known are {', '.join(FUNCTIONS)}."
        )
    if not definition.takes(field.type):
        raise InvalidOptionError(
            f"Column {field.name!r} of type {field.type.sql()} cannot be aggregated by {name!r}, which accepts "
            f"{definition.taken}: see 'fields.{field.name}.aggregate-function'."
        )
    return FieldFunction(
        name=name,
        column=field.name,
        kernel=definition.make(field, options),
        retracts=definition.retracts,
        ignore_retract=options.flag("ignore-retract"),
    )


def counted(column: pa.Array, removed: pa.Array) -> pa.Array:
    """Return the stored values of a counted column: 1 for a value, 0 for NULL and for `removed` rows."""
    return pc.and_not(column.is_valid(), removed).cast(column.type)


def _fixed(kernel: Kernel) -> Callable[[DataField, FieldOptions], Kernel]:
    return lambda field, options: kernel


def _collect(field: DataField, options: FieldOptions) -> Kernel:
    return nested.Collect(options.flag("distinct"))


def _listagg(field: DataField, options: FieldOptions) -> Kernel:
    delimiter = options.text("list-agg-delimiter")  # "" joins texts without a delimiter
    return texts.Listagg("," if delimiter is None else delimiter, options.flag("distinct"))


def _keytime(field: DataField, options: FieldOptions) -> Kernel:
    assert isinstance(field.type, MapType)
    name = options.text("ts-field")
    names = [f.name for f in _row(field.type.value).fields]
    return nested.MergeMapWithKeyTime(
        len(names) - 1 if name is None else _field_index(options, "ts-field", name, names)
    )


def _nested_update(field: DataField, options: FieldOptions) -> Kernel:
    key, sequence = _nested_key(field, options), options.columns("nested-sequence-field")
    for suffix in ("nested-key-null-strategy", "nested-sequence-field"):
        if key is None and options.text(suffix) is not None:
            raise InvalidOptionError(f"Option {options.key(suffix)!r} needs {options.key('nested-key')!r}.")
    names = _nested_names(field)
    indexes = tuple(_field_index(options, "nested-sequence-field", n, names) for n in sequence)
    return nested.NestedUpdate(key, indexes, options.number("count-limit", 2**31 - 1))


def _nested_partial_update(field: DataField, options: FieldOptions) -> Kernel:
    key = _nested_key(field, options)
    if key is None:
        raise InvalidOptionError(
            f"'nested_partial_update' needs {options.key('nested-key')!r}: set it to the fields of the key."
        )
    return nested.NestedPartialUpdate(key)


def _nested_key(field: DataField, options: FieldOptions) -> nested.NestedKey | None:
    names = _nested_names(field)
    indexes = tuple(_field_index(options, "nested-key", n, names) for n in options.columns("nested-key"))
    strategy = options.choice("nested-key-null-strategy", nested.NULL_STRATEGIES)
    types = [f.type for f in _nested_fields(field)]
    return nested.NestedKey(indexes, tuple(types[i] for i in indexes), strategy) if indexes else None


def _nested_names(field: DataField) -> list[str]:
    return [f.name for f in _nested_fields(field)]


def _nested_fields(field: DataField) -> tuple[DataField, ...]:
    assert isinstance(field.type, CollectionType)
    return _row(field.type.element).fields


def _field_index(options: FieldOptions, suffix: str, name: str, names: list[str]) -> int:
    if name not in names:
        known = ", ".join(names)
        raise InvalidOptionError(f"Option {options.key(suffix)!r} cannot name {name!r}: the fields are {known}.")
    return names.index(name)


def _row(data_type: DataType) -> RowType:
    assert isinstance(data_type, RowType)
    return data_type


def _is_nested_table(data_type: DataType) -> bool:
    return isinstance(data_type, CollectionType) and data_type.kind is Kind.ARRAY and _is_row(data_type.element)


def _is_array(data_type: DataType) -> bool:
    # A union of vectors has another length than the column.
    return data_type.kind is Kind.ARRAY and not isinstance(data_type, VectorType)


def _has_key_time(data_type: DataType) -> bool:
    return isinstance(data_type, MapType) and _is_row(data_type.value) and len(_row(data_type.value).fields) >= 2


def _is_row(data_type: DataType) -> bool:
    return data_type.kind is Kind.ROW


def _is_text(data_type: DataType) -> bool:
    return data_type.kind is Kind.VARCHAR and isinstance(data_type, LengthType) and data_type.length == MAX_LENGTH


def _number(kernel: Kernel) -> _Definition:
    return _Definition(_fixed(kernel), lambda t: t.kind in NUMBERS, "numbers", retracts=True)


def _comparable(kernel: Kernel) -> _Definition:
    return _Definition(_fixed(kernel), lambda t: t.kind not in _UNORDERED, "types that compare, except BOOLEAN")


def _boolean(kernel: Kernel) -> _Definition:
    return _Definition(_fixed(kernel), lambda t: t.kind is Kind.BOOLEAN, "BOOLEAN")


def _set(union: sketches.Union) -> _Definition:
    return _Definition(_fixed(sketches.SetUnion(union)), lambda t: t.kind is Kind.VARBINARY, "BYTES")


def _nested(make: Callable[[DataField, FieldOptions], Kernel], retracts: bool) -> _Definition:
    return _Definition(make, _is_nested_table, "ARRAY<ROW<…>>", retracts)


FUNCTIONS: Mapping[str, _Definition] = MappingProxyType(
    {
        "bool_and": _boolean(picks.smallest),
        "bool_or": _boolean(picks.largest),
        "collect": _Definition(_collect, _is_array, "ARRAY", retracts=True),
        COUNT: _Definition(_fixed(numbers.total), lambda t: t.kind in _COUNTS, "INT and BIGINT", retracts=True),
        "first_non_null_value": _Definition(_fixed(picks.first_non_null_value)),
        "first_not_null_value": _Definition(_fixed(picks.first_non_null_value)),
        "first_value": _Definition(_fixed(picks.first_value)),
        "hll_sketch": _set(sketches.hll_sketch),
        LAST_NON_NULL_VALUE: _Definition(_fixed(picks.last_non_null_value), retracts=True),
        LAST_VALUE: _Definition(_fixed(picks.last_value), retracts=True),
        "listagg": _Definition(_listagg, _is_text, "STRING"),
        "max": _comparable(picks.largest),
        "merge_map": _Definition(_fixed(nested.MergeMap()), lambda t: t.kind is Kind.MAP, "MAP", retracts=True),
        "merge_map_with_keytime": _Definition(_keytime, _has_key_time, "MAP<…, ROW<…>> of two fields or more"),
        "min": _comparable(picks.smallest),
        "nested_partial_update": _nested(_nested_partial_update, retracts=False),
        "nested_update": _nested(_nested_update, retracts=True),
        PRIMARY_KEY: _Definition(_fixed(picks.primary_key), retracts=True),
        "product": _number(numbers.product),
        "rbm32": _set(sketches.bitmap32),
        "rbm64": _set(sketches.bitmap64),
        "sum": _number(numbers.total),
        "theta_sketch": _set(sketches.theta_sketch),
    }
)
