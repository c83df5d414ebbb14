"""Chromium, and a JupyterLab of its own with empty settings, for tests, figures and pictures."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

CHROMIUM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""The names under which systems install it; the Makefile looks for the same."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
READY = """() => {
    const widget = window.jupyterapp?.shell.currentWidget, session = widget?.sessionContext;
    return !!(widget?.context?.isReady && session?.isReady
        && session.session?.kernel?.connectionStatus === 'connected'
        && session.session.kernel.status === 'idle')
}"""
DONE = """() => {
    const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
    return prompts.length && prompts.every(p => /\\[\\d+\\]/.test(p.textContent))
        && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'
}"""
THEME = """(name) => {
    jupyterapp.commands.execute('apputils:change-theme', { theme: name });
    return 1;  // the promise of the command is not awaited: it may never be settled
}"""
WATCH_WORK = """(text) => {
    window.hasShownWork = false;
    const observer = new MutationObserver(() => {
        const strips = [...document.querySelectorAll('.wb .job')];
        if (!strips.some((strip) => strip.textContent.includes(text))) return;
        window.hasShownWork = true;
        observer.disconnect();
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


class NoChromium(RuntimeError):
    """Chromium is not installed."""


@contextmanager
def running_chromium() -> Iterator[Any]:
    """Headless Chromium; raises `NoChromium` when it is not there."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise NoChromium("Chromium is not installed: on Debian, apt-get install chromium")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page with what it complained about and what it asked of other machines."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def watched_page(context: Any) -> Watched:
    """A new page of a browser context, watched."""
    watched = Watched(context.new_page())
    page = watched.page
    page.set_default_timeout(15_000)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("console", lambda m: m.type == "error" and watched.errors.append(m.text))
    page.on("request", lambda request: _note(watched, request.url))
    return watched


def _note(watched: Watched, url: str) -> None:
    is_local = "//127.0.0.1" in url or url.startswith(("file:", "data:", "blob:"))
    if not is_local:
        watched.requests.append(url)


def run_all(page: Any) -> None:
    """Run all cells of the notebook that a page shows."""
    page.wait_for_function(READY, timeout=60_000)
    # the promise of the command is not awaited: it may never be settled
    page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); return 1 }")
    page.wait_for_function(DONE, timeout=120_000)


def one_view(scope: Any) -> Any:
    """The only view that is seen in a page or a cell.

    The saved one goes as soon as the live one is there: for a moment both are seen.
    """
    from playwright.sync_api import expect

    view = scope.locator(".wb:visible")
    expect(view).to_have_count(1, timeout=60_000)
    return view


@contextmanager
def shows_work(view: Any, text: str = "") -> Iterator[None]:
    """Within the block the strip of work in the background appears in the page, with a text.

    Work that is short is over before a locator looks; an observer sees each change of the page.
    """
    view.page.evaluate(WATCH_WORK, text)
    yield
    view.page.wait_for_function("() => window.hasShownWork", timeout=60_000)


def save_notebook(page: Any) -> None:
    """Save the notebook that a page shows."""
    page.evaluate("() => { jupyterapp.commands.execute('docmanager:save'); return 1 }")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def open(self, watched: Watched, name: str, *, run: bool = True) -> None:
        """Show one notebook, and run all its cells."""
        page = watched.page
        page.goto(f"{self.url}/doc/tree/{name}?reset")
        page.wait_for_selector(".jp-NotebookPanel .jp-Notebook")
        if run:
            run_all(page)

    def write(self, name: str, *cells: str) -> None:
        """Put a notebook of code cells into the folder."""
        self.put(name, [nbformat.v4.new_code_cell(cell) for cell in cells])

    def put(self, name: str, cells: list[Any]) -> None:
        """Put these cells, with their outputs, into the folder."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / name)


@contextmanager
def running_lab(folder: Path, home: Path) -> Iterator[Lab]:
    """A JupyterLab that serves `folder`, with everything of its own in `home`."""
    (home / "app").mkdir()
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    overrides = {"@jupyterlab/apputils-extension:notification": quiet}
    (home / "app" / "overrides.json").write_text(json.dumps(overrides))
    program = [sys.executable, "-m", "jupyterlab"]
    own = [f"--LabApp.app_settings_dir={home / 'app'}", "--LabApp.expose_app_in_browser=True"]
    with serving(program, own, folder, home) as url:
        yield Lab(url, folder)


@contextmanager
def serving(program: list[str], own: list[str], folder: Path, home: Path) -> Iterator[str]:
    """A Jupyter server that serves `folder` without asking who it is; its address."""
    port = free_port()
    command = [*program, *_options(port, folder), *own]
    with (home / "lab.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=_variables(home))
    try:
        wait_for(server, f"http://127.0.0.1:{port}/api/status", home / "lab.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _options(port: int, folder: Path) -> list[str]:
    return [
        *("--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="),
        *("--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={folder}"),
        "--ServerApp.terminals_enabled=False",
    ]


def _variables(home: Path) -> dict[str, str]:
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    own = {f"JUPYTER_{name}": str(home / name) for name in names}
    own |= {f"JUPYTERLAB_{n}_DIR": str(home / n) for n in ("SETTINGS", "WORKSPACES")}
    return {**os.environ, **own, "IPYTHONDIR": str(home / "ipython")}


def wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until a server answers there; what it wrote is the message where it ends instead."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=1).read()
            return
        time.sleep(0.1)
    raise TimeoutError(log.read_text())
