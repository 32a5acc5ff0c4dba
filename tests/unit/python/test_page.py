"""The page docs/python.md is true, and needs no Spark: its blocks run in a process without PySpark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.support.pages import ROOT, blocks_of

# a block that fails ends the process, unless its mark has the text of the error
_RUN = """
import contextlib, io, json, sys

for name in ("pyspark", "py4j"):
    sys.modules[name] = None
names, printed = {"__name__": "__main__"}, []
for code, fails in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, "page", "exec"), names)
        except Exception as error:
            if not fails:
                raise
            print(error)
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


def test_the_page_runs_without_spark(tmp_path: Path) -> None:
    blocks = [b for b in blocks_of(ROOT / "docs" / "python.md") if b.mark != "not run"]
    assert blocks and {b.language for b in blocks} == {"python"}
    given = json.dumps([[b.code, b.mark == "fails"] for b in blocks])
    done = subprocess.run([sys.executable, "-c", _RUN], input=given, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for block, printed in zip(blocks, json.loads(done.stdout), strict=True):
        where = f"python.md:{block.line}"
        if block.mark == "fails":
            assert re.search(re.escape(str(block.why)), printed), f"{where}: {printed}"
        if block.output is not None:
            expected = [line.rstrip() for line in block.output.splitlines()]
            assert [line.rstrip() for line in printed.splitlines()] == expected, where
