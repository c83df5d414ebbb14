"""Computes single nodes of a captured graph from what is known, and only what they need."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import AbstractContextManager, suppress
from operator import (
    iadd,
    iand,
    ifloordiv,
    ilshift,
    imod,
    imul,
    ior,
    ipow,
    irshift,
    isub,
    itruediv,
    ixor,
    setitem,
)
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import (
    CapturedGraph,
    CapturedNode,
    HigherOrderRef,
    OperatorRef,
    filled,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.reference import find_function
from workbench.errors import read_first_line
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.users_launches import UsersLaunch

_RANDOM = frozenset(
    {
        "bernoulli",
        "dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "seed",
        "seeds",
        "normal",
        "multinomial",
        "poisson",
        "exponential",
        "uniform",
        "geometric",
        "cauchy",
    }
)
_NOT_RANDOM = frozenset({"backward", "nll"})
"""Words of an operator beside one of chance: it takes what was drawn, or a loss."""
_EMPTY = re.compile(r"(?:^|\.)(?:new_)?empty(?:_like|_strided|_permuted)?(?:\.|$)")
_IN_PLACE = frozenset(
    {
        setitem,
        iadd,
        iand,
        ifloordiv,
        ilshift,
        imod,
        imul,
        ior,
        ipow,
        irshift,
        isub,
        itruediv,
        ixor,
    }
)


_REFUSALS = (
    RuntimeError,
    NotImplementedError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    AssertionError,
)
"""What operators raise for values that they do not take, and for graphs that are functions here."""
_SELECTS = (
    "aten.embedding",
    "aten.index.",
    "aten.index_select",
    "aten.gather",
    "aten.slice.",
    "aten.select.",
    "aten.view.",
    "aten.permute",
    "aten.expand",
    "aten.unsqueeze",
    "aten.squeeze",
    "aten.reshape",
)
"""What only selects or moves numbers: in every precision it gives the same."""
_CHECKPOINTS = ("tag_activation_checkpoint", "wrap_activation_checkpoint")
"""Operators that call a graph as it is, of `torch.utils.checkpoint`."""


class CannotCompute(Exception):
    """A node that cannot be computed here, such as a Triton kernel of the user on a CPU."""


class IndexedGraph:
    """A captured graph whose nodes are found by name, with what each of them reads."""

    def __init__(self, graph: CapturedGraph):
        self.graph = graph
        self.nodes = {node.name: node for node in graph.nodes}
        self.position = {name: number for number, name in enumerate(self.nodes)}
        self.reads: dict[str, tuple[str, ...]] = {}
        for node in graph.nodes:
            used: defaultdict[str, Any] = defaultdict(lambda: None)
            filled((node.args, node.kwargs), used)  # which then has a key for each that is read
            self.reads[node.name] = tuple(used)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(node.name for node in self.graph.nodes if node.op == "placeholder")

    @property
    def outputs(self) -> tuple[Any, ...]:
        """What it returns, with references to nodes."""
        outputs = next(node.args[0] for node in self.graph.nodes if node.op == "output")
        return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)

    def find_inside(self, name: str, known: Collection[str]) -> tuple[str, ...]:
        """The nodes that are computed for one when these are known, in the order of the graph."""
        return self._walk(name, known)[0]

    def find_leaves(self, name: str, known: Collection[str]) -> frozenset[str]:
        """The known nodes that one is computed from."""
        return self._walk(name, known)[1]

    def _walk(self, name: str, known: Collection[str]) -> tuple[tuple[str, ...], frozenset[str]]:
        inside: set[str] = set()
        leaves: set[str] = set()
        todo = [name]
        while todo:
            at = todo.pop()
            if at in inside:
                continue
            inside.add(at)
            for source in self.reads[at]:
                if source in known or self.nodes[source].op == "placeholder":
                    leaves.add(source)
                else:
                    todo.append(source)
        return tuple(sorted(inside, key=self.position.__getitem__)), frozenset(leaves)


def name_operator(node: CapturedNode) -> str:
    """What a node calls, as people name it."""
    target = node.target
    if isinstance(target, OperatorRef | HigherOrderRef | str):
        return target if isinstance(target, str) else target.name
    return str(getattr(target, "__name__", target))


def is_random(node: CapturedNode) -> bool:
    """Whether a node draws random numbers, or the seeds of such."""
    if not node.op.startswith("call") or isinstance(node.target, UsersLaunch):
        return False
    if isinstance(node.target, OperatorRef):
        try:
            operator = find_function(node.target)
        except AttributeError:  # of a library that is not imported here
            operator = None
        if torch.Tag.nondeterministic_seeded in getattr(operator, "tags", ()):
            arguments = tp.schema_of(operator).arguments
            passed = {arg.name: arg.default_value for arg in arguments} | dict(node.kwargs)
            passed |= {arg.name: value for arg, value in zip(arguments, node.args, strict=False)}
            return bool(passed.get("dropout_p", True))  # attention may draw none
    words = set(re.split(r"[._]", name_operator(node)))
    is_drawing = any(word in _RANDOM or word.startswith("rand") for word in words)
    is_dropout = any(word.startswith("dropout") for word in words)
    return is_drawing and not words & _NOT_RANDOM and not (is_dropout and _is_off(node))


def _is_off(node: CapturedNode) -> bool:
    """Whether a dropout of a module that does not learn drops nothing."""
    arguments = dict(zip(("input", "p", "training"), node.args, strict=False)) | dict(node.kwargs)
    is_on = arguments.get("training", arguments.get("train", True))
    return is_on is False or arguments.get("p") == 0


def is_in_place(node: CapturedNode) -> bool:
    """Whether a node writes to what it is given."""
    if isinstance(node.target, UsersLaunch):
        return node.target.is_in_place
    if isinstance(node.target, OperatorRef):
        operator = find_function(node.target)
        has_schema = isinstance(operator, tp.OPS.get().OpOverload)
        return has_schema and bool(tp.schema_of(operator).is_mutable)
    name = name_operator(node)
    if node.op == "call_method":
        return name.endswith("_") and not name.endswith("__")
    if node.op != "call_function":
        return False
    return node.target in _IN_PLACE or name.endswith("_") or _is_told_to_write(node)


def _is_told_to_write(node: CapturedNode) -> bool:
    """Whether an argument makes a function of torch write, such as `out` or `inplace`."""
    arguments = dict(node.kwargs)
    with suppress(TypeError, ValueError):  # of a function in C++ nobody knows the signature
        names = inspect.signature(node.target).parameters
        arguments |= dict(zip(names, node.args, strict=False))
    is_learning = arguments.get("training", arguments.get("use_input_stats")) is True
    return (
        arguments.get("out") is not None
        or arguments.get("inplace") is True
        or arguments.get("max_norm") is not None  # an embedding scales the rows that are longer
        or (is_learning and arguments.get("running_mean") is not None)
    )


class Cone:
    """Values of nodes in one precision, from the known ones; `known` holds them as they are."""

    mode: Callable[[], AbstractContextManager[Any]] = torch.no_grad

    def __init__(self, graph: IndexedGraph, known: Mapping[str, Any], precision: Precision):
        self._graph = graph
        self._known = known
        self.precision = precision
        self._values: dict[str, Any] = {}

    def value(self, name: str) -> Any:
        """The value of a node; raises `CannotCompute`."""
        todo = [name]
        with self.mode():
            while todo:
                at = todo[-1]
                if at in self._values:
                    todo.pop()
                elif at in self._known:
                    self._values[at] = self.precision.fit(self._known[at])
                elif lacking := [n for n in self._graph.reads[at] if n not in self._values]:
                    todo += lacking
                else:
                    self._values[at] = self.compute(self._graph.nodes[at], self._values)
        return self._values[name]

    def compute(self, node: CapturedNode, values: Mapping[str, Any]) -> Any:
        """One node from the values of others; raises `CannotCompute`."""
        try:
            return self.precision.fit(self._computed(node, values))
        except _REFUSALS as error:
            reason = f"{name_operator(node)}: {read_first_line(error)}"
            raise CannotCompute(reason) from error

    def _computed(self, node: CapturedNode, values: Mapping[str, Any]) -> Any:
        graph = self._graph.graph
        if node.op == "get_attr":
            part = graph.parts.get(node.target)
            return graph.constants[node.target] if part is None else self._callable(part)
        if node.op not in ("call_function", "call_method"):
            raise CannotCompute(f"{node.op} {node.target}")
        is_context = "autocast" in name_operator(node)  # whose type is no type of a value
        change = self.precision.leaf if not is_context else (lambda leaf: leaf)
        args = filled(node.args, values, change)
        kwargs = filled(node.kwargs, values, change)
        if self._must_copy(node):
            args, kwargs = tp.TREE_MAP_ONLY.get()(torch.Tensor, torch.clone, (args, kwargs))
        if isinstance(node.target, UsersLaunch):
            return node.target.run(kwargs["grid"], kwargs["given"], self.precision)
        value = self._called(node, args, kwargs)
        # what lies there by chance is no difference
        return value.zero_() if _EMPTY.search(name_operator(node)) else value

    def _called(self, node: CapturedNode, args: Any, kwargs: Any) -> Any:
        if node.op == "call_method":
            return self.precision.method(node.target)(*args, **kwargs)
        args = self.precision.take_factors(name_operator(node), args)
        if isinstance(node.target, HigherOrderRef):
            if node.target.name == AUTOGRAD_FUNCTION:
                return apply_function(args[0], args[1], args[2:], kwargs)
            if node.target.name in _CHECKPOINTS:  # what is computed twice is the same
                return args[0](*args[1:])
            return getattr(torch.ops.higher_order, node.target.name)(*args, **kwargs)
        return find_function(node.target)(*args, **kwargs)

    def _must_copy(self, node: CapturedNode) -> bool:
        """Whether a node would write to what is known."""
        return is_in_place(node)

    def _callable(self, part: CapturedGraph) -> Any:
        """A graph inside of a graph, as the operator that it belongs to calls it."""

        def call(*args: Any) -> Any:
            inner = IndexedGraph(part)
            inputs = dict(zip(inner.placeholders, args, strict=False))
            cone = Cone(inner, inputs, self.precision)
            cone.mode = torch.enable_grad if torch.is_grad_enabled() else torch.no_grad
            outputs = next(node.args[0] for node in part.nodes if node.op == "output")
            names = inner.reads[part.nodes[-1].name]
            return filled(outputs, {name: cone.value(name) for name in names})

        return call


def select_known(graph: IndexedGraph, name: str, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a node is computed from: known values, those only selected from these among them.

    A few rows of a table of weights are so held in float64, and given noise, and not all of it.
    """
    own = dict(known)
    for inside in graph.find_inside(name, known):
        node = graph.nodes[inside]
        is_selected = inside != name and name_operator(node).startswith(_SELECTS)
        if is_selected and all(source in own for source in graph.reads[inside]):
            own[inside] = Cone(graph, own, Precision.SAME).value(inside)
    return {leaf: own[leaf] for leaf in graph.find_leaves(name, own)}


class _Held(dict[str, Any]):
    """The values of a chain by name; inputs are not held, but looked up and widened when used."""

    def __init__(self, inputs: Mapping[str, Any], precision: Precision):
        super().__init__()
        self.inputs, self._precision = inputs, precision

    def __missing__(self, name: str) -> Any:
        return self._precision.fit(self.inputs[name])


class Chain(Cone):
    """All nodes of a graph in order; what is not used any more is let go of."""

    def __init__(self, graph: IndexedGraph, precision: Precision):
        super().__init__(graph, {}, precision)

    def _must_copy(self, node: CapturedNode) -> bool:
        return False  # later nodes see what is written

    def walk(
        self, inputs: Mapping[str, Any], last_use: Mapping[str, int] | None = None
    ) -> Generator[tuple[int, CapturedNode, Any, Mapping[str, Any]], None, None]:
        """Each node with its place, its value and the values that are held at that time.

        `last_use` are the places until which a value is held beyond its last reader here.
        """
        graph, held = self._graph, _Held(inputs, self.precision)
        ends: dict[int, list[str]] = {}
        for name, place in _find_last_uses(graph, last_use or {}).items():
            ends.setdefault(place, []).append(name)
        # what is written to must be there once, and not be widened anew at each use
        keeps_inputs = any(map(is_in_place, graph.graph.nodes))
        with self.mode():
            for place, node in enumerate(graph.graph.nodes):
                if node.op == "output":
                    held[node.name] = filled(node.args, held)[0]
                elif node.op != "placeholder":
                    held[node.name] = self._computed_or_selected(node, held)
                elif keeps_inputs or self.precision is Precision.SAME:
                    held[node.name] = held[node.name]
                yield place, node, held.get(node.name), held
                for name in ends.get(place, ()):
                    held.pop(name, None)

    def _computed_or_selected(self, node: CapturedNode, held: _Held) -> Any:
        """The value of a node; rows of an input are selected before they are widened."""
        reads = self._graph.reads[node.name]
        is_selected = name_operator(node).rpartition(".")[2] in ("embedding", "index_select")
        if is_selected and all(name in held.inputs and name not in held for name in reads):
            return self.precision.fit(
                Cone(self._graph, held.inputs, Precision.SAME).value(node.name)
            )
        return self.compute(node, held)

    def outputs(self, inputs: Mapping[str, Any]) -> Any:
        """What the graph returns."""
        return next(value for _, node, value, _ in self.walk(inputs) if node.op == "output")


def _find_last_uses(graph: IndexedGraph, later: Mapping[str, int]) -> dict[str, int]:
    last = dict(graph.position)
    for name, reads in graph.reads.items():
        for source in reads:
            last[source] = max(last[source], graph.position[name])
    for name, place in later.items():
        last[name] = max(last[name], place)
    return last


AUTOGRAD_FUNCTION = "autograd_function_apply"
_BEFORE_2_13 = "args_tensor_mask"


def apply_function(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
) -> Any:
    """What the forward gives; gradients through it are those of the backward."""
    context = (None,) if _BEFORE_2_13 in options else ()
    learned = args[: sum(options[_BEFORE_2_13])] if context else args

    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output, ctx.kept = forward(*context, *inputs, *args[len(inputs) :])
            idle = set(options.get("non_differentiable_idx", ()))
            outputs = output if isinstance(output, tuple | list) else (output,)
            ctx.mark_non_differentiable(*(o for n, o in enumerate(outputs) if n in idle))
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*context, *grads, *ctx.kept)

    apply: Callable[..., Any] = Applied.apply
    return apply(*learned)
