"""Small files that unpack to far more bytes than they should, and a process with little memory to read them in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_core.formats.avro.codecs import CODECS
from paimon_core.formats.avro.container import SYNC_SIZE, block_header, recoded
from paimon_core.formats.avro.packing import compress
from paimon_core.manifests.record_files import encode_avro
from paimon_core.spec.records import Record

PACKED = tuple(c for c in CODECS if c != "null")
PIECE = 2**24  # bytes of a block
_MEMORY = 2**30  # bytes of address space, in addition to the imports
_ROOT = Path(__file__).parents[2]
_RUN = """
import json, resource, time
{imports}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {memory}, used + {memory}))
for act in {acts}:
    started, error = time.perf_counter(), ""
    try:
        eval(act)
    except Exception as e:
        error = f"{{type(e).__name__}}: {{e}}"
    taken = next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps([error, time.perf_counter() - started, taken]))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an expression: its error (empty: none), the seconds it took, and the most megabytes of the process
    until then.
    """

    error: str
    seconds: float
    megabytes: int


def avro_bomb(record: Record[Any], version: int, values: list[Any], codec: str, blocks: int) -> bytes:
    """Return a file of records that is followed by blocks of zeros, 16 MB each."""
    honest = recoded(encode_avro(record, version, values, "null"), codec)
    packed, sync = compress(codec, 1, bytes(PIECE)), honest[-SYNC_SIZE:]
    return honest + blocks * (block_header(1, len(packed)) + packed + sync)


def with_little_memory(imports: str, acts: Sequence[str], seconds: float = 120) -> list[Outcome]:
    """Evaluate expressions in a process that may take one gigabyte more than at its start. Return their outcomes."""
    code = _RUN.format(imports=imports, acts=list(acts), memory=_MEMORY)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=seconds, check=True)
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]
