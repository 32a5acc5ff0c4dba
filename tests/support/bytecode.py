"""Compiled modules of a test run and of the processes that it starts."""

import os
import sys


def keep_bytecode() -> None:
    """Keep compiled modules, whatever the environment says: otherwise each of hundreds of processes would compile the
    same again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
