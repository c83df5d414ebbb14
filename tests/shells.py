"""An IPython in which cells run, as fixtures: a bare one, one with the workbench, its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult, InteractiveShell


@pytest.fixture
def bare_shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """A fresh IPython that keeps no history and knows nothing of us."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config, ipython_dir=str(tmp_path))
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(bare_shell: InteractiveShell) -> InteractiveShell:
    """The same with the workbench loaded."""
    bare_shell.run_line_magic("load_ext", "workbench")
    return bare_shell


@pytest.fixture
def run(shell: InteractiveShell) -> Callable[[str], ExecutionResult]:
    def run(cell: str) -> ExecutionResult:
        return shell.run_cell(cell, store_history=True)

    return run
