"""One call of compiled code as it runs: what its graphs are given, what each kernel leaves."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, SimpleNamespace
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_written
from workbench.compiler.internals import torch_private as tp

_MARKS = ("extern_kernels", "assert_size_stride")  # every generated program has these globals
_OBSERVER = "_observe"
_LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")

Observe = Callable[[str, Mapping[str, Any]], None]
"""A step of a program by its name, and the tensors that it was given or gave, by variable."""


@dataclass
class ProgramCall:
    """One call of a generated program: its globals, and what it was given."""

    scope: dict[str, Any]
    inputs: list[Any]


@dataclass
class ObservedCall:
    """What a call of compiled code did: what Dynamo's graph was given and gave, its programs.

    `written` are the inputs that it changed, as it left them, by their places.
    """

    inputs: tuple[Any, ...] = ()
    outputs: Any = None
    written: Mapping[int, torch.Tensor] = field(default_factory=dict)
    programs: list[ProgramCall] = field(default_factory=list)


@contextmanager
def watch_call(compiled: Any, is_kept: Callable[[Any], bool]) -> Iterator[ObservedCall]:
    """Note what the graph and the programs of `compiled` are given while the block runs.

    Inputs are copied before they are used, but for those of which `is_kept` says that nothing
    writes to them. What is replaced is put back, whatever happens.
    """
    found = ObservedCall()
    scope, name = compiled.aot_fn.fn.__globals__, tp.artifacts_of(compiled.aot_fn).backend_id
    real = scope[name]

    def called(*args: Any) -> Any:
        found.inputs = tuple(_copied(args, is_kept))
        with watch_programs(found, is_kept):
            found.outputs = real(*args)
        found.written = copy_written(found.inputs, args)
        return found.outputs

    scope[name] = called
    try:
        yield found
    finally:
        scope[name] = real


@contextmanager
def watch_programs(
    found: ObservedCall, is_kept: Callable[[Any], bool] = lambda value: False
) -> Iterator[None]:
    """Note each generated program that runs in the block, with copies of what it is given."""

    def watch(frame: FrameType, event: str, argument: object) -> None:
        inside = frame.f_globals
        if event != "call" or frame.f_code.co_name != "call":
            return
        if all(mark in inside for mark in _MARKS) and "args" in frame.f_locals:
            copied = _copied(frame.f_locals["args"], is_kept)
            found.programs.append(ProgramCall(inside, copied))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        # a profiler written in C, such as cProfile, cannot be put back from Python
        sys.setprofile(before if callable(before) else None)


def _copied(values: Sequence[Any], is_kept: Callable[[Any], bool]) -> list[Any]:
    return [copy_tensor(v) if isinstance(v, torch.Tensor) and not is_kept(v) else v for v in values]


def copy_tensor(value: torch.Tensor) -> torch.Tensor:
    """A copy that lies in memory as the original does; `clone` closes the gaps of a part."""
    if value.layout is not torch.strided or not value.numel():
        return value.detach().clone()
    reach = sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
    whole = value.detach().as_strided((reach + 1,), (1,))
    return whole.clone().as_strided(value.shape, value.stride())


def run_observed(
    source: str, scope: Mapping[str, Any], inputs: Sequence[Any], kernels: frozenset[str],
    observe: Observe,
) -> Any:  # fmt: skip
    """Run a generated program with its own kernels, and tell what each step leaves.

    Nothing is compiled: its functions are read again from its text, with a call of `observe`
    behind each step, and see the globals of the program that is loaded. Returns what it returns.
    """
    functions = [
        node for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and (
            node.name == "call" or node.name.startswith("partition_")
        )
    ]  # fmt: skip
    space = {**scope, _OBSERVER: observe}
    rewriter = _Observing(kernels)
    made = [rewriter.visit(node) for node in functions]
    tree = ast.fix_missing_locations(ast.Module(made, []))
    exec(compile(tree, "observed program", "exec", dont_inherit=True), space)
    parts = sorted(name for name in space if name.startswith("partition_"))
    owner = SimpleNamespace(partitions=[space[name] for name in parts])
    call = next(node for node in functions if node.name == "call")
    receiver = (owner,) if len(call.args.args) > 1 else ()
    with torch.no_grad():
        return space["call"](*receiver, list(inputs))


class _Observing(ast.NodeTransformer):
    """After every kernel and library call the observer is told of the variables in it."""

    def __init__(self, kernels: frozenset[str]):
        self._kernels = kernels

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._observed(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._observed(node)

    def _observed(self, node: ast.Expr | ast.Assign) -> Any:
        step = self._name_step(node.value)
        if step is None:
            return node
        names = sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)})
        values = f"{{n: v for n, v in locals().items() if n in {names!r}}}"
        return [node, ast.parse(f"{_OBSERVER}({step!r}, {values})").body[0]]

    def _name_step(self, value: ast.AST) -> str | None:
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            return f"{value.value.id}[]"  # a part of what a library call gave
        if not isinstance(value, ast.Call):
            return None
        text = ast.unparse(value.func).removesuffix(".run")
        return text if text in self._kernels or text.startswith(_LIBRARY) else None
