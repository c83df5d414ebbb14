"""What some releases of torch do not do, so that a test of it is skipped there."""

from __future__ import annotations

import pytest
import torch

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])


def since(release: str, reason: str) -> pytest.MarkDecorator:
    """Skip a test before a release of torch, such as 2.13, with the reason."""
    first = tuple(int(part) for part in release.split("."))
    return pytest.mark.skipif(first > RELEASE, reason=f"torch before {release}: {reason}")


def until(release: str, reason: str) -> pytest.MarkDecorator:
    """Skip a test from a release of torch on, such as 2.15, with the reason."""
    first = tuple(int(part) for part in release.split("."))
    return pytest.mark.skipif(first <= RELEASE, reason=f"torch since {release}: {reason}")
