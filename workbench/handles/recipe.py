"""What was compiled and for which inputs, so that the same can be asked for another target.

The function or module is kept, as its caller keeps it. Of a tensor among the inputs only a
description and a weak reference are kept: while the caller still holds it, it is used again, and
afterwards zeros of the same shape, strides and dtype take its place. A compilation asks for
nothing else, and zeros are valid where values are indexes. Objects that are no containers, such as
a cache of keys and values, are kept as they are.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.contract.examples import tensor_of
from workbench.compiler.contract.guard_sandbox import Example
from workbench.compiler.contract.paths import Path
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.sources.sources import CELLS, Places
from workbench.errors import UsageError
from workbench.processes.messages import ProgressCallback

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled

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

    def tensor(self) -> torch.Tensor:
        """The caller's own tensor, or one like it."""
        own = self.alive()
        if own is not None:
            return own
        if not self.is_plain:
            raise UsageError(
                f"The example input {self.path} is gone, and a tensor of its kind cannot be made "
                "from a description. Run the cell again."
            )
        made = tensor_of(self.like, self.path)
        if made.numel() <= _ZEROED and made.device.type != "meta":
            made.zero_()
        return self.like.dressed(made)


class Recipe:
    """A call that was compiled, ready to be compiled for another target."""

    def __init__(
        self,
        target: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: CompileOptions,
        *,
        compile: Callable[..., Compiled | CrossCompiled],
        compile_in_background: Callable[..., Any],
    ):
        """`compile` and `compile_in_background` take a target, its inputs and options."""
        self._target = target
        self._compile = compile
        self._compile_in_background = compile_in_background
        self._options = options
        self._state = TorchState.current()
        self._cells = Places().cells
        self._held: dict[str, _Held] = {}

        def hold(value: torch.Tensor, path: Path) -> None:
            self._held[str(path)] = _Held.of(value, path)

        bound = {"args": tuple(args), "kwargs": dict(kwargs)}
        self._example = Example(bound, None, hold)

    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position and by name; raises `UsageError` for one that is gone."""
        made = self._example.bound(None, lambda path: self._held[str(path)].tensor())
        return made["args"], made["kwargs"]

    def options(self, target: str) -> CompileOptions:
        """The same request for another target; raises `UsageError` for one that does not exist."""
        return replace(self._options, target=target)

    def compile(
        self, target: str, progress: ProgressCallback | None = None
    ) -> Compiled | CrossCompiled:
        """Compile the call for a target, under the modes of torch that it was compiled under.

        Raises what a compilation raises, and `UsageError` for an input that is gone.
        """
        args, kwargs = self.inputs()
        with self._as_then():
            return self._compile(self._target, args, kwargs, self.options(target), progress)

    def compile_in_background(self, target: str) -> Any:
        """Compile for a target in a process of its own; returns the job."""
        args, kwargs = self.inputs()
        with self._as_then():
            return self._compile_in_background(self._target, args, kwargs, self.options(target))

    @contextmanager
    def _as_then(self) -> Iterator[None]:
        """The modes of torch and the names of cells as when it was first compiled."""
        token = CELLS.set(self._cells)
        try:
            with self._state.applied(keep=frozenset()):
                yield
        finally:
            CELLS.reset(token)
