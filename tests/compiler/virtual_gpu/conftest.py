from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.virtual_gpu.client import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """One warm worker for all tests."""
    worker = Worker(start_s=120, job_s=300)
    yield worker
    worker.close()
