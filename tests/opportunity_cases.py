"""Programs in which a rule finds something, with what measures whether it helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional as F

import workbench as wb
from workbench.analysis.opportunities.opportunity import Cost, Opportunity, read_cost
from workbench.handles.opportunities.opportunities import Opportunities

Inputs = tuple[Any, ...]
GPU = {"target": "h100", "grad": False}
HOST = {"grad": False}
GRAD = {"grad": True}
ROWS = {"x": {0: torch.export.Dim("rows", min=2)}}


@dataclass(frozen=True)
class Case:
    """One program; `instead` is the same as the replacement says, where none is tried by itself."""

    name: str
    rule: str
    function: Callable[..., Any]
    inputs: Callable[[], Inputs]
    compile: Mapping[str, Any] = field(default_factory=lambda: HOST)
    instead: Callable[..., Any] | None = None
    is_built: bool = False  # `function` makes it first
    measure: str = "bytes"  # or "kernels", "bound_us"


@dataclass(frozen=True)
class Outcome:
    """What was predicted and what was measured, of one case."""

    case: Case
    opportunity: Opportunity
    before: Cost
    after: Cost
    agrees: bool | None

    @property
    def predicted(self) -> tuple[float, float]:
        """The range, of what the case measures."""
        found = self.opportunity
        if self.case.measure == "kernels":
            return found.fewer_kernels or 0, found.fewer_kernels or 0
        low, high = {
            "bytes": (found.saved_bytes_low, found.saved_bytes_high),
            "bound_us": (found.saved_us_low, found.saved_us_high),
        }[self.case.measure]
        return low or 0, high or 0

    @property
    def measured(self) -> float:
        """The same, counted in what was compiled."""
        name = self.case.measure
        return float(getattr(self.before, name) - getattr(self.after, name))


def run(case: Case) -> Outcome:
    """Compile, ask what to do, do it, count."""
    torch.manual_seed(0)
    inputs = case.inputs()
    function = case.function() if case.is_built else case.function
    compiled = wb.aot_compile(function, inputs, **case.compile)
    found = wb.opportunities(compiled)[case.rule]
    if case.instead is None:
        tried = found.try_()
        return Outcome(case, found.opportunity, tried.before, tried.after, tried.agrees)
    other = wb.aot_compile(case.instead, inputs, **case.compile)
    agrees = None
    if compiled.target == "host":
        torch.testing.assert_close(other(*inputs), compiled(*inputs))
        agrees = True
    costs = read_cost(compiled.report), read_cost(other.report)
    return Outcome(case, found.opportunity, *costs, agrees)


def found_in(function: Callable[..., Any], inputs: Inputs, **compile: Any) -> Opportunities:
    """What the rules find in a program."""
    return wb.opportunities(wb.aot_compile(function, inputs, **{**HOST, **compile}))


def random(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def copied(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x.t().contiguous() @ y) + 1


class Copying(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64, 96))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = self.weight.t().contiguous()
        return torch.relu(x @ turned)


class Pictures(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))))


class Words(torch.nn.Module):
    """A small GPT-2 of transformers."""

    def __init__(self) -> None:
        super().__init__()
        from tests.models import zoo

        self.model = zoo.build("gpt2", layers=2, width=256, length=64, words=1000).model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, use_cache=False).logits


def words() -> Inputs:
    return (torch.randint(0, 1000, (8, 64)),)


def best(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, places = torch.topk(torch.relu(x), 1, -1)
    return values * 2, places


def best_by_max(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, places = torch.relu(x).max(-1, keepdim=True)
    return values * 2, places


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex((x * 0.5).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2) + 1


def turned_by_parts(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x * 0.5
    real, imag = half[..., 0::2], half[..., 1::2]
    return torch.stack((real * cos - imag * sin, real * sin + imag * cos), -1).flatten(-2) + 1


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax((q @ k.transpose(-1, -2)) * 0.125, -1) @ v


def attended_by_library(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    q, k, v = (part.unsqueeze(1) for part in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, scale=0.125).squeeze(1)


def grown(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    hidden, kept = x[:, 0], x
    for _ in range(6):
        hidden = torch.tanh(hidden @ w)
        kept = torch.cat([kept, hidden.unsqueeze(1)], dim=1)
    return kept


def scaled(x: torch.Tensor) -> torch.Tensor:
    steps = torch.arange(x.shape[-1], dtype=torch.float64, device=x.device) / 7
    return torch.relu(x * steps + 1) * steps


def activated(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.gelu(x @ w)


def averaged(old: list[torch.Tensor], new: list[torch.Tensor]) -> list[torch.Tensor]:
    return [a * 0.9 + b * 0.1 for a, b in zip(old, new, strict=True)]


def lists(count: int) -> Callable[[], Inputs]:
    shapes = [(64, 32 + n) for n in range(count)]
    return lambda: tuple([torch.randn(s) for s in shapes] for _ in range(2))


def columns(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 0) * 2


CASES = (
    Case("copy before a product", "copied-matrix", copied, random((512, 256), (512, 384))),
    Case("copied weight", "copied-matrix", Copying().eval(), random((32, 96))),
    Case("copy, H100", "copied-matrix", copied, random((512, 256), (512, 384)), GPU),
    Case("images", "channels-last", Pictures().eval(), random((2, 8, 32, 32))),
    Case("images, H100", "channels-last", Pictures().eval(), random((2, 8, 64, 64)), GPU),
    Case("topk of one", "topk-of-one", best, random((512, 1000)), instead=best_by_max),
    Case("topk, H100", "topk-of-one", best, random((512, 1000)), GPU, best_by_max),
    Case(
        "complex rotation",
        "complex-numbers",
        turned,
        random((8, 64, 64), (64, 32), (64, 32)),
        instead=turned_by_parts,
    ),
    Case(
        "attention",
        "attention-by-hand",
        attended,
        random(*[(8, 512, 64)] * 3),
    ),
    Case(
        "attention, H100",
        "attention-by-hand",
        attended,
        random(*[(16, 512, 64)] * 3),
        GPU,
        attended_by_library,
    ),
    Case("tensor that grows", "tensor-that-grows", grown, random((4, 4, 64), (64, 64))),
    Case("tensor that grows, H100", "tensor-that-grows", grown, random((4, 4, 64), (64, 64)), GPU),
    Case("float64", "float64-creeps-in", scaled, random((256, 512))),
    Case("float64, H100", "float64-creeps-in", scaled, random((256, 512)), GPU),
    Case(
        "gradients in eval()",
        "unneeded-gradients",
        Copying().eval(),
        random((32, 96)),
        GRAD,
        measure="kernels",
    ),
    Case("bfloat16, H100", "half-precision", activated, random((1024, 512), (512, 2048)), GPU),
    Case(
        "bfloat16 time, H100",
        "half-precision",
        activated,
        random((4096, 1024), (1024, 4096)),
        GPU,
        measure="bound_us",
    ),
    Case(
        "TF32, H100",
        "tf32",
        activated,
        random((2048, 1024), (1024, 2048)),
        GPU,
        measure="bound_us",
    ),
    Case("epilogue, H100", "product-epilogue", activated, random((2048, 1024), (1024, 2048)), GPU),
    Case("12 updates, H100", "independent-kernels", averaged, lists(12), GPU, measure="kernels"),
    Case(
        "fixed sizes, H100",
        "fixed-sizes",
        columns,
        random((1000, 256)),
        {**GPU, "dynamic_shapes": ROWS},
    ),
    Case(
        "GPT-2 in bfloat16, H100",
        "half-precision",
        lambda: Words().eval(),
        words,
        GPU,
        is_built=True,
    ),
    Case(
        "GPT-2 with templates, H100",
        "product-epilogue",
        lambda: Words().eval(),
        words,
        GPU,
        is_built=True,
    ),
    Case(
        "30 updates, A100",
        "independent-kernels",
        averaged,
        lists(30),
        {"target": "a100", "grad": False},
        measure="kernels",
    ),
)
"""What the benchmark records; the fast tests run those of the host and one for a GPU."""
