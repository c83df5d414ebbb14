"""Runs a captured graph on the CPU, node by node: what the kernels of the program should give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import (
    AS_COMPUTED,
    WITHOUT_BIAS,
    CapturedGraph,
    CapturedNode,
    HigherOrderRef,
    OperatorRef,
    filled,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.device_operators import RANDOM, STAND_INS, random
from workbench.compiler.interpreter.random_draws import ONE_EACH, Drawing

_HALVES = (torch.float32, torch.float16, torch.bfloat16)

OnDraw = Callable[[CapturedGraph, CapturedNode, Any, Any], None]
"""Told of every node with its arguments and value, which may be random numbers."""

UsersLaunch = Callable[[CapturedGraph, Mapping[str, Any]], None]
"""Launches a Triton kernel of the user; the mapping are the arguments of its node."""


class GraphRunner:
    """Runs graphs; with `float64` every value and every cast of a float is in that precision.

    Random numbers are drawn as the program does, by `drawing`.
    """

    def __init__(
        self,
        *,
        float64: bool = False,
        launch: UsersLaunch | None = None,
        drawing: Drawing = ONE_EACH,
        on_draw: OnDraw | None = None,
    ):
        self._on_draw = on_draw
        self._float64 = float64
        self._launch = launch
        self._drawing = drawing

    def run(
        self, graph: CapturedGraph, inputs: Sequence[Any], keep: Iterable[str] = ()
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs, and the values of the nodes in `keep` and of the inputs."""
        names = set(keep)
        last = _last_uses(graph)
        values: dict[str, Any] = {}
        remaining = iter(inputs)
        kept_values: dict[str, Any] = {}
        output: Any = None
        for number, node in enumerate(graph.nodes):
            if node.op == "placeholder":
                values[node.name] = kept_values[node.name] = self._wide(next(remaining))
            elif node.op == "output":
                output = filled(node.args, values)[0]
            else:
                values[node.name] = self._wide(self._value(graph, node, values))
            if node.name in names:
                kept_values[node.name] = values[node.name]
            if (then := f"{node.name}{AS_COMPUTED}") in names:
                kept_values[then] = _copied(values[node.name])
            if (bare := f"{node.name}{WITHOUT_BIAS}") in names:
                kept_values[bare] = self._wide(self._value(graph, _without_bias(node), values))
            for name in last.get(number, ()):
                values.pop(name, None)
        return output, kept_values

    def _value(self, graph: CapturedGraph, node: CapturedNode, values: Mapping[str, Any]) -> Any:
        if node.op == "get_attr":
            part = graph.parts.get(node.target)
            if part is not None:
                return lambda *args: self.run(part, args)[0]
            return graph.constants[node.target]
        args = filled(node.args, values, self._change)
        kwargs = filled(node.kwargs, values, self._change)
        if isinstance(node.target, HigherOrderRef):
            if "kernel_idx" in kwargs:
                return self._users_kernel(graph, node.target, kwargs)
            if (stand_in := STAND_INS.get(f"higher_order.{node.target.name}")) is not None:
                operator, *args = args  # the program calls it as it is, seeds included
                function = STAND_INS.get(operator.name) or _find_operator(operator)
                value = stand_in(function, *args, **kwargs)
                if self._on_draw is not None:
                    self._on_draw(graph, replace(node, target=operator), args, value)
                return value
            operator = getattr(torch.ops.higher_order, node.target.name)
            return operator(*args, **kwargs)
        function = find_function(node.target)
        if function is random and node.name in self._drawing.four:
            kwargs["each"] = 4
        value = function(*args, **kwargs)
        if self._on_draw is not None:
            self._on_draw(graph, node, args, value)
        return value

    def _users_kernel(
        self, graph: CapturedGraph, target: HigherOrderRef, kwargs: dict[str, Any]
    ) -> Any:
        """What the kernel gives: the tensors that a functional one copies, or nothing."""
        if self._launch is None:
            raise NotImplementedError("a user-written Triton kernel")
        if target.name == "triton_kernel_wrapper_mutation":
            self._launch(graph, kwargs)
            return None
        copied = {
            name: value.clone() if name in kwargs["tensors_to_clone"] else value
            for name, value in kwargs["kwargs"].items()
        }
        self._launch(graph, kwargs | {"kwargs": copied})
        return {name: copied[name] for name in kwargs["tensors_to_clone"]}

    def _wide(self, value: Any) -> Any:
        if not self._float64:
            return value
        if isinstance(value, torch.Tensor) and value.dtype in _HALVES:
            return value.double()
        if isinstance(value, tuple | list):
            return type(value)(self._wide(part) for part in value)
        return value

    def _change(self, leaf: Any) -> Any:
        is_narrow = self._float64 and isinstance(leaf, torch.dtype) and leaf in _HALVES
        return torch.float64 if is_narrow else leaf


def find_function(target: Any) -> Any:
    """What a node calls: an operator by its name, one of a GPU by its stand-in on the CPU."""
    if not isinstance(target, OperatorRef):
        return target
    stand_in = STAND_INS.get(target.name) or RANDOM.get(target.name)
    return _find_operator(target) if stand_in is None else stand_in


def _find_operator(target: OperatorRef) -> Any:
    operator: Any = torch.ops
    parts = target.name.split(".")
    if not hasattr(getattr(operator, parts[0]), parts[1]):
        tp.INDUCTOR_LOWERING.get()  # registers operators of its own
    for part in parts:
        operator = getattr(operator, part)
    return operator


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _without_bias(convolution: CapturedNode) -> CapturedNode:
    features, weight, _, *others = convolution.args
    return replace(convolution, args=(features, weight, None, *others))


def _last_uses(graph: CapturedGraph) -> dict[int, list[str]]:
    """Which values are not needed any more after each node."""
    last: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        used: defaultdict[str, Any] = defaultdict(lambda: None, {node.name: None})
        filled((node.args, node.kwargs), used)  # which then has a key for each that was asked for
        last.update(dict.fromkeys(used, number))
    ends: dict[int, list[str]] = {}
    for name, number in last.items():
        ends.setdefault(number, []).append(name)
    return ends
