"""The mutant of a seed and a number: which file it is of, and its bytes."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pyarrow as pa

from tests.fuzz.files.avro_changes import AVRO, AVRO_BOMBS
from tests.fuzz.files.bytes_changes import ANY, RARE, Change
from tests.fuzz.files.corpus import KINDS, Case
from tests.fuzz.files.index_changes import BLOCKS, INDEX, VECTOR
from tests.fuzz.files.json_changes import JSON
from tests.fuzz.files.orc_changes import ORC, ORC_BOMBS
from tests.fuzz.files.parquet_changes import PARQUET, PARQUET_BOMBS

_PIECE, _PIECES = 2**22, 64  # bytes of a packed text, which is there so often
_SPECIAL, _BOMBS, _OTHER_FILE, _RARE = 0.6, 0.005, 0.03, 0.01  # shares of changes


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged file; `change` says what was done to it."""

    number: int
    case: Case
    change: str
    content: bytes


def kind_of(number: int, kinds: Sequence[str] = KINDS) -> str:
    """The kind of file that a mutant is of: they take turns."""
    return kinds[number % len(kinds)]


class Mutants:
    """The mutants of a seed."""

    def __init__(self, corpus: Sequence[Case], seed: int, kinds: Sequence[str] = KINDS) -> None:
        self._corpus, self._seed, self._kinds = corpus, seed, kinds
        self._cases: Mapping[str, list[Case]] = {k: [c for c in corpus if c.kind == k] for k in kinds}

    def __getitem__(self, number: int) -> Mutant:
        chance = Random(f"{self._seed} {number}")
        case = chance.choice(self._cases[kind_of(number, self._kinds)])
        other = chance.choice(self._corpus)
        luck = chance.random()
        if luck < _OTHER_FILE:
            return Mutant(number, case, f"{other.kind} file {other.path.name}", other.content)
        if luck < _OTHER_FILE + _RARE:
            changes: Sequence[Change] = RARE
        elif luck < _OTHER_FILE + _RARE + _BOMBS:
            changes = bombs_of(case) or ANY
        else:
            changes = (special_of(case) if chance.random() < _SPECIAL else ()) or ANY
        change = chance.choice(changes)
        return Mutant(number, case, change.__name__, _made(change, chance, case.content))


def _made(change: Change, chance: Random, content: bytes) -> bytes:
    """The changed content; a file that cannot be taken apart is changed as bytes."""
    try:
        return change(chance, content)
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError, pa.ArrowException):
        return chance.choice(ANY)(chance, content)


def special_of(case: Case) -> Sequence[Change]:
    """The changes that know the structure of a file."""
    content = case.content
    by_kind = {"deletion vector": VECTOR, "file index": INDEX, "global index": BLOCKS, "index of elements": BLOCKS}
    if case.kind in by_kind:
        return by_kind[case.kind]
    if content.startswith(b"Obj\x01"):
        return AVRO
    if content.startswith(b"PAR1"):
        return PARQUET
    if content.startswith(b"ORC"):
        return ORC
    return JSON if content.startswith(b"{") and not case.path.name.endswith(".json") else ()


def bombs_of(case: Case) -> Sequence[Change]:
    """Small files that unpack to much."""
    by_format = {AVRO: AVRO_BOMBS, PARQUET: PARQUET_BOMBS, ORC: ORC_BOMBS}
    ending = case.path.name.rpartition(".")[2]
    if ending in _PACKERS:
        return (packed_lines, packed_line)
    return by_format.get(tuple(special_of(case)), ())


def packed_lines(chance: Random, data: bytes) -> bytes:
    """Many lines, in whatever codec: a reader of another one has a file of noise."""
    return _packed(chance.choice(list(_PACKERS)), b"1,a\n")


def packed_line(chance: Random, data: bytes) -> bytes:
    """One line that does not end."""
    return _packed(chance.choice(list(_PACKERS)), b"aaaa")


_PACKERS = {
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@cache
def _packed(codec: str, part: bytes) -> bytes:
    return bytes(_PACKERS[codec](part * (_PIECE // len(part)))) * _PIECES  # each codec takes several of its files
