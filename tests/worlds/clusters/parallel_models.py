"""One block of a transformer, made parallel in the ways that people do."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.distributed import _functional_collectives as functional
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Attention(torch.nn.Module):
    """Causal attention of heads of 16, or of `head`, of inputs `[batch, seq, width]`."""

    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.head = head
        self.q, self.k, self.v, self.o = (
            torch.nn.Linear(width, width, bias=False) for _ in range(4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        q, k, v = (
            of(x).view(batch, seq, -1, self.head).transpose(1, 2) for of in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, seq, -1))


class FeedForward(torch.nn.Module):
    """A gated product of inputs `[batch, seq, width]`."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, hidden, bias=False)
        self.gate = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(torch.nn.Module):
    """A layer as Llama has it, of inputs `[batch, seq, width]`."""

    def __init__(self, width: int, hidden: int, head: int = 16) -> None:
        super().__init__()
        self.attention, self.feed = Attention(width, head), FeedForward(width, hidden)
        self.before, self.between = torch.nn.RMSNorm(width), torch.nn.RMSNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x))
        return x + self.feed(self.between(x))


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


_COLUMNS = ("attention.q", "attention.k", "attention.v", "feed.up", "feed.gate")
_ROWS = ("attention.o", "feed.down")


def split_columns_and_rows(block: Block, mesh: Any) -> Block:
    """Tensor parallel: an all-reduce behind the last product of each half."""
    styles = {name: ColwiseParallel() for name in _COLUMNS}
    styles |= {name: RowwiseParallel() for name in _ROWS}
    return parallelize_module(block, mesh, styles)  # type: ignore[return-value]


def split_sequence(block: Block, mesh: Any) -> Block:
    """Tensor parallel with activations between the halves that stay split along the sequence."""
    styles: dict[str, Any] = {name: ColwiseParallel() for name in _COLUMNS}
    styles |= {name: RowwiseParallel(output_layouts=Shard(1)) for name in _ROWS}
    styles |= {name: SequenceParallel() for name in ("before", "between")}
    for name in ("attention", "feed"):
        styles[name] = PrepareModuleInput(
            input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
        )
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
