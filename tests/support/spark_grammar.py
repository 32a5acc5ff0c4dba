"""Sentences of Spark's own SQL grammar, made from the parser in the jars of PySpark, without a JVM.

ANTLR stores a grammar as an automaton, in a text of the parser's class: states, and transitions that take a token,
enter a rule, or take nothing. A walk through it is a sentence.
"""

from __future__ import annotations

import random
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

from tests.support.spark_classes import constants

_PARSER = "org/apache/spark/sql/catalyst/parser/SqlBaseParser.class"
_EPSILON, _RANGE, _RULE, _PREDICATE, _ATOM, _ACTION, _SET, _NOT_SET, _WILDCARD, _PRECEDENCE = range(1, 11)
_LOOP_END, _BLOCK_STARTS = 12, (3, 4, 5)
_FAR = 10**6
SIGNS = {
    "SEMICOLON": ";", "LEFT_PAREN": "(", "RIGHT_PAREN": ")", "COMMA": ",", "DOT": ".", "LEFT_BRACKET": "[",
    "RIGHT_BRACKET": "]", "BANG": "!", "EQ": "=", "NSEQ": "<=>", "NEQ": "<>", "NEQJ": "!=", "LT": "<", "LTE": "<=",
    "GT": ">", "GTE": ">=", "SHIFT_LEFT": "<<", "SHIFT_RIGHT": ">>", "SHIFT_RIGHT_UNSIGNED": ">>>", "PLUS": "+",
    "MINUS": "-", "ASTERISK": "*", "SLASH": "/", "PERCENT": "%", "TILDE": "~", "AMPERSAND": "&", "PIPE": "|",
    "CONCAT_PIPE": "||", "OPERATOR_PIPE": "|>", "HAT": "^", "COLON": ":", "DOUBLE_COLON": "::", "ARROW": "->",
    "FAT_ARROW": "=>", "HENT_START": "/*+", "HENT_END": "*/", "QUESTION": "?", "EOF": "",
}  # fmt: skip
NAMES = (
    "t",
    "u",
    "default.t",
    "spark_catalog.default.plain",
    "parquet.`{folder}/warehouse`",
    "paimon.default.t",
    "t$files",
)
WORDS = ("k", "v", "t", "u", "jdbc", "parquet", "paimon", "f")
TEXTS = ("'{folder}/out'", "'{folder}/evil.jar'", "'Evil'", "'jdbc:derby:{folder}/out;create=true'", "'a'")
EXPRESSIONS = ("1", "k", "'a'", "reflect('java.lang.System', 'setProperty', 'paimon.attacked', '1')", "true", "k = 1")
FIXED = {  # texts for some rules, so that more sentences have a meaning
    "multipartIdentifier": NAMES, "identifierReference": NAMES, "identifier": WORDS, "errorCapturingIdentifier": WORDS,
    "strictIdentifier": WORDS, "stringLit": TEXTS, "stringLitWithoutMarker": TEXTS, "expression": EXPRESSIONS,
    "booleanExpression": EXPRESSIONS, "valueExpression": EXPRESSIONS, "namedExpression": EXPRESSIONS,
    "constant": ("1", "'a'"),
    "dataType": ("INT", "STRING"), "type": ("INT", "STRING"), "tableProvider": ("USING parquet", "USING jdbc", ""),
    "locationSpec": ("LOCATION '{folder}/out'",), "functionName": ("reflect", "java_method", "f", "abs"),
    "multipartIdentifierPropertyList": NAMES, "query": ("SELECT * FROM t", "TABLE t", "VALUES (1, 'a')"),
}  # fmt: skip


@dataclass(frozen=True)
class Grammar:
    """An automaton: for each state its transitions (kind, target, argument), and the names of tokens by number."""

    edges: Mapping[int, Sequence[tuple[int, int, int]]]
    sets: Sequence[Sequence[int]]
    starts: Sequence[int]
    stops: Mapping[int, int]
    entered: Mapping[int, str]  # rules, by their first states
    tokens: Mapping[int, str]
    rules: Mapping[str, int]
    costs: Mapping[int, int]  # the fewest tokens to the end of the rule


@cache
def grammar() -> Grammar:
    """The grammar of the Spark that is installed."""
    texts, numbers = _constants()
    tokens = {number: name for name, number in numbers.items() if not name.startswith("RULE_") and number > 0}
    rules = {name.removeprefix("RULE_"): number for name, number in numbers.items() if name.startswith("RULE_")}
    return _read(_serialized(texts), tokens, rules)


def sentences(seed: int, each: int, rule: str = "statement", depth: int = 14) -> list[str]:
    """Return sentences of each alternative of a rule; `{folder}` stands for a folder to write to."""
    found, chance = grammar(), random.Random(seed)
    start = found.edges[found.starts[found.rules[rule]]][0][1]
    while len(found.edges[start]) == 1:
        start = found.edges[start][0][1]
    made = []
    for first in range(len(found.edges[start])):
        for _ in range(each):
            words: list[str] = []
            _walk(found, start, depth, chance, words, first)
            made.append(" ".join(words))
    return made


def _walk(found: Grammar, state: int, depth: int, chance: random.Random, words: list[str], first: int = -1) -> None:
    """Append the tokens of a walk to the end of a rule."""
    steps = 0
    while state not in found.stops:
        edges = found.edges[state]
        steps += 1
        if first >= 0:
            edge, first = edges[first], -1
        elif depth <= 0 or steps > 80 or len(words) > 60:
            edge = min(edges, key=lambda one: _cost(found, state, one, found.costs))
        else:
            edge = chance.choice(edges)
        kind, target, argument = edge
        if kind == _RULE:
            known = FIXED.get(found.entered.get(target, ""))
            if known:
                words.append(chance.choice(known))
            else:
                _walk(found, target, depth - 1, chance, words)
            state = argument
            continue
        if kind in (_ATOM, _SET):
            number = argument if kind == _ATOM else chance.choice(found.sets[argument])
            words.append(_word(found.tokens.get(number, "EOF"), chance))
        elif kind in (_RANGE, _NOT_SET, _WILDCARD):
            words.append("x")
        state = target


def _word(name: str, chance: random.Random) -> str:
    if name in SIGNS:
        return SIGNS[name]
    if name in ("STRING_LITERAL", "DOUBLEQUOTED_STRING"):
        return chance.choice(["'{folder}/out'", "'{folder}/evil.jar'", "'jdbc'", "'a'", "'1'"])
    if name in ("IDENTIFIER", "BACKQUOTED_IDENTIFIER"):
        return chance.choice(["t", "u", "k", "v", "reflect", "parquet", "jdbc", "`{folder}/out`", "spark_catalog"])
    if "VALUE" in name and name.split("_")[-1] == "VALUE" or name.endswith("_LITERAL"):
        return "1"
    return name


def _constants() -> tuple[list[str], dict[str, int]]:
    """The long texts of the parser's class, and the numbers of its constants."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-sql-api_*.jar")
    with zipfile.ZipFile(jar) as archive:
        code = archive.read(_PARSER)
    pool, at = constants(code)
    (interfaces,) = struct.unpack_from(">H", code, at + 6)
    at += 8 + 2 * interfaces
    (fields,) = struct.unpack_from(">H", code, at)
    at, numbers = at + 2, {}
    for _ in range(fields):
        _, name, _, attributes = struct.unpack_from(">HHHH", code, at)
        at += 8
        for _ in range(attributes):
            kind, length = struct.unpack_from(">HI", code, at)
            if pool[kind] == b"ConstantValue":
                value = pool.get(struct.unpack_from(">H", code, at + 6)[0])
                if isinstance(value, int):
                    numbers[bytes(pool[name]).decode()] = value  # type: ignore[arg-type]
            at += 6 + length
    texts = [_modified_utf8(value) for value in pool.values() if isinstance(value, bytes) and len(value) > 5000]
    return texts, numbers


def _modified_utf8(data: bytes) -> str:
    return data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")


def _serialized(texts: Sequence[str]) -> list[int]:
    """Return the numbers of 16 bits in the segments, one or two characters each. The first segment begins with the
    version.
    """
    first = [text for text in texts if text.startswith("\x04")]
    assert len(first) == 1, "this Spark's parser is kept in another form"
    text = first[0] + "".join(other for other in texts if other is not first[0])
    numbers, at = [], 0
    while at < len(text):
        value = ord(text[at])
        at += 1
        if value & 0x8000:
            if value == 0xFFFF and ord(text[at]) == 0xFFFF:
                numbers.append(-1)
            else:
                numbers.append((value & 0x7FFF) << 16 | ord(text[at]))
            at += 1
        else:
            numbers.append(value)
    return numbers


def _read(data: Sequence[int], tokens: Mapping[int, str], rules: Mapping[str, int]) -> Grammar:
    at = 3  # after the version: the kind of grammar and the largest token
    count, at = data[at], at + 1
    stops: dict[int, int] = {}
    for number in range(count):
        kind = data[at]
        if kind == 0:
            at += 1
            continue
        rule = data[at + 1]
        if kind == 7:
            stops[number] = rule
        at += 3 if kind == _LOOP_END or kind in _BLOCK_STARTS else 2
    for _ in range(2):  # states that are not greedy, and states of rules with precedence
        at += 1 + data[at]
    starts = data[at + 1 : at + 1 + data[at]]
    at += 1 + data[at]
    at += 1 + data[at]  # modes
    sets = []
    count, at = data[at], at + 1
    for _ in range(count):
        ranges, at = data[at], at + 2
        sets.append([n for i in range(ranges) for n in range(data[at + 2 * i], data[at + 2 * i + 1] + 1)])
        at += 2 * ranges
    edges: dict[int, list[tuple[int, int, int]]] = {}
    count, at = data[at], at + 1
    for _ in range(count):
        source, target, kind, first, _second, _third = data[at : at + 6]
        edges.setdefault(source, []).append(_edge(kind, target, first, data[at + 4], starts))
        at += 6
    entered = {starts[number]: name for name, number in rules.items()}
    return _with_costs(Grammar(edges, sets, starts, stops, entered, tokens, rules, {}))


def _edge(kind: int, target: int, first: int, second: int, starts: Sequence[int]) -> tuple[int, int, int]:
    """Return the target of a transition. For a rule, it is the rule's first state and the state after it."""
    return (kind, first, target) if kind == _RULE else (kind, target, first)


def _cost(found: Grammar, state: int, edge: tuple[int, int, int], costs: Mapping[int, int]) -> int:
    kind, target, argument = edge
    if kind == _RULE:
        return costs.get(target, _FAR) + costs.get(argument, _FAR)
    return costs.get(target, _FAR) + (0 if kind in (_EPSILON, _PREDICATE, _ACTION, _PRECEDENCE) else 1)


def _with_costs(found: Grammar) -> Grammar:
    costs = dict.fromkeys(found.stops, 0)
    changed = True
    while changed:
        changed = False
        for state, edges in found.edges.items():
            least = min(_cost(found, state, edge, costs) for edge in edges)
            if least < costs.get(state, _FAR):
                costs[state], changed = least, True
    return Grammar(found.edges, found.sets, found.starts, found.stops, found.entered, found.tokens, found.rules, costs)
