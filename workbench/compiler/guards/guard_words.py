"""What a guard of torch that does not hold means, in words about the call."""

from __future__ import annotations

import enum
import inspect
import os
import re
import reprlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import torch

from workbench.compiler.calls.paths import Path, leaves, parse
from workbench.compiler.internals.surroundings import find_function_modes
from workbench.compiler.internals.tensor_kind import (
    explain_inference,
    explain_kind,
    explain_no_sizes,
)

_OWN_ATTRIBUTE = re.compile(r"not ___dict_contains\('(\w+)', (L\[.*)\.__dict__\)")
_SAME = re.compile(r"([GL]\[.*) is ([GL]\[.*)")
_TYPE = re.compile(r"___check_type_id\((L\[.*), \d+\), type=<class '([\w.<>]+)'>")
_MODULE = re.compile(r"\._modules\['(\w+)'\]")
_ARGUMENT = re.compile(r"L\['(\w+)'\]")
_NO_TENSOR = re.compile(
    r"expected type of '(?P<at>[GL]\[.*)' to be (?:a tensor type, '|<class '(?P<was>[\w.]+)'>,) "
    r"but found (?:<class '(?P<now>[\w.]+)'>)?"
)  # torch names the class since 2.15
_KEYS = re.compile(
    r"tensor '([GL]\[.*)' dispatch key set mismatch\. expected DispatchKeySet\((.*)\), "
    r"actual DispatchKeySet\((.*)\)"
)
_OFF_INSIDE = ("Autograd", "ADInplaceOrView")
"""How dispatch keys begin that a tensor lacks inside inference_mode."""
_GLOBAL = re.compile(r"\bG\['(\w+)'\]")
_BUILTIN = re.compile(r"__builtins_dict__\w*\['(\w+)'\]")
_OF_CLASS = re.compile(r"dict\((.+?)\.__dict__\)\['(\w+)'\]")
_REST: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"len\((?P<at>.+)\) == (?P<was>\d+)", "it had {was} elements when compiled"),
        (r"list\(dict\.keys\((?P<at>.+)\)\) == (?P<was>.+)", "it had the keys {was}"),
        (r"not hasattr\((?P<at>.+), '(?P<was>\w+)'\)", "it had no attribute {was}"),
        (r"hasattr\((?P<at>.+), '(?P<was>\w+)'\)", "it had an attribute {was}"),
        (r"not ___dict_contains\((?P<was>.+?), (?P<at>[GLd].+)\)", "it had no key {was}"),
        (r"___dict_contains\((?P<was>.+?), (?P<at>[GLd].+)\)", "it had the key {was}"),
        (r"not set\.__contains__\((?P<at>.+), (?P<was>.+)\)", "it did not have {was}"),
        (r"set\.__contains__\((?P<at>.+), (?P<was>.+)\)", "it had {was}"),
        (r"___check_obj_id\((?P<at>.+), \d+\), type=(?P<was>.+)", "it is a different object now"),
        (r"___check_type_id\((?P<at>.+), \d+\), type=<class '(?P<was>.+)'>", "it was a {was}"),
        (r"(?P<at>.+) is (?P<was>None|not None)", "compiled with a value that is {was}"),
        (r"(?P<at>[GLd].+) == (?P<was>.+)", "compiled with {was}"),
        (r"not (?P<at>[GL]\[.+)", "it was empty when compiled"),
    )
)
"""What a guard says of a place, and what that was when it was compiled in."""
_LONGEST = 80  # of a value in a sentence
_SHORT = 3  # letters: such texts are in the environment by chance
_FUNCTION_MODES = "___check_torch_function_mode_stack()"
_TWICE = "Duplicate tensor found where not expected!"


def in_words(
    reasons: Iterable[str], bound: Mapping[str, Any], scope: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Each reason without its place in torch, in words where there are better ones.

    `scope` are the globals, where what is there now can be looked up.
    """
    for reason in reasons:
        text = reason.split("  # ")[0].strip()
        if text == _FUNCTION_MODES:
            yield find_function_modes()
        elif text == _TWICE:
            yield from _same_tensors(bound) or [text]
        elif own := _OWN_ATTRIBUTE.fullmatch(text):
            name = f"{shown(own[2])}.{own[1]}"
            yield f"{name}: this attribute was set on the object after compilation"
        elif same := _SAME.fullmatch(text):
            ours = same[1] if same[1].startswith("L") else same[2]
            places = f"{shown(same[1])} and {shown(same[2])}"
            yield f"{places} must be {_one(ours, bound)}, as when compiled"
        elif kind := _TYPE.fullmatch(text):
            yield f"{shown(kind[1])}: expected a {kind[2]}{_instead(kind[1], bound)}"
        elif "G[" in text and scope is not None:
            yield _of_state(text, {"L": bound, "G": scope})
        else:
            yield text


def explain_other_kind(reason: str, bound: Mapping[str, Any], scope: Mapping[str, Any]) -> str:
    """A reason in words where it is that a tensor is of another kind, or no tensor at all."""
    text = reason.split("  # ")[0].strip()
    keys, other = _KEYS.fullmatch(text), _NO_TENSOR.match(text)
    if place := keys or other:
        value = look_up_place(place[1], {"L": bound, "G": scope})
        problem = explain_kind(value) if isinstance(value, torch.Tensor) else None
        if problem is not None:
            return f"{shown(place[1])}: {problem}"
    if other is not None:
        wanted = "a tensor" if other["was"] in (None, "torch.Tensor") else f"a {other['was']}"
        return f"{shown(other['at'])}: expected {wanted}, got {other['now'] or 'something else'}"
    if keys is None:
        return reason
    was, now = set(keys[2].split(", ")), set(keys[3].split(", "))
    if all(key.startswith(_OFF_INSIDE) for key in was ^ now):
        was_inside = not any(key.startswith("Autograd") for key in was)
        place_shown = shown(keys[1])
        return f"{place_shown}: {explain_inference(place_shown, was_inside=was_inside)}"
    parts = [
        f"{words} {', '.join(sorted(keys))}"
        for words, keys in (("has", now - was), ("lacks", was - now))
        if keys
    ]
    return (
        f"{shown(keys[1])}: its kind inside torch differs from the example's "
        f"({' and '.join(parts)}); pass a plain tensor, such as its .clone()"
    )


def unreadable(
    places: Iterable[str], bound: Mapping[str, Any], scope: Mapping[str, Any]
) -> list[str]:
    """A sentence for each of these places whose tensor torch's guards cannot look at."""
    values = ((place, look_up_place(place, {"L": bound, "G": scope})) for place in places)
    return [
        f"{shown(place)}: {explain_kind(value)}"
        for place, value in values
        if explain_no_sizes(value)
    ]


def _of_state(text: str, scopes: Mapping[str, Any]) -> str:
    """What a guard on a global says: the place, what was there, what is there now."""
    for pattern, words in _REST:
        if match := pattern.fullmatch(text):
            was = words.format(was=match["was"] if "was" in pattern.groupindex else "")
            return f"{shown(match['at'])}: {was}, {_now(match['at'], scopes)}"
    return shown(text)


def _now(place: str, scopes: Mapping[str, Any]) -> str:
    written = look_up_place(place, scopes, repr)
    if written is None:
        return "and cannot be reached now"
    value = str(written)
    return f"now {value if len(value) <= _LONGEST else value[:_LONGEST] + '…'}"


def look_up_place(
    place: str, scopes: Mapping[str, Any], then: Callable[[Any], Any] = lambda value: value
) -> Any:
    """What is at a place now, looked up as torch does; None where it cannot be reached."""
    try:
        return then(eval(place, dict(scopes)))
    except Exception:  # whatever the user's own code raises
        return None


def _one(place: str, bound: Mapping[str, Any]) -> str:
    """What two places have to have in common, by what a call has at the first."""
    value = _there(place, bound)
    kinds = {torch.Tensor: "one tensor", torch.nn.Module: "one module", type: "one class"}
    for kind, words in kinds.items():
        if isinstance(value, kind):
            return words
    if value is None:
        return "one object"
    return "one function" if inspect.isroutine(value) else f"one {type(value).__qualname__}"


def _there(place: str, bound: Mapping[str, Any]) -> Any:
    scope_and_path = parse(place)
    try:
        return None if scope_and_path is None else scope_and_path[1].get(bound)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def _instead(place: str, bound: Mapping[str, Any]) -> str:
    """What a call has there, where it can be looked up."""
    value = _there(place, bound)
    return "" if value is None else f", got a {type(value).__module__}.{type(value).__qualname__}"


def _same_tensors(bound: Mapping[str, Any]) -> list[str]:
    tensors = [
        (path, value)
        for name, part in bound.items()
        for path, value in leaves(part, Path(name))
        if isinstance(value, torch.Tensor)
    ]
    return [
        f"{path} and {again} are the same tensor, but were two tensors when compiled. Compile "
        "with one tensor for both, or pass a .clone() if the code writes to neither"
        for (path, value), (again, other) in combinations(tensors, 2)
        if value is other
    ]


def shown(place: str) -> str:
    """`self.inner` for `L['self']._modules['inner']`."""
    text = _BUILTIN.sub(r"\1", _GLOBAL.sub(r"\1", _ARGUMENT.sub(r"\1", place)))
    return _OF_CLASS.sub(r"\1.\2", _MODULE.sub(r".\1", text))


def value_text(value: Any, place: str = "") -> str:
    """What a value is, shortly, without running code of its class; none of the environment's."""
    if is_environment(value, place):
        return "from the environment (value not shown)"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, torch.Tensor):
        return f"a tensor, {str(value.dtype).removeprefix('torch.')}{[*value.shape]}"
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__}"
    if inspect.isroutine(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"function {getattr(value, '__module__', None) or 'builtins'}.{name}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if _is_plain(value):
        return _BOUNDED.repr(value)
    if type(value) in (list, tuple, dict, set, frozenset):
        return f"a {type(value).__name__} of {len(value)}"
    return f"an object of {type(value).__module__}.{type(value).__qualname__}"


_BOUNDED = reprlib.Repr()
_BOUNDED.maxstring = _BOUNDED.maxother = _LONGEST
_SCALARS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) in _SCALARS and _is_plain(part) for key, part in value.items())
    if type(value) in (list, tuple, set, frozenset):
        return all(type(part) in _SCALARS for part in value)
    return type(value) in _SCALARS


def is_environment(value: Any, place: str) -> bool:
    """Whether it is a variable of the environment, also one that a global was given."""
    if "environ" in place:
        return not inspect.isroutine(value)
    parts = value if type(value) in (list, tuple, set, frozenset) else [value]
    parts = value.values() if type(value) is dict else parts
    texts = [os.fsdecode(p) for p in parts if type(p) in (str, bytes) and len(p) > _SHORT]
    return bool(texts) and not set(texts).isdisjoint(os.environ.values())
