"""Running the program that Inductor generated, with its C++ kernels handed over.

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
from types import CodeType, ModuleType
from typing import Any

from workbench.compiler.internals import torch_private as tp

ASYNC_COMPILE = tp.ASYNC_COMPILE_MODULE.module
SELECT_ALGORITHM = tp.SELECT_ALGORITHM_MODULE.module
CODECACHE = tp.CODECACHE_MODULE.module
MEMORY_PLANNING = tp.MEMORY_PLANNING_MODULE.module

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


class _CppWrapperCodeCache:
    """Stands in for the class that builds whole programs in C++."""

    def __init__(self, provider: KernelProvider):
        self._provider = provider

    def load_pybinding(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        arguments = {**dict(zip(("argtypes", "main_code"), args, strict=False)), **kwargs}
        return self._provider(KernelRequest("inductor_entry_cpp", arguments))


def _importer(provider: KernelProvider, triton: TritonProvider | None) -> Callable[..., Any]:
    patches = {
        ASYNC_COMPILE: _Module(
            tp.ASYNC_COMPILE_MODULE, {"AsyncCompile": lambda: _AsyncCompile(provider, triton)}
        ),
        SELECT_ALGORITHM: _Module(tp.SELECT_ALGORITHM_MODULE, {"extern_kernels": _ExternKernels()}),
        CODECACHE: _Module(
            tp.CODECACHE_MODULE, {"CppWrapperCodeCache": _CppWrapperCodeCache(provider)}
        ),
        MEMORY_PLANNING: _Module(
            tp.MEMORY_PLANNING_MODULE, {"_align": lambda size: tp.ALIGN.get()(size)}
        ),
    }

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


class _SourceLoader:
    """Shows the program's lines in tracebacks, though no file holds them."""

    def __init__(self, source: str):
        self._source = source

    def get_source(self, _name: str) -> str:
        return self._source


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
    space["__loader__"] = _SourceLoader(source)
    exec(code, space)
    space.update(attributes)
    return module
