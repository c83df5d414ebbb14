"""Programs of child processes, written down where a test needs one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[[str], str]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Makes an importable program with this `main(parent)`."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(body: str) -> str:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "child_program.py").write_text(f"def main(parent):\n{lines}")
        return "child_program"

    return make
