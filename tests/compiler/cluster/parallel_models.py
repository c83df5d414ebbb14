"""One block of a transformer, made parallel in the ways that people do."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.distributed import _functional_collectives as functional
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Block(torch.nn.Module):
    """A norm and a gated product, of inputs `[batch, seq, width]`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(width)
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.gate = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Experts(torch.nn.Module):
    """One expert a rank: two all-to-alls around it, of inputs that are sorted by expert."""

    def __init__(self, width: int, mesh: Any) -> None:
        super().__init__()
        self.expert = torch.nn.Linear(width, width, bias=False)
        self.group = mesh.get_group()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        there = functional.all_to_all_single_autograd(x, None, None, self.group)
        return functional.all_to_all_single_autograd(self.expert(there), None, None, self.group)


class _Gathered(torch.nn.Module):
    """A shard of a parameter as the whole of it; `outer` is how that lies on another mesh."""

    def __init__(self, mesh: Any, outer: Any) -> None:
        super().__init__()
        self.mesh, self.outer = mesh, outer

    def forward(self, shard: Any) -> Any:
        whole = shard.redistribute(placements=[Replicate()])
        local = whole.to_local(grad_placements=[Partial("avg")])
        return (
            local if self.outer is None else DTensor.from_local(local, *self.outer, run_check=False)
        )


def split_columns_and_rows(block: Block, mesh: Any) -> Block:
    """Tensor parallel: an all-reduce behind the last product."""
    styles = {"up": ColwiseParallel(), "gate": ColwiseParallel(), "down": RowwiseParallel()}
    return parallelize_module(block, mesh, styles)  # type: ignore[return-value]


def split_sequence(block: Block, mesh: Any) -> Block:
    """Tensor parallel with activations that stay split along the sequence."""
    styles = {
        "norm": SequenceParallel(use_local_output=False),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "gate": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
    }
    return parallelize_module(block, mesh, styles)  # type: ignore[return-value]


def shard_parameters(module: torch.nn.Module, mesh: Any) -> torch.nn.Module:
    """FSDP as a parametrisation: an all-gather of each parameter, a reduce-scatter of its grad."""
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            local, outer = parameter.data, None
            if isinstance(local, DTensor):
                local, outer = local.to_local(), (local.device_mesh, local.placements)
            shard = distribute_tensor(local, mesh, [Shard(0)], src_data_rank=None)
            setattr(part, name, torch.nn.Parameter(shard))
            torch.nn.utils.parametrize.register_parametrization(
                part, name, _Gathered(mesh, outer), unsafe=True
            )
    return module
