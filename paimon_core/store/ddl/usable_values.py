"""Rules for option values with which every use of the table would fail: CREATE TABLE and ALTER TABLE refuse them.

Another engine may have created a table with such an option: an option that the previous version already has is
accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.file_index.bloom_filter import bits_of_filter
from paimon_core.indexes.file_index.options import BLOOM_FPP, BLOOM_ITEMS, indexed_columns
from paimon_core.indexes.file_index.options import PREFIX as FILE_INDEX_PREFIX
from paimon_core.indexes.file_index.registry import BLOOM_FILTER
from paimon_core.options import (
    CONSUMER_ID,
    DATA_FILE_EXTERNAL_FS,
    DATA_FILE_EXTERNAL_PATHS,
    DATA_FILE_EXTERNAL_STRATEGY,
    MANIFEST_SORT_FIELD,
    SINK_PROCESS_TIME_ZONE,
    TableOptions,
)
from paimon_core.options.external_paths import used_external_paths
from paimon_core.options.scan_modes import INCREMENTS, between
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.tag_periods import tag_period
from paimon_core.time_zones import parsed_moment, time_zone

_BETWEEN, _BETWEEN_TIMES, _TO_AUTO_TAG = INCREMENTS
_BLOOM = f"{FILE_INDEX_PREFIX}{BLOOM_FILTER}."
_Rule = Callable[[TableSchema, TableOptions], object]


def check_usable_values(schema: TableSchema, options: TableOptions, previous: TableSchema | None = None) -> None:
    """Raise `InvalidOptionError`, or `InvalidNameError`, for a value that no reader or writer could use."""
    before = {} if previous is None else previous.options
    for key, rule in _RULES.items():
        if key in options.values and options.values[key] != before.get(key):
            rule(schema, options)
    blooms = {k: v for k, v in options.values.items() if k.startswith(_BLOOM)}
    if blooms != {k: v for k, v in before.items() if k.startswith(_BLOOM)}:
        for column in indexed_columns(options, schema):
            if column.index_type == BLOOM_FILTER:
                bits_of_filter(column.settings[BLOOM_ITEMS], column.settings[BLOOM_FPP])


def auto_tag_error(name: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"Option '{_TO_AUTO_TAG}' cannot be {name!r}: it must be the name of an automatic tag, by "
        "'tag.creation-period' and 'tag.period-formatter', such as 2024-01-31 for days."
    )


def moment_error(text: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"Option '{_BETWEEN_TIMES}' cannot have {text!r}: write epoch milliseconds or '2024-01-31 12:00:00'."
    )


def _check_zone(_: TableSchema, options: TableOptions) -> None:
    name = options[SINK_PROCESS_TIME_ZONE]
    try:
        if name:
            time_zone(name)
    except InvalidOptionError as e:
        raise InvalidOptionError(f"Option '{SINK_PROCESS_TIME_ZONE.key}' cannot be {name!r}: {e}") from e


def _check_consumer(_: TableSchema, options: TableOptions) -> None:
    check_name("consumer", options[CONSUMER_ID])


def _check_sort_field(schema: TableSchema, options: TableOptions) -> None:
    name, keys = options[MANIFEST_SORT_FIELD], schema.partition_keys
    if name and keys and name not in keys:
        raise InvalidOptionError(
            f"Option '{MANIFEST_SORT_FIELD.key}' cannot be {name!r}: the partition columns are {', '.join(keys)}."
        )


def _check_moments(_: TableSchema, options: TableOptions) -> None:
    for text in between(_BETWEEN_TIMES, options.values[_BETWEEN_TIMES]):
        if text.isascii() and text.removeprefix("-").isdigit():
            continue
        try:
            parsed_moment(text)
        except ValueError as e:
            raise moment_error(text) from e


def _check_auto_tag(_: TableSchema, options: TableOptions) -> None:
    name = options.values[_TO_AUTO_TAG]
    if tag_period(options).begin(name) is None:
        raise auto_tag_error(name)


def _check_external_paths(_: TableSchema, options: TableOptions) -> None:
    used_external_paths(options)


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **dict.fromkeys(
            (DATA_FILE_EXTERNAL_PATHS.key, DATA_FILE_EXTERNAL_FS.key, DATA_FILE_EXTERNAL_STRATEGY.key),
            _check_external_paths,
        ),
        _BETWEEN: lambda _, options: between(_BETWEEN, options.values[_BETWEEN]),
        _BETWEEN_TIMES: _check_moments,
        _TO_AUTO_TAG: _check_auto_tag,
        CONSUMER_ID.key: _check_consumer,
        MANIFEST_SORT_FIELD.key: _check_sort_field,
        SINK_PROCESS_TIME_ZONE.key: _check_zone,
    }
)
