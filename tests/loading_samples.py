"""What the tests of saving and loading compile; imported by the loading process too."""

from __future__ import annotations

import collections
from typing import Any

import torch

SCALES = {"up": 3.0}


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Two kernels around a library call."""
    return (torch.relu(x @ y) * 3 + 1).sum(-1)


class Block(torch.nn.Module):
    """A module with a mutated buffer, tied weights and a module alias in its bytecode."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 16)
        self.second = torch.nn.Linear(16, 16)
        self.second.weight = self.first.weight
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> Any:
        """An OrderedDict, which Dynamo makes through a module alias."""
        self.calls += 1
        hidden = torch.nn.functional.gelu(self.first(x))
        return collections.OrderedDict(out=self.second(hidden).softmax(-1), hidden=hidden)


class Doubled(torch.nn.Module):
    """Twice what a layer gives, by name."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """The result under its name."""
        return {"twice": 2 * torch.relu(self.linear(x))}


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """The same ones in every process."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(8, 16, generator=generator), torch.randn(16, 4, generator=generator)


def block() -> Block:
    """The same weights in every process."""
    torch.manual_seed(0)
    return Block()


def keep_serialisable(entries: Any) -> list[bool]:
    """The guards that can be saved."""
    from torch._dynamo.guards import CheckFunctionManager

    unsaved = set(CheckFunctionManager.UNSUPPORTED_SERIALIZATION_GUARD_TYPES)
    return [
        not (e.is_global or e.guard_type in unsaved or unsaved & set(e.derived_guard_types or ()))
        for e in entries
    ]


def compiled(fn: Any, args: tuple[Any, ...], backend: str = "inductor", **options: Any) -> Any:
    """What torch makes of it ahead of time."""
    from workbench.compiler.cold_start.compile_cache import start_fast

    chosen = {"guard_filter_fn": keep_serialisable, **options}
    with start_fast():
        result = torch.compile(fn, backend=backend, fullgraph=True, options=chosen)
        target = result.forward if isinstance(fn, torch.nn.Module) else result
        return target.aot_compile((args, {}))


def wasteful(x: torch.Tensor) -> torch.Tensor:
    """Draws numbers that nothing reads."""
    torch.rand(3)
    return x * 2


def mixed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Small numbers, and a copy in a tuple."""
    return x.t() * 1.01e-7, x[1:].clone()


def mixed_original(x: torch.Tensor) -> list[torch.Tensor]:
    """Other numbers, and a view in a list."""
    return [x.t() * 1e-7, x[1:]]
