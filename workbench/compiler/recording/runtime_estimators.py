"""What torch's partitioner, and its passes over collectives, ask for times, answered by models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.analysis.collectives.links import Links, estimate_collective, find_links
from workbench.analysis.forecast.forecast import PROFILED, time_operator
from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.library_kernels.operator_work import OperatorCall, fill_causal
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import read_product_precision
from workbench.compiler.process_groups.cluster import Cluster
from workbench.compiler.recording.budget_previews import (
    costs_nothing,
    count_tensor_bytes,
    hint,
    tensors_of,
)
from workbench.compiler.recording.collective_nodes import is_collective, list_nodes
from workbench.compiler.recording.collectives import describe_collective, is_start
from workbench.compiler.recording.flops import count_formula_flops
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError
from workbench.specs import Gpu

_LEAST = 1e-9  # seconds of an operator that moves nothing: the partitioner divides by times
Estimate = Callable[[Any, int | None], float | None]
"""An FX node, and bytes in the place of its own message → its ms; None where it is not known."""


class RooflineEstimator(tp.RUNTIME_ESTIMATOR.get()):  # type: ignore[misc]
    """The least time of an operator by itself, in seconds: its bytes, or its operations.

    An estimate: every byte moves once at full bandwidth, and nothing is fused. torch's own
    estimator counts operations alone, so that what only moves memory costs it nothing.
    """

    def __init__(self, gpu: str):
        """`gpu` is a name of `workbench.targets()`; raises `UsageError` for another one."""
        self.gpu = gpu
        self._spec = list_known_gpus()[gpu]

    def __call__(self, node: Any) -> float:
        """The least seconds of one FX node with the sizes of the example inputs."""
        return _LEAST if costs_nothing(node) else max(_bound_node(node, self._spec), _LEAST)

    def uuid(self) -> Any:
        """What caches of torch know it by."""
        return f"roofline of {self.gpu}, 2"

    def __repr__(self) -> str:
        """As it is written."""
        return f'roofline_estimator("{self.gpu}")'


def _bound_node(node: Any, gpu: Gpu) -> float:
    """Seconds by the roofline."""
    moved = (count_tensor_bytes(node) or 0) + sum(
        count_tensor_bytes(source) or 0 for source in node.all_input_nodes
    )
    return max(moved / (gpu.bandwidth_gbs * 1e9), _bound_compute(node, gpu))


def _bound_compute(node: Any, gpu: Gpu) -> float:
    flops = hint(count_formula_flops(node))
    value = next(iter(tensors_of(node)), None)  # attention gives several
    if not flops or value is None:
        return 0.0
    try:
        _, tflops = find_peak_rate(gpu, str(value.dtype), matrix=True)
    except UsageError:  # no rate for this dtype: memory alone bounds it
        return 0.0
    return float(flops) / (tflops * 1e12) if tflops else 0.0


class OverlapEstimator:
    """The ms of a node, for the passes that hide collectives behind kernels.

    Of a collective by NCCL's model with the links that its group has, of a product, convolution or
    attention by the calibrated model, of anything else by the bytes that it moves: a value of
    `aten_distributed_optimizations.custom_runtime_estimation`.
    """

    def __init__(self, gpu: str, cluster: Cluster):
        """`gpu` is a name of `workbench.targets()`; raises `UsageError` for one without links."""
        self.gpu = gpu
        self._spec = list_known_gpus()[gpu]
        links = find_links(self._spec, cluster.facts)
        if isinstance(links, str):
            raise UsageError(f"Collective times are unknown: {links}.")
        # what it decides by is a part of what is pickled: caches of torch tell clusters apart
        self._links, self._groups = links, _count_groups(cluster)

    def __call__(self, node: Any, override_size: int | None = None) -> float | None:
        """Its ms with the sizes of the example inputs; None where no model knows it.

        `override_size` are bytes in the place of the message of a collective.
        """
        if node.op != "call_function":
            return None
        if is_start(node):
            return time_collective(node, override_size, self._groups, self._links)
        return time_compute(node, self._spec)

    def __repr__(self) -> str:
        """As it is written."""
        return f'overlap_estimator("{self.gpu}")'


def answer_timings(
    gpu: Gpu, cluster: Cluster, *, of_compute: bool, of_collectives: bool, given: Estimate | None
) -> Estimate:
    """What a device that is not there would be timed for, by models; None for what it would not.

    `given` are times of the user, which come first, as they do for torch. Anything else is timed by
    torch's own formula, which it leaves out where it is given times.
    """
    links, groups = find_links(gpu, cluster.facts), _count_groups(cluster)

    def estimate(node: Any, override_size: int | None = None) -> float | None:
        if given is not None and (ms := given(node, override_size)) is not None:
            return ms
        if is_start(node):
            if isinstance(links, str) or not of_collectives:
                return None
            return time_collective(node, override_size, groups, links)
        if node.op != "call_function":
            return None
        if of_compute and count_formula_flops(node) is not None:
            return time_compute(node, gpu)
        return None if given is not None else float(tp.ESTIMATE_NODE.get()(node)) or None

    return estimate


def _count_groups(cluster: Cluster) -> Mapping[str, tuple[int, int]]:
    """By name of a process group its ranks, and the nodes that these are on."""
    return {
        name: (len(group.ranks), cluster.count_nodes(group.ranks))
        for name, group in cluster.by_name.items()
    }


def time_collective(
    node: Any, override_size: int | None, groups: Mapping[str, tuple[int, int]], links: Links
) -> float | None:
    """What a node that starts a collective takes, in ms; None where that is not known.

    `override_size` are bytes in the place of its message; `groups` are the ranks and the nodes of
    each process group by its name.
    """
    op, sources, group = describe_collective(node)
    sent = override_size
    if sent is None:  # NCCL counts what an all-gather gives, and what any other takes
        counted = [node] if op == "all_gather" else list_nodes(sources)
        sizes = [count_tensor_bytes(operand) for operand in counted]
        sent = None if None in sizes else sum(size or 0 for size in sizes)
    if sent is None or group not in groups:
        return None
    estimate = estimate_collective(op, sent, *groups[group], links)
    return None if estimate is None else estimate.us / 1e3


def time_compute(node: Any, gpu: Gpu) -> float:
    """What an FX node takes that starts no collective, in ms."""
    if costs_nothing(node) or is_collective(node):  # a wait moves nothing
        return 0.0
    if count_formula_flops(node) is not None and (call := _read_call(node)) is not None:
        tf32 = ("products",) if read_product_precision() == "tf32" else ()
        if (us := time_operator(call, gpu, tf32=tf32).us) is not None:
            return us / 1e3
    return _bound_node(node, gpu) * 1e3


def _read_call(node: Any) -> OperatorCall | None:
    """An operator of a graph with its arguments, in the terms of the model; None without sizes."""
    values = [_take_value(argument) for argument in node.args]
    tensors = [value if isinstance(value, torch.Tensor) else None for value in values]
    shapes = [() if t is None else tuple(map(hint, t.shape)) for t in tensors]
    if any(None in shape for shape in shapes):
        return None
    return fill_causal(
        OperatorCall(
            "::".join(str(node.target).split(".")[:2]),
            shapes,
            ["" if t is None else PROFILED.get(str(t.dtype)[6:], "") for t in tensors],
            [() if t is None else tuple(map(hint, t.stride())) for t in tensors],
            ["" if t is not None else str(v) for t, v in zip(tensors, values, strict=True)],
        )
    )


def _take_value(argument: Any) -> Any:
    return argument.meta.get("val") if isinstance(argument, torch.fx.Node) else argument
