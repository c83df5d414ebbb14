"""Loads packages where there is only torch: run in a fresh process by the tests."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import torch

NOT_THERE = ("IPython", "pandas", "matplotlib", "ipywidgets", "anywidget", "pygments", "orjson")
COMPILERS = ("torch._dynamo", "torch._inductor", "triton")
SLOW = ("workbench.report.record", "workbench.report.rows")  # to import


def forbidden(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError(f"a child process: {args}")


def main(small: str, tied: str) -> None:
    for name in (*NOT_THERE, "cloudpickle", "transformers"):
        sys.modules[name] = None  # type: ignore[assignment]
    subprocess.Popen.__init__ = forbidden  # type: ignore[method-assign]
    import workbench as wb

    assert wb.load(small)(torch.randn(4, 16), torch.randn(4, 8)).shape == (4, 8)
    batch = {"ids": torch.zeros(4, 8, dtype=torch.int64), "mask": torch.ones(4, 8)}
    assert wb.load(tied)(batch)["logits"].shape == (4, 8, 50)
    heavy = [
        name for name in sys.modules if name.startswith((*COMPILERS, *SLOW)) and sys.modules[name]
    ]
    assert not heavy, heavy
    print("both ran")


if __name__ == "__main__":
    main(*sys.argv[1:])
