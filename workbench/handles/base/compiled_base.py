"""The base of what a compilation gives, and the call that it was made from, kept for another one.

Of the call the function or module is kept, as its caller keeps it. Of a tensor among the inputs
only a description and a weak reference are kept: while the caller still holds it, it is used again,
and afterwards zeros of the same shape, strides and dtype take its place. A compilation asks for
nothing else, and zeros are valid where values are indexes. Objects that are no containers, such as
a cache of keys and values, are kept as they are.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from workbench.arguments import checked
from workbench.compiler.call_plan.guard_sandbox import Example
from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.examples import tensor_of
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.sources.sources import CELLS, Places
from workbench.errors import UsageError
from workbench.live_only import CompiledCode, LivePart
from workbench.number_text import plural
from workbench.report.report_holder import ReportHolder
from workbench.tasks.progress_events import ProgressCallback

if TYPE_CHECKING:
    from anywidget import AnyWidget

    from workbench.report import Report

Made = TypeVar("Made")
_ZEROED = 1 << 16  # elements; a bigger tensor is made of addresses that read as zero


@dataclass(frozen=True)
class _Held:
    """One tensor of the example call."""

    alive: weakref.ref[torch.Tensor]
    path: str
    like: TensorLike
    is_plain: bool

    @classmethod
    def of(cls, value: torch.Tensor, path: Path) -> _Held:
        is_plain = value.layout == torch.strided and type(value) in PLAIN
        return cls(weakref.ref(value), str(path), TensorLike.of(value), is_plain)

    def tensor(self, *, has_numbers: bool = False) -> torch.Tensor:
        """Return the caller's tensor, or a replacement with zeros or numbers between 0 and 1."""
        own = self.alive()
        if own is not None:
            return own
        if not self.is_plain:
            raise UsageError(
                f"The example input {self.path} is gone, and such a tensor cannot be created from "
                "a description. Run the cell again."
            )
        made = tensor_of(self.like, self.path)
        is_dense = made.numel() == made.untyped_storage().size() // made.itemsize
        if has_numbers and made.is_floating_point() and made.device.type != "meta" and is_dense:
            drawn = torch.rand(made.shape, generator=torch.Generator().manual_seed(0))
            return self.like.dressed(torch.empty_like(made).copy_(drawn))
        if made.numel() <= _ZEROED and made.device.type != "meta":
            made.zero_()
        return self.like.dressed(made)


class Recipe(LivePart):
    """Store a compiled call, to compile it for other targets."""

    def __init__(
        self,
        request: CompileRequest,
        compile: Callable[[CompileRequest, ProgressCallback | None], CompiledBase],
        compile_in_background: Callable[[CompileRequest], Any],
    ):
        """Store a call, with functions that compile a request and its inputs."""
        self._target = request.target
        self._compile = compile
        self._compile_in_background = compile_in_background
        self._options = request.options
        self._state = TorchState.current()
        self._cells = Places().cells
        self._held: dict[str, _Held] = {}

        def hold(value: torch.Tensor, path: Path) -> None:
            self._held[str(path)] = _Held.of(value, path)

        bound = {"args": request.args, "kwargs": dict(request.kwargs)}
        self._example = Example(bound, None, hold)

    @property
    def target(self) -> Any:
        """The caller's function or module."""
        return self._target

    def inputs(self, *, has_numbers: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return args and kwargs, or raise `UsageError` if a missing input cannot be replaced.

        With `has_numbers`, a floating-point tensor is replaced by values between 0 and 1 instead of
        zeros.
        """
        made = self._example.bound(
            None, lambda path: self._held[str(path)].tensor(has_numbers=has_numbers)
        )
        return made["args"], made["kwargs"]

    def gone(self) -> tuple[str, ...]:
        """List the inputs whose tensors no longer exist and that `inputs` replaces with zeros."""
        return tuple(held.path for held in self._held.values() if held.alive() is None)

    def called(
        self,
        work: Callable[[tuple[Any, ...], dict[str, Any]], Made],
        *,
        has_numbers: bool = False,
    ) -> Made:
        """Run `work` on the `inputs` under the compilation's torch modes, and return its result."""
        args, kwargs = self.inputs(has_numbers=has_numbers)
        with self._as_then():
            return work(args, kwargs)

    def options(self, target: str) -> CompileOptions:
        """Return the same request for another target, or raise `UsageError` if it is unknown."""
        return replace(self._options, target=target)

    def option_then(self, module: str, name: str, default: Any) -> Any:
        """Return the value that a torch option had when the call was first compiled.

        `module` is "dynamo", "inductor" or "functorch", and `default` is the option's default
        value.
        """
        return self._state.options.get(module, {}).get(name, default)

    def compile(self, target: str, progress: ProgressCallback | None = None) -> CompiledBase:
        """Compile the call for a target under the torch modes of the first compilation.

        Raises the errors of a compilation, and `UsageError` if an input no longer exists.
        """
        request = self._request(self.options(target))
        with self._as_then():
            return self._compile(request, progress)

    def compile_changed(
        self,
        change: Callable[[CompileRequest], CompileRequest],
        progress: ProgressCallback | None = None,
    ) -> tuple[CompiledBase, CompileRequest, CompileRequest]:
        """Compile the call as changed by `change`, and return it with both requests.

        Returns the compilation, the changed request and the unchanged request. Torch modes set by
        `change` are restored afterwards.
        """
        request = self._request(self._options)
        with self._as_then():
            changed = change(request)
            return self._compile(changed, progress), changed, request

    def compile_other(
        self, request: CompileRequest, progress: ProgressCallback | None = None
    ) -> CompiledBase:
        """Compile another call under the torch modes of this one, with the same errors."""
        with self._as_then():
            return self._compile(request, progress)

    def compile_in_background(self, target: str) -> Any:
        """Compile for a target in a separate process and return the job."""
        request = self._request(self.options(target))
        with self._as_then():
            return self._compile_in_background(request)

    def _request(self, options: CompileOptions) -> CompileRequest:
        return CompileRequest(self._target, *self.inputs(), options)

    @contextmanager
    def _as_then(self) -> Iterator[None]:
        """The modes of torch and the names of cells as when it was first compiled."""
        token = CELLS.set(self._cells)
        try:
            with self._state.applied(keep=frozenset()):
                yield
        finally:
            CELLS.reset(token)


@dataclass(frozen=True)
class LateReport:
    """Read a report on first access, with only its name known until then."""

    name: str
    read: Callable[[], Report]


class CompiledBase(CompiledCode, ReportHolder):
    """Base class for compilations, whose `recipe` is None if loaded from a file."""

    _report: Report | LateReport
    recipe: Recipe | None

    @property
    def report(self) -> Report:
        """The report of the compilation, read on first access if it is from a file."""
        if isinstance(self._report, LateReport):
            self._report = self._report.read()
        return self._report

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        request = self.report.request
        inputs = ", ".join(request.inputs)
        if request.conditions:
            inputs = f"{inputs}; only where {request.together}"
        kernels = plural(len(self.report.kernels), "kernel")
        return f"Compiled({self.name}({inputs}), {self.target}, {kernels})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Its summary, where a cell has shown its view already."""
        from workbench.views.widgets.display import make_summary_bundle

        return make_summary_bundle(self)

    def _ipython_display_(self) -> None:
        """Its view, where it is the value of a cell."""
        from workbench.views.widgets.display import display_value

        display_value(self)

    def _display_(self) -> AnyWidget:
        """What marimo shows."""
        from workbench.views.widgets.display import show

        return show(self).live()

    @property
    def name(self) -> str:
        """The name of the function or module."""
        return (
            self._report.name if isinstance(self._report, LateReport) else self.report.request.name
        )

    @property
    def target(self) -> str:
        """The target of the compilation: "host", "cpu", "cuda" or a virtual GPU."""
        return self.report.request.target

    @checked
    def update(self, report: Report) -> None:
        """Replace the report, for example with one that includes a saved file."""
        before, self._report = self.report, report
        self._notify(before, report)
