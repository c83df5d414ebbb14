from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.virtual_gpu.client import CrossCompiler


@pytest.fixture(scope="session")
def worker() -> Iterator[CrossCompiler]:
    """One warm worker for all tests."""
    worker = CrossCompiler(start_s=120, job_s=300)
    yield worker
    worker.close()
