"""Opens a page in headless Chromium over DevTools' pipe: its log, its requests, a picture, and the values of scripts.

Protocol: https://chromedevtools.github.io/devtools-protocol/; messages are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import find_browser

_SECONDS = 60
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage")
_TROUBLE = {"Runtime.exceptionThrown", "Network.loadingFailed", "Runtime.consoleAPICalled", "Log.entryAdded"}


class Page:
    """A page in the browser. ``events`` are all that the browser has reported so far."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, os.fdopen(back, "rb")
        self._asked = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def open(self, url: str, width: int) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def prefer(self, scheme: str) -> None:
        """Sets the color scheme that the page's user prefers: ``light`` or ``dark``."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self) -> bytes:
        taken = self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(taken["data"])

    @property
    def requests(self) -> list[str]:
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    @property
    def troubles(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["method"] in _TROUBLE]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (told := self._next()).get("id") != self._asked:
            self.events.append(told)
        assert "error" not in told, (method, told)
        result: dict[str, Any] = told["result"]
        return result

    def _next(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._back.read(1)) not in (b"\0", b""):
            message += byte
        assert message, "the browser has ended"
        told: dict[str, Any] = json.loads(message)
        return told


@contextmanager
def open_page(path: Path, profile: Path, width: int) -> Iterator[Page]:
    """Yields the page of a file, loaded. Chromium reads descriptor 3 and writes to 4."""
    command = [find_browser(), *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
    reads, to = os.pipe()
    back, writes = os.pipe()

    def renumber() -> None:
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    with (profile.with_suffix(".log")).open("wb") as log:
        process = subprocess.Popen(command, preexec_fn=renumber, pass_fds=(3, 4), stdout=log, stderr=log)
    os.close(reads)
    os.close(writes)
    page = Page(to, back)
    try:
        page.open(path.as_uri(), width)
        yield page
    finally:
        os.close(to)
        process.terminate()
        process.wait(_SECONDS)
