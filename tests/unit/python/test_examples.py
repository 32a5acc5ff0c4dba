"""The programs of examples/ run: Ray and Dask are stand-ins here, which run each task in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT

_POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def run(tasks):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [f.result() for f in [pool.submit(function, *arguments) for function, arguments in tasks]]
"""
STAND_INS = {
    "ray": """
class remote:
    def __init__(self, function):
        self.function = function
    def remote(self, *arguments):
        return self.function, arguments

def put(value):
    return value

get = run
""",
    "dask": """
def delayed(function):
    return lambda *arguments: (function, arguments)

def compute(*tasks, scheduler):
    assert scheduler == "processes"
    return tuple(run(tasks))
""",
}
PRINTED = {"typed_program": "6 orders, 4 of more than 6, ['orders']\n11 rows to begin with\n1 1\n"}


@pytest.mark.parametrize("name", ["typed_program", "with_dask", "with_ray"])
def test_an_example(name: str, tmp_path: Path) -> None:
    for module, text in STAND_INS.items():
        (tmp_path / f"{module}.py").write_text(_POOL + text)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, PRINTED.get(name, "3500\n")), done.stderr
