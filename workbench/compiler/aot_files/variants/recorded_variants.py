"""Code with graph breaks, recorded while it runs: each frame, its variants, their graphs.

Guards on the size of a view's base are left out where nothing compiled reads it: torch makes them
where a size may change and not where sizes are fixed, so that a tensor that is not a view would fit
the variant of one size and not that of any size.
"""

from __future__ import annotations

import builtins
import pickle
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from workbench.artifacts.manifest.manifest import Build
from workbench.compiler.aot_files.generated import find_programs
from workbench.compiler.aot_files.variants.frame_sources import (
    Row,
    collect_sources,
    list_source_rows,
)
from workbench.compiler.aot_files.variants.registries import Registries
from workbench.compiler.aot_files.writing.serialized import (
    BuiltKernel,
    find_native_build,
    list_built_kernels,
)
from workbench.compiler.call_plan.live_guards import is_released
from workbench.compiler.call_state.reachable import holds_tensors
from workbench.compiler.calls.paths import Path
from workbench.compiler.captured_code.specialized_values import (
    SpecializedValue,
    SpecializedValues,
    find_globals_module,
    is_users,
)
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.guards.guard_policy import (
    across,
    find_specialized_check,
    guarded_across,
)
from workbench.compiler.guards.guard_words import is_environment, shown, value_text
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.internals.patches import Patches, ProcessPatches
from workbench.errors import ArtifactError, UsageError

Call = tuple[Any, ...] | Callable[[Callable[..., Any]], object]
_UNWRITTEN = tuple(map(re.compile, (r"Type <class .+?'>", r"guards_state must not be None")))
_MADE_UP = re.compile(r"_\d+(_c\d+)?$")  # what torch names after an object, or by counting
_BY_IDENTITY = frozenset(
    (
        *("ID_MATCH", "CLOSURE_MATCH", "WEAKREF_ALIVE", "DICT_VERSION"),
        *("NN_MODULE", "FUNCTION_MATCH", "CLASS_MATCH", "MODULE_MATCH"),
    )
)
"""Guards that torch leaves out of what it writes, or does not write at all."""


class NothingCompiled(ArtifactError):
    """torch.compile left a function to Python, so that there is nothing to save."""


@dataclass(frozen=True)
class Recorded:
    """What was compiled for a function: torch's bytes, the built kernels, a row for each frame.

    `dropped` are the guards that no file can hold, as a manifest lists them; `specialized` are
    values that torch's guards take from the process that reads them; `sources` is the code
    of the user that was compiled in; `registries` are entries that it reads of libraries' dicts.
    """

    name: str
    payload: bytes
    kernels: tuple[BuiltKernel, ...]
    build: Build | None
    device: str
    frames: tuple[Mapping[str, Any], ...]
    dropped: tuple[Mapping[str, str], ...]
    sources: tuple[Row, ...] = ()
    registries: tuple[Row, ...] = ()
    specialized: tuple[Mapping[str, Any], ...] = ()


def target_of(fn: Callable[..., Any]) -> Any:
    """The function that Dynamo compiles for a callable: the `forward` of a module.

    Raises `UsageError` for what is neither a function, a method nor a module, and for what
    `torch.compiler.disable` keeps from being compiled.
    """
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    if getattr(target, tp.DISABLED[0], False):
        name = getattr(target, "__qualname__", type(fn).__name__)
        raise UsageError(
            f"{name} is under torch.compiler.disable, so it runs in eager. Remove "
            "torch.compiler.disable, or record a function that calls it."
        )
    if not hasattr(target, "__code__"):
        raise UsageError(
            f"{type(fn).__name__} is neither a function, a method nor a module. Pass the function "
            "itself, not the result of torch.compile or functools.partial."
        )
    return target


def _function(target: Any) -> FunctionType:
    function: FunctionType = getattr(target, "__func__", target)
    return function


def record(fn: Callable[..., Any], calls: Sequence[Call]) -> Recorded:
    """Compile a function for these calls and keep all that was compiled.

    A call is the tuple of its arguments, or a function that is given the compiled one and calls it.
    What had been compiled before stays as it was. Raises `ArtifactError` when a part of it cannot
    be kept, `UsageError` when the function was compiled in this process before.
    """
    target = target_of(fn)
    if not calls:
        raise UsageError("calls is empty: give at least one call, such as [(x,)].")
    if tp.CACHE_ENTRIES.get()(target.__code__):
        raise UsageError(
            f"{target.__qualname__} is already compiled in this process, and only new compilations "
            "are recorded. Call torch.compiler.reset() first."
        )
    name, dropped, codes = str(target.__qualname__), list[Mapping[str, str]](), list[CodeType]()
    fallen, registries, bases = set[CodeType](), Registries(), ViewBases()
    inputs: dict[str, str] = {}
    outside = OutsideValues(_function(target))
    with (
        _own_names(),
        preserved(),
        _own_store(),
        registries.read_by_key(),
        _globals_among_inputs(),
        bases.left_out(),
        _fallen(fallen),
        collect_sources(codes),
        start_fast(),
    ):
        compiled = torch.compile(
            fn, options={"guard_filter_fn": partial(_kept, dropped, registries, inputs, outside)}
        )
        with _explained(name):
            for call in calls:
                outside.require_one_value()
                compiled(*call) if isinstance(call, tuple) else call(compiled)
        outside.require_one_value()
        for place, input_name in inputs.items():
            raise ArtifactError(
                f"{name} cannot be saved with its variants: the global {place} and {input_name} "
                "were the same object, which a file cannot check. Pass a different object as "
                f"{input_name}, such as a copy."
            )
        entries, _ = tp.PRECOMPILE_CONTEXT.get().create_cache_entries()
        if not entries:
            raise NothingCompiled(f"torch.compile compiled no part of {name}.")
        if len(entries) != 1:
            raise ArtifactError(
                f"{len(entries)} functions were compiled separately, not only {name}. Record each "
                "one separately, and remove torch.compile from the functions it calls."
            )
        (entry,) = entries.values()
        # a decorated function says that it is of the module of what it wraps
        entry.dynamo.codes[0].python_module = _function(target).__globals__["__name__"]
        dropped += bases.rows
        bases.require_unread(name, _compiled_codes(entry.dynamo.codes))
        recorded = _taken(name, entry, dropped, [target.__code__, *codes], fallen)
        return replace(recorded, registries=registries.rows(), specialized=outside.rows())


@contextmanager
def _globals_among_inputs() -> Iterator[None]:
    with Patches() as patches:
        patches.wrap(tp.DUPLICATE_GUARD, guarded_across)
        yield


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say in a sentence that torch cannot write a guard, where it raises an error of its own."""
    try:
        yield
    except Exception as error:
        match = next(filter(None, (mark.search(str(error)) for mark in _UNWRITTEN)), None)
        if match is None:
            raise
        raise ArtifactError(
            f"{name} cannot be saved with its variants: one of its guards cannot be serialized "
            f"({match[0]}). Define the classes that the guard reads in a module, not in a "
            "function."
        ) from error


def _taken(
    name: str,
    entry: Any,
    dropped: Sequence[Mapping[str, str]],
    codes: Sequence[CodeType],
    fallen: Collection[CodeType],
) -> Recorded:
    lost = [code.python_code.co_name for code in entry.dynamo.codes if code.bypassed]
    if lost:
        raise ArtifactError(
            f"{name} cannot be saved with its variants: torch does not keep the code of "
            f"{', '.join(lost)}. Either its guards cannot be serialized, or its backward pass "
            "never ran. Record under torch.no_grad(), or with a function that calls backward()."
        )
    _name_modules(name, entry.dynamo.codes)
    if not entry.backends:
        raise NothingCompiled(f"No graph of {name} was compiled, so nothing can be saved.")
    graphs = [artifact.content for artifact in entry.backends.values()]
    programs = [program for graph in graphs for program in find_programs(graph)]
    kernels = list_built_kernels(programs, {})
    sources, lost = list_source_rows(codes)
    why = "another process cannot compare it, and would not notice a different version"
    unnamed = [{"kind": "SOURCE", "name": name, "why": why} for name in lost]
    return Recorded(
        name=name,
        payload=pickle.dumps(entry),
        kernels=kernels,
        build=find_native_build() if kernels else None,
        device=entry.dynamo.device_type,
        frames=tuple(_row(code, fallen) for code in entry.dynamo.codes),
        dropped=tuple({tuple(row.values()): row for row in (*dropped, *unnamed)}.values()),
        sources=tuple(sources),
    )


def _name_modules(name: str, codes: Sequence[Any]) -> None:
    """Have torch import the modules that compiled code finds among its globals by a made-up name.

    Raises `ArtifactError` for any other object that it finds there.
    """
    own_names = {
        own_name for code in codes for own_name in (*code.backend_ids, *code.function_names)
    }
    for code in codes:
        scope = vars(sys.modules[code.python_module])
        for global_name in _made_up_names(code) - own_names:
            value = scope.get(global_name)
            if isinstance(value, ModuleType):
                code.import_sources[global_name] = value.__name__
            elif value is not None and value is not vars(builtins):  # which torch puts there
                raise ArtifactError(
                    f"{name} cannot be saved with its variants: the compiled code of "
                    f"{code.python_code.co_name} uses a {type(value).__name__} of this process."
                )


def _made_up_names(code: Any) -> set[str]:
    """Names that the compiled code of a frame has and its original has not."""
    to_code_object = tp.SERIALIZED_CODE.get().to_code_object
    own = set(to_code_object(code.python_code).co_names)
    compiled = {
        name for one in code.guarded_codes for name in to_code_object(one.dynamo_code).co_names
    }
    return {name for name in compiled - own if _MADE_UP.search(name)}


def _compiled_codes(codes: Sequence[Any]) -> list[CodeType]:
    to_code_object = tp.SERIALIZED_CODE.get().to_code_object
    return [to_code_object(one.dynamo_code) for code in codes for one in code.guarded_codes]


def _row(code: Any, fallen: Collection[CodeType]) -> Mapping[str, Any]:
    return {
        "function": code.python_code.co_name,
        "line": code.python_code.co_firstlineno,
        "is_resumed": bool(code.install_to_global),
        "variants": len(code.guarded_codes),
        "graphs": len(code.backend_ids),
        "falls_back": tp.SERIALIZED_CODE.get().to_code_object(code.python_code) in fallen,
    }


def _kept(
    dropped: list[Mapping[str, str]],
    registries: Registries,
    inputs: dict[str, str],
    outside: OutsideValues,
    guards: Sequence[Any],
) -> list[bool]:
    """Which guards a file can hold; the others are noted, and `inputs` that are globals, too."""
    outside.note(guards)
    kept_flags, needless = [], registries.needless(guards)
    for at, guard in enumerate(guards):
        why = needless.get(at)
        if _BY_IDENTITY.intersection((guard.guard_type, *guard.derived_guard_types)):
            why = "it compares an object's identity, which does not exist in another process"
        elif pair := across(guard.orig_guard):
            why = "it compares a global with an input, but a file holds a copy of the global"
            if not guard.has_value or holds_tensors(guard.value):
                inputs[shown(pair[0])] = shown(pair[1])
        elif "defaults__" in guard.name:
            why = "torch cannot serialize a function's defaults"
        elif guard.has_value and _is_secret(guard):
            why = "it compares an environment variable, which no file stores"
        if why is not None:
            row = {"kind": guard.guard_type, "name": guard.name, "why": why}
            dropped.append({**row, **({} if at in needless else _frozen(guard))})
        kept_flags.append(why is None)
    return kept_flags


@dataclass
class OutsideValues:
    """What a file has to compare by itself when it is read.

    A guard on a variable of a module comes out of a file with what that has in the new process,
    since torch writes the module's name; a guard on the environment is not written.
    """

    function: FunctionType
    found: dict[tuple[str | None, Path, str], SpecializedValue] = field(default_factory=dict)
    twofold: list[str] = field(default_factory=list)

    def note(self, guards: Sequence[Any]) -> None:
        """Take those of one set of guards."""
        own = find_globals_module(self.function)
        for guard in guards:
            one = find_specialized_check(guard, self.function)
            if one is None or one.owner is None or not one.known:
                continue
            if one.check != "hidden" and (one.owner == own or not is_users(one.owner)):
                continue
            key = one.owner, one.path, one.check
            first = self.found.setdefault(key, one)
            if first.path == one.path and one.check in _VALUES and not first.holds(guard.value):
                # torch puts errors of its filter into one of its own: said after the call
                self.twofold.append(one.name)

    def require_one_value(self) -> None:
        """Raises `ArtifactError` where two sets contradict, or the environment is another one now.

        Guards on the environment are left out of the file, and so of this process: torch does not
        compile again.
        """
        owner, scope = find_globals_module(self.function), self.function.__globals__
        for one in self.found.values():
            if one.check == "hidden":
                here = SpecializedValues.in_scopes((one,), owner, scope)
                if here.mismatches({}, arguments=False):
                    self.twofold.append(one.name)
        for name in self.twofold:
            raise ArtifactError(
                f"{name} had two values while the variants were recorded, but a file can hold only "
                "one. Record with one value, or pass it as an argument."
            )

    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """They for a manifest."""
        return tuple(one.to_json() for one in self.found.values())


_VALUES = ("equals", "is", "hidden", "code", "tensor")


def _is_secret(guard: Any) -> bool:
    is_compared = guard.guard_type in ("EQUALS_MATCH", "CONSTANT_MATCH")
    return is_compared and is_environment(guard.value, guard.name)


def _frozen(guard: Any) -> Mapping[str, str]:
    """What the code goes on with, where neither its source nor a release tells what it was."""
    value = guard.value if guard.has_value else None
    if not guard.has_value or isinstance(value, FunctionType) or is_released(value):
        return {}
    return {"frozen": value_text(value, guard.name), "place": shown(guard.name)}


@contextmanager
def _own_store() -> Iterator[None]:
    """Let torch keep what it compiles, beside what others recorded in this process.

    Torch finds its own saved packages by name and first line alone, so that none is looked up.
    """
    with ProcessPatches() as patches:
        patches.name(tp.PRECOMPILE_STORE, lambda _fn: None)
        patches.name(tp.PRECOMPILE_CODES, {})
        patches.name(tp.PRECOMPILE_GRAPHS, {})
        patches.enter_context(tp.DYNAMO_CONFIG.get().patch(caching_precompile=True))
        # else a graph without an operator is left uncompiled, which torch cannot write
        patches.enter_context(tp.FUNCTORCH_CONFIG.get().patch(bundled_autograd_cache=True))
        yield


@contextmanager
def _fallen(codes: set[CodeType]) -> Iterator[None]:
    """Take the frames that torch gave up: calls that none of their variants fits run eagerly."""

    def watched(inner: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(wrapper: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            result = inner(wrapper, frame, *args, **kwargs)
            if result.frame_exec_strategy.cur_action != tp.FRAME_ACTION.get().DEFAULT:
                codes.add(frame.f_code)
            return result

        return attempt

    with Patches() as patches:
        patches.wrap(tp.ATTEMPT_FRAME, watched, is_everywhere=True)
        yield


@contextmanager
def _own_names() -> Iterator[None]:
    """Take away, at the end, the globals that compiled code reads.

    Torch does so when the code is freed, which may be after a file has put the same names there.
    """
    manager = type(tp.CLEANUPS.get())()
    with ProcessPatches() as patches:
        patches.name(tp.CLEANUPS, manager)
        try:
            yield
        finally:
            for place, hooks in list(manager.values.items()):
                manager.values[place] = []
                for hook in hooks:
                    hook()


_OF_BASE = re.compile(r"(\S+?\._base)\.(?:(?:size|stride)\(\)\[\d+\]|storage_offset\(\))")
_OF_INPUT = re.compile(r"\b[LG]\[")
_WHY = "it is the size of a view's base tensor, which no compiled code reads"


class ViewBases:
    """Leaves those guards out of what torch writes, and lists them."""

    def __init__(self) -> None:
        self._dropped: dict[str, None] = {}

    @property
    def rows(self) -> list[Mapping[str, str]]:
        """What was left out, as a manifest lists guards."""
        return [{"kind": "SHAPE_ENV", "name": name, "why": _WHY} for name in self._dropped]

    def require_unread(self, name: str, codes: Sequence[CodeType]) -> None:
        """Raise `ArtifactError` where compiled code takes a size from the base after all."""
        if self._dropped and any("_base" in code.co_names for code in codes):
            raise ArtifactError(
                f"{name} cannot be saved with its variants: its compiled code reads the size of a "
                "view's base tensor. Record it with copies of the inputs, such as x.clone()."
            )

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Hold for what this thread compiles."""
        with Patches() as patches:
            patches.wrap(tp.SERIALIZE_GUARDS, self._serializer)
            yield

    def _serializer(self, inner: Callable[..., bytes]) -> Callable[..., bytes]:
        def serialize(manager: Any, *args: Any) -> bytes:
            before = manager.shape_code_parts
            if before is not None and before.cpp_code_parts is None:
                manager.shape_code_parts = self._without_bases(before)
            try:
                return inner(manager, *args)
            finally:
                manager.shape_code_parts = before

        return serialize

    def _without_bases(self, parts: Any) -> Any:
        written, verbose = parts.python_code_parts, parts.verbose_code_parts
        needless = find_needless_parts(written.exprs)
        self._dropped.update(dict.fromkeys(written.exprs[at] for at in needless))
        places = [at for at in range(len(written.exprs)) if at not in needless]
        return replace(
            parts,
            python_code_parts=replace(written, exprs=[written.exprs[at] for at in places]),
            verbose_code_parts=replace(verbose, exprs=[verbose.exprs[at] for at in places]),
        )


def find_needless_parts(parts: Sequence[str]) -> set[int]:
    """The places of those that say something of bases alone that no other part speaks of."""
    bases = [frozenset(_OF_BASE.findall(part)) for part in parts]
    rests = [_OF_BASE.sub("", part) for part in parts]
    alone = [
        bool(own) and not _OF_INPUT.search(rest) for own, rest in zip(bases, rests, strict=True)
    ]
    tied = frozenset[str]().union(
        *(own for own, is_alone in zip(bases, alone, strict=True) if not is_alone)
    )
    return {at for at, is_alone in enumerate(alone) if is_alone and not bases[at] & tied}
