"""Loads saved operators in a process of its own, compares with eager, prints what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import workbench as wb
from tests.operators.results import assert_agrees, results


def wrong(folder: Path) -> str | None:
    """What is wrong with one loaded operator; None when it agrees with eager."""
    args, kwargs, expected, wide = torch.load(folder / "call.pt", weights_only=False)
    try:
        found = results(wb.load(folder / "op.aot"), args, kwargs)
        assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
        for a, b, c in zip(found, expected, wide, strict=True):
            assert_agrees(a, b, c)
    except Exception as error:  # every operator is told, not the first only
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        print(json.dumps([folder.name, wrong(folder)]), flush=True)
