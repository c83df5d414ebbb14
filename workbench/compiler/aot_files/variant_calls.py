"""How a function under which a file's code stands is called, by what becomes of other calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches

Function = Callable[..., Any]
Backend = Callable[[Any, Any], Any]
Refusal = Callable[[str], Exception]


def called(fn: Function, on_miss: str, backend: Backend, refusal: Refusal) -> Function:
    """The function over its compiled code; it holds for the thread of a call and no other.

    What no variant fits is compiled by `backend` ("compile"), run as it is ("eager"), or raises
    what `refusal` makes of the guards that do not hold ("error").
    """
    with ProcessPatches() as patches:  # torch's own wrapper imports what compiles
        patches.name(tp.GET_COMPILER_FN, lambda backend: backend)
        return _CALLS[on_miss](fn, backend, refusal)


def _compiling(fn: Function, backend: Backend, _refusal: Refusal) -> Function:
    made: Function = torch.compile(fn, backend=backend)
    return made


def _running(fn: Function, _backend: Backend, _refusal: Refusal) -> Function:
    made: Function = tp.RUN_ONLY.get()(fn)
    return made


def _refusing(fn: Function, backend: Backend, refusal: Refusal) -> Function:
    """As under torch's stance "fail_on_recompile", which holds for every thread."""
    context = tp.OPTIMIZE.get()(backend=backend)
    is_skipped, has_tensor = tp.IS_SKIPPED.get(), tp.HAS_TENSOR.get()
    left_as_it_is = tp.FRAME_RESULT.get()

    def refuse(frame: Any, *_args: Any, **_kwargs: Any) -> Any:
        if is_skipped(frame.f_code) or not has_tensor(frame):
            return left_as_it_is()
        raise refusal(_failed_guards(frame))

    refuse._torchdynamo_orig_backend = context.callback  # type: ignore[attr-defined]
    context.callback = refuse
    made: Function = context(fn)
    return made


def _failed_guards(frame: Any) -> str:
    """The first guard of each variant that does not hold, without the line that torch adds."""
    entries = tp.PRECOMPILE_ENTRIES.get()(frame.f_code)
    checks = [entry.guard_manager.check_verbose(frame.f_locals) for entry in entries]
    parts = [part.partition("  # ")[0].strip() for one in checks for part in one.verbose_code_parts]
    return "; ".join(dict.fromkeys(parts))


_CALLS: Mapping[str, Callable[[Function, Backend, Refusal], Function]] = {
    "compile": _compiling,
    "eager": _running,
    "error": _refusing,
}
