"""What a public function is given, compared with the types that its signature declares.

One place for all of them: a value of another type, a number that is none (NaN) or negative, or a
text that no file can hold is refused by the name of the argument before anything runs.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

from workbench.errors import UsageError, WorkbenchError, WrongCall, read_first_line
from workbench.file_path import explain_no_path

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LONGEST = 60  # characters of a value in a message
_LARGEST = 2**63 - 1
_NUMPY_BOOLEANS = ("bool_", "bool")
_NO_LIMIT = ("seconds", "time_limit", "timeout", "timeout_s")  # infinity says "no limit"


@dataclass(frozen=True)
class _Kind:
    """One type of a declaration: how people call one and many, and why a value is not of it."""

    words: str
    why_not: Callable[[Any], str | None]
    many: str = ""
    has_numbers: bool = False


def checked(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The same function; a `UsageError` names an argument that is not as its signature declares.

    What is declared as `Any`, or by a class that is known only to those who import it, is left to
    the function. Numbers have to be at least 0.
    """
    signature = inspect.signature(function)
    scope: Mapping[str, Any] = getattr(function, "__globals__", {})

    @functools.cache
    def kinds() -> Mapping[str, tuple[_Kind, ...]]:
        declared = {n: _kinds(p.annotation, scope) for n, p in signature.parameters.items()}
        single = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {
            n: tuple(_unlimited(kind) if n in _NO_LIMIT else kind for kind in allowed)
            for n, allowed in declared.items()
            if allowed and signature.parameters[n].kind not in single
        }

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            names = [name for name in signature.parameters if name != "self"]
            unknown = next((name for name in kwargs if name not in names), None)
            words = f"{error}."
            if unknown is not None:
                near = difflib.get_close_matches(unknown, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}."
                words = f"unknown argument {unknown}: {hint}"
            raise WrongCall(f"{function.__name__}: {words}") from None
        by_argument, arguments = kinds(), bound.arguments
        for name, value in arguments.items():
            if name in by_argument and value is not signature.parameters[name].default:
                _check_safely(name, value, by_argument[name])
                arguments[name] = _as_python(value, by_argument[name])
        try:
            return function(*bound.args, **bound.kwargs)
        except WorkbenchError as error:  # it says what to do: the lines that found it do not help
            raise error.with_traceback(None) from error.__cause__
        except Exception as error:  # of the argument itself: an unreadable object, endless lists
            # only an error needs it, and a load imports as little as it can
            from workbench.argument_errors import explain_own_error

            if (why := explain_own_error(error, _by_name(signature, arguments))) is None:
                raise
            raise UsageError(why) from error

    return called


def _as_python(value: Any, kinds: Sequence[_Kind]) -> Any:
    """A number of numpy as Python's own: code asks whether something is an int.

    So are numbers in a list or dict that is declared to hold numbers; what holds none is not
    copied.
    """
    if type(value) in (list, tuple, dict) and any(kind.has_numbers for kind in kinds):
        parts = list(value.values()) if isinstance(value, dict) else value
        converted = [_as_python(part, kinds) for part in parts]
        if all(one is part for one, part in zip(converted, parts, strict=True)):
            return value
        return (
            dict(zip(value, converted, strict=True))
            if type(value) is dict
            else type(value)(converted)
        )
    if isinstance(value, str | int | float | list | tuple | dict):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return bool(value) if type(value).__name__ in _NUMPY_BOOLEANS else value


def _by_name(signature: inspect.Signature, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, those of `**kwargs` by their own names."""
    by_name = dict(arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            by_name = {**by_name.pop(name, {}), **by_name}
    by_name.pop("self", None)
    return by_name


def read_answer(name: str, answer: object) -> bool:
    """What a function of the user says of something; a `UsageError` names one without an answer."""
    try:
        return bool(answer)
    except Exception as error:  # of an array of several answers, or a class of the user
        raise UsageError(
            f"{name} returned {shown(answer)}, which is neither True nor False "
            f"({read_first_line(error)})."
        ) from error


def shown(value: object) -> str:
    """A value in a message: short, on one line, of characters that can be printed."""
    within: Any = value if type(value) in (list, tuple) else ()
    if any(hasattr(type(one), "shape") for one in (value, *within)):
        return f"a {type(value).__name__}"  # of a tensor the numbers say nothing
    try:
        text = repr(value)
    except Exception as error:  # of a class of the user
        return f"a {type(value).__name__} whose repr fails ({type(error).__name__})"
    text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _check_safely(name: str, value: Any, kinds: Sequence[_Kind]) -> None:
    try:
        _check(name, value, kinds)
    except WorkbenchError:
        raise
    except Exception as error:  # a class of the user whose `__len__` or `__fspath__` raises
        from workbench.argument_errors import tell_unreadable

        raise UsageError(tell_unreadable(name, value, error)) from error


def _check(name: str, value: Any, kinds: Sequence[_Kind]) -> None:
    reasons = [kind.why_not(value) for kind in kinds]
    if None in reasons:
        return
    explanations = [reason for reason in reasons if reason]
    words = list(dict.fromkeys(kind.words for kind in kinds))
    expected = f"expected {', '.join(words[:-1])} or {words[-1]}" if words[1:] else words[0]
    expected = expected if words[1:] else f"expected {words[0]}"
    # a handle in the place of a path is long: its type says what it is
    of_type = f", of type {type(value).__name__}" if _NAMED["PathLike"] in kinds else ""
    problem = explanations[0] if explanations else expected
    raise UsageError(f"{name} is {shown(value)}{'' if explanations else of_type}: {problem}.")


# what a declaration allows; a reason of "" says no more than that the type is another one


def _kinds(annotation: Any, scope: Mapping[str, Any]) -> tuple[_Kind, ...]:
    """The types of a declaration as Python source; empty for one that allows anything."""
    if not isinstance(annotation, str):
        return ()
    try:
        kinds = _alternatives(ast.parse(annotation, mode="eval").body, scope)
    except _Anything:
        return ()
    is_path = _NAMED["PathLike"] in kinds
    return tuple(kind for kind in kinds if not (is_path and kind is _NAMED["str"]))


class _Anything(Exception):
    """A declaration that is not checked here."""


def _alternatives(node: ast.expr, scope: Mapping[str, Any]) -> list[_Kind]:
    if isinstance(node, ast.BinOp):
        return [*_alternatives(node.left, scope), *_alternatives(node.right, scope)]
    if isinstance(node, ast.Constant) and node.value is None:
        return [_Kind("None", lambda value: None if value is None else "")]
    if isinstance(node, ast.Name):
        return [_named(node.id, scope)]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return [_generic(node.value.id, node.slice, scope)]
    raise _Anything


def _named(name: str, scope: Mapping[str, Any]) -> _Kind:
    if get_origin(scope.get(name)) is Literal:
        return _one_of(get_args(scope[name]))
    if name in _NAMED:
        return _NAMED[name]
    if get_origin(scope.get(name)) is Callable:
        parameters = get_args(scope[name])[0]
        return _function(len(parameters)) if isinstance(parameters, list) else _FUNCTION
    raise _Anything


def _one_of(allowed: Sequence[Any]) -> _Kind:
    words = " or ".join(repr(value) for value in allowed)
    return _Kind(words, lambda value: None if isinstance(value, str) and value in allowed else "")


def _generic(name: str, inner: ast.expr, scope: Mapping[str, Any]) -> _Kind:
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if name == "PathLike":
        return _NAMED["PathLike"]
    if name == "Callable":
        return _function(len(parts[0].elts)) if isinstance(parts[0], ast.List) else _FUNCTION
    if name == "Literal":
        return _one_of([part.value for part in parts if isinstance(part, ast.Constant)])
    if name in ("Mapping", "dict"):
        return _mapping(_maybe(parts[0], scope), _maybe(parts[1], scope))
    if name == "Iterable":
        return _iterable(_maybe(parts[0], scope))
    if name in ("Sequence", "list", "tuple"):
        return _sequence(name, _maybe(parts[0], scope))
    raise _Anything


def _maybe(node: ast.expr, scope: Mapping[str, Any]) -> Sequence[_Kind]:
    """The types of what a container holds; empty where it may hold anything."""
    try:
        return _alternatives(node, scope)
    except _Anything:
        return ()


def _mapping(keys: Sequence[_Kind], values: Sequence[_Kind]) -> _Kind:
    def why_not(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return ""
        held = value.items() if values else ()  # a function reads them so: it may raise here
        return _inside(value, keys, "key") or _inside([one for _, one in held], values, "value")

    return _Kind("a dict", why_not, has_numbers=_have_numbers(values))


def _have_numbers(kinds: Sequence[_Kind]) -> bool:
    return any(kind.has_numbers for kind in kinds)


def _sequence(name: str, items: Sequence[_Kind]) -> _Kind:
    def why_not(value: Any) -> str | None:
        is_one = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
        return _inside(value, items, "item") if is_one else ""

    one = "tuple" if name == "tuple" else "list"
    return _Kind(f"a {one}{_of(items)}", why_not, f"{one}s", _have_numbers(items))


def _iterable(items: Sequence[_Kind]) -> _Kind:
    def why_not(value: Any) -> str | None:
        kind = type(value)
        # a data set may have items by number alone, which `iter` takes
        is_iterable = getattr(kind, "__iter__", getattr(kind, "__getitem__", None)) is not None
        if isinstance(value, str | bytes | bytearray | numbers.Number) or not is_iterable:
            return ""
        return _inside(value, items, "item") if isinstance(value, Sequence) else None

    return _Kind(f"several{_of(items) or ' values'}", why_not)


def _of(kinds: Sequence[_Kind]) -> str:
    named = [kind.many for kind in kinds if kind.many]
    return f" of {' or '.join(named)}" if named else ""


def _inside(container: Any, kinds: Sequence[_Kind], what: str) -> str | None:
    for value in container if kinds else ():
        reasons = [kind.why_not(value) for kind in kinds]
        if None not in reasons:
            words = " or ".join(kind.words for kind in kinds)
            if explanations := [reason for reason in reasons if reason]:
                return f"its {what} {shown(value)}: {explanations[0]}"
            return f"its {what} {shown(value)} is not {words}"
    return None


def _no_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return ""
    if type(value).__hash__ is None:
        return "it is not hashable, unlike a str"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "it has a lone surrogate, which no file can hold"
    return None


def _no_integer(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return ""
    if value < 0:
        return "expected a whole number ≥ 0"
    return None if value <= _LARGEST else f"expected at most {_LARGEST}"


def _no_number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return ""
    if isinstance(value, numbers.Integral) and int(value) > _LARGEST:
        return f"expected at most {_LARGEST}"
    number = float(value)
    if math.isnan(number) or number < 0:
        return "expected a number ≥ 0"
    return "expected a finite number" if math.isinf(number) else None


def _no_limit(value: Any) -> str | None:
    return None if isinstance(value, float) and value == math.inf else _no_number(value)


def _unlimited(kind: _Kind) -> _Kind:
    """The same kind for an argument that is a limit, of which infinity says that there is none."""
    return _LIMIT if kind is _NAMED["float"] else kind


def _no_boolean(value: Any) -> str | None:
    is_one = isinstance(value, bool) or type(value).__name__ in _NUMPY_BOOLEANS
    return None if is_one else ""


def _no_instance(name: str, value: Any) -> str | None:
    """By the names of its classes: whoever declares a class for type checkers imports none."""
    return None if name in [base.__name__ for base in type(value).__mro__] else ""


def _function(count: int, words: str = "a function") -> _Kind:
    """One that is called with so many arguments; of what has no signature that is not known."""

    def why_not(value: Any) -> str | None:
        if not callable(value):
            return ""
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):
            return None
        try:
            signature.bind(*[None] * count)
        except TypeError as error:
            arguments = "1 argument" if count == 1 else f"{count} arguments"
            return f"it is called with {arguments} ({error})"
        return None

    return _Kind(words, why_not)


_LIMIT = _Kind("a number", _no_limit, "numbers", has_numbers=True)
_FUNCTION = _Kind("a function", lambda value: None if callable(value) else "", "functions")
_NAMED: Mapping[str, _Kind] = {
    "str": _Kind("a text", _no_text, "texts"),
    "int": _Kind("a whole number", _no_integer, "whole numbers", has_numbers=True),
    "float": _Kind("a number", _no_number, "numbers", has_numbers=True),
    "bool": _Kind("True or False", _no_boolean),
    "PathLike": _Kind("a str or a pathlib.Path", explain_no_path, "paths"),
    "BinaryIO": _Kind("a binary file", lambda v: None if hasattr(v, "read") else ""),
    "bytes": _Kind("bytes", lambda v: None if isinstance(v, bytes | bytearray) else ""),
    "Callable": _FUNCTION,
    "ProgressCallback": _function(2, "a function (phase name, seconds)"),
    **{
        name: _Kind(f"a {name}", functools.partial(_no_instance, name))
        for name in ("Report", "Session", "Opportunity", "Trial")
    },
}


def check_executor(executor: object) -> None:
    """Raise `UsageError` for what is no executor; None is this machine."""
    if executor is not None and not isinstance(executor, Executor):
        raise UsageError(
            f"executor is a {type(executor).__name__}: expected a concurrent.futures.Executor, "
            "such as Dask's client.get_executor()."
        )


def submit(executor: Executor, function: Callable[..., _T], *args: Any) -> Future[_T]:
    """Hand a call to an executor; a `UsageError` says why it takes none."""
    name = type(executor).__name__
    try:
        future = executor.submit(function, *args)
    except Exception as error:  # of a class of the user; a closed one raises RuntimeError
        raise UsageError(
            f"executor (a {name}) does not accept work: {read_first_line(error)}. Pass an open one."
        ) from error
    if not isinstance(future, Future):
        raise UsageError(
            f"executor.submit() of a {name} returned {shown(future)}: expected a "
            "concurrent.futures.Future."
        )
    return future


def ask(executor: Executor, function: Callable[[], _T]) -> _T:
    """What a worker of an executor answers; a `UsageError` says why none does."""
    future = submit(executor, function)
    try:
        return future.result()
    except Exception as error:  # of the executor: a worker was lost, or has no workbench
        raise UsageError(
            f"no worker of executor, a {type(executor).__name__}, responds "
            f"({type(error).__name__}: {read_first_line(error)}). Install aot-workbench there."
        ) from error
