"""torch.export of one model: the program, what it assumes about sizes, what it leaves behind."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import torch
from torch.export import ExportedProgram

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.signatures import drop_bad_annotations
from workbench.compiler.packaging import package_request
from workbench.compiler.packaging.capture_side_effects import (
    check_program_mode,
    check_side_effects,
    check_train_mode,
    check_written,
    find_outer_functions,
    state_kept,
    watch_state,
)
from workbench.compiler.packaging.diagnosis import explain_export, find_lines, hold_torch_log
from workbench.compiler.packaging.inputs import (
    CallInputs,
    Declared,
    read_declared_dims,
    read_inputs,
)
from workbench.compiler.packaging.outputs import DataClasses
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.request import callables
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import check_mapping
from workbench.compiler.sizes import dims
from workbench.compiler.sizes.shapes import sizes_assumed
from workbench.compiler.sources.size_symbols import SizeSymbols
from workbench.compiler.sources.sources import Places
from workbench.errors import UsageError, WorkbenchError

_FORWARD = "def forward(*args, **kwargs):\n    return function(*args, **kwargs)"


@dataclass(frozen=True)
class Exportable:
    """A model ready for torch.export: the module, its example call and its declared dimensions."""

    module: torch.nn.Module
    title: str
    inputs: CallInputs
    declared: Declared
    request: ModelRequest
    outputs: DataClasses = field(default_factory=DataClasses)
    sizes: SizeSymbols = field(default_factory=lambda: SizeSymbols(lambda _: None))


@dataclass(frozen=True)
class Exported:
    """An exported program.

    `any_size` says that torch assumed of no declared size that it is neither 0 nor 1; else the
    sizes below 2 have to be tried. `notes` are sentences for the user.
    """

    program: Any
    any_size: bool
    notes: tuple[str, ...] = ()


def check_exportable(request: ModelRequest) -> Exportable:
    """Check a request against the model; raises `UsageError` for what cannot be."""
    if isinstance(request.model, ExportedProgram):
        return _of_program(request.model, request)
    module, title = _module(request.model)
    inputs = read_inputs(module.forward, tuple(request.args), request.kwargs, title)
    callables.check_inputs(inputs.bound)
    spec = request.dynamic_shapes
    make = getattr(spec, "dynamic_shapes", None)
    if callable(make):  # torch also takes objects that make one
        spec = make(module, tuple(request.args), dict(request.kwargs))
    elif not isinstance(spec, list | tuple):
        check_mapping("dynamic_shapes", spec, "{'x': {0: torch.export.Dim('rows')}}")
    return Exportable(module, title, inputs, read_declared_dims(spec, inputs), request)


def _of_program(program: ExportedProgram, request: ModelRequest) -> Exportable:
    if request.dynamic_shapes is not None:
        raise UsageError(
            "dynamic_shapes cannot be given for an exported program, because its export declared "
            "the dimensions. Leave it out, or package the module itself."
        )
    kwargs = package_request.check_nesting(program, tuple(request.args), request.kwargs)
    request = replace(request, kwargs=kwargs)
    title = package_request.title_of(program)
    inputs = read_inputs(request.original.forward, tuple(request.args), kwargs, title)
    return Exportable(request.original, title, inputs, {}, request)


def _module(model: Any) -> tuple[torch.nn.Module, str]:
    callee = resolve(model)
    if callee.kind == "module" and callee.module is not None:
        return callee.module, callee.name
    if callee.receiver:
        raise UsageError(
            f"{callee.name} is a {callee.kind}, but torch.export takes a module or a plain "
            "function. Pass the module itself, or a function that calls it."
        )
    return _as_module(callee.entry, callee.name), callee.name


def _as_module(function: Any, name: str) -> torch.nn.Module:
    """A module whose forward calls the function, under the same signature.

    torch keeps the lines of a program only below a frame of that name; the file is one that stack
    traces leave out.
    """
    scope = {"function": function}
    exec(compile(_FORWARD, "<eval_with_key>.workbench", "exec"), scope)
    forward = functools.wraps(function)(scope["forward"])
    body = {"forward": staticmethod(forward), "__module__": forward.__module__}
    kind = type(name.rpartition(".")[2].strip("<>") or "Function", (torch.nn.Module,), body)
    module: torch.nn.Module = kind()
    return module.eval()


def export(subject: Exportable) -> Exported:
    """Capture the model for every declared size, and check that nothing is lost on the way.

    Raises `CaptureError` or `UsageError` with the user's line, the reason and the cure.
    """
    module, title = subject.module, subject.title
    if isinstance(subject.request.model, ExportedProgram):
        check_program_mode(title, subject.request.model)
        check_written(title, subject.request.model)
        return Exported(subject.request.model, any_size=False, notes=(package_request.EXPORTED,))
    with frozen_reads(module) as frozen, watch_state(module) as states:
        program, any_size = _for_every_size(subject)
    with sizes_assumed(not any_size):
        train = check_train_mode(module, title, program, lambda: _export(subject))
        around = (states[0], states[-1])
        call = (subject.request.args, subject.request.kwargs)
        lost = check_side_effects(module, title, program, around, lambda: _export(subject), call)
    notes = tuple(filter(None, (train, *lost, *frozen, *subject.outputs.notes())))
    for sentence in notes:
        warnings.warn(f"{subject.title}: {sentence}", stacklevel=2)
    return Exported(program, any_size, notes)


def _for_every_size(subject: Exportable) -> tuple[Any, bool]:
    """Capture without assuming that sizes are 2 or more where 0 or 1 is declared, if that works."""
    small = any((dim.min or 0) < 2 for dim in subject.declared.values())
    if small:
        with contextlib.suppress(WorkbenchError), sizes_assumed(assumed=False):
            return _export(subject), True
    return _export(subject), not small


def _export(subject: Exportable) -> Any:
    try:
        return _captured(subject)
    except Exception as error:  # the capture runs the user's code, which raises whatever it likes
        lines = _guarded_lines(subject) if dims.is_violated(error) else ()
        raise explain_export(error, subject.title, subject.sizes, lines) from error


def _captured(subject: Exportable) -> Any:
    request, names = subject.request, subject.inputs.bound
    spec = request.dynamic_shapes
    if isinstance(spec, Mapping) and spec.keys() < names.keys():
        spec = {name: spec.get(name) for name in names}  # torch wants to see every input
    with Patches() as patches, hold_torch_log(), warnings.catch_warnings():
        patches.wrap(tp.TRACEBACK_FRAMES, _with_user_frames, "source lines")
        # we say which line does it, and what becomes of it
        warnings.filterwarnings("ignore", "The tensor attribute")
        args, kwargs = tuple(request.args), dict(request.kwargs)
        forward = getattr(subject.module.forward, "__func__", None)
        with state_kept(subject.module), drop_bad_annotations(forward):
            return torch.export.export(subject.module, args, kwargs, dynamic_shapes=spec)


def _with_user_frames(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Keep every line of the user below `forward`: torch keeps those of forwards alone."""
    places = Places()

    def frames(tracer: Any, stack: Any) -> Any:
        kept_places = {(frame.filename, frame.lineno) for frame in inner(tracer, stack)}
        first = next((i for i, frame in enumerate(stack) if frame.name == "forward"), len(stack))
        return traceback.StackSummary.from_list(
            frame
            for frame in stack[first:]
            if (frame.filename, frame.lineno) in kept_places or places.is_user(frame.filename)
        )

    return frames


def _guarded_lines(subject: Exportable) -> tuple[str, ...]:
    """The lines at which a capture that failed takes its decisions about sizes."""
    lines: dict[str, None] = {}

    def note(*_args: Any, **_options: Any) -> None:
        lines.update(dict.fromkeys(find_lines(traceback.extract_stack())[:1]))

    with Patches() as patches, contextlib.suppress(Exception):
        patches.observe(tp.LOG_GUARD, "package", before=note)
        _captured(subject)
    return tuple(lines)


_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
_DRAWS = ("random", "uniform", "randint", "randrange", "choice", "gauss", "normalvariate")
_BETWEEN = frozenset(
    function.__code__.co_filename for function in (os.getenv, Mapping.get, Mapping.__contains__)
)


@contextmanager
def frozen_reads(module: torch.nn.Module) -> Iterator[list[str]]:
    """A sentence for each line of the user that reads the environment, a clock or random numbers.

    They are seen while they run, in this thread: torch.export runs a model's Python once.
    """
    lines: dict[str, None] = {}
    sentences: list[str] = []
    places, thread = Places(), threading.get_ident()

    def note(what: str) -> None:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename in _BETWEEN:
            frame = frame.f_back
        file = frame.f_code.co_filename
        if threading.get_ident() == thread and places.is_own(file):
            lines[f"{what} is frozen at capture: {file}:{frame.f_lineno}"] = None

    def watched(function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            note(what)
            return function(*args, **kwargs)

        return call

    wrapped = {
        getattr(owner, name): (owner, name, watched(getattr(owner, name), f"{title}.{name}()"))
        for owner, title, names in ((time, "time", _CLOCKS), (random, "random", _DRAWS))
        for name in names
    }
    with ExitStack() as stack:
        stack.enter_context(_environment_watched(note))
        for owner, name, call in wrapped.values():
            stack.enter_context(mock.patch.object(owner, name, call))
        for place in find_outer_functions(module):  # from time import time
            if place.before in wrapped:
                place.put(wrapped[place.before][2])
                stack.callback(place.put, place.before)
        yield sentences
    sentences += lines


@contextmanager
def _environment_watched(note: Callable[[str], None]) -> Iterator[None]:
    kind = type(os.environ)
    get_variable = kind.__getitem__

    def getitem(environment: Any, key: Any) -> Any:
        note(f"the environment variable {key}")
        return get_variable(environment, key)

    with mock.patch.object(kind, "__getitem__", getitem):
        yield
