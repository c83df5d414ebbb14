"""A marimo notebook that runs as an app: a host without Jupyter, whose outputs are shadow roots."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.driving import free_port, wait_for


@contextmanager
def running_marimo(notebook: str, home: Path) -> Iterator[str]:
    """The address of a notebook, given as the text of its file, with all of its own in `home`."""
    (home / "shown.py").write_text(notebook)
    port = free_port()
    command = [sys.executable, "-m", "marimo", "-q", "run", "shown.py", "--headless", "--no-token"]
    with (home / "marimo.log").open("w") as log:
        server = subprocess.Popen(
            [*command, f"--port={port}"],
            cwd=home,
            env={**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(server, f"http://127.0.0.1:{port}/health", home / "marimo.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)
