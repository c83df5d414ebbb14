"""What torch.compile was asked for, taken over into a request of ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.callables import uncompiled
from workbench.compiler.request.compile_request import (
    MODES,
    Backend,
    CompileOptions,
    check_mapping,
)
from workbench.errors import UsageError

_DEPTH = 16  # wrappers that torch puts around a backend; there are three


@dataclass(frozen=True)
class GivenThere:
    """The settings of one torch.compile; None for what was not given or cannot be read."""

    backend: Backend | None = None
    mode: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    dynamic: bool | None = None
    fullgraph: bool = False
    has_filter: bool = False

    @property
    def backend_name(self) -> str | None:
        """The backend as a name for people; None for Inductor, which needs no word."""
        if self.backend is None or isinstance(self.backend, str):
            return self.backend
        return getattr(self.backend, "__name__", type(self.backend).__name__)


def choose_options(
    fn: Any,
    /,
    backend: Backend | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    dynamic_shapes: Any = None,
    **rest: Any,
) -> CompileOptions:
    """The request, with what torch.compile was given where nothing is given here.

    An argument given here wins, because it was written for this compilation, and a note says what
    it replaces. A mode given here replaces mode and options of torch.compile, which takes only one
    of them; options given here are laid over those. Raises `UsageError` where `dynamic` and
    `dynamic_shapes` are both given here.
    """
    check_mapping("options", options, "{'max_autotune': True}")
    if dynamic not in (None, True, False):
        raise UsageError(f"dynamic is {dynamic!r}: expected None, True or False.")
    if dynamic is not None and dynamic_shapes is not None:
        raise UsageError(
            f"dynamic={dynamic} applies to every size, and dynamic_shapes to individual ones: "
            "pass only one of them."
        )
    there = read_outer_options(fn)
    if there is None:
        chosen = backend or "inductor", mode, options or {}
        return CompileOptions(*chosen, dynamic_shapes=dynamic_shapes, dynamic=dynamic, **rest)
    own = {
        "backend": backend,
        "mode": mode,
        "options": options,
        "dynamic": dynamic_shapes if dynamic is None else dynamic,
    }
    same_backend = backend is None or backend == (there.backend or "inductor")
    keeps = same_backend and mode is None
    if dynamic is None and dynamic_shapes is None:
        dynamic = there.dynamic
    return CompileOptions(
        backend or there.backend or "inductor",
        there.mode if keeps else mode,
        {**(there.options if keeps else {}), **(options or {})},
        dynamic_shapes=dynamic_shapes,
        dynamic=dynamic,
        notes=_notes(there, own, keeps=keeps),
        **rest,
    )


def _notes(there: GivenThere, own: Mapping[str, Any], *, keeps: bool) -> tuple[str, ...]:
    """What was taken over and what was not, in a sentence each."""
    options: dict[str, Any] = {
        "backend": there.backend_name,
        "mode": there.mode,
        "options": dict(there.options),
        "dynamic": there.dynamic,
    }
    adopted: list[str] = []
    replaced: list[str] = []
    for name, value in options.items():
        if value is None or value == {}:
            continue
        is_kept = keeps if name in ("mode", "options") else own[name] is None
        same = own[name] == value
        (adopted if is_kept or same else replaced).append(f"{name}={value!r}")
    words = f"takes over {', '.join(adopted)}" if adopted else "nothing is inherited"
    notes = [f"unwrapped the result of torch.compile: {words}"]
    if replaced:
        notes.append(f"arguments given here replace {', '.join(replaced)} of torch.compile")
    if not there.fullgraph:
        notes.append(
            "torch.compile allowed graph breaks (fullgraph=False), but an ahead-of-time "
            "compilation is one graph"
        )
    if there.has_filter:
        notes.append("torch.compile's guard filter is not used: pass it as guards=…")
    return tuple(notes)


def read_outer_options(target: Any) -> GivenThere | None:
    """What the outermost torch.compile around a callable was given; None where there is none."""
    while isinstance(target, functools.partial):
        target = target.func
    if uncompiled(target) is None:
        return None
    context = _context_of(target)
    layer = getattr(context, tp.COMPILED_CALLBACK, None)
    for _ in range(_DEPTH):
        if isinstance(layer, tp.INDUCTOR_WRAPPER.get() | tp.BACKEND_WRAPPER.get()):
            return _read(layer, context)
        layer = next(
            (vars(layer)[n] for n in tp.CALLBACK_LINKS if n in getattr(layer, "__dict__", {})), None
        )
    return GivenThere()


def _context_of(compiled: Any) -> Any:
    """What torch keeps of the settings: in a module's attribute, in a function's closure."""
    if isinstance(compiled, torch.nn.Module):
        return compiled.__dict__.get(tp.COMPILED_MODULE_CONTEXT)
    return inspect.getclosurevars(compiled).nonlocals.get("self")


def _read(wrapper: Any, context: Any) -> GivenThere:
    fullgraph = bool(getattr(context, "fullgraph", False))
    hooks = getattr(context, "_hooks", None)
    arguments: dict[str, Any] = {"dynamic": wrapper.dynamic, "fullgraph": fullgraph}
    arguments["has_filter"] = getattr(hooks, "guard_filter_fn", None) is not None
    if isinstance(wrapper, tp.BACKEND_WRAPPER.get()):
        name = wrapper.compiler_name
        backend = name if name in tp.LIST_BACKENDS.get()(exclude_tags=()) else wrapper.compiler_fn
        kwargs = wrapper.kwargs
        arguments |= {"mode": kwargs.get("mode"), "options": kwargs.get("options", {})}
        return GivenThere(backend=backend, **arguments)
    mode = _mode_of(wrapper.config)
    return GivenThere(mode=mode, options={} if mode else dict(wrapper.config), **arguments)


def _mode_of(config: Mapping[str, Any]) -> str | None:
    """The mode whose options these are; torch forgets its name."""
    if not config:
        return None
    list_options = tp.LIST_MODE_OPTIONS.get()
    return next((mode for mode in MODES if list_options(mode) == config), None)
