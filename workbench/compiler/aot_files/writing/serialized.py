"""A compiled function as serialized parts: torch's bytes, the built kernels, names to rebind."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.artifacts.machine.machine_description import read_cpu_flags
from workbench.artifacts.manifest.manifest import Build, BuiltFor
from workbench.artifacts.preflight.preflight import BUILD_FLAGS
from workbench.compiler.aot_files.captured_tensors import CapturedTensors
from workbench.compiler.aot_files.deserialize import KeptForSaving
from workbench.compiler.aot_files.generated import (
    KernelRequest,
    build_function,
    find_programs,
    has_its_kernels,
    run_generated,
)
from workbench.compiler.aot_files.random_values import convert_random_calls
from workbench.compiler.aot_files.writing.saveable import complete, write_bare_graph
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.errors import ArtifactError

NATIVE = "native"
BINARIES = (".cubin", ".hsaco")
_ASKED = re.compile(r"async_compile\.triton\('(\w+)'")
_BUILDS = ("cpp_pybinding", "CppWrapperCodeCache")  # how a program asks for C++ libraries


@dataclass(frozen=True)
class BuiltKernel:
    """One C++ library: what was asked for and the bytes that the compiler made of it."""

    request: KernelRequest
    library: bytes

    @property
    def key(self) -> str:
        """The name by which the loader asks for it."""
        return self.request.key


@dataclass(frozen=True)
class Serialized:
    """Everything about a compiled function that goes into a file.

    `aliases` are names that the bytecode reads from its globals, each with the place to import it
    from (`module` or `module:qualified.name`). `missing_names` have no such place: whoever loads
    must hand them over. `built_for` is that of the file which the function was loaded from.
    """

    payload: bytes
    kernels: tuple[BuiltKernel, ...]
    build: Build | None
    device: str
    aliases: Mapping[str, str]
    missing_names: tuple[str, ...] = ()
    external_data: tuple[str, ...] = ()
    built_for: BuiltFor | None = None


def serialize(
    aot_fn: Any,
    external_data: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Serialized:
    """Take a compiled function apart; the payload is what torch itself would write.

    `options` are the compiler options that the function was compiled with: they decide which
    built kernels are its own. Raises `ArtifactError` when something in it cannot be serialised.
    """
    from workbench.compiler.cold_start.compile_cache import start_fast  # to load needs none

    aot_fn = convert_random_calls(aot_fn)
    aliases, missing = _aliases(aot_fn)
    programs = find_generated_programs(aot_fn)
    for_saving: KeptForSaving | None = vars(tp.artifacts_of(aot_fn).compiled_fn).get("kept")
    config = tp.INDUCTOR_CONFIG.get()
    known_options = {name: v for name, v in (options or {}).items() if hasattr(config, name)}
    with start_fast(), config.patch(known_options):
        kernels = list_built_kernels(programs, for_saving.libraries if for_saving else {})
        build = for_saving.build if for_saving else find_native_build() if kernels else None
    try:
        with _no_foreign_kernels(aot_fn), Patches() as patches:
            tensors = CapturedTensors()
            patches.wrap(tp.AOT_REDUCER, tensors.build_reducer)
            patches.wrap(tp.PICKLE_GRAPH, write_bare_graph)
            complete(aot_fn, _entry(aot_fn))
            serialized = type(aot_fn).serialize(aot_fn, dict(external_data or {}))
            if tensors.shared:
                serialized = type(aot_fn).serialize(aot_fn, dict(external_data or {}))
    except Exception as error:  # pickle raises whatever an object's own code raises
        raise ArtifactError(
            f"The compiled function cannot be saved: {error}. Leave out objects that cannot be "
            "pickled with save(path, external_data={'name': object}), and pass them again at load "
            "under the same names."
        ) from error
    return Serialized(
        payload=bytes(serialized.serialized_data),
        kernels=kernels,
        build=build,
        device=str(tp.artifacts_of(aot_fn).device_type),
        aliases=aliases,
        missing_names=missing,
        external_data=tuple(external_data or ()),
        built_for=for_saving.built_for if for_saving else None,
    )


def find_native_build() -> Build:
    """The build that torch made here: it may use every instruction of this processor."""
    isa = str(tp.PICK_VEC_ISA.get()()).lower().replace("invalid_vec_isa", "scalar")
    name = "-".join((*isa.split(), NATIVE))
    return Build(name, isa, tuple(sorted(read_cpu_flags() & BUILD_FLAGS)))


def find_generated_programs(aot_fn: Any) -> tuple[Any, ...]:
    """The compiled graphs inside (forward, then backward) that hold generated source."""
    return find_programs(_entry(aot_fn))


def _entry(aot_fn: Any) -> Any:
    """AOTAutograd's entry inside, None for a backend that makes none and where caches are off."""
    if not is_by_autograd(aot_fn):
        return None
    # with force_disable_caches torch makes no entry, and puts None where its function stands
    serialize = tp.artifacts_of(aot_fn).compiled_fn.compiled_fn.serialize
    return None if serialize is None else serialize()


def is_by_autograd(aot_fn: Any) -> bool:
    """Whether AOTAutograd made the code; else a backend runs the captured operators themselves."""
    bundled = tp.BUNDLED_CALLABLE.find()
    return bundled is not None and isinstance(tp.artifacts_of(aot_fn).compiled_fn, bundled)


@contextmanager
def _no_foreign_kernels(aot_fn: Any) -> Iterator[None]:
    """Keep from torch the Triton kernels of other functions of this process, which it would store.

    A file would then need their modules to be loaded.
    """
    if not has_its_kernels(_entry(aot_fn)):
        yield
        return
    with tp.COMPILE_LOCK.get():
        table = tp.KERNEL_SIDE_TABLE.get()
        tables = table.id_to_kernel, table.constant_args
        table.id_to_kernel, table.constant_args = {}, {}
        try:
            yield
        finally:
            table.id_to_kernel, table.constant_args = tables


def has_argument_writes(aot_fn: Any) -> bool:
    """Whether the code writes into an argument, or may: without its entry nobody knows.

    Parameters and buffers of modules do not count.
    """
    entry = _entry(aot_fn)
    if entry is None:
        return is_by_autograd(aot_fn)
    metadata = getattr(entry, "runtime_metadata", None)
    if metadata is None:
        return False
    static = set(metadata.static_input_indices or ())
    return any(
        info.mutates_data and place not in static for place, info in enumerate(metadata.input_info)
    )


@dataclass(frozen=True)
class _Wanted:
    """Stands where a kernel's function would, when a program runs to list its kernels."""

    request: KernelRequest

    def __call__(self, /, *_args: Any) -> None:
        raise AssertionError("this program only runs to list its kernels")


def list_built_kernels(
    programs: Sequence[Any], kept: Mapping[str, bytes]
) -> tuple[BuiltKernel, ...]:
    """The C++ libraries that generated programs ask for, each once."""
    by_key: dict[str, BuiltKernel] = {}
    for number, program in enumerate(programs):
        if not any(name in program.source_code for name in _BUILDS):
            continue
        listed = run_generated(
            program.source_code,
            f"listed_{number}",
            _Wanted,
            {},
            lambda *_, **_options: None,  # Triton kernels travel in torch's own bytes
        )
        # the globals of the program that torch runs in this process, if it is not gone
        cached = (vars(module) for module in reversed(tp.PY_CODE_CACHE.get().modules))
        live = next((g for g in cached if g.get("key") == program.cache_key), dict[str, Any]())
        for name, recorded in vars(listed).items():
            if isinstance(recorded, _Wanted):
                key = recorded.request.key
                library = kept.get(key) or _library(live.get(name), recorded.request)
                by_key[key] = BuiltKernel(recorded.request, library)
    return tuple(by_key.values())


def _library(function: Any, request: KernelRequest) -> bytes:
    """The library behind a kernel's function; built again when its file is gone."""
    file = getattr(getattr(function, "__self__", None), "__file__", None)
    if file is None or not Path(file).exists():
        file = build_function(request).__self__.__file__
    return Path(file).read_bytes()


def _aliases(aot_fn: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Where to import each global of the bytecode from, then those with no such place."""
    artifacts = tp.artifacts_of(aot_fn)
    env = artifacts.runtime_env
    provided = {*env.import_sources, *env.used_globals, artifacts.backend_id}
    scope = aot_fn.fn.__globals__
    places: dict[str, str] = {}
    missing: list[str] = []
    for name in sorted(env.external_refs):
        if name not in scope:
            continue
        if place := import_place(scope[name]):
            places[name] = place
        elif name not in provided:
            missing.append(name)
    return {k: v for k, v in places.items() if k not in env.import_sources}, tuple(missing)


def _candidates(value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield value.__name__
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and module != "__main__":
        yield f"{module}:{name}"
    if isinstance(name, str) and hasattr(builtins, name):
        yield f"builtins:{name}"


def import_place(value: Any) -> str | None:
    """`module` or `module:name` where a fresh process finds this very object, or None."""
    for place in _candidates(value):
        try:
            if resolve(place) is value:
                return place
        except (ImportError, AttributeError):
            continue
    return None


# GPU kernels that torch packed into its own bytes


@dataclass(frozen=True)
class PackedBinary:
    """One kernel in one configuration: its name, machine code and the assembly beside it."""

    name: str
    binary: bytes
    assembly: str


def pack_binaries(programs: Sequence[Any]) -> Iterator[PackedBinary]:
    """The machine code in the bundles of compiled graphs, each content once."""
    packed: set[bytes] = set()
    for program in programs:
        for kernel in getattr(getattr(program, "_triton_bundle", None), "kernel_artifacts", ()):
            files = {part.filename: part.payload for part in kernel.artifacts}
            for file, content in files.items():
                stem, dot, kind = file.rpartition(".")
                if dot + kind in BINARIES and content not in packed:
                    packed.add(content)
                    text = files.get(f"{stem}.ptx") or files.get(f"{stem}.amdgcn") or b""
                    yield PackedBinary(stem, content, text.decode(errors="replace"))


def find_kernels_asked_for(programs: Sequence[Any]) -> frozenset[str]:
    """The names of the Triton kernels that generated programs ask for."""
    return frozenset(name for program in programs for name in _ASKED.findall(program.source_code))
