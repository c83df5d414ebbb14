"""What a measurement depends on as a hash: the same for the same code in another process.

Code counts without file names and line numbers, parameters by their shapes, user functions with
everything that they call; what belongs to Python or to an installed distribution counts by name,
its version is in `versions`.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import metadata
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.triton_functions import (
    is_constant_function,
    is_jitted,
    read_source,
)

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_DEPTH = 200
_distributions = functools.cache(metadata.packages_distributions)
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib")
)
_NOT_CONTENT = {
    *("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__"),
    *("__annotate_func__", "__annotations_cache__"),  # the annotations in Python 3.14
    *("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__abstractmethods__"),
    *("_abc_impl", "__firstlineno__", "__static_attributes__", "__parameters__"),
}


@dataclass(frozen=True)
class ContentKey:
    """The hash of a function with its inputs.

    `unknown` names what could not be looked into: with any, equal keys do not promise equal
    content, and a store must not answer for it. `packages` are the distributions that the code
    uses.
    """

    digest: str
    unknown: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


@dataclass
class _Walk:
    """Describes objects as JSON; each object once, later ones by their number."""

    numbers: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    packages: set[str] = field(default_factory=set)

    def of(self, value: Any, where: str, depth: int = 0) -> Any:
        """The description of a value at `where`."""
        if isinstance(value, _PLAIN):
            return [type(value).__name__, repr(value)]
        if depth > _DEPTH:
            self.unknown.append(f"{where} is nested too deeply")
            return "deep"
        if not isinstance(value, tuple | frozenset):  # Python may keep equal ones as one object
            if id(value) in self.numbers:
                return ["again", self.numbers[id(value)]]
            self.numbers[id(value)] = len(self.numbers)
            self.alive.append(value)  # an id is only a name while its object lives
        return self._described(value, where, depth + 1)

    def _described(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, torch.Tensor):
            layout = value.stride() if value.layout is torch.strided else str(value.layout)
            look = (type(value).__name__, str(value.dtype), str(value.device), value.requires_grad)
            return ["tensor", list(value.shape), layout, look]
        if isinstance(value, ModuleType):
            return ["module", self._library(value.__name__) or value.__name__]
        if isinstance(value, FunctionType):
            return self._function(value, where, depth)
        if isinstance(value, type):
            return self._class(value, where, depth)
        if is_jitted(value) or is_constant_function(value):
            return self._kernel(value, where, depth)
        if isinstance(value, Enum):
            return ["enum", type(value).__qualname__, value.name]
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            return self._container(value, where, depth)
        return self._object(value, where, depth)

    def _container(self, value: Any, where: str, depth: int) -> Any:
        kind = type(value).__name__
        if isinstance(value, Mapping):
            key = f"a key of {where}"
            rows = [
                [self.of(k, key, depth), self.of(v, f"{where}[{k!r}]", depth)]
                for k, v in value.items()
            ]
            return [kind, rows]
        parts = [self.of(v, f"{where}[{n}]", depth) for n, v in enumerate(value)]
        return [kind, parts if isinstance(value, list | tuple) else sorted(map(json.dumps, parts))]

    def _function(self, function: FunctionType, where: str, depth: int) -> Any:
        library = self._library(function.__module__)
        if library is not None:
            return ["function", library, function.__qualname__]
        name = f"{function.__name__}()"
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        return [
            "function",
            self._code(function.__code__),
            self.of(function.__defaults__, f"the defaults of {name}", depth),
            self.of(function.__kwdefaults__, f"the defaults of {name}", depth),
            [
                [free, self._cell(cell, f"the closure variable {free!r} of {name}", depth)]
                for free, cell in cells
            ],
            [
                [path, self.of(value, f"the global {path!r} of {name}", depth)]
                for path, value in _globals_of(function)
            ],
        ]

    def _kernel(self, kernel: Any, where: str, depth: int) -> Any:
        """A function of Triton: it compiles the text, and keeps what it compiled in itself."""
        library = self._library(kernel.fn.__module__)
        if library is not None:
            return ["kernel", library, kernel.fn.__qualname__]
        self._library("triton")
        parts = [type(kernel).__name__, *read_source(kernel)]
        return ["kernel", self._function(kernel.fn, where, depth), self.of(parts, where, depth)]

    def _cell(self, cell: Any, where: str, depth: int) -> Any:
        try:
            return self.of(cell.cell_contents, where, depth)
        except ValueError:  # the variable has no value yet
            return "empty"

    def _code(self, code: CodeType) -> Any:
        """The code without its place and its docstring."""
        constants = [
            self._code(c) if isinstance(c, CodeType) else self.of(c, "a constant")
            for c in _constants(code)
        ]
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return [code.co_code.hex(), constants, counts, names, code.co_exceptiontable.hex()]

    def _class(self, kind: type, where: str, depth: int) -> Any:
        library = self._library(kind.__module__)
        if library is not None:
            return ["class", library, kind.__qualname__]
        own = {name: part for name, part in vars(kind).items() if name not in _NOT_CONTENT}
        parts = [
            [name, self._member(part, f"{kind.__name__}.{name}", depth)]
            for name, part in own.items()
        ]
        bases = [self.of(base, where, depth) for base in kind.__bases__]
        return ["class", kind.__name__, bases, parts]

    def _member(self, part: Any, where: str, depth: int) -> Any:
        if isinstance(part, property):
            getters = [self.of(f, where, depth) for f in (part.fget, part.fset, part.fdel)]
            return ["property", getters]
        if isinstance(part, staticmethod | classmethod):
            return [type(part).__name__, self.of(part.__func__, where, depth)]
        if type(part).__name__ in ("getset_descriptor", "member_descriptor", "_abc_data"):
            return type(part).__name__
        return self.of(part, where, depth)

    def _object(self, value: Any, where: str, depth: int) -> Any:
        kind = type(value)
        parts: list[Any]
        if isinstance(value, MethodType):
            return ["method", *(self.of(v, where, depth) for v in (value.__func__, value.__self__))]
        if isinstance(value, functools.partial):
            parts = [value.func, value.args, value.keywords]
            return ["partial", *(self.of(part, where, depth) for part in parts)]
        if isinstance(value, BuiltinFunctionType) or not hasattr(value, "__dict__"):
            module = getattr(value, "__module__", None) or kind.__module__
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
            if name is None and not hasattr(kind, "__slots__"):
                self.unknown.append(f"{where} is a {kind.__qualname__}")
            return ["builtin", self._library(module) or module, name or self._slots(value, depth)]
        if kind.__module__ == tp.OPS.get().__name__:
            # operators hold what they dispatch to
            return ["operator", str(value)]
        parts = [[name, self.of(v, f"{where}.{name}", depth)] for name, v in vars(value).items()]
        return ["object", self.of(kind, where, depth), parts]

    def _slots(self, value: Any, depth: int) -> Any:
        names = [n for k in type(value).__mro__ for n in getattr(k, "__slots__", ())]
        present = [n for n in names if hasattr(value, n)]
        return [[n, self.of(getattr(value, n), n, depth)] for n in present]

    def _library(self, module: str | None) -> str | None:
        """The name of a module of Python or of an installed distribution; None for the user's."""
        if module is None or module == "__main__":
            return None
        top = module.partition(".")[0]
        if not _is_library(top):
            return None
        self.packages.add(top)
        return module


@functools.cache
def _is_library(top: str) -> bool:
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    # a venv may have packages of another environment, whose folder sysconfig does not name
    return file is not None and (
        str(Path(file).resolve()).startswith(_LIBRARIES) or "site-packages" in Path(file).parts
    )


def _constants(code: CodeType) -> tuple[Any, ...]:
    """The constants without the docstring, which comes first."""
    is_function = bool(code.co_flags & inspect.CO_NEWLOCALS) and code.co_name != "<lambda>"
    first = code.co_consts[:1]
    has_doc = is_function and bool(first) and isinstance(first[0], str)
    if sys.version_info >= (3, 14):  # without a docstring the first may be any text
        has_doc = bool(code.co_flags & inspect.CO_HAS_DOCSTRING)
    return (None, *code.co_consts[1:]) if has_doc else code.co_consts


def _globals_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Each global that the code reads, and what it takes from modules, by dotted path."""
    by_path: dict[str, Any] = {}
    for code in _codes(function.__code__):
        path, value = "", None
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                path = str(step.argval)
                value = function.__globals__.get(path, getattr(builtins, path, None))
            elif step.opname in _ATTRIBUTES and isinstance(value, ModuleType):
                path, value = f"{path}.{step.argval}", getattr(value, str(step.argval), None)
            else:
                path, value = "", None
            if path and not isinstance(value, ModuleType):
                by_path[path] = value
    yield from sorted(by_path.items())


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def hash_case(function: Any, args: Any, kwargs: Any, settings: Mapping[str, Any]) -> ContentKey:
    """The key of a function with inputs and settings; values of tensors do not count."""
    walk = _Walk()
    parts = [
        walk.of(function, "the function"),
        walk.of(args, "args"),
        walk.of(kwargs, "kwargs"),
        walk.of(dict(sorted(settings.items())), "the settings"),
    ]
    packages = tuple(sorted(_versions(walk.packages)))
    content = json.dumps([parts, packages], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return ContentKey(digest, tuple(dict.fromkeys(walk.unknown)), packages)


def _versions(packages: set[str]) -> Iterator[str]:
    """Name and version of the distributions that the packages belong to."""
    owners: Mapping[str, list[str]] = _distributions()
    for package in packages:
        for distribution in owners.get(package, ()):
            yield f"{distribution} {metadata.version(distribution)}"
