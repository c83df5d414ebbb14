from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.interpreter.client import Interpreter
from workbench.compiler.virtual_gpu.client import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """One warm compiler for all tests."""
    worker = Worker(start_s=120, job_s=300)
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    """One warm interpreter for all tests."""
    interpreter = Interpreter(start_s=120, run_s=300)
    yield interpreter
    interpreter.close()
