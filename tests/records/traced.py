"""Programs whose compilations `record_traces.py` records: `python traced.py NAME`."""

from __future__ import annotations

import os
import sys

import torch
from torch import Tensor
from torch.nn import functional as F


class Block(torch.nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.up(self.norm(x)))
        return (x + self.down(hidden)).softmax(-1)


def scores(x: Tensor) -> Tensor:
    y = torch.relu(x @ x.T)
    print("scored")
    return (y.softmax(-1) + 1).sum(0)


def looping(x: Tensor) -> Tensor:
    for _ in range(2):
        x = x.sin() + 1
        print("round")
    return x


def scaled(x: Tensor, factor: float) -> Tensor:
    return (x * factor).cumsum(-1)


def stopped(x: Tensor) -> Tensor:
    y = x.relu()
    if y.sum() > 0:
        return y + 1
    return y - 1


@torch.library.custom_op("traced::halve", mutates_args=())
def halve(x: Tensor) -> Tensor:
    return x / 2


@halve.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def halved(x: Tensor) -> Tensor:
    return halve(x.exp()).log()


def recompiles() -> None:
    """Graph breaks, one of them in a loop, and two functions that are compiled again."""
    compiled = torch.compile(scores)
    for size in (8, 12, 16):
        compiled(torch.ones(size, 16))
    torch.compile(looping)(torch.ones(4))
    factored = torch.compile(scaled)
    for factor in (0.5, 2.0, 3.0):
        factored(torch.ones(4, 4), factor)
    factored(torch.ones(4, 4, dtype=torch.float64), 3.0)


def failed() -> None:
    """One function that cannot be one graph, one whose lowering fails, one that compiles."""
    for function in (stopped, halved):
        with torch._inductor.config.patch(post_grad_custom_post_pass=_refuse):
            try:
                torch.compile(function, fullgraph=True)(torch.ones(8))
            except Exception as error:
                print(type(error).__name__)
    torch.compile(halved, fullgraph=True)(torch.ones(8))


def _refuse(graph: torch.fx.Graph) -> None:
    raise ValueError("this pass refuses every graph")


def ranks() -> None:
    """A training step of two processes; the second has another batch size."""
    from torch import distributed

    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.manual_seed(0)
    block = torch.compile(Block())
    block(torch.ones(4 + 2 * rank, 16, requires_grad=True)).sum().backward()
    for parameter in block.parameters():
        distributed.all_reduce(parameter.grad)
    distributed.destroy_process_group()


def unlike() -> None:
    """Two ranks that send nothing: one of their functions starts a collective more on rank 1."""
    import torch.distributed._functional_collectives as sending
    from torch import distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    group = distributed.group.WORLD

    def summed(x: Tensor) -> Tensor:
        return sending.all_reduce(x * 2, "sum", group).relu()

    def gathered(x: Tensor) -> Tensor:
        y = sending.all_reduce(x + 1, "sum", group)
        return sending.all_gather_tensor(y, 0, group) if rank else y

    def rounded(x: Tensor) -> Tensor:
        return x.round()

    for function in (summed, gathered, *([rounded] if rank else [])):
        torch.compile(function, fullgraph=True)(torch.ones(8, 8))
    distributed.destroy_process_group()


def gpu() -> None:
    """Triton kernels, for a virtual GPU; Dynamo is left out of it."""
    import workbench as wb

    wb.aot_compile(weighted, (torch.ones(64, 128), torch.ones(128, 64)), target="h100")


def weighted(x: Tensor, w: Tensor) -> Tensor:
    y = torch.relu(x @ w)
    return y.softmax(-1).sum(0)


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    shapes = (recompiles, failed, ranks, unlike, gpu)
    {shape.__name__: shape for shape in shapes}[sys.argv[1]]()
