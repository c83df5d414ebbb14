"""A page in Firefox, driven by WebDriver BiDi: every tab opens and fits."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import free_port
from workbench.report import Report

TABS = """(async () => {
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    for (let n = 0; n < 100 && !document.querySelector('.wb [role=tab]'); n++) await rest(100);
    const seen = [];
    for (const tab of document.querySelectorAll('.wb [role=tab]')) {
        tab.click();
        await rest(300);
        const { scrollWidth } = document.documentElement;
        const { height } = document.querySelector('.wb .pane').getBoundingClientRect();
        seen.push(tab.ariaSelected === 'true' && scrollWidth <= innerWidth && height > 300);
    }
    return JSON.stringify(seen);
})()"""


class Bidi:
    """A session of WebDriver BiDi."""

    def __init__(self, socket: Any):
        self.socket, self.ids = socket, count(1)

    def call(self, method: str, **params: Any) -> Any:
        wanted = next(self.ids)
        self.socket.send(json.dumps({"id": wanted, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv(timeout=60))).get("id") != wanted:
            pass
        return answer["result"]


def connected(port: int) -> Any:
    client = pytest.importorskip("websockets.sync.client")
    for _ in range(200):
        try:
            return client.connect(f"ws://127.0.0.1:{port}/session", max_size=None)
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("Firefox did not open its port")


@pytest.mark.slow
def test_every_tab_of_a_page_opens_in_firefox(sample_report: Report, tmp_path: Path) -> None:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("Firefox is not installed: on Debian, apt-get install firefox-esr")
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    (tmp_path / "profile").mkdir()
    port = free_port()
    options = ["--headless", "--profile", str(tmp_path / "profile")]
    firefox = subprocess.Popen(
        [program, *options, f"--remote-debugging-port={port}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with connected(port) as socket:
            bidi = Bidi(socket)
            bidi.call("session.new", capabilities={})
            page = bidi.call("browsingContext.getTree")["contexts"][0]["context"]
            bidi.call("browsingContext.navigate", context=page, url=path.as_uri(), wait="complete")
            found = bidi.call(
                "script.evaluate", expression=TABS, target={"context": page}, awaitPromise=True
            )
    finally:
        firefox.terminate()
        firefox.wait(20)
    assert json.loads(found["result"]["value"]) == [True] * 10
