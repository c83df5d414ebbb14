"""Looks at one call of a program of this machine: every stage, every kernel, the outputs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import FrameType, SimpleNamespace
from typing import Any, Self

import torch

from workbench.compiler.call_state.call_leaves import copy_tensor, copy_written
from workbench.compiler.captured_graphs.captured import HigherOrderRef
from workbench.compiler.comparison.trial import compute_gradients
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.verification import Before, Products
from workbench.errors import UsageError, read_first_line
from workbench.report import Kernel
from workbench.worlds.numerics.computing.cones import is_in_place
from workbench.worlds.numerics.computing.kernel_walk import KernelWalk
from workbench.worlds.numerics.computing.recorded_stages import RecordedStages

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
    observed = ObservedCall()
    scope, name = compiled.aot_fn.fn.__globals__, tp.artifacts_of(compiled.aot_fn).backend_id
    real = scope[name]

    def called(*args: Any) -> Any:
        observed.inputs = tuple(_copied(args, is_kept))
        with watch_programs(observed, is_kept):
            observed.outputs = real(*args)
        observed.written = copy_written(observed.inputs, args)
        return observed.outputs

    scope[name] = called
    try:
        yield observed
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


def run_observed(
    source: str,
    scope: Mapping[str, Any],
    inputs: Sequence[Any],
    kernels: frozenset[str],
    observe: Observe,
) -> Any:
    """Run a generated program with its own kernels, and tell what each step leaves.

    Nothing is compiled: its functions are read again from its text, with a call of `observe`
    behind each step, and see the globals of the program that is loaded. Returns what it returns.
    """
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and (node.name == "call" or node.name.startswith("partition_"))
    ]
    space = {**scope, _OBSERVER: observe}
    rewriter = _Observing(kernels)
    rewritten = [rewriter.visit(node) for node in functions]
    tree = ast.fix_missing_locations(ast.Module(rewritten, []))
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


@dataclass
class HostProgram:
    """A compiled call of this machine and its inputs, ready to be looked at again and again.

    `writes` says that the call writes to what it is given: then everything is copied before.
    """

    compiled: Any
    stages: RecordedStages
    seen: ObservedCall = field(default_factory=ObservedCall)

    @property
    def writes(self) -> bool:
        """Whether a node of the captured graph writes to what it is given.

        A backward takes the memory of what the forward saved for its own values.
        """
        return self.stages.is_backward or any(
            is_in_place(node) or isinstance(node.target, HigherOrderRef)
            for node in self.stages.captured.graph.nodes
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What stood in for something else, in sentences."""
        return ()

    @property
    def products(self) -> Products:
        """How products of Triton kernels are computed here; a program of this machine has none."""
        return Products()

    def running_users_code(self) -> AbstractContextManager[None]:
        """What is to be entered where code of the user runs outside of the program."""
        return nullcontext()

    @property
    def unchecked(self) -> tuple[Kernel, ...]:
        """The calls of libraries that are not those that the program will run with."""
        return ()

    def renew(self) -> Self:
        """The same program, ready for another call of its forward."""
        return replace(self, stages=replace(self.stages, backward=None), seen=ObservedCall())

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        learned: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        """Call the compiled code once and note what its graphs are given.

        Of a training step the gradients of `learned` follow. Raises `UsageError` where no program
        in Python ran.
        """
        is_kept = not self.writes
        with watch_call(self.compiled, lambda value: is_kept) as seen:
            output = self.compiled(*args, **kwargs)
            if self.stages.backward is not None:
                with watch_programs(seen):
                    try:
                        compute_gradients(output, learned or {})
                    except RuntimeError as error:
                        raise UsageError(
                            f"The backward pass of the call cannot run: {read_first_line(error)}"
                        ) from error
        if len(seen.programs) < 1 + (self.stages.backward is not None):
            raise UsageError(
                "The call ran no generated Python program, so its kernels cannot be checked: "
                "compile with backend='inductor' and without cpp_wrapper."
            )
        self.seen = seen

    def call_observed(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], walk: Observe
    ) -> None:
        """Call it, and tell the walk of each step of the forward."""
        self.call(args, kwargs)
        self.walk_kernels(walk)

    def inputs(self) -> dict[str, Any]:
        """What the captured graph is given, by its placeholders."""
        return self._named(self.stages.captured.placeholders, self.seen.inputs)

    def written_inputs(self) -> dict[str, torch.Tensor]:
        """What the call left in those that it changed, by their placeholders."""
        names = self.stages.captured.placeholders
        return {names[at]: value for at, value in self.seen.written.items()}

    def aten_inputs(self) -> dict[str, Any]:
        """What the lowered graph, and those that it was made from, are given."""
        return self._named(self.stages.lowered.placeholders, self.seen.programs[0].inputs)

    @property
    def backward(self) -> HostProgram | None:
        """The backward of the same call; None of a call without one."""
        if self.stages.backward is None:
            return None
        seen = ObservedCall(programs=self.seen.programs[1:])
        return HostProgram(self.compiled, self.stages.backward, seen)

    def joint_inputs(self) -> dict[str, Any]:
        """What forward and backward together are given: no values that one saves for the other."""
        later = {} if self.backward is None else self.backward.aten_inputs()
        both, graph = {**later, **self.aten_inputs()}, self.stages.aten
        return {name: both[name] for name in (() if graph is None else graph.placeholders)}

    def find_part(self, graph: str) -> HostProgram:
        """The forward or the backward, whichever has the graph with this id."""
        ids = {kernel.kernel.graph for kernel in self.stages.kernels}
        return self if graph in ids or self.backward is None else self.backward

    def _named(self, names: tuple[str, ...], values: Any) -> dict[str, Any]:
        by_name = dict(zip(names, values, strict=True))
        if self.writes:
            by_name = {
                n: copy_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in by_name.items()
            }
        return by_name

    def start_walk(self, tell: Callable[[int, int], object]) -> KernelWalk:
        """What compares every kernel with its nodes, ready for `walk_kernels`."""
        return KernelWalk(self.stages, self.aten_inputs(), tell)

    def walk_kernels(self, walk: Observe, before: Before | None = None) -> Any:
        """Run the program again with its own kernels, and tell the walk of each step.

        `before` is told of each kernel before it runs. Returns what it returns.
        """
        program, names = self.seen.programs[0], {k.kernel.name for k in self.stages.kernels}
        inputs = list(self.aten_inputs().values())
        space = dict(program.scope)
        if before is not None:
            kernels = {name: space[name] for name in names if callable(space.get(name))}
            space |= {name: _telling(name, kernel, before) for name, kernel in kernels.items()}
        return run_observed(self.stages.source, space, inputs, frozenset(names), walk)


def _telling(name: str, kernel: Callable[..., Any], before: Before) -> Callable[..., Any]:
    """A kernel whose arguments are told before it runs."""

    def called(*args: Any) -> Any:
        before(name, args)
        return kernel(*args)

    return called
