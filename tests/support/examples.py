"""The number of examples that hypothesis tries: in the gate a quarter."""

from __future__ import annotations

from hypothesis import settings

WHOLE_EXAMPLES = 100  # of a test without a number of its own, as hypothesis has it
GATE_EXAMPLES = 25


def examples(number: int) -> int:
    """Return for `@settings(max_examples=…)` the number in this run; `number` is the number in `make test-all`."""
    return -(-number * min(settings.default.max_examples, WHOLE_EXAMPLES) // WHOLE_EXAMPLES)
