"""The random numbers of a program, and the original run with them in place of its own.

A GPU draws other numbers from a seed than the CPU. The captured graph says which the program
draws; the original, whose own operators are called as well, gets them in the same order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import (
    CapturedGraph,
    CapturedNode,
    NodeRef,
    OperatorRef,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.device_operators import RANDOM

_OPERATOR: Any = tp.OPS.get().OpOverload
_PREFIX = "prims.inductor_"
_SEEDS = frozenset({"seed", "seeds", "lookup_seed"})
_SEED_NODES = ("prims.inductor_seeds.default", "prims.inductor_seed.default")
_CASTS = ("prims.convert_element_type.default", "aten._to_copy.default")
_HALVES = (torch.float16, torch.bfloat16)
_COMPARED = {"aten.gt.Scalar": "gt", "aten.lt.Scalar": "lt"}


class DrawsDifferError(Exception):
    """The original draws other random numbers than its graph, and which."""


class DrawsCountError(DrawsDifferError):
    """It draws those of its graph as far as both go, and fewer or more of them."""


@dataclass(frozen=True)
class Draw:
    """Numbers that one node of a graph draws.

    `kind` is "rand", "randn", "randint" or the name of an operator; `seed` that of a node which has
    one. `keeps` says how a mask is made of them: ("gt" or "lt", the number, the dtype).
    """

    node: str
    kind: str
    value: torch.Tensor
    seed: int | None = None
    keeps: tuple[str, float, torch.dtype] | None = None


@dataclass
class Draws:
    """Those of the forward graph in order, and those of the backward graph."""

    forward: list[Draw] = field(default_factory=list)
    backward: list[Draw] = field(default_factory=list)
    seeds: list[torch.Tensor] = field(default_factory=list)

    def note(self, graph: CapturedGraph, node: CapturedNode, args: Any, value: Any) -> None:
        """Keep what a node has drawn; what is no random number is passed over."""
        if not isinstance(value, torch.Tensor):
            return
        if isinstance(node.target, OperatorRef) and node.target.name in _SEED_NODES:
            self.seeds.append(value.clone().reshape(-1))
        kind = kind_of(node, args)
        if kind is None:
            return
        seeds = [int(a) for a in args if isinstance(a, torch.Tensor) and a.dtype == torch.int64]
        seed = seeds[0] if seeds and node.target.name.startswith(_PREFIX) else None
        draw = Draw(node.name, kind, value.clone(), seed, _use_of(graph, node.name))
        (self.backward if graph.is_backward else self.forward).append(draw)

    @property
    def are_by_library(self) -> bool:
        """Whether no number is drawn from a seed of the program, as under `fallback_random`."""
        return len(self.by_library) == len(self.forward) + len(self.backward)

    @property
    def by_library(self) -> list[Draw]:
        """What operators of a library draw, which have no seed of the program."""
        return [draw for draw in (*self.forward, *self.backward) if draw.seed is None]

    def differing(self) -> Iterator[tuple[Draw, Draw]]:
        """What is drawn again in the backward program from a seed of the forward, and differs."""
        first = {(d.seed, d.kind): d for d in self.forward if d.seed is not None}
        for again in self.backward:
            once = first.get((again.seed, again.kind)) if again.seed is not None else None
            if once is not None and _are_other(once.value, again.value):
                yield once, again


def _are_other(one: torch.Tensor, other: torch.Tensor) -> bool:
    is_as_long = one.numel() == other.numel()
    return is_as_long and not torch.equal(one.reshape(-1), other.reshape(-1))


def kind_of(node: CapturedNode, args: Any = ()) -> str | None:
    """What a node draws, or None."""
    if node.op != "call_function" or not isinstance(node.target, OperatorRef):
        return None
    name = node.target.name
    if name in RANDOM:
        own = name.removeprefix(_PREFIX).partition(".")[0]
        if own in _SEEDS:
            return None
        return str(args[2]) if own == "random" and len(args) > 2 else own
    parts = name.split(".")
    operator: Any = torch.ops
    for part in parts:
        operator = getattr(operator, part, None)
    tags = getattr(operator, "tags", ())
    return _base(parts[1]) if torch.Tag.nondeterministic_seeded in tags else None


def has_draws(graphs: tuple[CapturedGraph, ...]) -> bool:
    """Whether graphs draw random numbers."""
    return any(
        kind_of(node, node.args) is not None for graph in graphs for node in graph.nodes
    ) or any(has_draws(tuple(graph.parts.values())) for graph in graphs if graph.parts)


def _base(name: str) -> str:
    return name.removesuffix("_").removesuffix("_functional").removesuffix("_like")


def _use_of(graph: CapturedGraph, name: str) -> tuple[str, float, torch.dtype] | None:
    """How the numbers of a node become a mask."""
    dtype = torch.float32
    for node in graph.nodes:
        if (
            not isinstance(node.target, OperatorRef)
            or not node.args
            or not isinstance(node.args, tuple)
        ):
            continue
        if node.args[0] != NodeRef(name):
            continue
        if node.target.name in _CASTS:
            name, dtype = node.name, node.kwargs.get("dtype") or node.args[1]
        elif node.target.name in _COMPARED and isinstance(node.args[1], int | float):
            return _COMPARED[node.target.name], float(node.args[1]), dtype
    return None


class Replay(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Gives every random operator the numbers that the program draws.

    The state of the generator tells the draws apart: what is computed once more from the same
    state, as in a checkpoint, gets the same numbers. Raises `DrawsDifferError` for an operator
    whose numbers are not there.
    """

    def __init__(self, draws: list[Draw]):
        super().__init__()
        self._draws = draws
        self._numbers: dict[str, int] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every draw was asked for."""
        return len(self._numbers) == len(self._draws)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, _OPERATOR) or not _draws(func, kwargs):
            return func(*args, **kwargs)
        state = hashlib.sha256(torch.random.get_rng_state().numpy().tobytes()).hexdigest()
        output = func(*args, **kwargs)  # moves the generator on
        if hashlib.sha256(torch.random.get_rng_state().numpy().tobytes()).hexdigest() == state:
            return output  # nothing was drawn
        number = self._numbers.setdefault(state, len(self._numbers))
        if number >= len(self._draws):
            raise DrawsCountError(f"{func} draws more random numbers than the graph")
        return _with(self._draws[number], func, args, kwargs, output)


class AsDrawn(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Gives the random operators of a library in a program what they drew in its graph.

    A program calls them in an order of its own, on the CPU from one generator with the seeds.
    """

    def __init__(self, draws: Draws):
        super().__init__()
        self._left = list(draws.by_library)
        self._seeds = list(draws.seeds)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        if not isinstance(func, _OPERATOR) or not _draws(func, kwargs):
            return output
        base = _base(tp.schema_of(func).name.partition("::")[2])
        whole = output[0] if isinstance(output, tuple) else output
        if not isinstance(whole, torch.Tensor):
            return output
        if base == "randint" and args[0] == torch.iinfo(torch.int64).min and self._seeds:
            whole.copy_(self._seeds.pop(0).reshape(whole.shape))
            return output
        for draw in self._left:
            if (draw.kind, draw.value.shape) == (base, whole.shape):
                self._left = [one for one in self._left if one is not draw]
                whole.copy_(draw.value)
                break
        return output


def _draws(func: Any, kwargs: Mapping[str, Any]) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags and kwargs.get("generator") is None


def _with(draw: Draw, func: Any, args: Any, kwargs: Mapping[str, Any], output: Any) -> Any:
    """The result of an operator with the numbers of a draw."""
    base = _base(tp.schema_of(func).name.partition("::")[2])
    whole = output[0] if isinstance(output, tuple) else output
    if not isinstance(whole, torch.Tensor) or whole.numel() != draw.value.numel():
        raise DrawsDifferError(f"{func} draws a different number of values than {draw.node}")
    drawn = draw.value.reshape(whole.shape)
    if base == "native_dropout" and draw.kind == "rand":
        keep, scale = _kept(draw, drawn, 1 - float(args[1])), 1 / (1 - float(args[1]))
        return (args[0] * keep) * scale, keep
    numbers = _numbers(draw, func, drawn, args, kwargs)
    if tp.schema_of(func).is_mutable:
        return output.copy_(numbers.to(output.dtype))
    return numbers.to(whole.dtype)


def _numbers(draw: Draw, func: Any, drawn: torch.Tensor, args: Any, named: Any) -> torch.Tensor:
    base = _base(tp.schema_of(func).name.partition("::")[2])
    if base == "bernoulli" and draw.kind == "rand":
        default = (
            0.5 if tp.schema_of(func).is_mutable else args[0]
        )  # bernoulli(x) has its chances in x
        chance = args[1] if len(args) > 1 else named.get("p", default)
        return _kept(draw, drawn, chance)
    if base == draw.kind or (base, draw.kind) == ("random", "randint"):
        return drawn
    if base == "uniform" and draw.kind == "rand":
        low, high = (*args[1:], *(0.0, 1.0)[len(args[1:]) :])[:2]
        scaled: torch.Tensor = drawn * (high - low) + low
        return scaled
    if base == "normal" and draw.kind == "randn":
        mean, deviation = (*args[1:], *(0.0, 1.0)[len(args[1:]) :])[:2]
        shifted: torch.Tensor = drawn * deviation + mean
        return shifted
    raise DrawsDifferError(f"it draws {base}, but the graph draws {draw.kind}")


def _kept(draw: Draw, drawn: torch.Tensor, chance: Any) -> torch.Tensor:
    """The mask of what is kept with a chance: of two that are the same, the one of the graph."""
    if draw.keeps is not None and not isinstance(chance, torch.Tensor):
        how, limit, dtype = draw.keeps
        if how == "gt" and abs(1 - limit - float(chance)) < 1e-6:
            # a kernel of inductor computes 16-bit numbers in float32: its cast rounds nothing
            return (drawn if dtype in _HALVES else drawn.to(dtype)) > limit
    mask: torch.Tensor = drawn < chance
    return mask


_KERNEL = re.compile(
    r"^\w+ = async_compile\.triton\('\w+', r?'''(.*?)'''", re.DOTALL | re.MULTILINE
)
_NODE = re.compile(
    r"^#\s+%(\w+) .*= call_function\[target=torch\.ops\.prims\.inductor_random\b", re.MULTILINE
)
_FOUR, _ONE = re.compile(r"\btriton_helpers\.randn?4x\("), re.compile(r"\btl\.randn?\(")


@dataclass(frozen=True)
class Drawing:
    """`four` are the nodes of the graph whose kernels take all four numbers of each draw.

    `each` is how many every kernel takes, None where kernels differ. Inductor takes four where a
    kernel has one dimension of iterations, from torch 2.13 on; since 2.15 an option asks for it.
    """

    four: frozenset[str] = frozenset()
    each: int | None = 1


ONE_EACH = Drawing()


def read_drawing(source: str) -> Drawing:
    """Read from a generated program: a kernel stands below the nodes that it computes."""
    four: set[str] = set()
    takes: set[int] = set()
    end = 0
    for kernel in _KERNEL.finditer(source):
        above, end = source[end : kernel.start()], kernel.end()
        if _ONE.search(kernel[1]):
            takes.add(1)
        if _FOUR.search(kernel[1]):
            takes.add(4)
            four.update(_NODE.findall(above))
    return Drawing(frozenset(four), max(takes, default=1) if len(takes) < 2 else None)
