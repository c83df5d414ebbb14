from __future__ import annotations

import pytest
import recording

from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.report import Report


@pytest.fixture(scope="session")
def trained() -> Report:
    """A module, forward and backward, recorded by `torch.compile`."""
    with start_fast():
        return recording.record_training()


@pytest.fixture(scope="session")
def compiled_function() -> Report:
    """A function with a gradient, recorded by `aot_compile`."""
    with start_fast():
        return recording.record_function(grad=True)
