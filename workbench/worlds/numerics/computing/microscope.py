"""Looks at one call of a program, of this machine or for a virtual GPU."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch

from workbench.analysis.gpu_model.roofline import PRODUCTS
from workbench.compiler.captured_graphs.program_parts import NoProgram
from workbench.compiler.comparison.trial import compute_gradients
from workbench.compiler.internals.older_releases import list_native_operators
from workbench.compiler.interpreter.verification import (
    Before,
    InterpretedCall,
    KernelFailed,
    Products,
    interpret_users_kernels,
)
from workbench.compiler.request.callables import resolve
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import Kernel
from workbench.specs import Gpu
from workbench.worlds.numerics.computing.cones import name_operator
from workbench.worlds.numerics.computing.findings import look_at as look_at
from workbench.worlds.numerics.computing.findings import look_at_outputs as look_at_outputs
from workbench.worlds.numerics.computing.host_microscope import HostProgram as HostProgram
from workbench.worlds.numerics.computing.host_microscope import Observe, ObservedCall, ProgramCall
from workbench.worlds.numerics.computing.kernel_walk import KernelWalk, Target
from workbench.worlds.numerics.computing.precisions import Precision, find_factors
from workbench.worlds.numerics.computing.recorded_stages import StagesMissing as StagesMissing
from workbench.worlds.numerics.computing.recorded_stages import read_signature, read_stages
from workbench.worlds.numerics.computing.recorded_stages import (
    say_without_numbers as say_without_numbers,
)
from workbench.worlds.numerics.computing.users_launches import (
    Launch,
    UsersCode,
    UsersLaunch,
    UsersReference,
    explain_no_reference,
    name_written,
    read_references,
)


def open_program(
    compiled: Any, references: Mapping[Any, Callable[..., Any]] | None = None
) -> HostProgram:
    """A compiled call with its stages; raises `StagesMissing` for one that was not recorded.

    `references` compute what Triton kernels and operators of the user are for. Raises `UsageError`
    where the program for a virtual GPU was not kept, and for a reference that does not fit.
    """
    if hasattr(compiled, "program"):
        program: HostProgram = open_gpu_program(compiled, references or {})
        return program
    code = UsersCode(read_references(references or {}, compiled.graphs))
    return HostProgram(compiled, read_stages(compiled.report, compiled.graphs, code))


_TYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
"""Types of Triton; of a kernel that was compiled for another one there is no other form."""
_LIBRARY = "a GPU library call, replaced here by torch's, whose values may differ"


@dataclass
class GpuProgram(HostProgram):
    """A call that was compiled for a virtual GPU, and its inputs, run by Triton's interpreter.

    `compiled` has the program and its original. Library calls are computed by torch on this
    machine; where the record says that products may be in TF32, their factors are rounded so.
    """

    gpu: Gpu | None = None
    edit: Callable[[str, str], str] | None = None
    widens_library: bool = False
    code: UsersCode = field(default_factory=UsersCode)
    _made: InterpretedCall = field(init=False, repr=False)
    _number: int = field(default=0, init=False)

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        learned: Mapping[str, torch.Tensor] | None = None,
        walk: Observe | None = None,
    ) -> None:
        """Call the program once on the CPU and note what its graphs are given.

        `walk` is told of each step of the forward. Raises `UsageError` where a kernel cannot be
        run to its end.
        """
        self._made = InterpretedCall(
            self.compiled.program, resolve(self.compiled.original), self._read_products(), self.edit
        )

        def finish(output: Any) -> None:
            if self.stages.backward is not None:
                compute_gradients(output, learned or {})

        self.code.launch = _launch_in(self._made)
        try:
            with self.running_users_code(is_program=True):
                self._made.run(args, kwargs, finish, None if walk is None else self._tell(walk))
        except KernelFailed as failure:
            raise UsageError(
                f"{failure.kernel} {failure}, so no values can be compared. Run wb.verify for "
                "details."
            ) from failure
        seen = ObservedCall(self._made.inputs, self._made.outputs, self._made.written)
        seen.programs = [ProgramCall({}, inputs) for inputs in self._made.given]
        if len(seen.programs) < 1 + (self.stages.backward is not None):
            raise UsageError("No backward pass ran: nothing in the call needs a gradient.")
        self.seen = seen

    def running_users_code(self, *, is_program: bool = False) -> AbstractContextManager[None]:
        """Launches of Triton kernels go to the interpreter, or to their references.

        Those within operators of the `program` go to the interpreter in any case.
        """
        graphs, run = self.stages.list_graphs(), self.code.launch if is_program else self.code.run
        return interpret_users_kernels(graphs, self._made.sources, run)

    @property
    def backward(self) -> GpuProgram | None:
        """The backward of the same call; None of a call without one."""
        if self.stages.backward is None:
            return None
        seen = ObservedCall(programs=self.seen.programs[1:])
        part = replace(self, stages=self.stages.backward, seen=seen)
        part._made, part._number = self._made, 1
        return part

    @property
    def unchecked(self) -> tuple[Kernel, ...]:
        """The calls of libraries, which torch computed here in place of those of the GPU."""
        both = (self.stages, self.stages.backward)
        calls = (call.kernel for stages in both if stages is not None for call in stages.kernels)
        return tuple(kernel for kernel in calls if not kernel.is_generated)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stood in for the GPU, in sentences."""
        title = self.compiled.gpu.title
        parts = [f"The Triton kernels for {title} ran in Triton's interpreter"]
        if self.unchecked:
            names = ", ".join(dict.fromkeys(kernel.name for kernel in self.unchecked))
            calls = plural(len(self.unchecked), "library call")
            parts.append(f", and torch computed {calls} on this machine ({names})")
            parts.append(
                ", with inputs rounded to TF32 as in the report"
                if self.products.rounds_library
                else "; the rounding of the GPU library is not checked"
            )
        lacking = tuple(dict.fromkeys(self._list_unreferenced(self.stages.lowered.nodes)))
        if lacking:
            parts.append(f". Not checked: {explain_no_reference(lacking)}. Give one in references=")
        return tuple(filter(None, ("".join(parts) + ".", self._say_native())))

    def _say_native(self) -> str:
        """Which operators eager of that GPU computes by a kernel of its own; "" where none."""
        known, graph = list_native_operators(), self.stages.aten
        names = map(name_operator, graph.graph.nodes if graph is not None and known else ())
        own = {
            n: known[n[5:].removesuffix(".default")]
            for n in names
            if n.startswith("aten.") and n[5:].removesuffix(".default") in known
        }
        listed = ", ".join(f"{name.removesuffix('.default')} ({own[name]})" for name in own)
        return listed and (
            f"On that GPU, eager runs its own kernels for {listed}; this comparison uses torch's "
            "CPU kernels."
        )

    def call_observed(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], walk: Observe
    ) -> None:
        """The same in one run: of the interpreter it is what takes the time."""
        self.call(args, kwargs, walk=walk)

    def renew(self) -> Self:
        """The same for another call; what stands in for libraries then treats each row alike."""
        return replace(super().renew(), widens_library=True)

    def start_walk(self, tell: Callable[[int, int], object]) -> KernelWalk:
        """What compares every kernel with its nodes, but for what a library of the GPU computes."""
        target = Target(self._choose_tf32, self._explain_unchecked)
        return KernelWalk(self.stages, self.aten_inputs(), tell, target)

    def walk_kernels(self, walk: Observe, before: Before | None = None) -> Any:
        """Run the program again and tell the walk of each step; returns what it returns.

        The parts of what a library gives are told of one by one, by the name of its call.
        """
        with self.running_users_code(is_program=True):
            return self._made.observe(self._tell(walk), self._number, before)

    def _tell(self, walk: Observe) -> Callable[..., None]:
        """What tells a walk of each step of the interpreted program."""
        first = {
            variable: number
            for number, call in enumerate(self.stages.kernels)
            if not call.kernel.is_generated
            for variable, _ in call.values
        }
        begun: set[int] = set()

        def observe(step: str, values: Mapping[str, Any], written: frozenset[int] | None) -> None:
            number = next((first[name] for name in values if name in first), None)
            is_part = number is not None and len(values) == 1 and number in begun
            if number is not None and len(values) == 1:
                begun.add(number)
            walk(f"{step}[]" if is_part else step, values)

        return observe

    @property
    def products(self) -> Products:
        """How its products are computed here."""
        return self._made.products

    def _read_products(self) -> Products:
        arch = "" if self.gpu is None else self.gpu.arch
        has_units = self.gpu is not None and bool(self.gpu.matrix.tf32)
        rounds = PRODUCTS in self.compiled.report.request.tf32
        products = Products.of(arch, has_units=has_units, rounds_library=rounds)
        return replace(products, widens_library=self.widens_library)

    def _choose_tf32(self, kernel: Kernel) -> Precision | None:
        products = self.products
        if kernel.is_generated:
            return Precision.CUT if products.has_tf32 else None
        return Precision.NEAREST if products.rounds_library else None

    def _explain_unchecked(self, kernel: Kernel, inside: Iterable[str]) -> str | None:
        """Why comparing a kernel with its nodes would say nothing; "" where it says something.

        None for a kernel of the user whose operator has a reference, which it is compared with.
        """
        nodes = self.stages.lowered.nodes
        if kernel.is_generated:
            lacking = tuple(dict.fromkeys(self._list_unreferenced(inside)))
            own = (nodes[name].target for name in inside)
            is_covered = any(isinstance(t, UsersLaunch) and t.key in self.code.covered for t in own)
            return explain_no_reference(lacking) if lacking else None if is_covered else ""
        if any(isinstance(nodes[name].target, UsersReference) for name in inside):
            return ""
        products = [n for n in inside if find_factors(name_operator(nodes[n])) is not None]
        is_modelled = self.products.rounds_library and products
        return "" if is_modelled else _LIBRARY

    def _list_unreferenced(self, names: Iterable[str]) -> Iterator[str]:
        """The kernels of the user among nodes that no reference says anything of."""
        for name in names:
            target = self.stages.lowered.nodes[name].target
            if isinstance(target, UsersLaunch) and not target.is_known:
                yield target.name


def _launch_in(call: InterpretedCall) -> Launch:
    """What runs a kernel of the user by itself, as the program does."""

    def launch(name: str, grid: tuple[int, int, int], arguments: Mapping[str, Any]) -> None:
        kinds = read_signature(call.sources.get(name, ""))
        for argument, value in arguments.items():
            dtype, kind = getattr(value, "dtype", None), kinds.get(argument, "*?").lstrip("*")
            is_other = dtype == torch.float64 if kind not in _TYPES else dtype != _TYPES[kind]
            if dtype is not None and is_other:
                raise NotImplementedError(explain_no_reference((name,)))
        try:
            call.launch(name, grid, arguments)
        except KernelFailed as failure:
            raise RuntimeError(f"{failure.kernel} {failure}") from failure

    return launch


def open_gpu_program(
    compiled: Any, references: Mapping[Any, Callable[..., Any]] | None = None
) -> GpuProgram:
    """A call compiled for a virtual GPU with its stages; see `open_program` for `references`.

    Raises `UsageError` for one whose program was not kept, `StagesMissing` as `read_stages` does.
    """
    if isinstance(compiled.program, NoProgram):
        raise UsageError(f"The generated program cannot run here: {compiled.program.reason}")
    graphs = {id: pickle.loads(graph) for id, graph in compiled.program.stages.items()}
    code = UsersCode(read_references(references or {}, graphs), name_written(graphs))
    stages = read_stages(compiled.report, graphs, code)
    return GpuProgram(compiled, stages, gpu=compiled.gpu, code=code)
