"""Compiles single kernels for any GPU that Triton knows, in the worker.

Triton needs no device for that, not even one that is pretended to be there: the target is an
argument. What Inductor passes to it besides is read from the kernel's text.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import pickle
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from pathlib import Path, PurePath
from typing import Any

from workbench.analysis.kernel_configs.triton_source import (
    TritonSource,
    read_source,
    remove_heuristics,
)
from workbench.analysis.kernel_time.inner_loop import find_inner_loop
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.internals.triton_functions import is_library
from workbench.compiler.kernels.kernel_variants import OwnSource
from workbench.compiler.machine_code.code_readers import (
    AssemblyRows,
    CompiledConfig,
    code_of,
    inspect_cubins,
    joined,
    read_code,
    read_machine_text,
    read_resources,
)
from workbench.compiler.memory_layouts.laid_tensors import read_laid
from workbench.compiler.sources.sources import Places
from workbench.compiler.virtual_gpu.kernel_choice import Build, BuildJob, Built
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report import TextWriter
from workbench.report.machine_rows import Assembly, Runs
from workbench.settings import Settings
from workbench.specs.device import Device
from workbench.temporary import make_temporary_folder

_TOGETHER = 16  # kernels for one start of CUDA's tools
_LOOK_S = 0.25  # between two looks for builds that take too long
_SHOWN_ERROR = re.compile(r""".*?\w+Error(?:Impl)?\((['"])(.+)\1\)""")  # as repr shows one
_EMULATED = (
    "Triton emulates bfloat16 on this GPU, which has no instructions for it. Inductor refuses to "
    "generate bfloat16 kernels for it."
)


def build_job(job: BuildJob, send: Callable[[object], object]) -> None:
    """Compile every kernel that was asked for and send each as soon as it is done."""
    with (
        job.context.entered(),
        ProcessPatches() as process_patches,
        make_temporary_folder("aot-workbench-build-") as folder,
        contextlib.chdir(folder),
        _cache(),
    ):
        sources = _Sources(process_patches)
        for build in job.builds:  # here, because imports do not go well in two threads
            sources.prepare(build)
        again: list[Build] = []
        for build, built in _compile(job.builds, job.at_once, job.limit_s, sources):
            if built.resources is None and not built.is_late and job.at_once > 1:
                again.append(build)
            else:
                send(built)
        # Triton promises nothing about threads: alone, an error is an error
        for _, built in _compile(again, 1, job.limit_s, sources):
            send(built)


def _compile(
    builds: Sequence[Build], at_once: int, limit_s: float, sources: _Sources
) -> Iterator[tuple[Build, Built]]:
    """Each build with what became of it, in the order in which they are done, or late.

    One that is late is told once. It holds its thread, which only ends with the process. Code that
    is to be disassembled waits for more of it: CUDA's tools take longer to start than to read.
    """
    begun: dict[str, float] = {}

    def compile_one(build: Build) -> Built | _Unread:
        begun[build.id] = time.monotonic()
        return _built(build, sources)

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        running = {pool.submit(copy_context().run, compile_one, build): build for build in builds}
        unread: list[_Unread] = []
        while running:
            done, _ = wait(running, None if limit_s == inf else _LOOK_S, FIRST_COMPLETED)
            for future in done:
                build, result = running.pop(future), future.result()
                if isinstance(result, Built):
                    yield build, result
                else:
                    unread.append(result)
            now = time.monotonic()
            late = [
                (future, build)
                for future, build in running.items()
                if now - begun.get(build.id, now) > limit_s
            ]
            # whoever hears of a late one ends the process, and with it what is not read yet
            if unread and (late or not running or len(unread) >= _TOGETHER):
                yield from _read_together(unread)
                unread = []
            for future, build in late:
                del running[future]
                note = f"compiling takes longer than {number_text(limit_s, 'seconds')}."
                yield build, Built(build.id, None, note=note, is_late=True)


@dataclass(frozen=True)
class _Unread:
    """A configuration that was compiled and is to be disassembled with others."""

    build: Build
    config: CompiledConfig
    note: str | None


def _read_together(unread: Sequence[_Unread]) -> Iterator[tuple[Build, Built]]:
    """What each says of itself, disassembled in one start of CUDA's tools."""
    inspect_cubins([kernel.config.binary for kernel in unread])  # which keeps what it has printed
    for kernel in unread:
        yield kernel.build, _read(kernel.build, kernel.config, kernel.note)


class _Sources:
    """The files and functions of the kernels, each made once from its text.

    Texts name the files that they come from: these have the same short names every time.
    """

    def __init__(self, process_patches: ProcessPatches):
        self._process_patches = process_patches
        self._files: dict[str, str] = {}
        self._functions: dict[str, tuple[Any, TritonSource] | Exception] = {}

    def prepare(self, build: Build) -> None:
        """Write TTIR to a file; run what defines the function of a source."""
        text = build.source
        if text in self._files or build.own is not None:
            return
        place = str(len(self._files))
        file = f"{place}/{build.kernel}.{'ttir' if build.is_ttir else 'py'}"
        self._files[text] = file
        if build.is_ttir:
            Path(place).mkdir()
            Path(file).write_text(text)
            return
        lines = text.splitlines(keepends=True)
        self._process_patches.entry(linecache.cache, file, (len(text), None, lines, file))
        try:
            self._functions[text] = _function(text, file)
        except Exception as error:  # an import that is missing, a text that is no kernel
            self._functions[text] = error

    def file(self, build: Build) -> str:
        """The file with the source."""
        return self._files[build.source]

    def function(self, build: Build) -> tuple[Any, TritonSource]:
        """Triton's function and what its text says of it; raises what making it raised."""
        parsed = self._functions[build.source]
        if isinstance(parsed, Exception):
            raise parsed
        return parsed


def _function(text: str, file: str) -> tuple[Any, TritonSource]:
    source = read_source(text)
    module, name = remove_heuristics(text)
    scope: dict[str, Any] = {"__name__": name, "__file__": file}
    exec(compile(module, file, "exec"), scope)
    return scope[name], source


def _built(build: Build, sources: _Sources) -> Built | _Unread:
    """One kernel for one GPU; what Triton cannot compile is an answer, too."""
    output = CompilerOutput.here()
    try:
        if build.own is not None:
            own_config = compile_own(build.kernel, build.own, build.choice, build.gpu)
            return _read_or_wait(build, own_config, None)
        kernel, source = _compiled(build, sources)
    except Exception as error:
        why = f"Triton does not compile it for {build.gpu.target}: {find_line(error)}"
        reason = _reason(error)
        if isinstance(error, RuntimeError):  # it says that a pass failed; MLIR has written why
            reason = reported + "." if (reported := output.find_error()) else reason
        elif isinstance(error, NotParsed):
            reason = f"{reported}; {reason}" if (reported := output.find_error()) else reason
        return Built(build.id, None, note=why + reason)
    texts, binary = code_of(kernel)
    config = CompiledConfig(
        kernel=build.kernel,
        file=sources.file(build),
        source=build.source,
        choice=build.choice,
        warps=int(kernel.metadata.num_warps),
        stages=build.stages,
        dynamic_shared=int(kernel.metadata.shared),
        texts=texts,
        binary=binary,
    )
    is_emulated = source is not None and "bf16" in source.pointers and not build.gpu.has_bfloat16
    return _read_or_wait(build, config, _EMULATED if is_emulated else None)


def _read_or_wait(build: Build, config: CompiledConfig, note: str | None) -> Built | _Unread:
    """What a configuration says of itself, unless it is read in less time with others."""
    is_disassembled = build.with_code or build.with_loop
    if is_disassembled and build.gpu.kind.binary == "cubin":
        return _Unread(build, config, note)
    return _read(build, config, note)


def _read(build: Build, config: CompiledConfig, note: str | None) -> Built:
    laid = read_laid(config.texts) if build.with_layouts else None
    if not build.with_code:
        row = read_resources(config, build.gpu)
        loop = find_inner_loop(read_machine_text(config)) if build.with_loop else None
        own = replace(row, kernel=build.kernel, config=build.id)
        return Built(build.id, own, note=note, loop=loop, laid=laid)
    code = read_code(config, build.gpu)
    writer = TextWriter()
    rows = tuple(AssemblyRows(writer, Places()).of(build.kernel, build.id, config, code))
    if build.is_ttir:
        rows = tuple(_of_source(row, build.ttir_lines) for row in rows)
    row = replace(code.resources, kernel=build.kernel, config=build.id)
    return Built(build.id, row, rows, dict(writer.finish()), note, laid=laid)


def _of_source(row: Assembly, ttir: Runs) -> Assembly:
    """A row whose lines come from TTIR, with their lines in the Triton source instead."""
    if row.stage == "ttir":
        return replace(row, lines=ttir)
    origin = {n: line for first, last, line in ttir for n in range(first, last + 1)}
    lines = (origin.get(line, 0) for first, last, line in row.lines for _ in range(first, last + 1))
    numbers = [n for first, last, _ in row.lines for n in range(first, last + 1)]
    return replace(row, lines=joined(zip(numbers, lines, strict=True)))


def _compiled(build: Build, sources: _Sources) -> tuple[Any, TritonSource | None]:
    """What `triton.compile` returns for a build, with the options that Inductor gives it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    device = build.gpu
    target = GPUTarget(device.backend, device.arch, device.spec.warp_size)
    options: dict[str, Any] = {
        "num_warps": build.warps,
        "num_stages": build.stages,
        "sanitize_overflow": False,
    }
    if build.is_ttir:
        _check_libraries(build.source, device)
        options["debug"] = device.kind.has_asserts
        return triton.compile(sources.file(build), target=target, options=options), None
    function, source = sources.function(build)
    values = {name: v for name, v in build.values.items() if name in source.signature}
    constants = {**source.constants, **values}
    for name in ("num_warps", "num_stages"):  # a function may ask for them by name
        if name in source.parameters:
            constants.setdefault(name, options[name])
    lacking = [name for name in source.parameters if name not in constants]
    if lacking:
        raise UsageError(f"no value is known for {', '.join(lacking)}")
    ast_source = ASTSource(function, dict(source.signature), constants, dict(source.attributes))
    options |= _options(source, build, device)
    return triton.compile(ast_source, target=target, options=options), source


def _options(source: TritonSource, build: Build, device: Device) -> dict[str, Any]:
    options: dict[str, Any] = {"debug": source.asserts and device.kind.has_asserts}
    if "enable_fp_fusion" in source.options:
        options["enable_fp_fusion"] = source.options["enable_fp_fusion"]
    if device.kind.has_own_options:
        return options | {k: v for k, v in build.values.items() if k not in source.signature}
    # since Hopper a kernel can be started before the one in front of it has ended
    options["launch_pdl"] = bool(source.options.get("launch_pdl")) and device.spec.major >= 9
    if source.options.get("disable_ftz"):
        options["enable_reflect_ftz"] = False
    return options


def _check_libraries(ttir: str, device: Device) -> None:
    """Raise for TTIR that calls functions of the other vendor's mathematical library."""
    for other in device.kind.others():
        if f'"{other.math_library}' in ttir:
            raise UsageError(
                f"the kernel's TTIR calls the math library of {other.name.upper()}. Compile the "
                "function itself for both: wb.matrix(fn, args, targets=…)"
            )


@contextmanager
def _cache() -> Iterator[None]:
    """Keep what Triton compiles beside what Inductor keeps, whatever either has set before."""
    from triton import knobs

    base = Settings.from_environment().inductor_cache
    with knobs.cache.scope():
        if base is not None:
            knobs.cache.dir = str(Path(base) / "triton_kernels")
        yield


def _reason(error: Exception) -> str:
    """The line of a message of Triton that says what is wrong, the last of the first error."""
    while error.__cause__ is not None:  # in a helper: each call around it says only where it is
        error = error.__cause__  # type: ignore[assignment]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    inner = _SHOWN_ERROR.fullmatch(last)
    words = inner[2] if inner else last
    return words if words.endswith(".") else f"{words}."


_ERRORS = 2  # the descriptor: MLIR does not write through Python
_MLIR_ERROR = re.compile(r"^\S.*?: error: (.+)(?:\n[ \t]+(\S.*)\n[ \t]*\^)?", re.MULTILINE)
_NOT_PARSED = "error encountered during parsing"


class NotParsed(UsageError):
    """Code of Gluon that MLIR refuses, which writes the reason into the process's own output."""


def compile_own(name: str, source: OwnSource, choice: str, device: Device) -> CompiledConfig:
    """The code of a call for a GPU; raises what Triton's compiler raises.

    Triton's own binder specializes the arguments, so that the code is that of the call.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.compiler.compiler import compile as compile_source
    from triton.runtime.jit import create_function_from_signature

    function = read_function(source.function)
    arguments, constants = pickle.loads(source.values)
    target = GPUTarget(device.backend, device.arch, device.spec.warp_size)
    backend = make_backend(target)
    bind = create_function_from_signature(function.signature, function.params, backend)
    values = {**arguments, **constants, **source.options}
    values.setdefault("debug", bool(function.debug))
    values["instrumentation_mode"] = ""
    bound, specialization, others = bind(**values)
    options, signature, constant_values, attributes = function._pack_args(
        backend, values, bound, specialization, others
    )
    kind: Any = ASTSource
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource

        kind = GluonASTSource
    ast_source = kind(function, signature, constant_values, attributes)
    # Triton's cache knows code by its text and first line: what another file, or another cell of a
    # notebook, had compiled would name lines of that one
    own = f"{ast_source.hash()}-{PurePath(function.fn.__code__.co_filename).name}"
    ast_source.hash = lambda: own
    try:
        kernel = compile_source(ast_source, target=target, options=options.__dict__)
    except RuntimeError as error:  # what is wrong with the IR stands in the worker's own output
        if function.is_gluon() and str(error) == _NOT_PARSED:
            raise NotParsed(
                "its Gluon code is invalid there: layouts must fill warps, which have "
                f"{device.spec.warp_size} threads on this GPU"
            ) from None
        raise
    texts, binary = code_of(kernel)
    return CompiledConfig(
        kernel=name,
        file=function.fn.__code__.co_filename,
        source="".join(function.raw_src),
        choice=choice,
        warps=int(kernel.metadata.num_warps),
        stages=int(kernel.metadata.num_stages),
        dynamic_shared=int(kernel.metadata.shared),
        texts=texts,
        binary=binary,
        lines_before=function.starting_line_number - 1,
    )


@lru_cache(maxsize=64)
def read_function(data: bytes) -> Any:
    """The function that was sent; the same one for its other configurations."""
    return pickle.loads(data)


@dataclass
class CompilerOutput:
    """What Triton's compiler writes into this process's own output, where MLIR names errors.

    Of builds side by side it is not known whose it is: ask where one runs alone.
    """

    start: int

    @classmethod
    def here(cls) -> CompilerOutput:
        """What is written from now on."""
        return cls(os.fstat(_ERRORS).st_size)

    def find_error(self) -> str:
        """The first error, "in `x = a + b`, …", or "" where none was written."""
        kind = os.fstat(_ERRORS)
        if not stat.S_ISREG(kind.st_mode):  # a terminal or a pipe cannot be read again
            return ""
        output = os.pread(_ERRORS, kind.st_size - self.start, self.start).decode(errors="replace")
        match = _MLIR_ERROR.search(output)
        if match is None:
            return ""
        where = f"in `{match[2].strip()}`, " if match[2] else ""
        return f"{where}{match[1].strip().rstrip('.')}"


def find_line(error: BaseException) -> str:
    """The user's statement where Triton's front end stopped: "in `x = tl.dot(a, b)`, "; or ""."""
    words = ""
    while error is not None:
        line = getattr(getattr(error, "node", None), "lineno", None)
        text = getattr(error, "src", None)
        if isinstance(line, int) and isinstance(text, str) and not is_library(text):
            lines = text.splitlines()
            statement = lines[line - 1].strip() if line <= len(lines) else ""
            words = (
                f"in `{statement}`, " if statement and not statement.startswith("def ") else words
            )
        error = error.__cause__  # type: ignore[assignment]
    return words
