"""A page in WebKit, Safari's engine, driven by WebDriver: panes, a table that is sorted, themes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import free_port
from workbench.report import Report

READY = """
    return document.querySelectorAll(".wb [role=tab]").length;"""
TABS = """
    const done = arguments[0];
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    (async () => {
        const seen = [];
        for (const tab of document.querySelectorAll(".wb [role=tab]")) {
            tab.click();
            await rest(300);
            const { scrollWidth } = document.documentElement;
            const { height } = document.querySelector(".wb .pane").getBoundingClientRect();
            seen.push(tab.ariaSelected === "true" && scrollWidth <= innerWidth && height > 300);
        }
        done(seen);
    })();"""
TAB = """
    [...document.querySelectorAll(".wb [role=tab]")]
        .find((tab) => tab.textContent.startsWith(arguments[0])).click();"""
HEAD = """
    [...document.querySelectorAll(".thead button")]
        .find((head) => head.textContent.startsWith(arguments[0])).click();"""
ROWS = """
    return [...document.querySelectorAll(".tbody .tr")]
        .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
        .map((row) => row.querySelector(".td").textContent);"""
THEME = """
    return document.querySelector(".wb").dataset.theme;"""
GROUND = """
    return getComputedStyle(document.querySelector(".wb")).backgroundColor;"""


class WebKit:
    """A session of WebDriver: scripts run in the page that it shows."""

    def __init__(self, port: int):
        self.address = f"http://127.0.0.1:{port}"
        made = self._call("POST", "/session", capabilities={"alwaysMatch": {}})
        self.address += f"/session/{made['sessionId']}"

    def _call(self, method: str, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, address: str) -> None:
        self._call("POST", "/url", url=address)
        self.until(READY)

    def run(self, script: str, *given: Any, later: bool = False) -> Any:
        """What a script returns, or hands to its last argument later."""
        kind = "async" if later else "sync"
        return self._call("POST", f"/execute/{kind}", script=script, args=list(given))

    def until(self, script: str, wanted: Any = None) -> None:
        """Wait until a script returns something, or what is wanted."""
        for _ in range(100):
            found = self.run(script)
            if found == wanted if wanted is not None else found:
                return
            time.sleep(0.1)
        raise AssertionError(f"{found!r} instead of {wanted!r}")

    def close(self) -> None:
        self._call("DELETE", "")


@contextmanager
def running(command: list[str], **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **{**quiet, **more})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def webkit() -> Iterator[WebKit]:
    """WebKitGTK on a screen that nobody sees."""
    driver, screen = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
    if driver is None or screen is None:
        pytest.skip("WebKit is not installed: on Debian, apt-get install webkit2gtk-driver xvfb")
    port = free_port()
    read, write = os.pipe()
    frame = ["-displayfd", str(write), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    with running([screen, *frame], pass_fds=(write,)):
        os.close(write)
        with os.fdopen(read) as told:
            display = told.readline().strip()
        own = {"DISPLAY": f":{display}", "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1"}
        with running([driver, f"--port={port}"], env={**os.environ, **own}):
            session = connected(port)
            try:
                yield session
            finally:
                session.close()


def connected(port: int) -> WebKit:
    for _ in range(100):
        try:
            return WebKit(port)
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError):
                raise
            time.sleep(0.1)
    raise TimeoutError("WebKitWebDriver did not open its port")


@pytest.mark.slow
def test_panes_tables_and_themes_work_in_webkit(
    webkit: WebKit, sample_report: Report, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    webkit.open(path.as_uri())
    assert webkit.run(TABS, later=True) == [True] * 11
    webkit.run(TAB, "Kernels")
    webkit.until(ROWS, ["k0", "k1", "k2"])
    webkit.run(HEAD, "Kernel")
    webkit.run(HEAD, "Kernel")
    webkit.until(ROWS, ["k2", "k1", "k0"])
    grounds = {}
    for _ in range(2):  # as the page, light, dark: each press takes the next
        webkit.run("document.querySelector('.wb [aria-label^=Theme]').click()")
        time.sleep(0.2)
        grounds[webkit.run(THEME)] = webkit.run(GROUND)
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}
