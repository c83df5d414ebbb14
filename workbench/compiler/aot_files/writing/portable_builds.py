"""Kernels built again for another instruction set than that of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workbench.artifacts.manifest.manifest_json import Build
from workbench.compiler.aot_files.generated import KernelRequest
from workbench.compiler.aot_files.writing.serialized import NATIVE, BuiltKernel, Serialized
from workbench.compiler.cold_start.compile_cache import PATIENCE, start_fast
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import use_processor_level
from workbench.errors import UsageError
from workbench.temporary import make_temporary_folder

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
    wanted = name.lower().replace("+", " ")
    isa = _find(wanted)
    native = _find(own.isa)
    if isa is None or wanted not in _LEVELS:
        known = ", ".join(repr(level) for level in (NATIVE, *_LEVELS))
        raise UsageError(f"isa={name!r} is unknown: choose from {known}.")
    if native is None or isa.bit_width() != native.bit_width():
        width = isa.bit_width()
        raise UsageError(
            f"isa={name!r} needs vectors of {width} bits, but these kernels were generated for "
            f"{own.isa}. Compile with "
            f"options={{'cpp.simdlen': {width}}} on a processor that has {name}, then save with "
            f"isa={name!r}."
        )
    march, flags = _LEVELS[wanted]
    if "avx512bf16" in isa.build_arch_flags():
        flags = (*flags, "avx512_bf16")
    build = Build(wanted.replace(" ", "-"), wanted, tuple(sorted(flags)))
    return build, _build_all(serialized.kernels, isa, march)


def _find(name: str) -> Any | None:
    known = tp.SUPPORTED_VEC_ISAS.get()
    return next((isa for isa in known if str(isa) == name), None)


def _build_all(kernels: Sequence[BuiltKernel], isa: Any, march: str) -> tuple[BuiltKernel, ...]:
    if any(kernel.request.entry != "kernel" for kernel in kernels):
        raise UsageError(
            "A program compiled with cpp_wrapper=True cannot be packed for another ISA: save it "
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
