"""The rules for options about the times and the marks of partitions.

CREATE TABLE and ALTER TABLE refuse values that can never work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.options import (
    PARTITION_MARK_DONE_ACTION,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema
from paimon_core.store.partition_times import partition_time

# Java's names of actions. Some actions need a metastore or a Java class; marking a partition then raises an error.
_ACTIONS = ("success-file", "done-partition", "mark-event", "http-report", "custom")
_LETTERS = re.compile(r"([a-zA-Z])\1*|'(?:[^']|'')*'|.", re.DOTALL)
# The number of repetitions of each letter that Java's DateTimeFormatter accepts.
_COUNTS: Mapping[str, range | tuple[int, ...]] = {
    **dict.fromkeys("dhHkKmsw", range(1, 3)),
    **dict.fromkeys("MLQqEe", range(1, 6)),
    **dict.fromkeys("uyYgAnN", range(1, 20)),
    **dict.fromkeys("aFW", (1,)),
    **dict.fromkeys("GXxZ", range(1, 6)),
    **dict.fromkeys("Ov", (1, 4)),
    "B": (1, 4, 5),
    "c": (1, 3, 4, 5),
    "D": range(1, 4),
    "S": range(1, 10),
    "V": (2,),
    "z": range(1, 5),
}


def check_partition_options(schema: TableSchema, options: TableOptions, previous: TableSchema | None) -> None:
    """Raise `InvalidOptionError` for an option value that can never work.

    A table that already has the option keeps it.
    """
    before = {} if previous is None else previous.options
    actions, formatter, pattern = PARTITION_MARK_DONE_ACTION, PARTITION_TIMESTAMP_FORMATTER, PARTITION_TIMESTAMP_PATTERN
    changed = {o.key for o in (actions, formatter, pattern) if options.values.get(o.key) != before.get(o.key)}
    if actions.key in changed:
        _check_actions(options)
    if formatter.key in changed and (problem := _malformed(options[formatter])):
        raise InvalidOptionError(
            f"Option '{formatter.key}' cannot be {options[formatter]!r}: {problem}. Write it with yyyy, MM, dd, HH, "
            "mm, ss and SSS, as in 'yyyy-MM-dd HH:mm'."
        )
    if changed & {formatter.key, pattern.key} and schema.partition_keys and options[pattern]:
        _check_pattern(schema, options)


def _check_actions(options: TableOptions) -> None:
    for name in options[PARTITION_MARK_DONE_ACTION]:
        if name.lower().replace("_", "-") not in _ACTIONS:
            given = options.values[PARTITION_MARK_DONE_ACTION.key]
            raise InvalidOptionError(
                f"Option '{PARTITION_MARK_DONE_ACTION.key}' cannot be {given!r}: {name!r} is not a valid action; there "
                f"are {', '.join(_ACTIONS)}."
            )


def _check_pattern(schema: TableSchema, options: TableOptions) -> None:
    pattern = options[PARTITION_TIMESTAMP_PATTERN]
    keys = "|".join(re.escape(key) for key in sorted(schema.partition_keys, key=len, reverse=True))
    rest, references = re.subn(rf"\$(?:{keys})", "", pattern)
    if "$" in rest:
        problem = "it names a column that is not a partition column"
    elif not references and _is_never_a_time(pattern, options[PARTITION_TIMESTAMP_FORMATTER]):
        problem = f"it names no column, and is not a time by '{PARTITION_TIMESTAMP_FORMATTER.key}'"
    else:
        return
    raise InvalidOptionError(
        f"Option '{PARTITION_TIMESTAMP_PATTERN.key}' cannot be {pattern!r}: {problem}. Write it with "
        f"{', '.join(f'${key}' for key in schema.partition_keys)}, which are replaced by the values of a "
        "partition."
    )


def _is_never_a_time(text: str, formatter: str) -> bool:
    try:
        return partition_time({}, text, formatter) is None
    except InvalidOptionError:  # letters that only Java reads
        return False


def _malformed(formatter: str) -> str | None:
    """Return the reason why Java's DateTimeFormatter refuses a text, or None if it accepts the text."""
    depth, pads = 0, False
    for match in _LETTERS.finditer(formatter):
        part, letter = match[0], match[1]
        if pads and letter is None:
            break
        if letter == "p":
            pads = True
            continue
        pads = False
        depth += (part == "[") - (part == "]")
        if letter is not None and len(part) not in _COUNTS.get(letter, ()):
            return f"{part!r} is not a valid field of a time"
        if part in ("'", "{", "}", "#") or depth < 0:
            return f"{part!r} is not closed, not opened or reserved"
    return "'p' must be followed by letters" if pads else None
