"""Running the program that Inductor generated, with its kernels handed over.

The program asks for each kernel with `async_compile.cpp_pybinding(argtypes, source)`. It runs here
in a module of its own whose `import` statement answers with stand-ins: nothing in torch is
patched, so several programs can be started in several threads.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from workbench.artifacts.manifest.manifest import BuiltFor
from workbench.compiler.internals import torch_private as tp

_PLAIN_EXTERN = ("mm", "addmm", "bmm", "baddbmm", "_int_mm", "convolution")
_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)")


@dataclass(frozen=True)
class KernelRequest:
    """One C++ library that a generated program asks for; `key` names it by its content."""

    entry: str  # the function inside: "kernel", or "inductor_entry_cpp" for a whole program
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """SHA-256 of the entry and the arguments, the source among them."""
        text = json.dumps([self.entry, dict(self.arguments)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


KernelProvider = Callable[[KernelRequest], Callable[..., Any]]
"""Whoever answers when the generated program asks for a C++ library."""

TritonProvider = Callable[..., Any]
"""Whoever answers when the program asks for a Triton kernel: `(torch, name, source, **options)`.

`torch` is a function that returns torch's own `AsyncCompile`.
"""


class _AsyncCompile:
    """Stands in for `AsyncCompile`: C++ kernels come from the provider, others from torch."""

    def __init__(self, provider: KernelProvider, triton: TritonProvider | None):
        self._provider = provider
        self._real: Any = None
        if triton is not None:
            self.triton = partial(triton, self._torch)

    def cpp_pybinding(self, argtypes: Sequence[str], source: str) -> Callable[..., Any]:
        arguments = {"argtypes": list(argtypes), "main_code": source}
        return self._provider(KernelRequest("kernel", arguments))

    def wait(self, scope: dict[str, Any]) -> None:
        if self._real is not None:
            self._real.wait(scope)

    def _torch(self) -> Any:
        if self._real is None:
            self._real = tp.ASYNC_COMPILE.get()()
        return self._real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch(), name)


class _ExternKernels:
    """Stands in for the namespace of library calls; the rare ones import torch's own."""

    def __init__(self) -> None:
        import torch

        for name in _PLAIN_EXTERN:
            setattr(self, name, getattr(torch, name))

    def __getattr__(self, name: str) -> Any:
        tp.INDUCTOR_LOWERING.get()  # fills the namespace
        kernel = getattr(tp.EXTERN_KERNELS.get(), name)
        setattr(self, name, kernel)
        return kernel


class _Module:
    """Stands in for a module: the given names, then those of the real one."""

    def __init__(self, real: tp.Name, names: Mapping[str, Any]):
        self._real = real
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real.get(), name)


def _importer(provider: KernelProvider, triton: TritonProvider | None) -> Callable[..., Any]:
    def load_pybinding(*args: Any, **kwargs: Any) -> Callable[..., Any]:  # a whole program in C++
        arguments = {**dict(zip(("argtypes", "main_code"), args, strict=False)), **kwargs}
        return provider(KernelRequest("inductor_entry_cpp", arguments))

    whole = SimpleNamespace(load_pybinding=load_pybinding)
    stand_ins: Mapping[tp.Name, Mapping[str, Any]] = {
        tp.ASYNC_COMPILE_MODULE: {"AsyncCompile": lambda: _AsyncCompile(provider, triton)},
        tp.SELECT_ALGORITHM_MODULE: {"extern_kernels": _ExternKernels()},
        tp.CODECACHE_MODULE: {"CppWrapperCodeCache": whole},
        tp.MEMORY_PLANNING_MODULE: {"_align": lambda size: tp.ALIGN.get()(size)},
    }
    patches = {real.module: _Module(real, names) for real, names in stand_ins.items()}

    def import_(
        name: str, globals_: Any = None, locals_: Any = None, names: Any = (), level: int = 0
    ) -> Any:
        if names and level == 0 and name in patches:
            return patches[name]
        return builtins.__import__(name, globals_, locals_, names, level)

    return import_


def _register_operators(source: str) -> None:
    """Import what registers operators in Python when the program names one that is not there."""
    import torch

    for namespace, operator in set(_OPERATOR.findall(source)):
        if not hasattr(getattr(torch.ops, namespace), operator):
            tp.INDUCTOR_LOWERING.get()
            return


def run_generated(
    source: str,
    name: str,
    provider: KernelProvider,
    attributes: Mapping[str, Any],
    triton: TritonProvider | None = None,
) -> ModuleType:
    """Run a generated program and return its module, which has `call`.

    `attributes` are the constants that the program reads as its own globals; without `triton`,
    torch compiles the Triton kernels.
    """
    _register_operators(source)
    file = f"generated/{name}.py"
    code: CodeType = compile(source, file, "exec", dont_inherit=True)
    module = ModuleType(f"workbench_generated.{name}")
    module.__file__ = file
    space = module.__dict__
    space["__builtins__"] = {**vars(builtins), "__import__": _importer(provider, triton)}
    # shows the program's lines in tracebacks, though no file holds them
    space["__loader__"] = SimpleNamespace(get_source=lambda _name: source)
    exec(code, space)
    space.update(attributes)
    return module


def build_function(request: KernelRequest) -> Any:
    """The function of a kernel, from torch's own cache; built when it is not there."""
    cache = tp.CPP_BINDINGS_CACHE if request.entry == "kernel" else tp.CPP_WRAPPER_CACHE
    return cache.get().load_pybinding(**request.arguments)


# the graphs in AOTAutograd's entry


def find_programs(entry: Any) -> tuple[Any, ...]:
    """The compiled graphs of AOTAutograd's entry that hold generated source."""
    return tuple(part.result for part in list_parts(entry) if _is_generated(part))


def list_parts(entry: Any) -> list[Any]:
    """The compiled forward and backward of an entry, as far as there are any."""
    parts = (getattr(entry, "compiled_fw", None), getattr(entry, "compiled_bw", None))
    return [part for part in parts if part is not None]


def _is_generated(part: Any) -> bool:
    return bool(getattr(getattr(part, "result", None), "source_code", None))


def has_its_kernels(entry: Any) -> bool:
    """Whether an entry is generated code alone, which holds the Triton kernels that it launches."""
    parts = list_parts(entry)
    return bool(parts) and all(map(_is_generated, parts))


# GPU kernels that torch packed into its own bytes


class PackedKernels:
    """Hands torch the kernels that another build of the same release packed.

    Torch finds a packed kernel by its source and a hash of torch's own files, which differs from
    build to build (+cpu, +cu130): they are put where this build looks.
    """

    def __init__(self, built_for: BuiltFor):
        self.built_for = built_for
        self._key = bytes.fromhex(built_for.torch_key)

    def emit(self, bundle: Any) -> None:
        """Write the files of the kernels where Triton looks, and offer what can be started."""
        for autotuner in getattr(bundle, "static_autotuners", ()):
            # what Inductor adds where a kernel takes many registers is packed already
            autotuner.kernel.inductor_meta["dynamic_scale_rblock"] = False
            vars(autotuner.kernel).pop("_could_rblock_scale", None)  # the answer before that
        tp.TRITON_BUNDLER.get().read_and_emit(bundle)

    def __call__(self, torch: Any, name: str, source: str, **options: Any) -> Any:
        """One kernel of a generated program, by torch."""
        packed = tp.PACKED_KERNELS.get()
        theirs = tp.CODE_HASH.get()(source, extra=self._key)
        kernel = packed._cache.pop(theirs, None)
        if kernel is not None:
            packed._cache[packed.key(source)] = kernel
        return torch().triton(name, source, **options)
