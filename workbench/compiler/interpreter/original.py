"""The original, run on the CPU as on the GPU.

Triton kernels of the user run in the interpreter; what torch has for GPUs only, by its definition.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import CapturedGraph, UsersKernel
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.interpreter.device_operators import STAND_INS
from workbench.errors import ContractError, UsageError

RunKernel = Callable[[str, tuple[int, int, int], Mapping[str, Any]], None]
"""Runs a kernel by its name on a grid, with its arguments by name."""


@contextmanager
def interpret_users_kernels(
    graphs: Sequence[CapturedGraph], sources: dict[str, str], run: RunKernel
) -> Iterator[None]:
    """Launches of Triton kernels go to `run`, as long as this is entered.

    `sources` are those of the program; one that it lacks, as of an operator of the user that the
    compiler does not look into, is added.
    """
    by_name: dict[str, list[UsersKernel]] = {}
    for graph in graphs:
        for one in graph.kernels.values():
            by_name.setdefault(one.name, []).append(one)
    # which code that launches a kernel has imported
    if not by_name and "triton" not in sys.modules:
        yield
        return
    from triton.runtime.jit import KernelInterface

    def at_grid(kernel: Any, grid: Any) -> Any:
        def launch(*args: Any, **named: Any) -> None:
            _launch(kernel, grid, args, named, by_name, sources, run)

        return launch

    with ProcessPatches() as patches:
        patches.attribute(KernelInterface, "__getitem__", at_grid)
        yield


def _launch(
    kernel: Any,
    grid: Any,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    by_name: Mapping[str, Sequence[UsersKernel]],
    sources: dict[str, str],
    run: RunKernel,
) -> None:
    function = kernel
    tuned: dict[str, Any] = {}
    heuristics: dict[str, Any] = {}
    while hasattr(function, "configs") or hasattr(function, "values"):
        if hasattr(function, "configs"):  # of a tuner the first one is run, as in the program
            tuned = {**function.configs[0].kwargs, **tuned}
        else:
            heuristics = {**function.values, **heuristics}
        function = function.fn
    name = function.__name__
    if name not in sources:
        sources[name] = write_kernel_source(function)
    _refuse_changed(name, function, sources[name])
    arguments = {**dict(zip(function.arg_names, args, strict=False)), **named}
    arguments = {arg: value for arg, value in arguments.items() if arg in function.arg_names}
    chosen = _constants(by_name.get(name, ()), arguments)
    meta = {**tuned, **chosen, **arguments}
    meta |= {arg: heuristic(meta) for arg, heuristic in heuristics.items()}
    sizes = tuple(grid(meta) if callable(grid) else grid)
    x, y, z = (int(size) for size in (*sizes, 1, 1)[:3])
    run(name, (x, y, z), meta)


def _constants(kernels: Sequence[UsersKernel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the program chose for a kernel, as a tuner does, where the call does not say it."""
    for kernel in kernels:
        same = all(
            arguments[name] == v for name, v in kernel.constants.items() if name in arguments
        )
        if same:
            return dict(kernel.constants)
    return dict(kernels[0].constants) if kernels else {}


def _refuse_changed(name: str, function: Any, source: str) -> None:
    """Raise `ContractError` where the kernel is another one than that which was compiled."""
    now = "".join(str(getattr(function, "src", "")).split())
    if now and now not in "".join(source.split()):
        raise ContractError(
            f"The source of the Triton kernel {name} has changed since compilation. Recompile the "
            "call."
        )


_HEAD = ("import triton", "import triton.language as tl", "from types import SimpleNamespace")
_TAIL = (
    "{0} = SimpleNamespace(fn={0}, configs=[SimpleNamespace(kwargs={{}})], "
    "triton_meta={{'constants': {{}}}}, inductor_meta={{}})"
)


def write_kernel_source(function: Any) -> str:
    """A module with a kernel and what it names, as a generated program would hold it.

    Raises `UsageError` for a kernel that names what cannot be written down.
    """
    lines: dict[str, None] = dict.fromkeys(_HEAD)
    lines.update(dict.fromkeys(_list_statements(function, set())))
    return "\n".join([*lines, _TAIL.format(function.__name__)]) + "\n"


def _list_statements(function: Any, visited: set[int]) -> Iterator[str]:
    """What stands before a function, and the function."""
    visited.add(id(function))
    python = function.fn
    cells = zip(python.__code__.co_freevars, python.__closure__ or (), strict=True)
    inside = {name: cell.cell_contents for name, cell in cells}
    for name in dict.fromkeys(_list_names(python.__code__)):
        value = inside.get(name, python.__globals__.get(name, _MISSING))
        if value is _MISSING or id(value) in visited:
            continue
        is_triton = str(getattr(value, "__module__", "")).startswith("triton.")
        if hasattr(value, "src") and hasattr(value, "fn") and not is_triton:  # of the user
            yield from _list_statements(value, visited)
            if name != value.__name__:
                yield f"{name} = {value.__name__}"
        else:
            yield _write_value(function.__name__, name, value)
    yield f"@triton.jit\n{function.src}"


_MISSING = object()


def _list_names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def _write_value(kernel: str, name: str, value: Any) -> str:
    """The statement that gives a name its value."""
    kind = type(value)
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if value is None or kind in (bool, int, float, str):
        return f"{name} = {value!r}"
    if kind.__module__.startswith("triton.language"):
        if kind.__name__ == "constexpr":
            return f"{name} = tl.constexpr({value.value!r})"
        if kind.__name__ == "dtype":
            return f"{name} = tl.dtype({value.name!r})"
    if str(getattr(value, "__module__", "")).startswith("triton.") and hasattr(value, "__name__"):
        return f"from {value.__module__} import {value.__name__} as {name}"
    raise UsageError(
        f"The Triton kernel {kernel} uses {name} of type {kind.__name__}, which cannot be copied, "
        "so the kernel cannot be interpreted here."
    )


_OPERATOR: Any = tp.OPS.get().OpOverload
_SCAN = "_workbench_scan"


class _StandIns(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Operators that the CPU lacks are computed by their stand-ins."""

    supports_higher_order_operators = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        stand_in = STAND_INS.get(str(func)) if isinstance(func, _OPERATOR) else None
        return (stand_in or func)(*args, **(kwargs or {}))


def has_device_operators(graphs: Sequence[CapturedGraph]) -> bool:
    """Whether a graph calls an operator that the CPU lacks."""
    return any(not STAND_INS.keys().isdisjoint(graph.targets) for graph in graphs)


@contextmanager
def run_what_only_a_gpu_has(graphs: Sequence[CapturedGraph]) -> Iterator[None]:
    """Operators and scans that refuse the CPU are computed there, as long as this is entered.

    `graphs` are those of the program: without such an operator in them none is looked for.
    """
    with ProcessPatches() as patches:
        if has_device_operators(graphs):
            patches.enter_context(_StandIns())
        if tp.ASSOCIATIVE_SCAN.module in sys.modules:  # imported by code that calls it
            function = tp.ASSOCIATIVE_SCAN.find()
            if isinstance(function, types.FunctionType):
                _take_over(patches, function)
        yield


def _take_over(patches: ProcessPatches, function: types.FunctionType) -> None:
    """Whoever holds the function calls the scan below: by its code, as its name is bound."""
    own = types.FunctionType(function.__code__, function.__globals__, argdefs=function.__defaults__)

    def scan(
        combine: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool, mode: str
    ) -> Any:
        leaves = tp.TREE_LEAVES.get()(xs)
        are_here = all(isinstance(x, torch.Tensor) and x.device.type == "cpu" for x in leaves)
        is_refused = mode == "pointwise" and are_here and bool(leaves)
        return (
            scan_in_order(combine, xs, dim, reverse=reverse)
            if is_refused
            else own(combine, xs, dim, reverse, mode)
        )

    patches.attribute(sys.modules[tp.ASSOCIATIVE_SCAN.module], _SCAN, scan)
    patches.callback(setattr, function, "__code__", function.__code__)
    function.__code__ = _call_scan.__code__


def _call_scan(
    combine_fn: Any, xs: Any, dim: Any, reverse: Any = False, combine_mode: Any = "pointwise"
) -> Any:
    return _workbench_scan(combine_fn, xs, dim, reverse, combine_mode)  # type: ignore[name-defined] # noqa: F821


def scan_in_order(
    combine: Callable[[Any, Any], Any], xs: Any, dim: int, *, reverse: bool = False
) -> Any:
    """What an associative scan is by its definition: one element after the other."""
    flatten, unflatten = tp.TREE_FLATTEN.get(), tp.TREE_UNFLATTEN.get()
    leaves, spec = flatten(xs)
    axis = dim % leaves[0].ndim
    places = range(leaves[0].shape[axis])
    order = reversed(places) if reverse else places
    scanned: list[list[torch.Tensor]] = []
    for place in order:
        element = unflatten([leaf.select(axis, place) for leaf in leaves], spec)
        before = unflatten(scanned[-1], spec) if scanned else None
        scanned.append(flatten(element if before is None else combine(before, element))[0])
    if reverse:
        scanned.reverse()
    return unflatten([torch.stack(parts, axis) for parts in zip(*scanned, strict=True)], spec)
