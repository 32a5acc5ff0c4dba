"""Strings that stand for a part of a text whose tokens nobody needs: to the tokenizer each is one token."""

from __future__ import annotations


def as_string(stretch: str) -> str:
    """A string as long as the stretch, with its line breaks, and a comma at its end where there is one in it."""
    bare = stretch.strip()
    comma = "," if "," in bare else ""
    within = bare[: len(bare) - len(comma)].rstrip()  # a line break before the comma stays
    filled = "\n".join("x" * len(line) for line in within[1:-1].split("\n"))
    return stretch.replace(bare, f"'{filled}'{bare[len(within) : len(bare) - len(comma)]}{comma}")
