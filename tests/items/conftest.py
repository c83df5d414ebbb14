from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Nothing that a block compiled is there for the next one."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()
