"""A compiled function written to an `.aot` file, after it was read back."""

from __future__ import annotations

import ast
import importlib.util
import json
import logging
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from workbench import __version__
from workbench.artifacts.archive import aot_container
from workbench.artifacts.machine.machine_description import read_torch_build, release
from workbench.artifacts.manifest.manifest import Build, Manifest, SystemNeeds, Versions
from workbench.artifacts.manifest.package_manifest import WEIGHTS
from workbench.artifacts.preflight.preflight import read_system_needs
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.aot_files.deserialize import Libraries, deserialize, place_classes_in_main
from workbench.compiler.aot_files.generated import KernelRequest
from workbench.compiler.aot_files.stored_weights import (
    NotStorable,
    explain_not_storable,
    find_changed,
    pack,
    rebuilt,
)
from workbench.compiler.aot_files.writing.serialized import (
    NATIVE,
    BuiltKernel,
    Serialized,
    serialize,
)
from workbench.compiler.call_plan.guard_sandbox import GuardSandbox
from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.captured_code.specialized_values import is_found_again
from workbench.compiler.cold_start.compile_cache import PATIENCE, start_fast
from workbench.compiler.guards.guard_words import shown
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import use_processor_level
from workbench.compiler.internals.patches import hold_messages
from workbench.compiler.late_values.late_attributes import say_setter
from workbench.compiler.request.compile_request import require_one_of
from workbench.errors import ArtifactError, UsageError, WorkbenchError
from workbench.report import Report
from workbench.report.texts import LateTexts
from workbench.temporary import make_temporary_folder

INSIDE, BESIDE, LATER = WEIGHTS
_OLD_WORDS = {"bundle": INSIDE, "separate": LATER}


def parse_weights_word(weights: str | None, stacklevel: int = 5) -> str | None:
    """Where the weights go, in the words of packages; raises `UsageError` for another word.

    An `.aot` file always holds them beside the code: "beside" is "inside". Words of earlier
    releases are taken with a warning.
    """
    if weights in _OLD_WORDS:
        word = _OLD_WORDS[weights]
        message = f"weights={weights!r} is weights={word!r} now, the word that packages use."
        warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
        return word
    if weights is not None:
        require_one_of("weights", weights, WEIGHTS)
    return INSIDE if weights == BESIDE else weights


def save_artifact(
    path: str | PathLike[str],
    *,
    aot_fn: Any,
    contract_json: Mapping[str, Any],
    specialized_json: Sequence[Any] = (),
    guards_json: Mapping[str, Any] | None = None,
    report: Report | None = None,
    module: Any | None = None,
    weights: str | None = None,
    isa: str | Sequence[str] = NATIVE,
    external_data: Mapping[str, Any] | None = None,
    receiver: tuple[Any, ...] = (),
    example: GuardSandbox | None = None,
    target: str = "cpu",
    backend: str = "inductor",
    store: TrustStore | None = None,
) -> str:
    """Write one artifact atomically and return its digest (`sha256:…`).

    The report's compiler options decide which ISA the kernels were generated for. What is written
    is read back first, and the `example` call put to the guards that were read, on `receiver` or
    on what the file holds of it. Raises `ArtifactError` with what cannot be read back.
    """
    serialized = serialize(aot_fn, external_data, _options(report))

    def read_back(owner: tuple[Any, ...], classes: Sequence[type] = ()) -> None:
        with place_classes_in_main(owner[0] if owner else None, stored=classes):
            require_readable(
                serialized,
                aot_fn,
                contract_json,
                specialized_json,
                receiver=owner,
                external_data=external_data or {},
                example=example,
                tensors=_held_tensors(report),
            )

    if module is None or weights != INSIDE:
        read_back(receiver)
    else:
        stored, classes = rebuilt(module)
        try:
            read_back((stored,), classes)
        except ArtifactError as error:
            read_back(receiver)  # raises too, unless it is the stored module that does not fit
            raise explain_not_storable(f"it changes when pickled and unpickled. {error}") from error
    return write_serialized(
        path,
        serialized,
        Manifest(
            target=target,
            backend=backend,
            contract=dict(contract_json),
            baked=tuple(specialized_json),
            guards=dict(guards_json or {}),
            built_for=serialized.built_for,
        ),
        report=report,
        module=module if weights == INSIDE else None,
        isa=isa,
        store=store,
    )


@contextmanager
def warn_without_weights(path: str | PathLike[str]) -> Iterator[None]:
    """Go on with a warning where nobody asked for weights that cannot be stored."""
    try:
        yield
    except NotStorable as error:
        warnings.warn(f"{path} is written without weights. {error}", stacklevel=6)


def require_same_weights(module: torch.nn.Module, name: str, report: Report | None) -> None:
    """Raise `ArtifactError` where a module, read back, has other numbers at which guards look."""
    stored, _ = rebuilt(module)
    if changed := find_changed(_held_tensors(report), {name: module}, {name: stored}):
        raise explain_not_storable(changed)


def _held_tensors(report: Report | None) -> list[str]:
    """The places at which guards look at tensors, as the guards name them."""
    guards = () if report is None else report.guards
    return list(dict.fromkeys(row.source for row in guards if row.kind == "TENSOR_MATCH"))


def write_serialized(
    path: str | PathLike[str],
    serialized: Serialized,
    manifest: Manifest,
    *,
    report: Report | None,
    module: Any | None,
    isa: str | Sequence[str] = NATIVE,
    device: str | None = None,
    store: TrustStore | None = None,
) -> str:
    """Write a serialized function and return the digest; `module` is one whose tensors go along.

    `manifest` says what the function is; what the file holds and needs is added here. The tensors
    arrive where they are, or all on `device`.
    """
    builds = pack_builds(serialized, isa)
    libraries = [kernel.library for _, kernels in builds for kernel in kernels]
    # code for a GPU elsewhere without any library runs beside any processor
    needs = read_system_needs(libraries) if libraries or not manifest.built_for else SystemNeeds()
    with make_temporary_folder() as folder:
        members: dict[str, aot_container.Content] = {aot_container.PAYLOAD: serialized.payload}
        for build, kernels in builds:
            for kernel in kernels:
                members[aot_container.name_kernel_member(build.name, kernel.key)] = kernel.library
        if report is not None:
            members[aot_container.REPORT] = _without_assembly(report).to_bytes()
        whole = replace(
            manifest,
            versions=read_current_versions(),
            needs=needs,
            device=serialized.device,
            builds=tuple(build for build, _ in builds),
            aliases=serialized.aliases,
            missing_names=serialized.missing_names,
            external_data=serialized.external_data,
            weights=None if module is None else _bundle(module, folder, members, device),
        )
        whole = aot_container.with_members(whole, members)
        whole = (store or TrustStore.of_user()).sign_if_possible(whole)
        aot_container.write_artifact(path, whole, members)
    return whole.digest


def _without_assembly(report: Report) -> Report:
    """The record without the listings of libraries that the file holds: a save reads none."""
    if not isinstance(report.texts, LateTexts):
        return report
    tables = {name: report.tables[name] for name in report.tables if name != "assembly"}
    return replace(report, tables=tables, texts=report.texts.without("assembly"))


def _options(report: Report | None) -> dict[str, Any]:
    """The compiler options that the function was compiled with, as far as they are plain data."""
    options = {}
    for name, text in report.request.options if report is not None else ():
        try:
            options[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    return options


def _bundle(
    module: Any, folder: Path, members: dict[str, aot_container.Content], device: str | None
) -> Mapping[str, Any]:
    bundle = pack(module, folder)
    members[aot_container.WEIGHTS] = bundle.file
    members[aot_container.SKELETON] = bundle.skeleton
    if device is None:
        return bundle.table
    rows = [{**row, "device": device} for row in bundle.table["tensors"]]
    return {**bundle.table, "tensors": rows}


def read_current_versions() -> Versions:
    """The releases of this process that decide where an artifact can be loaded."""
    return Versions(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        magic=importlib.util.MAGIC_NUMBER.hex(),
        torch=read_torch_build().get("__version__") or "",
        triton=release("triton"),
        workbench=__version__,
    )


# what is about to be written, read back: what a load would refuse is refused by name before


def require_readable(
    serialized: Serialized,
    aot_fn: Any,
    contract_json: Mapping[str, Any],
    specialized_json: Sequence[Any],
    *,
    receiver: tuple[Any, ...],
    external_data: Mapping[str, Any],
    example: GuardSandbox | None,
    tensors: Collection[str] = (),
) -> None:
    """Read code, constants, names and guards back, and put the example call to those guards.

    Nothing of the model runs and no library is started. `example` has the guards of this process:
    where they do not accept the example call now, it is not put to the ones that were read. At
    the places of `tensors`, as guards name them, are to be the same numbers.

    Raises `ArtifactError` with what cannot be read back, and for code that fits no call any more.
    """
    name = contract_json.get("name", "The compiled function")
    scope = aot_fn.fn.__globals__
    log = logging.getLogger(tp.TRACING.module)  # tells at length what is raised, too
    with _explained(name), hold_messages(log, "Error while creating guard", "Created at"):
        restored = deserialize(
            serialized.payload,
            Libraries({}, None, packed=True, started=False),
            aliases=serialized.aliases,
            external_data=external_data,
            f_globals={n: scope[n] for n in serialized.missing_names},
        )
    if example is None:
        return
    try:
        if not example.check().ok:
            if spent := say_setter(*example.refused_now(), example.plan.inlined):
                raise ArtifactError(
                    f"{name} cannot be saved: it no longer accepts any call. {spent}"
                )
            return
    except UsageError:  # inputs that cannot be made from a description
        return
    with _explained(name):
        plan = CallPlan.from_json(
            json.loads(json.dumps(contract_json)),
            specialized_json,
            receiver=receiver[0] if receiver else None,
            f_globals=scope,
            handed_over=external_data,
        )
        sandbox = GuardSandbox(tp.artifacts_of(restored), plan, example.example)
        answer = sandbox.check()
    if not answer.ok:
        raise ArtifactError(
            f"{name} cannot be saved: after reading it back, its guards reject the call that it "
            f"was compiled for ({answer.failed or answer.guard}). {_CURE}"
        )
    if changed := find_changed(tensors, example.held, sandbox.held):
        raise ArtifactError(f"{name} cannot be saved: {changed}. {_CURE}")


def require_own_identity(
    name: str, plan: CallPlan, aot_fn: Any, outside: Mapping[str, Any]
) -> None:
    """Raise `ArtifactError` for an argument that has to be the very object which a file copies."""
    env = tp.artifacts_of(aot_fn).runtime_env
    held = {
        name: cell.cell_contents
        for name, cell in zip(env.bytecode.co_freevars, env.closure or (), strict=False)
        if name not in outside
    }
    for pair in plan.aliased:
        stored = [name for name in pair if name in held]
        if len(stored) == 1 and not is_found_again(held[stored[0]]):
            argument = pair[0] if pair[1] == stored[0] else pair[1]
            raise ArtifactError(
                f"{name} cannot be saved: {argument} and the captured {stored[0]} were the same "
                "object when it was compiled, but a file would hold a copy. Leave it out with "
                f"save(path, external_data={{{stored[0]!r}: …}}) and pass it at load, or compile "
                "with a different object as the argument."
            )
    for pair in plan.read_as_inputs:
        place, input_name = map(shown, pair)
        raise ArtifactError(
            f"{name} cannot be saved: the global {place} and {input_name} were the same object "
            "when it was compiled, which a file cannot check. Compile it with a different object "
            f"as {input_name}, such as a copy."
        )


_CURE = (
    "Leave out such an object with save(path, external_data={'name': object}), and pass it at load "
    "under that name."
)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except WorkbenchError as error:
        raise ArtifactError(
            f"{name} cannot be saved, because it could not be loaded: {error}"
        ) from error
    except Exception as error:  # unpickling raises whatever the stored objects raise
        words = f"{type(error).__name__}: {error}".split("\n")[0]
        raise ArtifactError(
            f"{name} cannot be saved, because the written file cannot be read back: {words}. "
            f"{_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    if "wrapped_" in str(error):
        return (
            "With backend='eager', torch writes NumPy functions under names that do not exist in "
            "torch. Compile with backend='aot_eager' or 'inductor', or use torch functions."
        )
    return _CURE


_V3 = ("ssse3", "sse4_1", "sse4_2", "popcnt", "movbe", "abm", "bmi1", "bmi2", "f16c", "fma")
_AVX2 = (*_V3, "avx", "avx2")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_LEVELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "avx2": ("x86-64-v3", _AVX2),
    "avx512": ("x86-64-v4", _AVX512),
    "avx512 avx512_vnni": ("x86-64-v4", (*_AVX512, "avx512_vnni")),
}
"""For each ISA as torch names it: what `-march` may use at most, the processor flags it needs."""


def pack_builds(
    serialized: Serialized, isa: str | Sequence[str]
) -> tuple[tuple[Build, tuple[BuiltKernel, ...]], ...]:
    """Every build that goes into the file, with its kernels.

    Raises `UsageError` for an ISA that is unknown or that these kernels cannot be built for.
    """
    names = [isa] if isinstance(isa, str) else list(isa)
    if not names:
        raise UsageError("isa is empty: name at least one, such as isa='native'.")
    own = serialized.build
    if own is None or not serialized.kernels:
        return ()
    return tuple(
        (own, serialized.kernels)
        if name in (NATIVE, own.name)
        else _portable(serialized, own, name)
        for name in dict.fromkeys(names)
    )


def _portable(
    serialized: Serialized, own: Build, name: str
) -> tuple[Build, tuple[BuiltKernel, ...]]:
    isa_name = name.lower().replace("+", " ")
    isa = _find(isa_name)
    native = _find(own.isa)
    if isa is None or isa_name not in _LEVELS:
        levels = ", ".join(repr(level) for level in (NATIVE, *_LEVELS))
        raise UsageError(f"isa={name!r} is unknown: choose from {levels}.")
    if native is None or isa.bit_width() != native.bit_width():
        width = isa.bit_width()
        raise UsageError(
            f"isa={name!r} needs {width}-bit vectors, but these kernels were generated for "
            f"{own.isa}. Compile with options={{'cpp.simdlen': {width}}} on a processor that has "
            f"{name}, then save with isa={name!r}."
        )
    march, flags = _LEVELS[isa_name]
    if "avx512bf16" in isa.build_arch_flags():
        flags = (*flags, "avx512_bf16")
    build = Build(isa_name.replace(" ", "-"), isa_name, tuple(sorted(flags)))
    return build, _build_all(serialized.kernels, isa, march)


def _find(name: str) -> Any | None:
    isas = tp.SUPPORTED_VEC_ISAS.get()
    return next((isa for isa in isas if str(isa) == name), None)


def _build_all(kernels: Sequence[BuiltKernel], isa: Any, march: str) -> tuple[BuiltKernel, ...]:
    if any(kernel.request.entry != "kernel" for kernel in kernels):
        raise UsageError(
            "A program compiled with cpp_wrapper=True cannot be built for another ISA. Save it "
            "with isa='native', or compile without cpp_wrapper."
        )
    patience = 0 if len(kernels) > PATIENCE else PATIENCE
    with (
        make_temporary_folder("aot-workbench-build-") as folder,
        use_processor_level(march),
        start_fast(patience=patience),
        ThreadPoolExecutor(os.cpu_count() or 1) as pool,
    ):
        options = _build_options(isa)
        builders = [_builder(kernel.request, options, folder) for kernel in kernels]
        list(pool.map(lambda builder: builder.build(), builders))
        files = [Path(builder.get_target_file_path()) for builder in builders]
        libraries = [file.read_bytes() for file in files]
    pairs = zip(kernels, libraries, strict=True)
    return tuple(BuiltKernel(kernel.request, library) for kernel, library in pairs)


def _build_options(isa: Any) -> Any:
    """How torch would build a kernel for this ISA, its precompiled header included."""
    cache = tp.CPP_BINDINGS_CACHE.get()
    command = {**cache.cpp_compile_command_flags, "vec_isa": isa, "device_type": "cpu"}
    options = tp.CPP_BUILD_OPTIONS.get()(**command)
    line = tp.CPP_BUILDER.get()(name="o", sources="i", BuildOption=options).get_command_line()
    precompile = tp.PRECOMPILE_HEADER.find()
    if precompile is not None:
        header = cache._get_uncompiled_header("cpu")
        options.precompiled_header = precompile(header, line, min_optimize=False, **command)
    return options


def _builder(request: KernelRequest, options: Any, folder: Path) -> Any:
    source = folder / f"{request.key}.cpp"
    source.write_text(_with_binding(request))
    return tp.CPP_BUILDER.get()(
        name=request.key, sources=str(source), BuildOption=options, output_dir=str(folder)
    )


def _with_binding(request: KernelRequest) -> str:
    """The kernel's source with the Python function around it, as torch composes it."""
    cache = tp.CPP_BINDINGS_CACHE.get()
    types = request.arguments["argtypes"]
    parts = (f"parse_arg<{t.replace('const ', '')}>(args, {n})" for n, t in enumerate(types))
    binding = cache.suffix_template.format(
        arg_len=len(types),
        call_entry_func=cache.call_entry_function.format(", ".join(parts)),
        entry_func=cache.entry_function,
        extra_parse_arg=cache.extra_parse_arg.format(array_len=-1),
    )
    return str(request.arguments["main_code"]) + str(binding)
