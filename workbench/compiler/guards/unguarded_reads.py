"""What a capture reads and no guard of torch compares: what is not there, what is asked.

Dynamo 2.13 guards the attribute that it finds, not that nothing comes before it: a method added
between two classes under `super()`, a builtin that a global hides, a class that is registered with
an abstract one. Answers such as that of `sys.getrecursionlimit()` become constants.
"""

from __future__ import annotations

import abc
import builtins
import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from workbench.compiler.captured_code.inlined_code import (
    ANSWER,
    CODE,
    NO_ATTRIBUTE,
    NO_KEY,
    OBJECT,
    Inlined,
    SubclassAnswers,
    of_function,
)
from workbench.compiler.captured_code.specialized_values import (
    find_importable_name,
    is_library_file,
    is_users,
)
from workbench.device_kinds import AUTOCAST

Codes = frozenset[types.CodeType]
_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)
_HAS = frozenset(("hasattr", "getattr"))
_ANNOTATIONS = "__annotations__"
_CHECKS = ("__instancecheck__", "__subclasscheck__")
_HOOK = "__subclasshook__"
_LOOKUP = "__getattribute__"
_TORCH = "torch"
_NAMES = {
    **{"+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv"},
    **{"%": "mod", "**": "pow", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"},
}
_OPERATORS = {
    **{sign + suffix: name for sign, name in _NAMES.items() for suffix in ("", "=")},
    **{"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"},
}
"""The middle of a method's name by the operator that calls it."""


def find_unguarded(
    parts: Sequence[Inlined], users: Codes, classes: Iterable[type], values: Sequence[Any]
) -> Iterator[Inlined]:
    """What calls of code by the user, of these classes and values, depend on besides.

    `parts` are known already, `values` are those of all guards.
    """
    kinds = [*dict.fromkeys(classes)]
    own = frozenset(code for code in users if not is_library_file(code.co_filename))
    yield from _hidden_builtins(parts)
    yield from _under_super(users, [*kinds, *_classes_among(values)])
    yield from _own_lookups(kinds)
    yield from _lacked_by_modules(own, values)
    yield from _of_abstract_classes(values, kinds)
    yield from _of_torch_modules(kinds)
    yield from _of_torch_functions(values)
    yield from _of_tensors(own)
    yield from _asked(own, values)
    yield from _imported(own)
    yield from _annotated(own, values)


def _classes_among(values: Iterable[Any]) -> list[type]:
    return [*dict.fromkeys(value for value in values if isinstance(value, type))]


def _hidden_builtins(parts: Iterable[Inlined]) -> Iterator[Inlined]:
    """The builtins that functions of the user read, which a global of that name would hide."""
    for function in _functions(parts):
        scope = function.__globals__
        owner = str(scope.get("__name__") or "__main__")
        for name in _loaded(function.__code__) if is_users(owner) else ():
            if name not in scope and hasattr(builtins, name):
                yield _lacking(f"{name} (of {owner})", scope, NO_KEY, name, f"{owner}:{name}")


def _functions(parts: Iterable[Inlined]) -> Iterator[types.FunctionType]:
    for one in parts:
        if one.kind == CODE:
            try:
                function = one.found()
            except _FAILURES:
                continue
            if isinstance(function, types.FunctionType):
                yield function


@functools.lru_cache(maxsize=1024)
def _loaded(code: types.CodeType) -> frozenset[str]:
    """The globals that code reads, that of functions in it too."""
    names, high = set(), 0
    for op, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = high | low
        high = number << 8 if op == dis.EXTENDED_ARG else 0
        if op == _LOAD_GLOBAL:
            names.add(code.co_names[number >> 1])
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return frozenset(names).union(*map(_loaded, inner))


def _under_super(users: Codes, classes: Iterable[type]) -> Iterator[Inlined]:
    """The names that classes do not have between the one that calls `super()` and the one found."""
    names = {name for code in users if "super" in code.co_names for name in code.co_names}
    for kind in classes if names else ():
        for place, base in enumerate(kind.__mro__):
            later = kind.__mro__[place + 1 :]
            if later and is_users(base.__module__):
                for name in sorted(names - vars(base).keys()):
                    if any(name in vars(one) for one in later):
                        yield _lacked_by_class(base, name)


def _own_lookups(classes: Iterable[type]) -> Iterator[Inlined]:
    """The way in which objects of a class look attributes up."""
    for kind in classes:
        for base in kind.__mro__:
            if is_users(base.__module__) and _LOOKUP not in vars(base):
                yield _lacked_by_class(base, _LOOKUP)


def _lacked_by_class(base: type, name: str) -> Inlined:
    source = f"{base.__qualname__}.{name}"
    return _lacking(source, base, NO_ATTRIBUTE, name, find_importable_name(base))


def _lacking(name: str, holder: Any, kind: str, expected: str, place: str | None) -> Inlined:
    return Inlined(name, holder, "", kind, expected, place)


def _lacked_by_modules(own: Codes, values: Iterable[Any]) -> Iterator[Inlined]:
    """Names for which code asks a module that does not have them."""
    names = {
        text
        for code in own
        if not _HAS.isdisjoint(code.co_names)
        for text in code.co_consts
        if isinstance(text, str) and text.isidentifier()
    }
    modules = {id(value): value for value in values if isinstance(value, types.ModuleType)}
    for module in modules.values() if names else ():
        for name in sorted(names - vars(module).keys()):
            if not hasattr(module, name):
                owner = module.__name__
                source = f"{owner}.{name}"
                yield _lacking(source, vars(module), NO_KEY, name, f"{owner}:{name}")


def _of_abstract_classes(values: Sequence[Any], classes: Sequence[type]) -> Iterator[Inlined]:
    """What decides whether an object is one of a class whose class decides that."""
    kinds = _classes_among(values)
    for kind in kinds:
        if type(kind) is type:
            continue
        for meta in inspect.getmro(type(kind)):
            if meta is not type and meta is not object and is_users(meta.__module__):
                yield from (_check_of(meta, name) for name in _CHECKS)
        if not isinstance(kind, abc.ABCMeta):
            continue
        if is_users(kind.__module__):
            yield _check_of(kind, _HOOK)
        others = [one for one in (*classes, *kinds) if one is not kind]
        answers = SubclassAnswers.of(kind, others)
        if answers is not None:
            source = f"{kind.__qualname__} (of {kind.__module__})"
            place = find_importable_name(kind)
            yield Inlined(source, answers, ".now()", ANSWER, answers.before, place)


def _check_of(kind: type, name: str) -> Inlined:
    """A method of a class that decides, or that it has none of its own."""
    static = vars(kind).get(name)
    steps = ".__func__" if isinstance(static, classmethod) else ""
    function = getattr(static, "__func__", static)
    if isinstance(function, types.FunctionType):
        source, place = f"{kind.__qualname__}.{name}", find_importable_name(kind)
        return of_function(source, kind, f".{name}{steps}", function, place and f"{place}.{name}")
    return _lacked_by_class(kind, name)


def _of_torch_modules(classes: Iterable[type]) -> Iterator[Inlined]:
    """The code of torch's own layers, which torch compares by no guard, and what calls a module."""
    modules = [kind for kind in classes if issubclass(kind, torch.nn.Module)]
    for kind in modules:
        forward = getattr(kind, "forward", None)
        if isinstance(forward, types.FunctionType) and _is_torch(forward):
            place = find_importable_name(kind)
            source = f"{kind.__qualname__}.forward"
            yield of_function(source, kind, ".forward", forward, place and f"{place}.forward")
    called = torch.nn.Module.__call__
    if modules and isinstance(called, types.FunctionType):
        place = f"{find_importable_name(torch.nn.Module)}.__call__"
        yield of_function("Module.__call__", torch.nn.Module, ".__call__", called, place)


def _of_torch_functions(values: Iterable[Any]) -> Iterator[Inlined]:
    """The code of torch's own functions that were traced: its guards compare the functions."""
    functions = {id(value): value for value in values if isinstance(value, types.FunctionType)}
    for function in functions.values():
        place = find_importable_name(function) if _is_torch(function) else None
        module, _, name = (place or "").partition(":")
        if name.isidentifier():
            scope = vars(sys.modules[module])
            yield of_function(f"{name} (of {module})", scope, f"[{name!r}]", function, place)


def _of_tensors(own: Codes) -> Iterator[Inlined]:
    """Methods of tensors by the names that code has: the class may be given others."""
    kind = torch.Tensor
    names = {name for code in own for name in (*code.co_names, *_operators(code))}
    for name in sorted(name for name in names if hasattr(kind, name)):
        place = f"{find_importable_name(kind)}.{name}"
        value = vars(kind).get(name)
        if value is None:
            yield _lacked_by_class(kind, name)
        elif isinstance(value, types.FunctionType):
            yield of_function(f"Tensor.{name}", kind, f".{name}", value, place)


@functools.lru_cache(maxsize=1024)
def _operators(code: types.CodeType) -> frozenset[str]:
    """The methods that the operators in code may call."""
    names = {_OPERATORS.get(one.argrepr, "") for one in dis.get_instructions(code)} - {""}
    kinds = ("__{}__", "__r{}__", "__i{}__")
    return frozenset(kind.format(name) for name in names for kind in kinds)


def _is_torch(function: types.FunctionType) -> bool:
    # code that torch.fx wrote has no module
    return (function.__module__ or "").partition(".")[0] == _TORCH


def _asked(own: Codes, values: Iterable[Any]) -> Iterator[Inlined]:
    """The answers of functions of Python and torch that become constants."""
    devices = [one for code in own for one in code.co_consts if one in AUTOCAST] or AUTOCAST
    questions: dict[Callable[..., Any], list[tuple[str, ...]]] = {
        sys.getrecursionlimit: [()],
        sys.get_int_max_str_digits: [()],
        torch.is_autocast_cache_enabled: [()],
        torch.get_autocast_gpu_dtype: [()],
        torch.get_autocast_dtype: [(device,) for device in dict.fromkeys(devices)],
    }
    functions = {
        id(value): value for value in values if isinstance(value, types.BuiltinFunctionType)
    }
    for function in functions.values():
        for arguments in questions.get(function, ()) if function in questions else ():
            source = f"{function.__module__}.{function.__name__}({', '.join(map(repr, arguments))})"
            question = functools.partial(function, *arguments)
            yield Inlined(source, question, "()", ANSWER, question())


def _imported(own: Codes) -> Iterator[Inlined]:
    """The modules that code imports: Dynamo looks them up once, a call each time."""
    for name in sorted({name for code in own for name in _imports(code)}):
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            source, place = f"sys.modules[{name!r}]", f"{name}:__name__"
            yield Inlined(source, sys.modules, f"[{name!r}]", OBJECT, module, place)


def _imports(code: types.CodeType) -> Iterator[str]:
    if "IMPORT_NAME" in {dis.opname[op] for op in code.co_code[::2]}:
        instructions = dis.get_instructions(code)
        yield from (str(one.argval) for one in instructions if one.opname == "IMPORT_NAME")


def _annotated(own: Codes, values: Iterable[Any]) -> Iterator[Inlined]:
    """The annotations of functions, where code reads annotations."""
    if not any(_ANNOTATIONS in code.co_names for code in own):
        return
    functions = {id(value): value for value in values if isinstance(value, types.FunctionType)}
    for function in functions.values():
        if is_users(function.__module__ or "__main__"):
            source = f"{function.__qualname__}.{_ANNOTATIONS}"
            noted = dict(function.__annotations__)
            yield Inlined(source, function, f".{_ANNOTATIONS}", ANSWER, noted)
