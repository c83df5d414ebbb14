"""Where Python was when a process of the tests crashed: in the report of its test.

With several processes the stack goes to the process's own output, far from the summary.
"""

from __future__ import annotations

import faulthandler
from pathlib import Path
from typing import Any

import pytest

_STACKS = "stacks_of_a_crash"
_RUNNERS = ("/_pytest/", "/pluggy/", "/xdist/", "/execnet/", "<string>", "Extension modules")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Name the file that a process writes its stacks to when it crashes."""
    folder = Path(node.config._tmp_path_factory.getbasetemp())
    node.workerinput[_STACKS] = str(folder / f"{node.gateway.id}-stacks.txt")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In such a process: after pytest's own plugin, which writes to the output."""
    path = getattr(session.config, "workerinput", {}).get(_STACKS)
    if path is not None:
        file = open(path, "w")  # noqa: SIM115  # open until the process ends
        session.config.add_cleanup(file.close)
        faulthandler.enable(file=file)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: Any) -> None:
    """Add the stacks to what is said of the test that ran; none where it was killed."""
    stacks = Path(report.node.workerinput[_STACKS])
    lines = stacks.read_text().splitlines() if stacks.exists() else []
    told = [line for line in lines if not any(runner in line for runner in _RUNNERS)]
    words = "\n".join(told) or "no stack: it was killed from outside"
    report.longrepr = f"{report.longrepr}\n{words}"
