"""Code with graph breaks, recorded while it runs: each frame, its variants, their graphs."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from workbench.artifacts.manifest.records import Build
from workbench.compiler.aot_files.frame_sources import Row, collected_sources, source_rows
from workbench.compiler.aot_files.payload import (
    BuiltKernel,
    built_kernels,
    native_build,
    programs_in,
)
from workbench.compiler.cold_start.compile_cache import fast_start
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import ArtifactError, UsageError

Call = tuple[Any, ...] | Callable[[Callable[..., Any]], object]
_DROPPED = "%s guard on %s is dropped with caching_precompile=True."


@dataclass(frozen=True)
class Recorded:
    """What was compiled for a function: torch's bytes, the built kernels, a row for each frame.

    `dropped` are the guards that no file can hold, as a manifest lists them; `sources` is the code
    of the user that was compiled in.
    """

    name: str
    payload: bytes
    kernels: tuple[BuiltKernel, ...]
    build: Build | None
    device: str
    frames: tuple[Mapping[str, Any], ...]
    dropped: tuple[Mapping[str, str], ...]
    sources: tuple[Row, ...] = ()


def target_of(fn: Callable[..., Any]) -> Any:
    """The function that Dynamo compiles for a callable: the `forward` of a module.

    Raises `UsageError` for what is neither a function, a method nor a module.
    """
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    if not hasattr(target, "__code__"):
        raise UsageError(
            f"{type(fn).__name__} is neither a function, a method nor a module: hand over the "
            "function that is called, not what torch.compile or functools.partial made of it."
        )
    return target


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
            f"{target.__qualname__} has been compiled in this process, and what is compiled "
            "already is not recorded: call torch.compiler.reset() before."
        )
    name, dropped, codes = str(target.__qualname__), list[Mapping[str, str]](), list[CodeType]()
    with (
        _own_names(),
        preserved(),
        _own_store(),
        _told(dropped),
        collected_sources(codes),
        fast_start(),
    ):
        compiled = torch.compile(fn)
        for call in calls:
            compiled(*call) if isinstance(call, tuple) else call(compiled)
        entries, _ = tp.PRECOMPILE_CONTEXT.get().create_cache_entries()
        if len(entries) != 1:
            raise ArtifactError(
                f"{len(entries)} functions were compiled on their own, not {name} alone. "
                "Record each by itself, and take torch.compile off what it calls."
            )
        (entry,) = entries.values()
        return _taken(name, entry, dropped, [target.__code__, *codes])


def _taken(
    name: str, entry: Any, dropped: Sequence[Mapping[str, str]], codes: Sequence[CodeType]
) -> Recorded:
    lost = [code.python_code.co_name for code in entry.dynamo.codes if code.bypassed]
    if lost:
        raise ArtifactError(
            f"{name} cannot be saved with its variants: torch does not keep the code of "
            f"{', '.join(lost)}. Either its guards cannot be written, or it was compiled for "
            "gradients and no call ran its backward: record under torch.no_grad(), or with a "
            "function that calls backward()."
        )
    if not entry.backends:
        raise ArtifactError(f"Nothing of {name} was compiled: there is no graph to save.")
    graphs = [artifact.content for artifact in entry.backends.values()]
    programs = [program for graph in graphs for program in programs_in(graph)]
    kernels = built_kernels(programs, {})
    sources, lost = source_rows(codes)
    why = "its code is found under no name, so that another version of it is not noticed"
    unnamed = [{"kind": "SOURCE", "name": name, "why": why} for name in lost]
    return Recorded(
        name=name,
        payload=pickle.dumps(entry),
        kernels=kernels,
        build=native_build() if kernels else None,
        device=entry.dynamo.device_type,
        frames=tuple(map(_row, entry.dynamo.codes)),
        dropped=tuple({tuple(row.values()): row for row in (*dropped, *unnamed)}.values()),
        sources=tuple(sources),
    )


def _row(code: Any) -> Mapping[str, Any]:
    return {
        "function": code.python_code.co_name,
        "line": code.python_code.co_firstlineno,
        "is_resumed": bool(code.install_to_global),
        "variants": len(code.guarded_codes),
        "graphs": len(code.backend_ids),
    }


@contextmanager
def _own_store() -> Iterator[None]:
    """Let torch keep what it compiles, beside what others recorded in this process.

    Torch finds its own saved packages by name and first line alone, so that none is looked up.
    """
    with ProcessPatches() as patches:
        patches.name(tp.PRECOMPILE_STORE, lambda _fn: None)
        patches.name(tp.PRECOMPILE_CODES, {})
        patches.name(tp.PRECOMPILE_GRAPHS, {})
        with tp.DYNAMO_CONFIG.get().patch(caching_precompile=True):
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


@contextmanager
def _told(dropped: list[Mapping[str, str]]) -> Iterator[None]:
    """Take the lines about guards that torch drops out of its log."""

    def is_wanted(record: logging.LogRecord) -> bool:
        if record.msg != _DROPPED or not isinstance(record.args, tuple):
            return True
        kind, name = map(str, record.args)
        why = "it compares the identity of an object, which another process cannot have"
        dropped.append({"kind": kind, "name": name, "why": why})
        return False

    log = tp.GUARDS_LOG.get()
    log.addFilter(is_wanted)
    try:
        yield
    finally:
        log.removeFilter(is_wanted)
