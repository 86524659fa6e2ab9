"""Headless Chromium, driven over a pipe: opens a page, runs JavaScript in it, and hears its complaints."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
SECONDS = 240.0


class Browser:
    """One page in a browser of its own. Commands of the DevTools protocol go in by descriptor 3 and come out by 4."""

    def __init__(self, width: int = 1100, height: int = 900) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-extensions", "--disable-background-networking", "--disable-component-update"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={self._profile}", f"--window-size={width},{height}"]
        # bash gives the two pipes the numbers that Chromium expects.
        script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, CHROMIUM, *options, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, path: Path) -> None:
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.body && document.body.dataset.ready === 'yes'")

    def open_page(self, path: Path, width: int, height: int = 900) -> None:
        """Opens any page, in a window of this width."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for(f"document.readyState === 'complete' && location.pathname.endsWith({path.name!r})")

    def open_url(self, url: str) -> None:
        """Opens a page of a server."""
        self._call("Page.navigate", url=url)
        self.wait_for(f"document.readyState === 'complete' && location.href === {url!r}")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.run(expression):
            assert time.monotonic() < end, f"waited {SECONDS} s for {expression}"
            time.sleep(0.1)

    def screenshot(self, path: Path, selector: str = "") -> None:
        """A picture of the window, or of one element."""
        clip = {}
        if selector:
            box = self.run(
                f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView(); "
                "const r = e.getBoundingClientRect(); "
                "return [r.x + scrollX, r.y + scrollY, r.width, r.height]; })()"
            )
            clip = {"clip": dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"scale": 1}}
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has closed"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _hear(self, event: dict[str, Any]) -> None:
        method, told = event.get("method", ""), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
