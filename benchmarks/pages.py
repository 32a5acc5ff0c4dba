"""`paimon-sql ui` and pictures: from the start to the first page, and pages and LSM maps of tables with 10,000 and
100,000 files. The files are in metadata alone.

Prints seconds, bytes of the page, the command's memory, and the ratio to a Python program that imports pyarrow, in the
same run.
"""

from __future__ import annotations

import http.client
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from paimon_sql import open_catalog
from tests.support.tables import data_file, info, message

RUNS, BUCKETS = 5, 64
LISTED = ("/files", "/files?order=newest&start=5000", "/pictures?kind=files", "/pictures?kind=lsm")
PAGES = ("", *LISTED, "/compactions", "/advice")


def make(warehouse: str, count: int) -> None:
    """Make a table with files of a level-5 run, and of ten runs of level 0, in each bucket."""
    import pyarrow as pa  # noqa: PLC0415  the ceiling imports it

    catalog = open_catalog(warehouse)
    options = {"bucket": str(BUCKETS), "write-only": "true"}
    table = catalog.create_table("default.t", pa.schema([("k", pa.int32())]), primary_key="k", options=options).inner
    store, each = table.store, count // BUCKETS
    messages = []
    for bucket in range(BUCKETS):
        old = [
            data_file(store, 10 * n, 10 * n + 9, level=5, rows=10, file_size=random.randrange(10**3, 10**8))
            for n in range(each - 10)
        ]
        young = [data_file(store, n, 10 * each - n, rows=10, max_sequence_number=100 + n) for n in range(10)]
        messages.append(message(store, *old, *young, bucket=bucket))
    table.commit(messages, info())


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def first_page(warehouse: str) -> tuple[float, subprocess.Popen[str], Callable[[str], int]]:
    """Start the command. Return the seconds to its first page, the process, and a function that gets a page."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "paimon_sql", "ui", "-w", warehouse]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    address = urlparse(process.stdout.readline().strip())
    client = http.client.HTTPConnection(str(address.hostname), address.port)
    client.request("GET", f"/?{address.query}")
    answer = client.getresponse()
    answer.read()
    cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def get(path: str) -> int:
        client.request("GET", path, headers={"Cookie": cookie})
        found = client.getresponse()
        assert found.status == 200, path
        return len(found.read())

    get("/")
    return time.perf_counter() - began, process, get


def visit(name: str, get: Callable[[str], int]) -> None:
    """Print the seconds of each page, twice, and its bytes."""
    for page in PAGES:
        path = f"/t/default/t{page}"
        cold, size = seconds(lambda: get(path)), get(path)  # noqa: B023  called at once
        warm = seconds(lambda: get(path))  # noqa: B023  called at once
        print(f"{name} files: {path:43s} {cold:6.2f} s, again {warm:5.2f} s, {size:9,} bytes")


def peak(process: int) -> float:
    """Return the peak memory of a process in MB, on Linux."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure(warehouse: str, name: str, base: float) -> None:
    """Print the figures of a warehouse with one table; `base` are the seconds of the ceiling."""
    starts = []
    for run in range(RUNS):
        took, process, get = first_page(warehouse)
        starts.append(took)
        if run == RUNS - 1:
            visit(name, get)
            print(f"{name} files: {'peak memory of the command, after these pages':43s} {peak(process.pid):6.0f} MB")
        process.terminate()
        process.wait()
    start = statistics.median(starts)
    print(f"{name} files: {'start to the first page':43s} {start:6.2f} s  {start / base:5.1f}x import pyarrow")
    table = open_catalog(warehouse).table("default.t")
    took = seconds(lambda: table.pictures.lsm().to_html())
    print(f"{name} files: {'lsm() as HTML, with what it imports':43s} {took:6.2f} s")


def main() -> None:
    program = [sys.executable, "-c", "import pyarrow"]
    base = statistics.median(seconds(lambda: subprocess.run(program, check=True)) for _ in range(RUNS))
    print(f"{'import pyarrow':58s} {base:6.2f} s")
    for count in (10_000, 100_000):
        with tempfile.TemporaryDirectory() as warehouse:
            make(warehouse, count)
            measure(warehouse, f"{count:7,}", base)


if __name__ == "__main__":
    main()
