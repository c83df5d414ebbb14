"""Code with graph breaks and several variants, to be saved, and as it came from a file."""

from __future__ import annotations

import functools
import inspect
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import torch

from workbench.arguments import checked
from workbench.artifacts.archive.file_kinds import OpenedFile, open_any
from workbench.artifacts.records.report_in import read_variants_record
from workbench.compiler.aot_files.variants.recorded_variants import (
    Call,
    NothingCompiled,
    Recorded,
    record,
    target_of,
)
from workbench.compiler.aot_files.variants.variant_files import (
    Installed,
    install_variants,
    write_variants,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.request.compile_request import require_one_of
from workbench.errors import ArtifactError, UsageError, WorkbenchError, wrap_failed_call
from workbench.file_path import check_file_path
from workbench.live_only import CompiledCode, LiveOnly
from workbench.number_text import plural
from workbench.report.program.program_record import ProgramRecord, find_program_records

_AROUND_COMPILED = "torch/_functorch/_aot_autograd/"
_COMPILES = "torch/_dynamo/convert_frame.py"
ON_MISS = ("compile", "eager", "error")
Function = Callable[..., Any]
Backend = Callable[[Any, Any], Any]
Refusal = Callable[[str], Exception]


def record_variants(fn: Callable[..., Any], calls: Sequence[Call]) -> Variants:
    """Record a function and its graph breaks, with the same errors as `workbench.variants`."""
    _check_calls(calls)
    records = find_program_records()
    if records is None or records.is_recording():
        return Variants(fn, record(fn, calls), None)
    with records.record() as program:
        try:
            recorded = record(fn, calls)
        except NothingCompiled as error:
            raise ArtifactError(f"{error} {_why_nothing(fn, program.so_far())}") from error
    return Variants(fn, recorded, program.so_far())


def _why_nothing(fn: Callable[..., Any], program: ProgramRecord) -> str:
    """The break that made torch.compile give a function up, with what to do."""
    row = next(iter(program.tables["breaks"]), None)
    if row is not None:
        return (
            f'The graph breaks at {row.file}:{row.line} in {row.function}: "{row.text.strip()}" '
            f"({row.kind}). In a loop, a `try` or a `with`, torch.compile then runs the whole "
            "function in eager. Fix that line: wb.rehearse(fn, args) tries fixes."
        )
    if inspect.isgeneratorfunction(getattr(fn, "forward", fn)):
        return (
            "It is a generator, which torch.compile runs in eager. Compile the function that it "
            "calls."
        )
    return "In none of its calls did torch.compile capture tensor operations."


def _check_calls(calls: Sequence[Call]) -> None:
    """Raise `UsageError` for a call that is written otherwise."""
    for call in calls:
        if not (isinstance(call, tuple) or callable(call)):
            raise UsageError(
                f"calls contains a {type(call).__name__}. Write each call as a tuple of its "
                "arguments, such as [(x,), (y,)], or as a function that takes the compiled "
                "function and calls it."
            )


class Variants(LiveOnly):
    """Result of `wb.variants`: a function split at its graph breaks, with variants of each part."""

    def __init__(
        self, fn: Callable[..., Any], recorded: Recorded, session: ProgramRecord | None
    ) -> None:
        self.fn = fn
        """The function, method or module that was recorded."""
        self._recorded = recorded
        self.session = session
        """How it was compiled, to be shown; None where another session, or nothing, records it."""

    @property
    def name(self) -> str:
        """The name of the recorded function."""
        return self._recorded.name

    @checked
    def frame(self, name: str) -> Any:
        """Return a table as a pandas.DataFrame.

        "variants" has a row for each part of the function. "guards" has a row for each guard that
        cannot be serialized. Loaded variants do not check it and use the value in `frozen`.
        "breaks" and the other tables of a session describe the compilation.
        """
        import pandas as pd

        session_tables = () if self.session is None else tuple(self.session.tables)
        require_one_of("name", name, ("variants", "guards", *session_tables))
        if self.session is not None and name in session_tables:
            return self.session.frame(name)
        if name == "variants":
            columns = ["function", "line", "is_resumed", "variants", "graphs", "falls_back"]
            return pd.DataFrame(list(self._recorded.frames), columns=columns)
        columns = ["kind", "name", "why", "frozen"]
        return pd.DataFrame(list(self._recorded.dropped), columns=columns)

    @checked
    def save(self, path: str | PathLike[str]) -> str:
        """Write an `.aotv` file atomically and return its digest.

        The file includes the session, for `wb.show` and `wb.inspect`, but not the module's weights.

        Examples
        --------
        >>> wb.load("f.aotv", f)  # doctest: +SKIP
        """
        session_bytes = None if self.session is None else self.session.to_bytes()
        return write_variants(check_file_path(path), self._recorded, session_bytes)

    def __repr__(self) -> str:
        rows = self._recorded.frames
        counted = sum(row["variants"] for row in rows)
        return f"Variants({self.name}: {plural(len(rows), 'part')}, {plural(counted, 'variant')})"


class LoadedVariants(CompiledCode):
    """Call a function through compiled variants from a file.

    With `on_miss="compile"`, `misses` counts graphs that were compiled because no variant matched.
    With `"error"`, `misses` counts refused calls. With `"eager"`, it is None, because torch does
    not report misses.
    """

    instead = "Load the file in the process that needs the function."

    def __init__(self, installed: Installed, fn: Callable[..., Any], on_miss: str) -> None:
        functools.update_wrapper(self, target_of(fn), updated=())  # libraries read its signature
        self.fn = fn
        """The function, method or module that the code stands under."""
        self._installed = installed
        self._is_same = installed.inlined.checker()
        self._on_miss = on_miss
        self._missed = _Missed(installed.name)
        self._compiled = called(fn, on_miss, self._missed.compile, self._missed.refuse)

    @property
    def name(self) -> str:
        """The name of the function in the file."""
        return self._installed.name

    @property
    def digest(self) -> str:
        """The digest of the content, to pass as `trust=`."""
        return self._installed.digest

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._installed.path

    @property
    def misses(self) -> int | None:
        """The number of calls or graphs without a matching variant, or None if not counted."""
        return None if self._on_miss == "eager" else self._missed.count

    @property
    def session(self) -> ProgramRecord:
        """The compilation session, read from the file.

        Raises `ArtifactError` if the file has no session or has changed since it was loaded.
        """
        path = self.path
        with open_any(path) as opened:
            if opened.digest != self.digest:
                raise ArtifactError(f"{path} has changed since it was loaded.")
        return read_variants_record(path)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises `ArtifactError` if an inlined function has changed, and with `on_miss="error"` if no
        variant matches. Raises `RunError` for errors in compiled code. Errors of the function's own
        Python between its breaks are raised unchanged.
        """
        if self._is_same is not None and not self._is_same():
            changed = "; ".join(self._installed.inlined.mismatches())
            raise ArtifactError(f"{self.name} was recorded with different code. {changed}.")
        try:
            return self._compiled(*args, **kwargs)
        except WorkbenchError:
            raise
        except Exception as error:  # whatever a kernel or the user's own lines raise
            if not _is_of_compiled_code(error):
                raise
            raise wrap_failed_call(self.name, error) from error

    def close(self) -> None:
        """Detach the file's code from the function, which torch then compiles as usual."""
        self._installed.uninstall()

    def __repr__(self) -> str:
        return f"LoadedVariants({self.name}, on_miss={self._on_miss!r}, misses={self.misses})"


class _Missed:
    """What is done where no variant fits, and how often: no part of the variants, to be no circle.

    A circle would keep their code until a garbage collection.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self.count = 0

    def compile(self, graph: Any, inputs: Any) -> Any:
        """Compile a graph with Inductor, for use as a backend."""
        self._add()
        return tp.GET_COMPILER_FN.get()("inductor")(graph, inputs)

    def refuse(self, guards: str) -> ArtifactError:
        """Return the error for a call, given its first failed guards."""
        self._add()
        why = f" (does not hold: {guards})" if guards else ""
        return ArtifactError(
            f"No variant of {self._name} in the file fits this call{why}. Record one with "
            "wb.variants, or load with on_miss='compile' or on_miss='eager'. The code before the "
            "break has already run."
        )

    def _add(self) -> None:
        with self._lock:
            self.count += 1


def _is_of_compiled_code(error: Exception) -> bool:
    """Whether compiled code raised it: torch's wrappers stand around that, and compile nothing."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    is_inside = any(_AROUND_COMPILED in file for file in files)
    return is_inside and not any(file.endswith(_COMPILES) for file in files)


def load_variants(
    path: str | PathLike[str],
    *,
    module: Callable[..., Any] | None,
    trust: bool | str,
    check: bool = True,
    on_miss: str = "compile",
    opened: OpenedFile | None = None,
) -> LoadedVariants:
    """Open a file as a callable with the function's signature (see `workbench.load`)."""
    if module is None:
        raise UsageError(
            f"{path} has the code of a function with breaks. Pass that function or module: "
            "wb.load(path, fn)."
        )
    if not check:
        raise UsageError(
            "check=False is not for .aotv files, because the checks choose the variant."
        )
    require_one_of("on_miss", on_miss, ON_MISS)
    return LoadedVariants(install_variants(path, module, trust, opened), module, on_miss)


def called(fn: Function, on_miss: str, backend: Backend, refusal: Refusal) -> Function:
    """Return the function with its compiled code, valid only in the thread of a call.

    If no variant matches, `backend` compiles the call ("compile"), the call runs in eager
    ("eager"), or the call raises the error that `refusal` creates from the failed guards ("error").
    """
    with ProcessPatches() as patches:  # torch's own wrapper imports what compiles
        patches.name(tp.GET_COMPILER_FN, lambda backend: backend)
        return _CALLS[on_miss](fn, backend, refusal)


def _compiling(fn: Function, backend: Backend, _refusal: Refusal) -> Function:
    compiled: Function = torch.compile(fn, backend=backend)
    return compiled


def _running(fn: Function, _backend: Backend, _refusal: Refusal) -> Function:
    running: Function = tp.RUN_ONLY.get()(fn)
    return running


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
    wrapped: Function = context(fn)
    return wrapped


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
