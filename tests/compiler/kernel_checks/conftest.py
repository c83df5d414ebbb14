"""The run under watch is tested alone, also where triton-viz is installed."""

from __future__ import annotations

import pytest

from workbench.compiler.kernel_checks import kernel_checking


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.path.stem.endswith("triton_viz_checks"):
        monkeypatch.setattr(kernel_checking, "find_release", lambda: None)
