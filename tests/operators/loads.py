"""Loads saved operators in a process of its own, compares with eager, prints what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

import workbench as wb


def wrong(folder: Path) -> str | None:
    """What is wrong with one loaded operator; None when it agrees with eager."""
    args, kwargs, expected = torch.load(folder / "call.pt", weights_only=False)
    try:
        found = tree_leaves(wb.load(folder / "op.aot")(*args, **kwargs))
        for a, b in zip(found, expected, strict=True):
            _compare(a, b)
    except Exception as error:  # every operator is told, not the first only
        return f"{type(error).__name__}: {error}"
    return None


def _compare(a: Any, b: Any) -> None:
    if isinstance(b, torch.Tensor):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
    else:
        assert a == b, f"{a} is not {b}"


if __name__ == "__main__":
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        print(json.dumps([folder.name, wrong(folder)]), flush=True)
