"""A page in Firefox, driven by WebDriver BiDi: every tab opens and fits, fingers zoom."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import free_port
from tests.browser.graph_map import FRAME, MIDDLE
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

TOUCH = 'user_pref("dom.w3c_touch_events.enabled", 1);'
RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
GRAPH = f"""(async () => {{
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    for (let n = 0; n < 100 && !document.querySelector(".graph-main"); n++) await rest(100);
    await rest(500);
    return JSON.stringify(({MIDDLE})(document.querySelector(".graph-main")));
}})()"""
SEEN = f"""(async () => {{
    await new Promise((resolve) => setTimeout(resolve, 300));
    return JSON.stringify(({FRAME})());
}})()"""


class Bidi:
    """A session of WebDriver BiDi."""

    def __init__(self, socket: Any):
        self.socket, self.ids = socket, count(1)

    def call(self, method: str, **params: Any) -> Any:
        wanted = next(self.ids)
        self.socket.send(json.dumps({"id": wanted, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv(timeout=60))).get("id") != wanted:
            pass
        assert answer["type"] == "success", answer
        return answer["result"]

    def open(self, address: str) -> None:
        """Show a page."""
        self.call("session.new", capabilities={})
        self.page = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("browsingContext.navigate", context=self.page, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """What a script gives, a number or a text."""
        target = {"context": self.page}
        given = {"expression": script, "target": target, "awaitPromise": True}
        found = self.call("script.evaluate", **given)
        return found["result"]["value"]

    def touch(self, *ways: tuple[tuple[float, float], tuple[float, float]]) -> None:
        """Put a finger at the start of each way, and take it to the end."""
        fingers = []
        for number, ((x, y), (a, b)) in enumerate(ways):
            places = [(x + (a - x) * step / 10, y + (b - y) * step / 10) for step in range(11)]
            moves = [
                {"type": "pointerMove", "x": round(left), "y": round(top), "duration": 20}
                for left, top in places
            ]
            actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:]]
            fingers.append(
                {
                    "type": "pointer",
                    "id": f"finger{number}",
                    "parameters": {"pointerType": "touch"},
                    "actions": [*actions, {"type": "pointerUp", "button": 0}],
                }
            )
        self.call("input.performActions", context=self.page, actions=fingers)


def connected(port: int) -> Any:
    client = pytest.importorskip("websockets.sync.client")
    for _ in range(200):
        try:
            return client.connect(f"ws://127.0.0.1:{port}/session", max_size=None)
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("Firefox did not open its port")


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Bidi]:
    """Firefox with a page, on a screen that can be touched."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("Firefox is not installed: on Debian, apt-get install firefox-esr")
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "user.js").write_text(TOUCH)
    port = free_port()
    options = ["--headless", "--profile", str(tmp_path / "profile")]
    process = subprocess.Popen(
        [program, *options, f"--remote-debugging-port={port}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with connected(port) as socket:
            yield Bidi(socket)
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.slow
def test_every_tab_of_a_page_opens_in_firefox(
    firefox: Bidi, sample_report: Report, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    firefox.open(path.as_uri())
    assert json.loads(firefox.run(TABS)) == [True] * 11


@pytest.mark.slow
def test_two_fingers_zoom_the_graph_in_firefox(firefox: Bidi, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    firefox.open(f"{path.as_uri()}#pane=graphs")
    x, y = json.loads(firefox.run(GRAPH))
    whole = json.loads(firefox.run(SEEN))
    firefox.touch(((x - 20, y), (x - 120, y)), ((x + 20, y), (x + 120, y)))
    near = json.loads(firefox.run(SEEN))
    assert near[2] - near[0] < 0.6 * (whole[2] - whole[0])
    assert firefox.run("visualViewport.scale") == 1
