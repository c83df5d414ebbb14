"""The run under watch is tested alone, also where triton-viz is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.compiler.kernel_checks import kernel_checking


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_checking, "find_release", lambda: None)
        yield
