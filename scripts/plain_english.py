"""Count the patterns of CONTRIBUTING's rules in docstrings, comments, texts of errors and docs.

The script fails if a pattern occurs more often than its bound in plain_english.toml. A change that removes some lowers
the bounds; no change raises them. `--list PATTERN` prints each occurrence of a pattern, `--list all` of every pattern.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("paimon_core", "paimon_sql", "catalog", "procedures")
BOUNDS = Path(__file__).with_suffix(".toml")

# by the name of a rule in CONTRIBUTING.md
PATTERNS: Mapping[str, re.Pattern[str]] = {
    "begins with a question word": re.compile(r"\A(?:What|Who|Whose|Which|Where|How)\b"),
    "is no": re.compile(r"(?<!there )\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more)\b)", re.IGNORECASE),
    "that of": re.compile(r"\b(?:that|those) of\b", re.IGNORECASE),
    "whose": re.compile(r"\b(?:whose|whom|of which)\b", re.IGNORECASE),
    "nobody": re.compile(r"(?:\A|[.;:,] )who\b|\b(?:whoever|nobody|somebody|anybody)\b", re.IGNORECASE),
    "tell": re.compile(r"\b(?:tells?|told|asks nobody|knows nothing|says? nothing)\b", re.IGNORECASE),
    "where there is": re.compile(r"\bwhere there (?:is|are)\b", re.IGNORECASE),
    "is to": re.compile(
        r"\b(?:is|are|was|were|has|have) (?:not )?to (?:be|have|go|do|hold|stay|know)\b", re.IGNORECASE
    ),
}


@dataclass(frozen=True)
class Text:
    """A text for people: `kind` is docstring, comment, message or page."""

    path: Path
    line: int
    kind: str
    text: str


def texts_of_module(path: Path) -> Iterator[Text]:
    """Yield the docstrings, comments and messages of a module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    taken = set()  # texts that are yielded as a docstring, or as a part of a message
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                taken.add(id(first.value))
                yield Text(path, first.lineno, "docstring", first.value.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "…" for p in node.values]
            taken.update(id(p) for p in node.values)
            yield Text(path, node.lineno, "message", "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in taken:
            yield Text(path, node.lineno, "message", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], "comment", token.string.lstrip("#: "))


def texts_of_page(path: Path) -> Iterator[Text]:
    """Yield the paragraphs of a page, without its blocks of code."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.startswith("    "):
            yield Text(path, number, "page", re.sub(r"`[^`]*`", "…", line))


def all_texts(root: Path = ROOT) -> Iterator[Text]:
    """Yield every text of the product and of its docs."""
    for folder in PRODUCT:
        for path in sorted((root / folder).rglob("*.py")):
            yield from texts_of_module(path)
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        if path.name != "CONTRIBUTING.md":  # this page shows the patterns
            yield from texts_of_page(path)


def found_in(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the patterns in a text, each with the words around it."""
    for name, pattern in PATTERNS.items():
        if name == "begins with a question word" and text.kind != "docstring":
            continue
        for match in pattern.finditer(text.text):
            around = text.text[max(0, match.start() - 50) : match.end() + 50]
            yield name, " ".join(around.split())


def main() -> int:
    """Print the counts, or with --list the occurrences; return 1 if a count is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="PATTERN")
    parser.add_argument("--root", type=Path, default=ROOT)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for text in all_texts(given.root):
        for name, around in found_in(text):
            counts[name] += 1
            if given.list in (name, "all"):
                print(f"{text.path.relative_to(given.root)}:{text.line} {text.kind}: {name}: {around}")
    bounds = tomllib.loads(BOUNDS.read_text(encoding="utf-8"))
    for name in PATTERNS:
        print(f"{counts[name]:5} of {bounds[name]:5}  {name}")
    worse = [name for name in PATTERNS if counts[name] > bounds[name]]
    if worse:
        print(f"More often than before: {', '.join(worse)}. CONTRIBUTING.md has the rules; --list shows the places.")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
