from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.interpreter.interpreter_session import Interpreter


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    """One warm interpreter for all tests."""
    interpreter = Interpreter(job_s=300)
    yield interpreter
    interpreter.close()
