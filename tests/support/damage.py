"""Files with bytes that are flipped, swapped, cut out or inserted."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

Change = Callable[[bytearray], None]


def _at(data: bytearray, position: int) -> int:
    return position % max(1, len(data))


def flip(position: int, mask: int) -> Change:
    def change(data: bytearray) -> None:
        if data:
            data[_at(data, position)] ^= mask

    return change


def swap(one: int, other: int) -> Change:
    def change(data: bytearray) -> None:
        if data:
            a, b = _at(data, one), _at(data, other)
            data[a], data[b] = data[b], data[a]

    return change


def replace(position: int, length: int, new: bytes) -> Change:
    def change(data: bytearray) -> None:
        start = _at(data, position)
        data[start : start + length] = new

    return change


POSITIONS = st.integers(0, 2**20)
HOSTILE = st.sampled_from((b"", b"\xff" * 9 + b"\x01", b"\0", b"[" * 50, b'"', b"{", b"1e999", b"null", b"\x80" * 3))
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(flip, POSITIONS, st.integers(1, 255)),
    st.builds(swap, POSITIONS, POSITIONS),
    st.builds(replace, POSITIONS, st.integers(0, 40), HOSTILE | st.binary(max_size=20)),
    st.builds(replace, POSITIONS, st.just(2**20), st.just(b"")),  # cut off
)


@st.composite
def damaged(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> bytes:
    """Return one of the originals, changed in up to four positions."""
    data = bytearray(draw(originals))
    for change in draw(st.lists(CHANGES, min_size=1, max_size=4)):
        change(data)
    return bytes(data)
