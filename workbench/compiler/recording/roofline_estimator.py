"""What torch's partitioner asks for an operator's time, answered by the roofline of a GPU."""

from __future__ import annotations

from typing import Any

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.budget_previews import (
    costs_nothing,
    count_tensor_bytes,
    hint,
    tensors_of,
)
from workbench.compiler.recording.flops import count_formula_flops
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError

_LEAST = 1e-9  # seconds of an operator that moves nothing: the partitioner divides by times


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
        if costs_nothing(node):
            return _LEAST
        moved = (count_tensor_bytes(node) or 0) + sum(
            count_tensor_bytes(each) or 0 for each in node.all_input_nodes
        )
        return max(moved / (self._spec.bandwidth_gbs * 1e9), self._compute_s(node), _LEAST)

    def uuid(self) -> Any:
        """What caches of torch know it by."""
        return f"roofline of {self.gpu}, 2"

    def __repr__(self) -> str:
        """As it is written."""
        return f'roofline_estimator("{self.gpu}")'

    def _compute_s(self, node: Any) -> float:
        flops = hint(count_formula_flops(node))
        value = next(iter(tensors_of(node)), None)  # attention gives several
        if not flops or value is None:
            return 0.0
        try:
            _, tflops = find_peak_rate(self._spec, str(value.dtype), matrix=True)
        except UsageError:  # no rate for this dtype: memory alone bounds it
            return 0.0
        return float(flops) / (tflops * 1e12) if tflops else 0.0
