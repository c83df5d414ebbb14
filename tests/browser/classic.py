"""A Notebook 7 of its own with empty settings: the same pages as JupyterLab in another frame."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.driving import Lab, Watched, run_all, serving


@dataclass(frozen=True)
class Classic(Lab):
    """A running Notebook 7."""

    def open(self, watched: Watched, name: str, *, run: bool = True) -> None:
        """Show one notebook, and run all its cells."""
        watched.page.goto(f"{self.url}/notebooks/{name}")
        watched.page.wait_for_selector(".jp-NotebookPanel .jp-Notebook")
        if run:
            run_all(watched.page)


@contextmanager
def running_classic(folder: Path, home: Path) -> Iterator[Classic]:
    """A Notebook 7 that serves `folder`, with everything of its own in `home`."""
    program = [sys.executable, "-m", "notebook"]
    own = ["--JupyterNotebookApp.expose_app_in_browser=True"]
    with serving(program, own, folder, home) as url:
        yield Classic(url, folder)
