from __future__ import annotations

import subprocess
import sys

_CHILD = """
import sys
print("warning", file=sys.stderr, flush=True)
print("ready", flush=True)
sys.stdin.readline()
print("progress", file=sys.stderr)
"""
_SCRIPT = """
import fcntl, subprocess, sys, termios, threading, time
from paimon_sql.shell.startup import quiet_start
try:
    with quiet_start():
        print("greeting", file=sys.stderr, flush=True)
        child = subprocess.Popen([sys.executable, "-c", {child}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        while fcntl.ioctl(2, termios.FIONREAD, bytes(4)) != bytes(4):  # the relay has not yet read all
            time.sleep(0.01)
        time.sleep(0.2)
        {inside}
finally:
    print("own", file=sys.stderr, flush=True)
    child.communicate(b"go\\n")
    for relay in set(threading.enumerate()) - {{threading.current_thread()}}:
        relay.join()
"""


def stderr_of(inside: str) -> str:
    script = _SCRIPT.format(child=repr(_CHILD), inside=inside)
    return subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, check=False).stderr


def test_the_greeting_is_dropped_and_later_output_arrives():
    assert stderr_of("pass").split() == ["own", "progress"]


def test_after_a_failure_everything_is_shown():
    shown = stderr_of("raise SystemExit('no java')")
    assert all(word in shown for word in ("greeting", "warning", "own", "progress", "no java"))
