"""Small programs that nobody chose: inputs and bodies put together from parts by a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

HEAD = """
import collections
import dataclasses
import torch
import torch.nn.functional as F

SCALE = 2.0
FLAGS = {"relu": True}
STEPS = [1, 2]
WEIGHT = torch.linspace(-1, 1, 6)
Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Box:
    value: torch.Tensor
    times: int


def helper(z, times=2):
    return z * times + 1


def make_adder(n):
    def add(z):
        return z + n
    return add


add_three = make_adder(3)


class Block(torch.nn.Module):
    def __init__(self, train, hooked):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(6, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.register_buffer("shift", torch.ones(6))
        self.calls = 0
        self.train(train)
        if hooked:
            self.linear.register_forward_hook(lambda module, given, out: out * 2)

    def forward(self, z):
        return self.norm(self.linear(z)) + self.shift


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, z):
        self.seen.add_(1)
        return z * self.seen
"""

FIRST: Mapping[str, str] = {
    "plain": "torch.randn(4, 6)",
    "transposed": "torch.randn(6, 4).t()",
    "strided": "torch.randn(8, 6)[::2]",
    "shifted": "torch.randn(5, 6)[1:]",
    "expanded": "torch.randn(4, 1).expand(4, 6)",
    "one row": "torch.randn(1, 6)",
    "no rows": "torch.randn(0, 6)",
    "double": "torch.randn(4, 6, dtype=torch.float64)",
    "bfloat16": "torch.randn(4, 6).bfloat16()",
    "trained": "torch.randn(4, 6, requires_grad=True)",
    "parameter": "torch.nn.Parameter(torch.randn(4, 6))",
    "three axes": "torch.randn(2, 4, 6)",
}
"""How `x` is made, by what is special in it."""

SECOND: Mapping[str, tuple[str, str]] = {
    "another": ("torch.randn(4, 6)", "y"),
    "the same": ("x", "y"),
    "a view": ("x.detach()[:1]", "y"),
    "whole numbers": ("torch.arange(6)", "y"),
    "bools": ("torch.tensor([True, False, True, True, False, True])", "y"),
    "no axes": ("torch.tensor(2.5)", "y"),
    "None": ("None", "(0 if y is None else 1)"),
    "an int": ("3", "y"),
    "a float": ("0.5", "y"),
    "a bool": ("True", "(2 if y else 3)"),
    "a text": ("'sum'", "(1 if y == 'sum' else 2)"),
    "a list": ("[torch.ones(6), torch.zeros(6)]", "(y[0] - y[1])"),
    "a dict": ("{'w': torch.ones(6), 'n': 2}", "(y['w'] * y['n'])"),
    "a tuple": ("(torch.ones(6), None)", "(y[0] if y[1] is None else y[1])"),
    "a named tuple": ("Pair(torch.ones(6), 2)", "(y.left * y.right)"),
    "a data class": ("Box(torch.ones(6), 2)", "(y.value * y.times)"),
    "a function": ("F.relu", "y(WEIGHT)"),
    "a complex number": ("torch.randn(6, dtype=torch.complex64)", "y.real"),
}
"""How `y` is made, and what the body takes of it."""

BODIES: tuple[str, ...] = (
    "t = t * SCALE",
    "t = helper(t)",
    "t = helper(t, times=3)",
    "t = add_three(t)",
    "t = t + WEIGHT.to(t.dtype)",
    "t = F.gelu(t) if FLAGS['relu'] else t",
    "for step in STEPS:\n    t = t + step",
    "if t.shape[-1] > 3:\n    t = t - 1\nelse:\n    t = t + 1",
    "t = torch.where(t > 0, t, -t)",
    "t = t.transpose(-1, -2).contiguous().transpose(-1, -2)",
    "t = t[..., ::2].repeat_interleave(2, -1)",
    "t = torch.cat([t, t], 0)[: t.shape[0]]",
    "t = t.softmax(-1)",
    "t = t - t.mean(-1, keepdim=True)",
    "t = t.sort(-1).values",
    "t = (t @ t.transpose(-1, -2)).sum(-1, keepdim=True) + t",
    "t = t.clone()\nt.add_(1)",
    "t = t.clone()\nt[..., 0] = 2",
    "t = t.clone()\nt[t > 1] = 0",
    "with torch.no_grad():\n    u = t * 2\nt = t + u",
    "t = sum([t, t], torch.zeros_like(t))",
    "d = {'a': t, 'b': 2}\nt = d['a'] * d['b']",
    "left, right = Pair(t, t + 1)\nt = left + right",
    "def inner(z):\n    return z + t.mean()\nt = inner(t)",
    "n = 0\nwhile n < 3:\n    t, n = t + n, n + 1",
    "t = torch.stack([row * i for i, row in enumerate([t, t])]).sum(0)",
    "t = torch.einsum('...i,i->...i', t, WEIGHT.to(t.dtype))",
    "t = F.pad(t, (1, 1))[..., 1:-1]",
    "t = t.to(torch.float64).to(t.dtype)",
    "t = t.flatten().reshape(t.shape)",
    "try:\n    t = t + FLAGS['no such']\nexcept KeyError:\n    t = t + 1",
    "t = t.masked_fill(t < 0, 0.5)",
    "t = torch.vmap(lambda row: row * 2)(t) if t.shape[0] else t",
)
RISKY: tuple[str, ...] = (
    "x.add_(1)",
    "x[..., 0] = 3",
    "x.detach().mul_(2)",
    "if t.sum() > 0:\n    t = t + 1",
    "n = int(t.sum().item() * 0) + 2\nt = t * n",
    "print(end='')",
    "FLAGS['seen'] = True",
    "global SCALE\nSCALE = SCALE",
    "t = t[t.sum(-1) > 0].sum(0) + t",
    "t = torch.autograd.grad(t.sum(), x)[0] if x.requires_grad else t",
    "t = t + torch.tensor(t.shape[0]).to(t.dtype)",
    "t = t.detach().numpy().sum() + t",
    "assert t.shape[-1] == 6\nt = t * 1",
    "t = torch.nonzero(t).sum() + t",
)
ENDS: tuple[str, ...] = (
    "return t",
    "return t, t.sum()",
    "return {'t': t, 'n': 3}",
    "return [t, None]",
    "return t.shape, t",
    "return t.transpose(-1, -2)",
    "return t[..., :2], t[..., 2:]",
    "return x, t",
    "return Pair(t, 1)",
    "return 3",
)
MODULES: tuple[str, ...] = (
    "Block(train=False, hooked=False)",
    "Block(train=True, hooked=False)",
    "Block(train=False, hooked=True)",
    "Counter()",
    "torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(6, 6))",
    "torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.0))",
)


@dataclass(frozen=True)
class Program:
    """The source of a module with `make()`, which gives what is called, and `inputs()`.

    `make` is called anew for each way of running it, and `inputs` for each call.
    """

    seed: int
    source: str


def program(seed: int) -> Program:
    """The program of a seed: the same on every machine."""
    chosen = random.Random(seed)
    first = FIRST[chosen.choice(list(FIRST))]
    second, use = SECOND[chosen.choice(list(SECOND))]
    body = chosen.sample(BODIES, chosen.randint(1, 4))
    body += chosen.sample(RISKY, chosen.choice((0, 0, 1)))
    chosen.shuffle(body)
    module = chosen.choice(MODULES) if chosen.random() < 0.35 else None
    lines = ["t = x" if module is None else "t = block(x)", f"t = t + {use}", *body]
    lines = [line for part in (*lines, chosen.choice(ENDS)) for line in part.split("\n")]
    function = "\n".join(f"    {line}" for line in lines)
    if module is None:
        called = f"def run(x, y):\n{function}\n\n\ndef make():\n    return run\n"
    else:
        inner = "\n".join(f"    {line}" for line in function.split("\n"))
        inner = inner.replace("block(x)", "self.block(x)")
        called = (
            "class Run(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            f"        torch.manual_seed(0)\n        self.block = {module}\n\n"
            f"    def forward(self, x, y):\n{inner}\n\n\n"
            "def make():\n    return Run()\n"
        )
    inputs = (
        "def inputs():\n"
        f"    torch.manual_seed({seed})\n"
        f"    x = {first}\n"
        f"    y = {second}\n"
        "    return x, y\n"
    )
    return Program(seed, f"{HEAD}\n\n{called}\n\n{inputs}")
