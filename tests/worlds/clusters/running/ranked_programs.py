"""Programs for two and four ranks, with values: right ones, and each kind of wrong one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional

from tests.worlds.clusters.parallel_models import (
    Block,
    Experts,
    shard_parameters,
    split_columns_and_rows,
    split_sequence,
)

Build = Callable[[Any], Any]
ONE, TWO = {"tp": 4}, {"dp": 2, "tp": 2}


def inputs() -> torch.Tensor:
    return torch.randn(4, 8, 32, generator=torch.Generator().manual_seed(1))


def block() -> Block:
    torch.manual_seed(0)
    return Block(32, 64, 8)


def tensor_parallel(mesh: Any) -> Any:
    return split_columns_and_rows(block(), mesh["tp"])


def sequence_parallel(mesh: Any) -> Any:
    own = inputs().chunk(4, 1)[mesh.get_local_rank("tp")].contiguous()
    return split_sequence(block(), mesh["tp"]), (own,)


def fully_sharded(mesh: Any) -> Any:
    return shard_parameters(block(), mesh["tp"]), (inputs().chunk(4)[mesh.get_local_rank("tp")],)


def both(mesh: Any) -> Any:
    module = shard_parameters(split_columns_and_rows(block(), mesh["tp"]), mesh["dp"])
    return module, (inputs().chunk(2)[mesh.get_local_rank("dp")],)


def experts(mesh: Any) -> Any:
    torch.manual_seed(mesh.get_local_rank("tp"))
    return Experts(32, mesh["tp"]), (torch.randn(8, 32),)


class Two(torch.nn.Module):
    """Two products with a ReLU between them, of inputs `[batch, seq, 32]`."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.up = torch.nn.Linear(32, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, 32, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


def two(hidden: int = 64) -> Two:
    torch.manual_seed(0)
    return Two(hidden)


def by_hand(reduce: Callable[[torch.Tensor, Any], torch.Tensor]) -> Build:
    """The two products split by hand: columns, then rows; `reduce` puts the parts together."""

    def build(mesh: Any) -> Any:
        whole, rank, size = two(), mesh.get_local_rank("tp"), mesh["tp"].size()
        up = whole.up.weight.detach().chunk(size, 0)[rank].clone()
        down = whole.down.weight.detach().chunk(size, 1)[rank].clone()

        def products(x: torch.Tensor) -> torch.Tensor:
            return reduce(torch.relu(x @ up.T) @ down.T, mesh)

        return products

    return build


def added(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return functional.all_reduce(y, "sum", (mesh, mesh.ndim - 1))


def averaged(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return functional.all_reduce(y, "avg", (mesh, mesh.ndim - 1))


def of_other_ranks(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return functional.all_reduce(y, "sum", (mesh, 0))


def twice(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return functional.all_reduce(added(y, mesh), "sum", (mesh, 0))


def left_out(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return y * 1.0


def left_out_on_one(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return y if dist.get_rank() == 3 else added(y, mesh)


def otherwise_on_one(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    op = "max" if dist.get_rank() == 3 else "sum"
    return functional.all_reduce(y, op, (mesh, mesh.ndim - 1))


def off_on_one(y: torch.Tensor, mesh: Any) -> torch.Tensor:
    return added(y, mesh) * (1.5 if dist.get_rank() == 2 else 1.0)
