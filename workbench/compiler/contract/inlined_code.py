"""The functions whose code was compiled in, compared with what a call would run now."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.contract.code_digest import digest, file_hash, in_source
from workbench.compiler.contract.specialized_values import importable_name
from workbench.errors import ArtifactError

_TORCH = str(Path(torch.__file__).parent) + "/"
_FAILURES = (KeyError, AttributeError, TypeError, ValueError)  # of a name that is gone
_INNER = {
    types.MethodType: "__func__",
    property: "fget",
    functools.cached_property: "func",
}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""Dictionaries of a module, and with "_global" before them of all modules."""


@dataclass(frozen=True)
class InlinedFunction:
    """A function that was compiled in: what is looked up in `holder`, and the code it had.

    `lookup` is the Python source behind the holder, such as `['helper'].__code__`. `importable` is
    `module:qualified.name` where that leads to it in another process too. A function that is
    defined again with the same code and `defaults` is the same.
    """

    name: str
    holder: Any
    lookup: str
    code: types.CodeType
    importable: str | None = None
    defaults: Any = None

    def function(self) -> Any:
        """What is found now; raises `KeyError`, `AttributeError`, `TypeError` or `ValueError`."""
        return eval(f"holder{self.lookup.removesuffix('.__code__')}", {"holder": self.holder})


@dataclass(frozen=True)
class InlinedCode:
    """Every function that was compiled in, and the hooks that a call would run besides.

    `hooks` are dictionaries that were empty, each with its name: torch does not guard them.
    """

    functions: tuple[InlinedFunction, ...] = ()
    hooks: tuple[tuple[str, Mapping[Any, Any]], ...] = field(default=(), compare=False)

    def checker(self) -> Callable[[], bool] | None:
        """One fast function that compares them all, or None when there is nothing to compare."""
        scope: dict[str, Any] = {"failures": _FAILURES}
        tests = []
        for i, one in enumerate(self.functions):
            scope[f"h{i}"], scope[f"c{i}"] = one.holder, one.code
            tests.append(f"h{i}{one.lookup} is c{i}")
        for i, (_, hooks) in enumerate(self.hooks):
            scope[f"d{i}"] = hooks
            tests.append(f"not d{i}")
        if not tests:
            return None
        given = ", ".join(f"{name}={name}" for name in scope)  # found faster than globals
        scope["unchanged"] = lambda: not any(self.changed())
        lines = [
            f"def same({given}):",
            "    try:",
            f"        if {' and '.join(tests)}: return True",
        ]
        lines += ["    except failures:", "        return False", "    return unchanged()"]
        exec("\n".join(lines), scope)
        same: Callable[[], bool] = scope["same"]
        return same

    def changed(self) -> Iterator[tuple[str, str]]:
        """The name of each function that is another one now, or gone, and what happened."""
        for one in self.functions:
            try:
                now = one.function()
                is_same = now.__code__ is one.code or (
                    now.__code__ == one.code and _defaults(now) == one.defaults
                )
            except _FAILURES:
                yield one.name, "its code was compiled in, it is gone or was replaced"
                continue
            if not is_same:
                yield one.name, "its code was compiled in and is another one now"
        for name, hooks in self.hooks:
            if hooks:
                yield name, "a hook was added, and the compiled code runs none"

    def mismatches(self) -> list[str]:
        """A sentence for each function that is another one now."""
        return [f"{name}: {what}: compile again" for name, what in self.changed()]

    def to_json(self) -> list[dict[str, str | None]]:
        """The functions that another process can find: name, hash of the code and of its file."""
        files: dict[str, str | None] = {}
        for one in self.functions:
            if one.importable is not None and one.code.co_filename not in files:
                files[one.code.co_filename] = file_hash(one.code.co_filename)
        return [
            {
                "name": one.importable,
                "digest": digest(one.code),
                "file": files[one.code.co_filename],
            }
            for one in self.functions
            if one.importable is not None
            and not one.importable.startswith("__main__:")
            and one.importable.endswith(f":{one.code.co_qualname}")  # no decorator's own function
        ]

    @classmethod
    def of(
        cls,
        codes: Iterable[types.CodeType],
        function: types.FunctionType,
        receiver: Any | None,
        guarded: Iterable[Any],
    ) -> InlinedCode:
        """What a capture that traced `codes` depends on.

        `guarded` are the values that guards look at, whose classes have methods that were traced.
        """
        wanted = {code for code in codes if not code.co_filename.startswith(_TORCH)}
        wanted -= {inner for code in wanted for inner in code.co_consts if _is_code(inner)}
        found: dict[types.CodeType, InlinedFunction] = {}
        places = (
            _called(receiver, function),
            _in_closure(function),
            _in_classes({type(value) for value in (*guarded, *_parts(receiver))}, wanted),
            _in_modules(wanted, function),
        )
        for one in (one for place in places for one in place):
            if one.code in wanted:
                found.setdefault(one.code, one)
        return cls(tuple(map(_with_defaults, found.values())))

    def with_hooks_of(self, modules: Iterable[torch.nn.Module]) -> InlinedCode:
        """The same with the hooks that calls of these modules, and of those in them, would run."""
        found: dict[int, tuple[str, Mapping[Any, Any]]] = {}
        for module in modules:
            shared = torch.nn.modules.module
            places = [(f"_global{kind}", getattr(shared, f"_global{kind}")) for kind in _HOOKS]
            for path, part in module.named_modules():
                name = ".".join(filter(None, (type(module).__name__, path)))
                places += [(f"{name}.{kind}", getattr(part, kind)) for kind in _HOOKS]
            found.update((id(hooks), (name, hooks)) for name, hooks in places if not hooks)
        return replace(self, hooks=tuple(found.values()))

    @classmethod
    def from_json(cls, rows: Sequence[Mapping[str, Any]], receiver: Any | None) -> InlinedCode:
        """The functions as they are in this process, whose code is that of the rows.

        One that cannot be found here is left out. Raises `ArtifactError` naming those whose code
        is another one than what was compiled.
        """
        found, changed = [], []
        for row in rows:
            module, _, qualified = row["name"].partition(":")
            one = None
            if module in sys.modules:
                scope = vars(sys.modules[module])
                one = _looked_up(qualified, scope, module, _named(qualified))
                now = None if one is None else digest(one.code)
            else:
                now = in_source(module, qualified, row["file"])
            if now and now != row["digest"]:
                changed.append(f"  - {qualified} of {module}")
            elif one is not None:
                found.append(one)
        if changed:
            raise ArtifactError(
                "The code of these functions was compiled in and is another one here:\n"
                + "\n".join(changed)
                + "\nCompile again, or restore the code that was compiled."
            )
        return cls(tuple(map(_with_defaults, (*found, *_called(receiver, None)))))


def _is_code(value: Any) -> bool:
    return isinstance(value, types.CodeType)


def _with_defaults(one: InlinedFunction) -> InlinedFunction:
    return replace(one, defaults=_defaults(one.function()))


def _defaults(function: Any) -> Any:
    return function.__defaults__, function.__kwdefaults__


def _named(qualified: str) -> Callable[[types.CodeType], bool]:
    return lambda code: code.co_qualname == qualified


def _parts(receiver: Any | None) -> Iterable[Any]:
    return receiver.modules() if isinstance(receiver, torch.nn.Module) else ()


def _to_code(value: Any, is_wanted: Callable[[types.CodeType], bool]) -> tuple[str, Any]:
    """How the code of a function, method or property is reached from it, and the code or None.

    Goes through decorators until it is wanted.
    """
    steps = ""
    while True:
        inner = _INNER.get(type(value))
        if inner is not None:
            steps, value = f"{steps}.{inner}", getattr(value, inner)
            continue
        code = getattr(value, "__code__", None)
        if code is not None and is_wanted(code):
            return f"{steps}.__code__", code
        if not hasattr(value, "__wrapped__"):
            return steps, None
        steps, value = f"{steps}.__wrapped__", value.__wrapped__


def _called(receiver: Any | None, function: types.FunctionType | None) -> Iterator[InlinedFunction]:
    """What is called: a method, also when the object was given another one, or the function itself.

    A function is kept, as by torch.compile: its name may be given to another one. `function` is
    None for what was loaded.
    """
    if receiver is None:
        if function is not None:
            name, code = function.__qualname__, function.__code__
            yield InlinedFunction(name, function, ".__code__", code, importable_name(function))
        return
    is_module = isinstance(receiver, torch.nn.Module)
    name = "forward" if is_module or function is None else function.__name__
    method = getattr(receiver, name, None)
    steps, code = _to_code(method, lambda c: function is None or c is function.__code__)
    if code is not None:
        place = importable_name(inspect.unwrap(getattr(type(receiver), name)))
        shown = f"{type(receiver).__name__}.{name}"
        yield InlinedFunction(shown, receiver, f".{name}{steps}", code, place)


def _in_closure(function: types.FunctionType) -> Iterator[InlinedFunction]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        steps, code = _to_code(cell.cell_contents, _is_code) if _is_filled(cell) else ("", None)
        if code is not None:
            yield InlinedFunction(name, cell, f".cell_contents{steps}", code)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _in_classes(classes: Iterable[type], wanted: set[types.CodeType]) -> Iterator[InlinedFunction]:
    """Methods of the classes, each as an object of the class would find it."""
    for owner in classes:
        for base in owner.__mro__:
            if base.__module__.partition(".")[0] in ("torch", "builtins"):
                continue
            for name in [
                name
                for name, value in vars(base).items()
                if _to_code(value, wanted.__contains__)[1]
            ]:
                for holder in (owner, base):  # a method of the base may be called by `super()`
                    steps, code = _to_code(getattr(holder, name), wanted.__contains__)
                    if code is not None:
                        where = f"{base.__module__}:{base.__qualname__}.{name}"
                        yield InlinedFunction(
                            f"{holder.__qualname__}.{name}",
                            holder,
                            f".{name}{steps}",
                            code,
                            where if _leads_to(where, base) else None,
                        )


def _leads_to(name: str, owner: type) -> bool:
    found: Any = sys.modules.get(name.partition(":")[0])
    for part in owner.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is owner


def _in_modules(
    wanted: set[types.CodeType], function: types.FunctionType
) -> Iterator[InlinedFunction]:
    """Functions that a module has by the name that their code has."""
    modules: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and isinstance(module, types.ModuleType):
            modules.setdefault(file, []).append((module.__name__, vars(module)))
    own = (function.__module__, function.__globals__)
    for code in wanted:
        for module_name, scope in (own, *modules.get(code.co_filename, ())):
            one = _looked_up(code.co_qualname, scope, module_name, {code}.__contains__)
            if one is not None:
                yield one
                break


def _looked_up(
    qualified: str,
    scope: dict[str, Any],
    module: str,
    is_wanted: Callable[[types.CodeType], bool],
) -> InlinedFunction | None:
    root, *rest = qualified.split(".")
    try:
        found = scope[root]
        for part in rest:
            found = getattr(found, part)
    except _FAILURES:
        return None
    steps, code = _to_code(found, is_wanted)
    if code is None:
        return None
    lookup = f"[{root!r}]{''.join(f'.{part}' for part in rest)}{steps}"
    name = f"{qualified} (of {module})"
    return InlinedFunction(name, scope, lookup, code, f"{module}:{qualified}")
