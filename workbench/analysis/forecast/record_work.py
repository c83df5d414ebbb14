"""What a kernel of a record computes and moves, in the terms of the calibrated model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from workbench.analysis.fusion.traffic import NodeFacts, bytes_of
from workbench.analysis.library_kernels.kernel_names import Kind, LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, Work, estimate_work
from workbench.report.rows import Kernel
from workbench.specs import Gpu

_PROFILED = {
    "bfloat16": "c10::BFloat16",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "float8_e4m3fn": "c10::Float8_e4m3fn",
    "float8_e5m2": "c10::Float8_e5m2",
}
"""Dtypes as torch.profiler writes them."""


def describe_kernel(
    kernel: Kernel, nodes: Mapping[str, NodeFacts], gpu: Gpu
) -> tuple[LibraryKernel, Work]:
    """The kernel as the model knows it, and the work of one call."""
    if kernel.language == "triton":
        return _describe_generated(kernel, nodes)
    call = _find_call(kernel, nodes)
    if call is None:
        return LibraryKernel(kernel.name), Work(reason="its operator is not in the record")
    # which of its kernels a library takes is not known before: one written for this GPU
    taken = LibraryKernel(kernel.name, _find_kind(call), architecture=gpu.arch)
    return taken, estimate_work(call, taken)


def _describe_generated(
    kernel: Kernel, nodes: Mapping[str, NodeFacts]
) -> tuple[LibraryKernel, Work]:
    read = read_kernel_name(kernel.name)
    if bytes_of(kernel) is None:
        return read, Work(reason="the bytes that it moves are not known")
    calls = max(kernel.calls, 1)
    own = [nodes[id] for id in kernel.nodes if id in nodes]
    sizes = [size for node in own if (size := _count(node.shape)) is not None]
    inputs = [nodes[id] for node in own for id in node.inputs if id in nodes]
    sizes += [size for node in inputs if (size := _count(node.shape)) is not None]
    return read, Work(
        operations=kernel.flops or 0,
        read_bytes=(kernel.bytes_read or 0) // calls,
        written_bytes=(kernel.bytes_written or 0) // calls,
        dtype="float32",
        is_matrix=bool(read.has_matrix_units),
        elements=max(sizes, default=None),
        rows=_find_rows(read.kind, own, nodes),
    )


def _find_rows(
    kind: Kind, own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]
) -> tuple[int, int] | None:
    """Rows that are reduced and their length, by the operator that makes most of one value."""
    if kind != "reduction":
        return None
    found = []
    for node in own:
        whole = [_count(nodes[id].shape) for id in node.inputs if id in nodes]
        made, read = _count(node.shape), max((each for each in whole if each), default=None)
        if made and read and read > made:
            found.append((made, read // made))
    return max(found, key=lambda rows: rows[0] * rows[1], default=None)


def _count(shape: Sequence[int | str] | None) -> int | None:
    """Elements; None where sizes are symbols."""
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int))


def _find_call(kernel: Kernel, nodes: Mapping[str, NodeFacts]) -> OperatorCall | None:
    """The operator that a library computes, with the tensors that it takes."""
    if not kernel.ops:
        return None
    node = next(
        (nodes[id] for id in kernel.nodes if id in nodes and nodes[id].target == kernel.ops[0]),
        None,
    )
    if node is None:
        return None
    inputs = [nodes[id] for id in node.inputs if id in nodes]
    if any(_count(each.shape) is None for each in inputs):
        return None
    return OperatorCall(
        "::".join(node.target.split(".")[:2]),
        [each.shape for each in inputs],
        [_PROFILED.get(each.dtype or "", "") for each in inputs],
        [each.stride or () for each in inputs],
    )


def _find_kind(call: OperatorCall) -> Kind:
    name = call.base_name
    if "attention" in name:
        return "attention"
    is_product = name in ("mm", "addmm", "bmm", "baddbmm", "_scaled_mm") or "convolution" in name
    return "product" if is_product else "other"
