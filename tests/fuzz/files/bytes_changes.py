"""Changes of bytes of any format: flipped, cut, put in, moved, and numbers that are lengths, counts or offsets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Change = Callable[[Random, bytes], bytes]

HOSTILE = (
    *(0, 1, -1, 2, 7, 127, 128, 255, 256, -128, 2**15 - 1, 2**15, 2**16 - 1, 2**16, -(2**15)),
    *(2**24, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**36, 2**40, 2**62, 2**63 - 1, -(2**63)),
)
_PIECE = 4096


def hostile_number(chance: Random, number: int = 0) -> int:
    """A number that code may not expect, or one near to `number`."""
    near = (number + 1, number - 1, number * 2, number * 1000, -number, number + chance.randrange(64))
    return chance.choice(HOSTILE if chance.random() < 0.6 else near)


def fitting(number: int, width: int) -> bytes:
    """The low bytes of a number, little endian."""
    return (number & (2 ** (8 * width) - 1)).to_bytes(width, "little")


def flip_bit(chance: Random, data: bytes) -> bytes:
    at = _at(chance, data)
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] if data else data


def flip_byte(chance: Random, data: bytes) -> bytes:
    at = _at(chance, data)
    return data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :] if data else data


def set_bytes(chance: Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((2, 4, 16, 64)) if data else 0):
        found[_at(chance, data)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(found)


def put_number(chance: Random, data: bytes) -> bytes:
    """A number of 2, 4 or 8 bytes, in either order, near the ends as often as elsewhere."""
    width, at = chance.choice((2, 4, 4, 8)), _near_an_end(chance, data)
    number = fitting(hostile_number(chance, int.from_bytes(data[at : at + width], "little")), width)
    number = number[::-1] if chance.random() < 0.5 else number
    return data[:at] + number + data[at + width :]


def put_varint(chance: Random, data: bytes) -> bytes:
    """A number in groups of seven bits, in place of as many bytes or of one."""
    number, at = hostile_number(chance) & (2**64 - 1), _near_an_end(chance, data)
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return data[:at] + bytes(groups) + data[at + (len(groups) if chance.random() < 0.5 else 1) :]


def cut(chance: Random, data: bytes) -> bytes:
    return data[: _near_an_end(chance, data)]


def cut_front(chance: Random, data: bytes) -> bytes:
    return data[_near_an_end(chance, data) :]


def extend(chance: Random, data: bytes) -> bytes:
    return data + chance.choice((chance.randbytes(chance.randrange(1, 99)), data, bytes(_PIECE), data[-20:]))


def insert_bytes(chance: Random, data: bytes) -> bytes:
    at = _at(chance, data)
    return data[:at] + chance.choice((b"\0" * 8, b"\xff" * 9 + b"\x01", chance.randbytes(5))) + data[at:]


def remove_block(chance: Random, data: bytes) -> bytes:
    start, end = _block(chance, data)
    return data[:start] + data[end:]


def repeat_block(chance: Random, data: bytes) -> bytes:
    start, end = _block(chance, data)
    return data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]


def swap_blocks(chance: Random, data: bytes) -> bytes:
    (a, b), (c, d) = sorted((_block(chance, data), _block(chance, data)))
    return data if c < b else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def fill_block(chance: Random, data: bytes) -> bytes:
    start, end = _block(chance, data)
    return data[:start] + bytes([chance.choice((0, 0xFF, 0x80, 0x41))]) * (end - start) + data[end:]


def nothing(chance: Random, data: bytes) -> bytes:
    return b""


def backwards(chance: Random, data: bytes) -> bytes:
    return data[::-1]


ANY: tuple[Change, ...] = (
    *(flip_bit, flip_byte, set_bytes, put_number, put_number, put_varint, cut, cut_front, extend, insert_bytes),
    *(remove_block, repeat_block, swap_blocks, fill_block),
)
RARE: tuple[Change, ...] = (nothing, backwards)


def _at(chance: Random, data: bytes) -> int:
    return chance.randrange(len(data)) if data else 0


def _near_an_end(chance: Random, data: bytes) -> int:
    """An offset: anywhere, among the first bytes or among the last ones."""
    at, size = _at(chance, data), len(data)
    return chance.choice((at, at, min(at % 64, size), max(0, size - 1 - at % 64)))


def _block(chance: Random, data: bytes) -> tuple[int, int]:
    start = _at(chance, data)
    return start, min(len(data), start + chance.choice((1, 4, 16, 200, len(data))))
