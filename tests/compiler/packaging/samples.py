"""Models that the tests package, one for each thing that a package has to carry or refuse."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HISTORY: list[int] = []


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(32, 4)

    def forward(self, x: Tensor, *, scale: float = 2.0) -> Tensor:
        return self.b(torch.relu(self.a(x))) * scale


@dataclass
class Batch:
    ids: Tensor
    mask: Tensor


torch.export.register_dataclass(Batch, serialized_type_name="tests.Batch")


class Nested(nn.Module):
    """Nested inputs and outputs, tied weights, a buffer that is written to, a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 8, bias=False)
        self.down = nn.Linear(8, 8)
        self.down.weight = self.up.weight
        self.register_buffer("calls", torch.zeros(3))
        self.offset = torch.arange(8.0)

    def forward(self, batch: Batch, extra: dict[str, Any], *, flag: bool = False) -> Any:
        self.calls.add_(1)
        x = self.down(self.up(batch.ids)) * batch.mask + self.offset + extra["pair"][1]
        x = x + 1 if flag else x
        return {
            "out": x,
            "all": (x.sum(), batch.ids),
            "none": None,
            "rows": x.shape[0],
            "calls": self.calls + 0,
        }


class Attention(nn.Module):
    """An arbitrary mask, and a function with a gradient of its own."""

    def forward(self, q: Tensor, mask: Tensor) -> Tensor:
        return Square.apply(F.scaled_dot_product_attention(q, q, q, attn_mask=mask))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * grads[0] * x


class OneIsSpecial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(4.0))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] == 1:
            return x - 1
        return x * self.weight


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:  # decides by data
            return x + 1
        return x - 1


class Dispatching(nn.Module):
    operators = (torch.relu, torch.sigmoid)

    def forward(self, x: Tensor, which: Tensor) -> Tensor:
        return self.operators[which.item()](x)  # picks by data


class Recurrent(nn.Module):
    """State in plain places: an attribute, an item of a list, that of an object or of the class."""

    shared = torch.zeros(4)

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self.h = torch.zeros(4)
        self.rows = [torch.zeros(4)]
        self.held = Held(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        if self.place == "attribute":
            self.h = self.h + x  # kept in an attribute
            return self.h * 2
        if self.place == "in place":
            self.h.add_(x)  # written in place
            return self.h * 2
        if self.place == "item":
            self.rows[0] = self.rows[0] + x  # kept in an item
            return self.rows[0] * 2
        if self.place == "class":
            Recurrent.shared = Recurrent.shared + x
            return Recurrent.shared * 2
        self.held.value = self.held.value + x
        return self.held.value * 2


class Held:
    def __init__(self, value: Tensor) -> None:
        self.value = value


class Remembering(nn.Module):
    """A table that is made at the first call, and is the same at every other."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.table is None:
            self.table = torch.arange(x.shape[0]) * 2.0  # made once
        return x + self.table


TOTAL = torch.zeros(4)


def add_to_total(x: Tensor) -> Tensor:
    global TOTAL
    TOTAL = TOTAL + x
    return TOTAL * 2


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1  # read below
        return x * self.count


class Logging(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.log.append(x)  # kept nowhere
        print("a call")
        HISTORY.append(x.shape[0])
        return x + 1


class Training(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout()

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(x))  # other in eval mode


class AskingMode(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if self.training else x


class Reshaping(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(-1, 4, 8)  # four rows at a time


class Adding(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def scaled_from_outside(x: Tensor) -> Tensor:
    scale = float(os.environ["WORKBENCH_TEST_SCALE"])  # of the process
    offset = float(os.environ.get("WORKBENCH_TEST_NONE", "1"))  # not set
    return x * scale + offset + time.time() * 0 + random.random() * 0  # clock, dice
