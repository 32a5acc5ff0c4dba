"""What a process has held at most."""

from __future__ import annotations

import re
import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Peak resident memory of this process.

    Linux counts what the parent held in a child's `ru_maxrss`, so it is asked for the memory of this program instead.
    """
    if _STATUS.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
