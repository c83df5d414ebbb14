"""Right programs and the passes that make them wrong: every engine that compares finds each.

`make()` called with `args()` is right; compiled with `options()`, a pass over the graph after all
of Inductor's makes one `effect` wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn
from torch.fx import Graph, Node
from torch.nn import functional as F

Effect = Literal[
    "output", "input", "buffer", "attribute", "gradient", "random state", "alias", "strides"
]
aten: Any = torch.ops.aten


@dataclass(frozen=True)
class WrongProgram:
    """A right program, and the pass by which its compiled code is wrong."""

    name: str
    make: Callable[[], Any]
    """The function or module, a new one each time."""
    args: Callable[[], tuple[Any, ...]]
    fault: Callable[[Graph], None]
    effect: Effect
    others: dict[str, Any] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """What it is compiled with."""
        return {"post_grad_custom_post_pass": self.fault, **self.others}

    def __str__(self) -> str:
        return self.name


def _random(*sizes: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _learned(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return _random(*sizes, dtype=dtype).requires_grad_()


def _output(graph: Graph) -> Node:
    return next(node for node in graph.nodes if node.op == "output")


def _is_backward(graph: Graph) -> bool:
    return any("tangents" in node.name for node in graph.nodes if node.op == "placeholder")


def _called(graph: Graph, *targets: Any) -> list[Node]:
    return [node for node in graph.nodes if node.target in targets]


def _made(graph: Graph, target: Any, *args: Any, **kwargs: Any) -> Node:
    """A new node with the value that it stands for, as lowering asks of every node."""
    node = graph.call_function(target, args, kwargs)
    values = torch.fx.node.map_arg((args, kwargs), lambda one: one.meta["val"])
    example = next((n.meta["val"] for n in node.all_input_nodes), None)
    mode = getattr(example, "fake_mode", None)
    if mode is None:
        mode = next(n.meta["val"] for n in graph.nodes if "val" in n.meta).fake_mode
    with mode:
        node.meta["val"] = target(*values[0], **values[1])
    return node


def _round_to_bfloat16(graph: Graph, value: Node) -> Node:
    """By its bits: generated code leaves out a cast there and back."""
    bits = _made(graph, aten.view.dtype, value, torch.int32)
    bits = _made(graph, aten.add.Tensor, bits, 0x8000)
    bits = _made(graph, aten.bitwise_and.Scalar, bits, -0x10000)
    return _made(graph, aten.view.dtype, bits, torch.float32)


def changed_outputs(
    change: Callable[[Graph, list[Any]], list[Any]], backward: bool = False
) -> Callable[[Graph], None]:
    """A pass that gives other outputs, of the forward or of the backward graph."""

    def fault(graph: Graph) -> None:
        if _is_backward(graph) is not backward:
            return
        end = _output(graph)
        with graph.inserting_before(end):
            end.args = (tuple(change(graph, list(end.args[0]))),)

    return fault


def changed_output(
    change: Callable[[Graph, Node], Node], at: int = 0, backward: bool = False
) -> Callable[[Graph], None]:
    """A pass that gives one output otherwise."""

    def changed(graph: Graph, outputs: list[Any]) -> list[Any]:
        outputs[at] = change(graph, outputs[at])
        return outputs

    return changed_outputs(changed, backward)


def times(factor: float) -> Callable[[Graph, Node], Node]:
    """A value multiplied."""
    return lambda graph, value: _made(graph, aten.mul.Tensor, value, factor)


def off_by_digits(count: int, bits: torch.dtype) -> Callable[[Graph, Node], Node]:
    """Every number some last digits further from zero."""

    def off(graph: Graph, value: Node) -> Node:
        dtype = value.meta["val"].dtype
        whole = _made(graph, aten.view.dtype, value, bits)
        more = _made(graph, aten.add.Tensor, whole, count)
        return _made(graph, aten.view.dtype, more, dtype)

    return off


def zeroed_column(at: int) -> Callable[[Graph, Node], Node]:
    """A column of a matrix is zero."""

    def zeroed(graph: Graph, value: Node) -> Node:
        rows = value.meta["val"].shape[0]
        example = value.meta["val"]
        zeros = _made(
            graph,
            aten.full.default,
            [rows],
            0.0,
            dtype=example.dtype,
            device=example.device,
            pin_memory=False,
        )
        return _made(graph, aten.select_scatter.default, value, zeros, 1, at)

    return zeroed


def _without_writes(graph: Graph) -> None:
    for node in _called(graph, aten.copy_.default):
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)


def _with_writes_of(factor: float) -> Callable[[Graph], None]:
    def fault(graph: Graph) -> None:
        for node in _called(graph, aten.copy_.default):
            with graph.inserting_before(node):
                node.args = (node.args[0], _made(graph, aten.mul.Tensor, node.args[1], factor))

    return fault


def _coarse_sum(graph: Graph) -> None:
    """A sum whose accumulator is bfloat16: rounded after each sixteenth."""
    for node in _called(graph, aten.sum.dim_IntList):
        source = node.args[0]
        size = source.meta["val"].shape[-1] // 16
        with graph.inserting_before(node):
            total: Node | None = None
            for start in range(0, 16 * size, size):
                part = _made(graph, aten.slice.Tensor, source, 1, start, start + size)
                wide = _made(
                    graph, torch.ops.prims.convert_element_type.default, part, torch.float32
                )
                one = _made(graph, aten.sum.dim_IntList, wide, [1])
                total = one if total is None else _made(graph, aten.add.Tensor, total, one)
                total = _round_to_bfloat16(graph, total)
            assert total is not None
            dtype = node.meta["val"].dtype
            last = _made(graph, torch.ops.prims.convert_element_type.default, total, dtype)
        node.replace_all_uses_with(last)
        graph.erase_node(node)


def _coarse_product(graph: Graph) -> None:
    """A product of matrices whose sum is rounded to bfloat16 after each eighth."""
    for node in _called(graph, aten.mm.default):
        left, right = node.args
        size = left.meta["val"].shape[1] // 8
        with graph.inserting_before(node):
            total: Node | None = None
            for start in range(0, 8 * size, size):
                parts = [
                    _made(graph, aten.slice.Tensor, whole, dim, start, start + size)
                    for whole, dim in ((left, 1), (right, 0))
                ]
                one = _made(graph, aten.mm.default, *parts)
                wide = _made(
                    graph, torch.ops.prims.convert_element_type.default, one, torch.float32
                )
                total = wide if total is None else _made(graph, aten.add.Tensor, total, wide)
                total = _round_to_bfloat16(graph, total)
            assert total is not None
            dtype = node.meta["val"].dtype
            last = _made(graph, torch.ops.prims.convert_element_type.default, total, dtype)
        node.replace_all_uses_with(last)
        graph.erase_node(node)


def _one_key_more(graph: Graph) -> None:
    for node in _called(graph, aten.lt.Scalar):
        node.args = (node.args[0], node.args[1] + 1)


def _one_draw_more(graph: Graph) -> None:
    end = _output(graph)
    with graph.inserting_before(end):
        device = next(one.meta["val"].device for one in end.args[0] if isinstance(one, Node))
        drawn = _made(
            graph, aten.rand.default, [1], dtype=torch.float32, device=device, pin_memory=False
        )
        nothing = _made(graph, aten.mul.Tensor, drawn, 0.0)
        outputs = [
            _made(graph, aten.add.Tensor, one, nothing) if isinstance(one, Node) else one
            for one in end.args[0]
        ]
        end.args = (tuple(outputs),)


def _nan_for_infinity(graph: Graph, value: Node) -> Node:
    difference = _made(graph, aten.sub.Tensor, value, value)
    return _made(graph, aten.add.Tensor, value, difference)


def _copied(graph: Graph, value: Node) -> Node:
    return _made(graph, aten.clone.default, value)


def _laid_out(memory_format: torch.memory_format) -> Callable[[Graph, Node], Node]:
    return lambda graph, value: _made(graph, aten.clone.default, value, memory_format=memory_format)


def _without(*targets: Any) -> Callable[[Graph], None]:
    """Operators that give their argument."""

    def fault(graph: Graph) -> None:
        for node in _called(graph, *targets):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)

    return fault


def _with_argument(target: Any, at: int, value: Any) -> Callable[[Graph], None]:
    """One argument of an operator is another."""

    def fault(graph: Graph) -> None:
        for node in _called(graph, target):
            args = list(node.args)
            args[at] = value
            node.args = tuple(args)

    return fault


def written_input(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    x.add_(1)
    return y


class Counter(nn.Module):
    """Writes a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(x.sum(0))
        return x + 1


class Remembering(nn.Module):
    """Keeps a value as an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x * 3
        return x + 1


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    keys = torch.arange(k.shape[0], device=k.device)
    scores = (q @ k.t()).masked_fill(~(keys < 500), float("-inf"))
    return scores.softmax(-1) @ v


def _qkv() -> tuple[torch.Tensor, ...]:
    sizes = (8, 512, 512)
    return tuple(_random(n, 16, dtype=_BRAIN, seed=at) for at, n in enumerate(sizes))


def _uneven() -> tuple[torch.Tensor, ...]:
    return _random(16, 6), torch.tensor([1e3, 1.0, 1.0, 1e-5, 10.0, 1.0])


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


def _of(function: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: function


def _one(*sizes: int, dtype: torch.dtype = torch.float32) -> Callable[[], tuple[Any, ...]]:
    return lambda: (_random(*sizes, dtype=dtype),)


_HALF, _BRAIN = torch.float16, torch.bfloat16
_NO_CHANCE = {"fallback_random": True}
_OWN_STRIDES = {"keep_output_stride": False}  # Inductor lays outputs out as before its passes

WRONG: tuple[WrongProgram, ...] = (
    WrongProgram(
        "dropped write to an input", _of(written_input), _one(4, 8), _without_writes, "input"
    ),
    WrongProgram(
        "wrong write to an input", _of(written_input), _one(4, 8), _with_writes_of(1.01), "input"
    ),
    WrongProgram("dropped write to a buffer", Counter, _one(4, 8), _without_writes, "buffer"),
    WrongProgram(
        "wrong running mean",
        lambda: nn.BatchNorm1d(8),
        _one(16, 8),
        _with_writes_of(0.999),
        "buffer",
    ),
    WrongProgram(
        "lost write to an attribute",
        Remembering,
        _one(4, 8),
        changed_outputs(
            lambda graph, outputs: [
                _made(graph, aten.mul.Tensor, one, 0.0)
                if isinstance(one, Node) and one.args[1] == 3
                else one
                for one in outputs
            ]
        ),
        "attribute",
    ),
    WrongProgram(
        "bfloat16 off by three digits",
        _of(lambda x: x * 2),
        _one(4, 8, dtype=_BRAIN),
        changed_output(off_by_digits(3, torch.int16)),
        "output",
    ),
    WrongProgram(
        "float16 off by three digits",
        _of(lambda x: x.sin()),
        _one(4, 8, dtype=_HALF),
        changed_output(off_by_digits(3, torch.int16)),
        "output",
    ),
    WrongProgram(
        "float32 off by forty digits",
        _of(lambda x: x.exp()),
        _one(4, 8),
        changed_output(off_by_digits(40, torch.int32)),
        "output",
    ),
    WrongProgram(
        "bfloat16 accumulator of a sum",
        _of(lambda x: x.abs().sum(-1)),
        _one(8, 512, dtype=_BRAIN),
        _coarse_sum,
        "output",
    ),
    WrongProgram(
        "bfloat16 accumulator of a product",
        _of(product),
        lambda: (_random(8, 512, dtype=_BRAIN).abs(), _random(512, 8, dtype=_BRAIN).abs()),
        _coarse_product,
        "output",
    ),
    WrongProgram(
        "tanh off by 1.5 %",
        _of(lambda x: x.tanh()),
        _one(8, 8, dtype=_BRAIN),
        changed_output(times(1.015)),
        "output",
    ),
    WrongProgram("a masked key of 512 attended", _of(attention), _qkv, _one_key_more, "output"),
    WrongProgram(
        "small column zeroed",
        _of(lambda x, scale: x * scale),
        _uneven,
        changed_output(zeroed_column(3)),
        "output",
    ),
    WrongProgram(
        "small column of a gradient zeroed",
        _of(lambda x, scale: (x * scale).sin()),
        lambda: (_learned(16, 6), _uneven()[1]),
        changed_output(zeroed_column(3), backward=True),
        "gradient",
    ),
    WrongProgram(
        "one draw too many",
        _of(lambda x: x + torch.rand(8, device=x.device)),
        _one(4, 8),
        _one_draw_more,
        "random state",
        _NO_CHANCE,
    ),
    WrongProgram(
        "a draw where there is none",
        _of(lambda x: x + 1),
        _one(4, 8),
        _one_draw_more,
        "random state",
        _NO_CHANCE,
    ),
    WrongProgram(
        "lost gradient",
        _of(lambda x: x.sin()),
        lambda: (_learned(4, 8),),
        changed_output(times(0.0), backward=True),
        "gradient",
    ),
    WrongProgram(
        "wrong gradient",
        _of(lambda x: x.sin() * 3),
        lambda: (_learned(4, 8),),
        changed_output(times(1.01), backward=True),
        "gradient",
    ),
    WrongProgram(
        "wrong gradient in bfloat16",
        _of(lambda x: x.sin()),
        lambda: (_learned(4, 8, dtype=_BRAIN),),
        changed_output(off_by_digits(3, torch.int16), backward=True),
        "gradient",
    ),
    WrongProgram(
        "wrong dtype",
        _of(lambda x: x + 1),
        _one(4, 8),
        changed_output(
            lambda graph, value: _made(
                graph, torch.ops.prims.convert_element_type.default, value, torch.float64
            )
        ),
        "output",
    ),
    WrongProgram(
        "NaN for infinity",
        _of(lambda x: (x * 100).exp()),
        _one(4, 8),
        changed_output(_nan_for_infinity),
        "output",
    ),
    WrongProgram(
        "swapped outputs",
        _of(lambda x: (x + 1, x - 1)),
        _one(4, 8),
        changed_outputs(lambda graph, outputs: outputs[::-1]),
        "output",
    ),
    WrongProgram(
        "lost alias of two outputs",
        _of(lambda x: (lambda y: (y, y[0]))(x + 1)),
        _one(4, 8),
        changed_output(_copied, at=1),
        "alias",
    ),
    WrongProgram(
        "gained alias of two outputs",
        _of(lambda x: (lambda y: (y, y.clone()))(x + 1)),
        _one(4, 8),
        changed_outputs(lambda graph, outputs: [outputs[0]] * 2),
        "alias",
    ),
    WrongProgram(
        "wrong strides",
        _of(lambda x: (x + 1).t()),
        _one(4, 8),
        changed_output(_laid_out(torch.contiguous_format)),
        "strides",
        _OWN_STRIDES,
    ),
    WrongProgram(
        "lost channels_last",
        _of(lambda x: x.to(memory_format=torch.channels_last) * 2),
        _one(2, 3, 4, 5),
        changed_output(_laid_out(torch.contiguous_format)),
        "strides",
        _OWN_STRIDES,
    ),
    WrongProgram(
        "dropped relu",
        _of(lambda x: F.relu(x) + 1),
        _one(4, 8),
        _without(aten.relu.default),
        "output",
    ),
    WrongProgram(
        "shifted roll",
        _of(lambda x: F.pad(x, (1, 0)).cumsum(1)[:, :8]),
        _one(4, 8),
        _with_argument(aten.constant_pad_nd.default, 1, [0, 1]),
        "output",
    ),
    WrongProgram(
        "whole numbers off by one",
        _of(lambda x: x.argsort(-1)),
        _one(4, 8),
        changed_output(lambda graph, value: _made(graph, aten.add.Tensor, value, 1)),
        "output",
    ),
    WrongProgram(
        "wrong sign",
        _of(lambda x: x.sort(-1).values),
        _one(4, 8),
        changed_output(times(-1.0)),
        "output",
    ),
)
"""Thirty of them; the name is unique."""
