"""`scripts/repeats.py` finds what is written twice, and nothing that only looks so."""

from __future__ import annotations

import pytest

from scripts.repeats import FOLDERS, ROOT, repeats, repeats_of_yaml


@pytest.mark.parametrize(
    "source",
    [
        "A = 1\nA = 2",
        "A, B = 1, 2\nB: int = 3",
        "@mark\ndef test(): ...\n@mark\ndef test(): ...",
        "class C:\n  def f(self): ...\n  @staticmethod\n  def f(): ...",
        "class C:\n  a: int = 1\n  a: int = 2",
        "def f(x):\n  if x == 1: ...\n  elif x == 2: ...\n  elif x == 1: ...",
        "match x:\n  case C(): ...\n  case D(): ...\n  case C(): ...",
    ],
)
def test_repeats_of_modules(source: str) -> None:
    assert len([*repeats(source)]) == 1


@pytest.mark.parametrize(
    "source",
    [
        "A = 1\ndef f():\n  A = 2",
        "class C:\n  @property\n  def f(self): ...\n  @f.setter\n  def f(self, x): ...",
        "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...",
        "@show.register(int)\ndef _(x): ...\n@show.register\ndef _(x: str): ...",
        "A = {}\nA['x'] = 1\nA.x = 2",
        "if read(): ...\nelif read(): ...",
        "if x: ...\nif x: ...",
        "match x:\n  case C() if y: ...\n  case C(): ...",
    ],
)
def test_what_modules_may_repeat(source: str) -> None:
    assert [*repeats(source)] == []


def test_repeats_of_yaml() -> None:
    assert [*repeats_of_yaml("- id: a\n  x: 1\n  x: 2\n- id: b\n- id: a\n")] == [
        "line 5: a is the id of an earlier case",
        "line 3: x is a key already",
    ]
    assert [*repeats_of_yaml("- {x: 1}\n- {x: 1}\n")] == [*repeats_of_yaml("")] == []


def test_the_folders_are_there() -> None:
    assert [folder for folder in FOLDERS if not (ROOT / folder).is_dir()] == []
