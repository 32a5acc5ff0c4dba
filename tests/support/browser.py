"""A headless Chromium that a test drives: keys, sizes, screenshots. It speaks DevTools' protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_END = b"\0"  # of a message
_KEYS = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40}
_TEXTS = {"Enter": "\r", " ": " "}
_SHIFT = 8


class Tab:
    """One page of a browser."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._numbers, self._held = to, answers, count(1), b""
        self.console: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + _END)
        while (found := self._next()).get("id") != number:
            self._note(found)
        assert "error" not in found, found
        result: dict[str, Any] = found["result"]
        return result

    def open(self, address: str) -> None:
        """Open an address, and wait until it is loaded."""
        self.call("Page.navigate", url=address)
        self._loaded()

    def press(self, key: str, *, shift: bool = False, loads: bool = False) -> None:
        """Press a key. `loads`: wait until the page to which it leads is loaded."""
        given = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key], "modifiers": _SHIFT if shift else 0}
        text = {"text": _TEXTS[key]} if key in _TEXTS else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **given, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)
        if loads:
            self._loaded()

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def value(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def focused(self) -> str:
        """Return the element with the focus, as its name and its label or text."""
        script = "(e => e.tagName.toLowerCase() + ' ' + (e.ariaLabel || e.name || e.innerText))(document.activeElement)"
        return str(self.value(script))

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window, and the reader's choice of light or dark."""
        given = {"deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, **given)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, target: Path) -> None:
        """Write what is seen as PNG."""
        target.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _loaded(self) -> None:
        while (found := self._next()).get("method") != "Page.loadEventFired":
            self._note(found)

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.console.append(json.dumps(message["params"]))

    def _next(self) -> dict[str, Any]:
        while _END not in self._held:
            read = os.read(self._answers, 2**20)
            assert read, "the browser has ended"
            self._held += read
        text, _, self._held = self._held.partition(_END)
        found: dict[str, Any] = json.loads(text)
        return found


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser without access to other hosts, and yield a page of it."""
    its_in, to = os.pipe()
    answers, its_out = os.pipe()
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
    hosts = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    # Chromium reads commands from descriptor 3, and writes answers to 4
    wired = f'exec 3<&{its_in} 4>&{its_out}; exec "$0" "$@"'
    process = subprocess.Popen(
        ["bash", "-c", wired, str(CHROMIUM), *options, hosts, f"--user-data-dir={profile}", "--remote-debugging-pipe"],
        pass_fds=(its_in, its_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(its_in)
    os.close(its_out)
    try:
        yield Tab(to, answers)
    finally:
        os.close(to)
        process.terminate()
        process.wait(60)
        os.close(answers)
