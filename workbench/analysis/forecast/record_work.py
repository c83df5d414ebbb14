"""What a kernel of a record computes and moves, in the terms of the calibrated model."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.fusion.traffic import NodeFacts, bytes_of, read_kernel_nodes
from workbench.analysis.gpu_model.roofline import rooflines
from workbench.analysis.kernel_time.kernel_time import (
    KernelTime,
    LibraryCall,
    LibraryLaunch,
    time_kernel,
)
from workbench.analysis.library_kernels.kernel_names import Kind, LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import (
    OperatorCall,
    Work,
    estimate_work,
    fill_causal,
)
from workbench.report import Kernel, Report
from workbench.report.machine_rows import KernelRoofline
from workbench.specs import Gpu

PROFILED = {
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
_NUMEL = re.compile(r"^    ([xyz]|r\d_)numel = (\d+)$", re.MULTILINE)
_CONVOLVED = re.compile(
    r"assert_size_stride\(\w+, (\([\d, ]+\)), (\([\d, ]+\)), 'torch\.ops\.aten\.convolution"
)
_CALLED = re.compile(r"^ +(\w+)(?:: \"[^\"]*\")? = (torch\.ops\.[^;\n]*\))(?:;|$)", re.MULTILINE)
_CONTROL_DEPS = "torch.ops.higher_order.control_deps("
_WITH_RANDOM_STATE = re.compile(
    r"torch\.ops\.higher_order\.(?:graphsafe_run_with|run_with|run_and_save)_rng_state\("
)
"""How torch calls an operator that may draw and is computed again: with the same random state."""
_ORDERED = re.compile(
    r"^ +class (\w+)\(torch\.nn\.Module\):\n +def forward\(self[^\n]*\n(?: +#[^\n]*\n)*"
    r" +\w+(?:: \"[^\"]*\")? = (torch\.ops\.[^;\n]*\))(?:;|$)",
    re.MULTILINE,
)
"""A graph that holds one operator, which torch only orders: its name and the call."""


@dataclass(frozen=True)
class RecordedWork:
    """What one call of a kernel of a record does on a GPU, whatever its configuration.

    `roof` has its bytes, operations and their rate, `kernel_us` is its time as a forecast has it,
    None without a model.
    """

    roof: KernelRoofline | None
    kernel_us: float | None

    @property
    def work(self) -> Work | None:
        """Its bytes and operations; None where the bytes are not known."""
        roof = self.roof
        if roof is None or roof.moved_bytes is None:
            return None
        units, _, dtype = (roof.rate or "vector.fp32").partition(".")
        return Work(roof.flops, roof.moved_bytes, 0, dtype, is_matrix=units == "matrix")


def read_record_work(report: Report, kernel: Kernel, gpu: Gpu) -> RecordedWork:
    """What a call of a kernel of a record does on a GPU."""
    roof = next((row for row in rooflines(report, gpu) if row.kernel == kernel.id), None)
    return RecordedWork(roof, time_record_kernel(report, kernel, gpu, roof).us)


def time_record_kernel(
    report: Report, kernel: Kernel, gpu: Gpu, roof: KernelRoofline | None
) -> KernelTime:
    """The time of one call of a kernel of a record, with its bound there by `roof`.

    It is not below its bound; without a model there is none.
    """
    by_work = _time_by_work(report, kernel, read_kernel_nodes(report), gpu)
    bound_us = None if roof is None else roof.bound_us
    us = None if by_work.us is None else max(by_work.us, bound_us or 0.0)
    return replace(by_work, us=us, bound_us=bound_us)


def _time_by_work(
    report: Report, kernel: Kernel, nodes: Mapping[str, NodeFacts], gpu: Gpu
) -> KernelTime:
    if kernel.language == "triton":
        named, work = _describe_generated(report, kernel, nodes)
        return time_kernel(work, LibraryLaunch(named), gpu)
    node = _find_library_node(kernel, nodes)
    call = None if node is None else _read_call(report, node, nodes)
    if node is None or call is None:
        return KernelTime(None, because="its operator is not in the report")
    modelled, work, has_units = _time_call(call, kernel.name, gpu, report.request.tf32)
    if modelled.us is None or work.channels is None or not has_units:
        return modelled
    strides = report.once(_read_convolutions).get(str(node.shape), node.stride or ())
    if len(strides) > 1 and strides[1] == 1:  # channels last, and its input too
        return modelled
    return replace(modelled, us=modelled.us + sum(_time_layouts(call, work, gpu)))


def time_operator(call: OperatorCall, gpu: Gpu, *, tf32: Collection[str] = ()) -> KernelTime:
    """The time of an operator that a library computes, before it is known by which kernel.

    `tf32` are the uses that may take it: "products", "convolutions".
    """
    return _time_call(call, call.name, gpu, tf32)[0]


def _time_call(
    call: OperatorCall, name: str, gpu: Gpu, tf32: Collection[str]
) -> tuple[KernelTime, Work, bool]:
    """Its time, its work, and whether matrix units compute it."""
    kind = _find_kind(call)
    chosen = LibraryKernel(name, kind, architecture=gpu.arch)
    work = estimate_work(call, chosen)
    if kind != "product":
        return time_kernel(work, LibraryLaunch(chosen), gpu), work, False
    has_tf32 = ("products" if work.channels is None else "convolutions") in tf32
    has_units = work.is_matrix and (has_tf32 or work.dtype != "float32")
    return time_kernel(work, LibraryCall(name, has_tf32), gpu), work, has_units


def _read_convolutions(report: Report) -> dict[str, tuple[int, ...]]:
    """By sizes of the result of a convolution its strides, as the generated program asserts them.

    Inductor lays them channels last where that pays, whatever the graph says.
    """
    texts = (report.texts.get(wrapper.text or "", "") for wrapper in report.wrappers)
    return {
        str(_read_numbers(sizes)): _read_numbers(strides)
        for text in texts
        for sizes, strides in _CONVOLVED.findall(text)
    }


def _read_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _time_layouts(call: OperatorCall, work: Work, gpu: Gpu) -> Iterator[float]:
    """What cuDNN takes to lay pictures and weights channels last, and the result back, in µs.

    Its kernels for matrix units want them so; others are converted in every call.
    """
    source, weight = call.tensor(0), call.tensor(1)
    if not gpu.arch.startswith("sm_") or source is None or weight is None:
        return
    kernel = LibraryKernel("nchwToNhwcKernel", "copy", family="vectorized")
    for moved in (source.bytes, weight.bytes, work.written_bytes or 0):
        copied = Work(0, moved, moved, work.dtype, elements=moved // source.itemsize)
        yield time_kernel(copied, LibraryLaunch(kernel), gpu).us or 0.0


def _describe_generated(
    report: Report, kernel: Kernel, nodes: Mapping[str, NodeFacts]
) -> tuple[LibraryKernel, Work]:
    named = read_kernel_name(kernel.name)
    if bytes_of(kernel) is None:
        return named, Work(reason="the bytes that it moves are not known")
    own = [nodes[id] for id in kernel.nodes if id in nodes]
    numels = {
        axis: int(size) for axis, size in _NUMEL.findall(report.texts.get(kernel.text or "", ""))
    }
    return named, Work(
        operations=kernel.flops or 0,
        read_bytes=kernel.bytes_read or 0,
        written_bytes=kernel.bytes_written or 0,
        dtype="float32",
        is_matrix=bool(named.has_matrix_units),
        elements=math.prod(numels.values()) if "x" in numels else _count_largest(own, nodes),
        rows=_find_rows(named.kind, numels, own, nodes),
        is_strided="y" in numels,
    )


def _count_largest(own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]) -> int | None:
    """Elements of the largest tensor that is read or made; None where sizes are symbols."""
    inputs = [nodes[id] for node in own for id in node.inputs if id in nodes]
    sizes = [_count(node.shape) for node in (*own, *inputs)]
    return max((size for size in sizes if size is not None), default=None)


def _find_rows(
    kind: Kind,
    numels: Mapping[str, int],
    own: Sequence[NodeFacts],
    nodes: Mapping[str, NodeFacts],
) -> tuple[int, int] | None:
    """Rows that are reduced and their length, by the kernel's own sizes.

    Where these are known at run time alone: by the operator that makes most of one value.
    """
    if kind != "reduction":
        return None
    if "x" in numels and "r0_" in numels:
        lengths = [size for axis, size in numels.items() if axis.startswith("r")]
        return math.prod(numels.values()) // math.prod(lengths), math.prod(lengths)
    candidates = []
    for node in own:
        whole = [_count(nodes[id].shape) for id in node.inputs if id in nodes]
        written, most = _count(node.shape), max((count for count in whole if count), default=None)
        if written and most and most > written:
            candidates.append((written, most // written))
    return max(candidates, key=lambda rows: rows[0] * rows[1], default=None)


def _count(shape: Sequence[int | str] | None) -> int | None:
    """Elements; None where sizes are symbols."""
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int))


def _read_call(
    report: Report, node: NodeFacts, nodes: Mapping[str, NodeFacts]
) -> OperatorCall | None:
    """The operator that a library computes, with the tensors and numbers that it takes."""
    target, written = report.once(_read_calls).get(node.id, (node.target, None))
    named = {id.partition(":")[2]: nodes[id] for id in node.inputs if id in nodes}
    arguments = written if written is not None else [ast.Name(name) for name in named]
    names = {argument.id for argument in arguments if isinstance(argument, ast.Name)}
    if any(_count(facts.shape) is None for name, facts in named.items() if name in names):
        return None
    tensors = [
        named.get(argument.id) if isinstance(argument, ast.Name) else None for argument in arguments
    ]
    call = OperatorCall(
        "::".join(target.split(".")[:2]),
        [() if tensor is None else tensor.shape for tensor in tensors],
        ["" if tensor is None else PROFILED.get(tensor.dtype or "", "") for tensor in tensors],
        [() if tensor is None else tensor.stride or () for tensor in tensors],
        ["" if isinstance(argument, ast.Name) else ast.unparse(argument) for argument in arguments],
    )
    return call if written is None else fill_causal(call)


def _find_library_node(kernel: Kernel, nodes: Mapping[str, NodeFacts]) -> NodeFacts | None:
    """The node of the operator that the kernel is named after; others may be fused into it."""
    name = kernel.name.removeprefix("torch.ops.").split(".")
    own = [nodes[id] for id in kernel.nodes if id in nodes]
    for node in own:
        target = node.target.split(".")
        if (target[1:2] or target) == name[1:2]:  # one of higher order has a name alone
            return node
    return next((node for node in own if node.target == next(iter(kernel.ops), "")), None)


def _read_calls(report: Report) -> dict[str, tuple[str, list[ast.expr]]]:
    """By id of a node that a library computes its operator and arguments, as torch prints them."""
    kernels = [kernel for kernel in report.kernels if not kernel.is_generated]
    names: dict[str, set[str]] = defaultdict(set)
    for id in {id for kernel in kernels for id in kernel.nodes}:
        of, _, name = id.partition(":")
        names[of].add(name)
    by_node: dict[str, tuple[str, list[ast.expr]]] = {}
    targets = {node.id: node.target for node in report.nodes}
    for graph in report.graphs:
        text = report.texts.get(graph.text or "", "")
        inner = dict(_ORDERED.findall(text)) if _CONTROL_DEPS in text else {}
        for name, code in _CALLED.findall(text):
            if name in names[graph.id] and (arguments := _parse_arguments(code)) is not None:
                if _CONTROL_DEPS in code:
                    arguments = _unwrap_arguments(arguments, inner)
                id = f"{graph.id}:{name}"
                target = targets.get(id, "")
                if _WITH_RANDOM_STATE.match(code):
                    target, arguments = _unwrap_operator(arguments)
                by_node[id] = target, arguments
    return by_node


def _unwrap_operator(arguments: list[ast.expr]) -> tuple[str, list[ast.expr]]:
    """The operator that is called with a random state, and what it is called with.

    `(operator, *arguments, rng_state=…)`, or `(rng_state, operator, *arguments)`.
    """
    for place, argument in enumerate(arguments):
        if (name := ast.unparse(argument)).startswith("torch.ops."):
            return name.removeprefix("torch.ops."), arguments[place + 1 :]
    return "", []


def _unwrap_arguments(arguments: list[ast.expr], inner: Mapping[str, str]) -> list[ast.expr]:
    """Those of an operator that torch only ordered: of the graph of its own, by its inputs.

    `control_deps((before, …), graph, *inputs)`, where that graph calls its inputs `arg_0` and on.
    """
    _, graph, *inputs = arguments
    own = _parse_arguments(inner.get(ast.unparse(graph), "")) or []
    places = {f"arg_{place}": value for place, value in enumerate(inputs)}
    return [places.get(ast.unparse(argument), argument) for argument in own]


def _parse_arguments(code: str) -> list[ast.expr] | None:
    """The arguments by place, of those by name none counts; None for a text that is no call.

    A record comes from a file, and so does what is parsed here.
    """
    try:
        call = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return call.args if isinstance(call, ast.Call) else None


def _find_kind(call: OperatorCall) -> Kind:
    name = call.base_name
    if "attention" in name:
        return "attention"
    is_product = name in ("mm", "addmm", "bmm", "baddbmm", "_scaled_mm") or "convolution" in name
    return "product" if is_product else "other"
