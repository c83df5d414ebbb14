"""Whether a known factor is found, and none among equals: `python -m tests.gpu.verdicts [DEVICE]`.

A quiet machine is needed for the first: beside other work a sweep says that it cannot tell.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import workbench as wb
from tests.gpu.figures import print_figure, print_rows, run_steps

MEASURE_S = 2.0


def chain(x: Tensor) -> Tensor:
    """Six steps over x, each with a reduction: kernels that may be joined, or one for each."""
    for _ in range(6):
        x = (x - x.mean(-1, keepdim=True)).sin() * 1.1
    return x


def many_launches(x: Tensor) -> Tensor:
    """Forty small reductions, of rows and of columns in turn: each is a launch."""
    for number in range(40):
        x = (x - x.mean(number % 2, keepdim=True)).sin() * 1.1
    return x


def sweep_chain(device: str) -> wb.Sweep:
    """One kernel against many: the factor is that of the bytes moved."""
    x = torch.randn(4096, 4096, device=device)
    return _sweep(chain, (x,), {"max_fusion_size": [64, 1]})


def sweep_launches(device: str) -> wb.Sweep:
    """Launches one by one against one graph of them."""
    x = torch.randn(64, 64, device=device)
    return _sweep(many_launches, (x,), {"mode": ["default", "reduce-overhead"]})


def sweep_equals(device: str) -> wb.Sweep:
    """Four settings of which none changes the code."""
    x = torch.randn(1024, 1024, device=device)
    return _sweep(chain, (x,), {"max_fusion_size": [64, 65], "epilogue_fusion": [True, False]})


def _sweep(
    fn: Callable[..., Any], args: tuple[Any, ...], over: Mapping[str, Sequence[Any]]
) -> wb.Sweep:
    with tempfile.TemporaryDirectory() as folder:  # nothing that was measured before
        return wb.sweep(fn, args, over=over, store=Path(folder) / "s.sqlite", measure_s=MEASURE_S)


def tell(name: str, made: Callable[[str], wb.Sweep], device: str) -> None:
    """Print what the sweep says and the rows that it says it of."""
    found = made(device)
    ended = [trial for trial in found.trials if trial.status == "done"]
    why = " ".join(f"{dict(t.settings)}: {t.reason}" for t in found.trials if t.reason)
    said = str(found.best()) if ended else f"no trial has ended well: {why}"
    rows = [
        {
            "settings": str(dict(trial.settings)),
            "call_us": trial.call_us,
            "baseline_us": trial.baseline_us,
            "disturbed": trial.disturbed,
            "said": said,
        }
        for trial in found.trials
    ]
    print_rows(f"sweep of {name}", rows)
    sure = [verdict for verdict in found.frame()["verdict"] if verdict in ("faster", "slower")]
    print_figure(
        f"configurations of {name} with a verdict", len(sure), "count", note=said.partition(". ")[0]
    )


def main(device: str = "cuda") -> int:
    """Every sweep, one after the other."""
    makers = {"the chain": sweep_chain, "many launches": sweep_launches, "equals": sweep_equals}
    return run_steps({name: _step(name, made, device) for name, made in makers.items()})


def _step(name: str, made: Callable[[str], wb.Sweep], device: str) -> Callable[[], object]:
    return lambda: tell(name, made, device)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
