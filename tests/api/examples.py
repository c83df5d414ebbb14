"""One small object of each kind that the package hands out, and calls of its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.api.wrong_arguments import SKIPPED, Call, given_by_name, scaled

X = torch.randn(4, 4)
PROTOCOLS = ("__call__", "__getitem__", "__contains__")
RECORDS = ("from_json", "to_json", "from_bytes", "to_bytes")
"""How records are read and written, by the readers that refuse damaged files."""


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("here")
    return y * 2


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q.double() @ k.double().transpose(-1, -2), -1).float() @ v


def summed(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu().sum()


def quick_examples() -> dict[str, Any]:
    """Those that take no machine code to make."""
    compiled = wb.aot_compile(scaled, (X,), backend="eager")
    with wb.session() as live:
        torch.compile(scaled, backend="eager")(X)
    live.save("session.wbs")
    job = wb.compile_async(scaled, (X,), backend="eager")
    job.result()
    return {
        "Job": job,
        **sweep_examples(),
        "Fit": wb.fits(torch.nn.Linear(2, 2), (torch.ones(2, 2),), target="h100"),
        "Session": wb.Session.load("session.wbs"),
        "Diff": wb.diff(compiled, compiled),
    }


def sweep_examples() -> dict[str, Any]:
    """A sweep and its row, where there is that world."""
    if "sweep" not in wb.__all__:
        return {}
    sweep = wb.sweep(scaled, (X,), over={"backend": ["eager"]})
    return {"Sweep": sweep, "Trial": sweep.trials[0]}


def slow_examples() -> dict[str, Any]:
    """Those that are compiled, for a virtual GPU too, or tried."""
    q = torch.randn(1, 2, 8, 8)
    found = wb.opportunities(wb.aot_compile(attention, (q, q, q), grad=False))
    cross = wb.aot_compile(scaled, (torch.randn(64, 64),), target="h100", grad=False)
    step = wb.aot_compile(summed, (X.clone().requires_grad_(),), grad=True)
    rehearsal = wb.rehearse(broken, (X,))
    kernel = cross.report.kernels[0].id
    return {
        "RoundTrip": wb.roundtrip(
            wb.aot_compile(scaled, (X,), backend="eager"), (X,), ways=("eager",)
        ),
        "Variants": wb.variants(doubled, [(X,)]),
        "Rehearsal": rehearsal,
        "RehearsedCure": rehearsal.cures[0],
        "Opportunities": found,
        "Opportunity": found[0],
        "CrossCompiled": cross,
        "Matrix": wb.matrix(cross, targets=["h100", "a100"]),
        "RankedConfigs": cross.rank_configs(kernel, warps=[4], stages=[1]),
        "Memory": cross.memory(),
        "Budgets": step.checkpoint(),
    }


def calls_of(examples: dict[str, Any], folder: Path) -> Iterator[Call]:
    """Their public methods, and what Python calls by itself where the package says how."""
    given = {
        "path": folder / "out",
        "name": "kernels",
        "args": (X,),
        "key": 0,
        "kernel": "k0",
        "a": "h100",
        "b": "a100",
        "target": "h100",
        "budget": 0.5,
        "row": 0,
    }
    for kind, example in examples.items():
        for name, method in inspect.getmembers(type(example), callable):
            if name in PROTOCOLS and _is_ours(method):
                yield Call(f"{kind}.{name}", getattr(example, name), {})
            elif not name.startswith("_") and name not in (*SKIPPED, *RECORDS):
                bound = getattr(example, name)
                yield Call(f"{kind}.{name}", bound, given_by_name(bound, given))


def read_attributes(examples: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each public attribute of them, and what a notebook shows."""
    for kind, example in examples.items():
        yield f"repr({kind})", lambda e=example: repr(e)
        for name in dir(example):
            if not name.startswith("_"):
                yield f"{kind}.{name}", lambda e=example, n=name: getattr(e, n)


def _is_ours(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).startswith("workbench")
