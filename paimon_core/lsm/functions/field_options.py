"""Options of single columns: `fields.<column>.<suffix>`."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.dataclass import dataclass
from paimon_core.options import Option, TableOptions, boolean, integer, names, one_of

FIELDS_PREFIX = "fields."
DEFAULT_FUNCTION = "fields.default-aggregate-function"
FUNCTION_SUFFIX = "aggregate-function"
GROUP_SUFFIX = ".sequence-group"


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options of one column: `fields.<column>.<suffix>`."""

    column: str
    options: TableOptions

    def key(self, suffix: str) -> str:
        return f"{FIELDS_PREFIX}{self.column}.{suffix}"

    def text(self, suffix: str) -> str | None:
        return self.options.values.get(self.key(suffix))

    def columns(self, suffix: str) -> tuple[str, ...]:
        return names(self.text(suffix) or "")

    def flag(self, suffix: str) -> bool:
        return self.options[Option(self.key(suffix), boolean, False, "")]

    def number(self, suffix: str, default: int) -> int:
        return self.options[Option(self.key(suffix), integer, default, "")]

    def choice(self, suffix: str, values: Sequence[str]) -> str:
        """Return one of the values, the first by default."""
        return self.options[Option(self.key(suffix), one_of(*values), values[0], "")]


def group_columns(options: TableOptions) -> dict[str, tuple[str, ...]]:
    """Return, by option, the columns that order its sequence group."""
    keys = sorted(k for k in options.values if k.startswith(FIELDS_PREFIX) and k.endswith(GROUP_SUFFIX))
    return {k: names(k[len(FIELDS_PREFIX) : -len(GROUP_SUFFIX)]) for k in keys}
