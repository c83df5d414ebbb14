from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.interpreter.client import Interpreter


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    """One warm interpreter for all tests."""
    interpreter = Interpreter(start_s=120, run_s=300)
    yield interpreter
    interpreter.close()
