"""A call of a kernel that a user wrote: checked when it is made, and sent to a worker."""

from __future__ import annotations

import inspect
import operator
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from workbench.analysis.forecast.forecast import RecordedWork
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.triton_functions import has_type, is_autotuner, is_jitted
from workbench.errors import UsageError, describe_error, suggest
from workbench.number_text import plural
from workbench.processes.shipping import shipped_values
from workbench.specs import Gpu

Grid = tuple[int, ...] | Callable[[Mapping[str, Any]], Sequence[int]]
"""How many programs there are along 1 to 3 axes, or what says so for the values of a call."""

_AXES = 3
_AS_OTHER = {True: "torch.view_as_real(…)", False: ".view(torch.uint8)"}
_NUMBERS = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)


class EmptyGrid(UsageError):
    """A grid has no program, which another configuration may have."""


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel of Triton or Gluon.

    `function` is the kernel as its user has it, with its autotuner and heuristics. `arguments` are
    tensors, descriptors and numbers by the names of the parameters, in the order of the function;
    `meta` are the values of `tl.constexpr` parameters and the options of Triton, such as
    `num_warps`, that were given. `generated` is Inductor's text of a kernel of a compiled program,
    by the GPU that it is for, `recorded` what a call does on a GPU by the record of that program,
    or by what a run of the call has counted.
    """

    function: Any
    arguments: Mapping[str, Any]
    grid: Grid
    meta: Mapping[str, Any]
    generated: Mapping[str, str] = field(default_factory=dict)
    recorded: Callable[[Gpu], RecordedWork] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, function: Any, args: Sequence[Any], grid: Any, named: Mapping[str, Any]
    ) -> KernelCall:
        """The call `function[grid](*args, **named)`; raises `UsageError` for what it cannot be."""
        call = cls(function, {}, grid, {})
        parameters = call.parameters
        refuse_grid(grid, call.name)
        if len(args) > len(parameters):
            raise UsageError(
                f"{call.name} takes {plural(len(parameters), 'argument')} "
                f"({', '.join(parameters)}), but {len(args)} were given."
            )
        values = dict(zip(parameters, args, strict=False))
        for name in named:
            if name in values:
                raise UsageError(f"{call.name}: {name} is given twice, by position and by name.")
            if name not in parameters and name not in list_options():
                hint = suggest(name, [*parameters, *list_options()])
                raise UsageError(
                    f"{call.name} has no parameter {name}, and Triton has no option of this "
                    f"name.{hint or ' It takes ' + ', '.join(parameters) + '.'}"
                )
        values |= named
        constants = call.constants
        arguments = {
            name: values.get(name, parameter.default)
            for name, parameter in parameters.items()
            if name not in constants
        }
        meta = {name: value for name, value in values.items() if name not in arguments}
        bound_call = replace(call, arguments=arguments, meta=meta)
        bound_call._refuse_lacking()
        bound_call._refuse_set_twice()
        for name, value in arguments.items():
            _refuse_value(call.name, name, value)
        for name, value in meta.items():
            if isinstance(value, torch.Tensor):
                raise UsageError(
                    f"{call.name}: {name} is a tensor, but tl.constexpr needs a number at compile "
                    f"time. Pass {name}.item(), or remove tl.constexpr."
                )
        return bound_call

    @property
    def jit(self) -> Any:
        """What `triton.jit` made, under autotuners and heuristics; raises `UsageError`."""
        inner = self.function
        while not is_jitted(inner):
            below = getattr(inner, "fn", None)
            if below is None or inner is below or isinstance(below, FunctionType):
                raise UsageError(explain_no_kernel(self.function))
            inner = below
        return inner

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        name: str = self.jit.fn.__name__
        return name

    @property
    def is_gluon(self) -> bool:
        """Whether it is a kernel of Gluon, which says itself where each element is held."""
        return bool(getattr(self.jit, "is_gluon", bool)())

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the function by name."""
        return inspect.signature(self.jit.fn).parameters

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of the parameters that are `tl.constexpr`."""
        return tuple(
            name
            for name, parameter in self.parameters.items()
            if "constexpr" in str(parameter.annotation)
        )

    @property
    def configs(self) -> tuple[Any, ...]:
        """The configurations of the autotuner, outermost first; none without one."""
        configs: list[Any] = []
        inner = self.function
        while not is_jitted(inner):
            if is_autotuner(inner):
                configs += inner.configs
            inner = inner.fn
        return tuple(configs)

    @property
    def heuristics(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """What `triton.heuristics` computes from the other values, by name, in its order."""
        heuristics: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
        inner = self.function
        while not is_jitted(inner):
            heuristics |= getattr(inner, "values", {})
            inner = inner.fn
        return heuristics

    @property
    def is_data_free(self) -> bool:
        """Whether a tensor among the arguments holds no numbers, so that nothing can be run."""
        return any(map(is_numberless, self.tensors(with_parts=True).values()))

    def tensors(self, with_parts: bool = False) -> dict[str, torch.Tensor]:
        """The tensors among the arguments, those under descriptors too, by name.

        With `with_parts` those in tuples too, as "xs[0]".
        """
        named = name_tensors(self.arguments)
        return named if with_parts else {n: t for n, t in named.items() if n in self.arguments}

    def all_meta(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Constants and options of one configuration: defaults, those given, its own, computed.

        `config` holds what an autotuner's configuration sets, as `triton.Config.all_kwargs` says.
        """
        parameters = self.parameters
        defaults = {
            name: parameters[name].default
            for name in self.constants
            if parameters[name].default is not inspect.Parameter.empty
        }
        meta = {**defaults, **self.meta, **(config or {})}
        for name, compute in self.heuristics.items():
            try:
                meta[name] = compute({**self.arguments, **meta})
            except Exception as error:  # it is the user's, and may need what is not there
                raise UsageError(
                    f"{self.name}: the heuristic for {name} raised {describe_error(error)}."
                ) from error
        return meta

    def resolve_grid(self, meta: Mapping[str, Any] | None = None) -> tuple[int, int, int]:
        """The programs along the three axes, for values of `meta` beside those that were given.

        Raises `UsageError` where the function that was given as grid gives none, `EmptyGrid` where
        no program would run.
        """
        grid: Any = self.grid
        if callable(grid):
            try:
                grid = grid({**self.arguments, **self.all_meta(meta)})
            except UsageError:
                raise
            except Exception as error:  # it is the user's
                reason = describe_error(error)
                lacking = " That name is unknown." if isinstance(error, KeyError) else ""
                raise UsageError(
                    f"{self.name}: the grid function raised {reason}.{lacking}"
                ) from error
            if callable(grid):
                raise UsageError(
                    f"{self.name}: the grid function returns another function, not a tuple."
                )
        refuse_grid(grid, self.name)
        sizes = [*map(operator.index, grid), *(1,) * (_AXES - len(grid))]
        return sizes[0], sizes[1], sizes[2]

    def ship(self) -> Path:
        """Write the call into a new private folder, its tensors in memory that is shared.

        Who reads it removes it. Raises `UsageError` naming what cannot be sent.
        """
        parcel = {"function": self.function, "arguments": dict(self.arguments)}
        grid = self.grid if callable(self.grid) else tuple(self.grid)
        return shipped_values.pack(parcel | {"grid": grid, "meta": dict(self.meta)}, self.name)

    @contextmanager
    def make_parcel(self) -> Iterator[str]:
        """The folder that `ship` wrote, held and locked while a worker is asked about it.

        The lock goes with the path's object: a process that starts meanwhile, and removes what
        killed ones have left, takes a folder without a lock for one of those.
        """
        folder = self.ship()
        try:
            yield str(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _refuse_lacking(self) -> None:
        available = {name for config in self.configs for name in config.kwargs}
        available |= {*self.meta, *self.heuristics, *self.arguments}
        for name, parameter in self.parameters.items():
            empty = parameter.default is inspect.Parameter.empty
            if name in self.arguments and self.arguments[name] is inspect.Parameter.empty:
                raise UsageError(
                    f"{self.name}: the argument {name} is missing. It takes "
                    f"{', '.join(self.parameters)}."
                )
            if name not in available and empty:
                raise UsageError(
                    f"{self.name}: the tl.constexpr argument {name} is missing. Pass it by name: "
                    f"wb.kernel(…, {name}=…)."
                )

    def _refuse_set_twice(self) -> None:
        set_there = {name for config in self.configs for name in config.all_kwargs()}
        twice = [name for name in self.meta if name in set_there]
        if twice:
            raise UsageError(
                f"{self.name}: {twice[0]} is given, but the autotuner's configurations also set "
                "it, which Triton rejects. Leave it out, or pass the kernel without its "
                f"autotuner: {self.name}.fn."
            )


def is_numberless(tensor: torch.Tensor) -> bool:
    """Whether it has sizes and no numbers: one on meta, or a fake one of torch's tracing."""
    return tensor.is_meta or isinstance(tensor, tp.FAKE_TENSOR.get())


def unship(folder: Path) -> KernelCall:
    """The call that `KernelCall.ship` wrote; its tensors look into the file, which is removed."""
    try:
        return KernelCall(**shipped_values.unpack(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def list_options(build: str | None = None) -> tuple[str, ...]:
    """The names of Triton's own options for a kind of GPU, "cuda" or "hip"; without one for all."""
    return tuple(list_defaults(build))


def list_defaults(build: str | None = None) -> dict[str, Any]:
    """What these options are where nobody sets them, by name; `num_stages` differs by kind."""
    from triton.backends import backends

    return {
        field.name: field.default
        for backend in backends.values()
        for field in fields(find_options(backend.compiler))
        if build is None or find_options(backend.compiler).backend_name == build
    }


def find_options(compiler: Any) -> Any:
    """The class of the options that a backend of Triton has beside its compiler."""
    module = inspect.getmodule(compiler)
    kinds = (v for n, v in vars(module).items() if n.endswith("Options") and is_dataclass(v))
    return next(kind for kind in kinds if kind.__module__ == compiler.__module__)


def refuse_grid(grid: Any, kernel: str) -> None:
    """Raise `UsageError` for what is neither 1 to 3 positive sizes nor a function."""
    if callable(grid):
        return
    if not isinstance(grid, tuple | list):
        raise UsageError(
            f"grid of {kernel} is {grid!r}: expected a tuple such as (4,) or a function such as "
            "lambda meta: (triton.cdiv(n, meta['BLOCK']),)."
        )
    if not 1 <= len(grid) <= _AXES:
        raise UsageError(f"{kernel}: grid has {plural(len(grid), 'part')}, but needs 1 to {_AXES}.")
    for axis, size in enumerate(grid):
        try:
            number = operator.index(size)
        except TypeError:
            raise UsageError(
                f"{kernel}: part {axis} of the grid is {size!r}, but must be a whole number. Round "
                "up with triton.cdiv."
            ) from None
        if number < 1:
            raise EmptyGrid(
                f"{kernel}: part {axis} of the grid is {number}, so no program instance would run."
            )


def explain_no_kernel(function: Any) -> str:
    """Why something is no kernel, and what takes it instead."""
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(function, "__qualname__", "").startswith("KernelInterface.__getitem__"):
        return (
            "kernel[grid] is a launch: pass wb.kernel the kernel itself, and the grid as grid=(…)."
        )
    module = (getattr(function, "__module__", "") or "").partition(".")[0]
    if isinstance(function, torch.nn.Module) or module == "torch":
        why = "is torch code: compile it with wb.aot_compile"
    elif callable(function):
        why = "is a Python function: decorate it with @triton.jit, or pass it to wb.aot_compile"
    else:
        why = f"is a {type(function).__name__}"
    return (
        f"{name} is not a kernel: it {why}. wb.kernel takes functions decorated with "
        "@triton.jit or @gluon.jit."
    )


def _refuse_value(kernel: str, name: str, value: Any) -> None:
    """Raise `UsageError` for an argument that no kernel can be given."""
    if isinstance(value, tuple):
        for number, part in enumerate(value):
            _refuse_value(kernel, f"{name}[{number}]", part)
        return
    if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
        raise UsageError(
            f"{kernel}: {name} is a tensor of layout {value.layout}. Pass its parts to the kernel, "
            f"such as {name}.values()."
        )
    base = getattr(value, "base", value)
    if isinstance(base, torch.Tensor) and not has_type(base.dtype):
        raise UsageError(
            f"{kernel}: {name} is {str(base.dtype).removeprefix('torch.')}, a dtype that Triton "
            f"lacks. Convert it to another one, such as {_AS_OTHER[base.dtype.is_complex]}."
        )
    is_known = value is None or isinstance(value, (*_NUMBERS, torch.Tensor))
    if not is_known and not hasattr(value, "block_shape"):
        home = type(value).__module__
        kind = type(value).__name__ if home == "builtins" else f"{home}.{type(value).__name__}"
        raise UsageError(
            f"{kernel}: {name} is a {kind}, but a kernel takes tensors, tensor descriptors, Python "
            f"numbers and None. If it is a constant, declare it {name}: tl.constexpr."
        )


def name_tensors(arguments: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors of a kernel's arguments by name: in tuples, as "xs[0]", and under descriptors."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in arguments.items():
        base = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
        if isinstance(base, torch.Tensor):
            tensors[name] = base
        elif isinstance(value, tuple):
            tensors |= name_tensors({f"{name}[{n}]": part for n, part in enumerate(value)})
    return tensors
