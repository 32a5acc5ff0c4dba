"""FILE_FORMAT of COPY INTO: its options, and Spark's options for the same purposes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError

Names = Mapping[str, str]

_OPTIONS: Mapping[str, tuple[Names, Names]] = MappingProxyType(
    # for each type: the options for reading files and for writing them; "" if Spark has no such option
    {
        "CSV": (
            {
                "COMPRESSION": "compression",
                "EMPTY_FIELD_AS_NULL": "",
                "ESCAPE": "escape",
                "FIELD_DELIMITER": "sep",
                "NULL_IF": "",
                "QUOTE": "quote",
                "SKIP_HEADER": "header",
            },
            {
                "COMPRESSION": "compression",
                "ESCAPE": "escape",
                "FIELD_DELIMITER": "sep",
                "HEADER": "header",
                "QUOTE": "quote",
            },
        ),
        "JSON": (
            {"COMPRESSION": "compression", "EMPTY_FIELD_AS_NULL": "", "MULTI_LINE": "multiLine", "NULL_IF": ""},
            {"COMPRESSION": "compression", "DATE_FORMAT": "dateFormat", "TIMESTAMP_FORMAT": "timestampFormat"},
        ),
        "PARQUET": ({"COMPRESSION": "compression"}, {"COMPRESSION": "compression"}),
    }
)
_TRUTH = MappingProxyType({"TRUE": True, "FALSE": False, "1": True, "0": False})


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """A file format (`csv`, `json` or `parquet`), Spark's options for it, and the texts that mean NULL."""

    type: str
    spark_options: dict[str, str]
    nulls: tuple[str, ...] = ()


def copy_format(given: Mapping[str, str | list[str]], *, reads: bool) -> CopyFormat:
    """Return the format that a statement's options describe. Raises `InvalidOptionError`."""
    options: dict[str, Any] = dict(given)
    kind = str(options.pop("TYPE")).upper()
    if kind not in _OPTIONS:
        raise InvalidOptionError(f"FILE_FORMAT cannot have TYPE {kind}: use one of {', '.join(_OPTIONS)}.")
    known = _OPTIONS[kind][0 if reads else 1]
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        verb = "read" if reads else "written"
        raise InvalidOptionError(
            f"FILE_FORMAT of {kind} files that are {verb} has no option {', '.join(unknown)}: it takes TYPE, "
            f"{', '.join(known)}."
        )
    for key in ("SKIP_HEADER", "HEADER", "MULTI_LINE", "EMPTY_FIELD_AS_NULL"):
        if key in options:
            options[key] = _truth(key, options[key])
    nulls = options.get("NULL_IF", [])
    empty = ("",) if options.get("EMPTY_FIELD_AS_NULL") else ()
    for_spark = {known[k]: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items() if known[k]}
    return CopyFormat(kind.lower(), for_spark, (*([nulls] if isinstance(nulls, str) else nulls), *empty))


def _truth(key: str, value: object) -> bool:
    allowed = ("0", "1") if key == "SKIP_HEADER" else ("TRUE", "FALSE")
    text = str(value).upper()
    if text not in allowed:
        raise InvalidOptionError(f"Option {key} of FILE_FORMAT cannot be {value!r}: it is {' or '.join(allowed)}.")
    return _TRUTH[text]
