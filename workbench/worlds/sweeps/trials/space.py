"""What a sweep goes through: axes with their values, checked before anything runs."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from workbench.arguments import shown
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.pipeline.modes import check_options
from workbench.compiler.request.compile_request import MODES, CompileOptions
from workbench.errors import UsageError
from workbench.worlds.sweeps.rows.axes import (
    AXES,
    BACKEND_OPTIONS,
    PARAMETERS,
    TEMPLATE,
    TUNED_BY,
    check_parameter,
    check_template,
    is_kernel_axis,
    join_backends,
)

OWN_AXES = (*AXES, TEMPLATE)
"""Names with a meaning of their own; others are sizes of the inputs, parameters of Triton kernels
(`workbench.worlds.sweeps.rows.axes`) or options of Inductor."""
_TUNES = "max_autotune_gemm"


@dataclass(frozen=True)
class Setting:
    """One point of the space: a value for every axis that applies to it."""

    values: tuple[tuple[str, Any], ...]
    sizes: tuple[tuple[str, Any], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    kernels: tuple[tuple[str, int], ...] = ()

    def get(self, axis: str, default: Any = None) -> Any:
        """The value of one of `OWN_AXES`, where the sweep goes through it."""
        return dict(self.values).get(axis, default)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Every axis with its value as people write it."""
        return tuple(
            (name, value_text(value))
            for name, value in (*self.values, *self.sizes, *self.options, *self.kernels)
        )


def value_text(value: Any) -> str:
    """A value of an axis as people write it: `float16`, `max-autotune`, the name of a function."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return getattr(value, "__name__", None) or str(value)


@dataclass(frozen=True)
class Space:
    """The axes of a sweep in the order in which they were given.

    `sizes` are the axes that the inputs are made from, the others are compiled with.
    """

    axes: Mapping[str, tuple[Any, ...]]
    sizes: tuple[str, ...] = ()

    @classmethod
    def of(cls, over: Mapping[str, Sequence[Any]], sizes: Sequence[str] = ()) -> Space:
        """Check the axes; `sizes` are the names that the function of the inputs takes.

        Raises `UsageError` for an unknown name or value, with the nearest match.
        """
        if not isinstance(over, Mapping) or not over:
            raise UsageError(
                "over is empty: give at least one axis with its values, such as "
                "`over={'mode': ['default', 'max-autotune']}`."
            )
        axes = {name: _values(name, values) for name, values in over.items()}
        for name in axes.keys() - set(sizes):
            _check_axis(name, axes[name], sizes)
        _check_targets(axes, sizes)
        missing = [name for name in sizes if name not in axes]
        if missing:
            raise UsageError(
                f"The inputs are created from {', '.join(sizes)}, but over has no "
                f"{', '.join(missing)}. Give values, or a default in the function."
            )
        return cls(axes, tuple(name for name in axes if name in sizes))

    @property
    def size(self) -> int:
        """Points of the grid, those left out included that are one and the same."""
        return math.prod(len(values) for values in self.axes.values())

    def grid(self) -> Iterator[Setting]:
        """Every setting once; the last axis changes fastest."""
        seen: set[tuple[tuple[str, str], ...]] = set()
        for point in itertools.product(*self.axes.values()):
            setting = self.setting(dict(zip(self.axes, point, strict=True)))
            if setting.texts not in seen:
                seen.add(setting.texts)
                yield setting

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """A point as a setting: what does not apply to it is left out.

        A backend other than Inductor has neither mode nor options, a mode without the autotuner
        has nothing for it to choose from, a device of this machine has no parameters of kernels.
        """
        is_inductor = point.get("backend", "inductor") == "inductor"
        is_virtual = is_inductor and _is_virtual(point.get("target", "host"))
        left_out = {n for n in TUNED_BY if not (is_inductor and _is_tuned(point))}
        if not is_inductor:
            left_out.add("mode")
        rest = {n: v for n, v in point.items() if n not in self.sizes and n not in left_out}
        options = {n: v for n, v in rest.items() if n not in OWN_AXES and not is_kernel_axis(n)}
        if rest.keys().isdisjoint(("mode", "max_autotune")) and not rest.keys().isdisjoint(
            TUNED_BY
        ):
            options.setdefault(_TUNES, True)  # without it they would change nothing
        return Setting(
            tuple((n, v) for n, v in rest.items() if n in OWN_AXES),
            tuple((n, point[n]) for n in self.sizes),
            tuple(options.items()) if is_inductor else (),
            tuple((n, v) for n, v in rest.items() if is_kernel_axis(n)) if is_virtual else (),
        )


def _is_tuned(point: Mapping[str, Any]) -> bool:
    """Whether the autotuner runs; where nothing is said of it, it is switched on."""
    said = [point[n] for n in (_TUNES, "max_autotune") if n in point]
    if "mode" in point:
        said.append(str(point["mode"]).startswith("max-autotune"))
    return any(said) if said else True


def _is_virtual(target: str) -> bool:
    return CompileOptions(target=target).gpu is not None


def _check_axis(name: str, values: Sequence[Any], sizes: Sequence[str]) -> None:
    check = _CHECKS.get(name)
    for value in values:
        if check is not None:
            check(value)
        elif is_kernel_axis(name):
            check_parameter(name, value)
        else:
            _check_option(name, value, sizes)


def _check_targets(axes: Mapping[str, Sequence[Any]], sizes: Sequence[str]) -> None:
    """Parameters of kernels are tried by the cost model, for GPUs that need not be here."""
    named = [name for name in axes if name not in sizes and is_kernel_axis(name)]
    if named and not any(_is_virtual(target) for target in axes.get("target", ())):
        raise UsageError(
            f"over[{named[0]!r}] is a Triton parameter, which needs a virtual GPU: add one, such "
            "as `over={'target': ['h100'], …}`. For this machine's device, let Inductor tune "
            "it: `over={'mode': ['max-autotune']}`."
        )


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UsageError(f"over[{name!r}] is {values!r}: expected a list of values.")
    if name in BACKEND_OPTIONS:
        values = [join_backends(name, value) for value in values]
    texts = [value_text(value) for value in values]
    twice = [text for text in texts if texts.count(text) > 1]
    if not texts or twice:
        what = f"{twice[0]} twice" if twice else "no value"
        raise UsageError(f"over[{name!r}] contains {what}: give each value once.")
    return tuple(values)


def _one_of(axis: str, value: Any, known: Sequence[Any], more: str = "") -> None:
    if any(isinstance(value, type(one)) and value == one for one in known):
        return
    near = difflib.get_close_matches(str(value), [str(k) for k in known], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    expected = ", ".join(map(str, known))
    raise UsageError(f"over[{axis!r}] contains {shown(value)}: expected {expected}{more}.{hint}")


def _check_backend(value: Any) -> None:
    if not callable(value):
        known = ["eager", "aot_eager", "inductor", *tp.LIST_BACKENDS.get()(exclude_tags=())]
        _one_of("backend", value, sorted(set(known)), " or a callable")


def _check_dtype(value: Any) -> None:
    dtypes = [v for v in vars(torch).values() if isinstance(v, torch.dtype) and v.is_floating_point]
    names = sorted({value_text(dtype) for dtype in dtypes})
    _one_of("dtype", value_text(value), names)


def _check_threads(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"over['threads'] contains {value!r}: expected positive integers.")


def _check_dynamic(value: Any) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"over['dynamic'] contains {value!r}: expected True or False.")


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "mode": partial(_one_of, "mode", known=MODES),
    "backend": _check_backend,
    "dtype": _check_dtype,
    "threads": _check_threads,
    "dynamic": _check_dynamic,
    "target": lambda target: CompileOptions(target=target),
    TEMPLATE: check_template,
}


def _check_option(name: str, value: Any, sizes: Sequence[str]) -> None:
    known: Mapping[str, Any] = tp.INDUCTOR_CONFIG.get().get_config_copy()
    if name.replace("-", "_") in known:
        check_options({name: value})
        return
    near = difflib.get_close_matches(name, [*OWN_AXES, *sizes, *PARAMETERS, *known], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(
        f"over has the axis {name!r}, which is not one of {', '.join(OWN_AXES)}, an Inductor "
        f"option, a Triton parameter or an input size. For a size, give the inputs as a "
        f"function: `args=lambda {name if name.isidentifier() else 'batch'}: (…,)`.{hint}"
    )


def list_size_names(args: Any, over: Collection[str]) -> tuple[str, ...]:
    """The sizes that a function of the inputs must be given, or has defaults for and goes `over`.

    There are none when the inputs are given.
    """
    if not callable(args):
        return ()
    try:
        parameters = signature_of(args).parameters
    except ValueError as error:
        raise UsageError(
            f"args is {args!r}, whose parameters cannot be read: pass a tuple of inputs, or a "
            "function of the sizes that returns one."
        ) from error
    needed = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
    return tuple(dict.fromkeys((*needed, *(n for n in parameters if n in over))))
