"""What the guards of torch need besides their own tree here, and what of them no file holds."""

from __future__ import annotations

import enum
import os
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.calls.paths import parse_state
from workbench.compiler.captured_code.inlined_code import ANSWER, InlinedCode
from workbench.compiler.contract.contract import CONSTANTS
from workbench.compiler.guards.guard_policy import Decisions, located
from workbench.compiler.guards.guard_words import in_words, look_up_place, shown, value_text
from workbench.compiler.guards.inlined_places import find_compared_in_files
from workbench.compiler.internals.signatures import signature_of
from workbench.live_only import LivePart

Check = Callable[[Mapping[str, Any]], bool]

_HELD = (
    *(type, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(types.CodeType, types.ModuleType),
)
_BY_ADDRESS = frozenset(
    (
        *("ID_MATCH", "FUNCTION_MATCH", "CLASS_MATCH", "MODULE_MATCH", "BUILTIN_MATCH"),
        *("CLOSURE_MATCH", "NN_MODULE", "TYPE_MATCH"),
    )
)


@dataclass(frozen=True)
class LiveGuards(LivePart):
    """The guards that are checked in this process, also those that no file can hold.

    `scope` are the globals that they look into. `apart` is torch's tree of those that look at no
    input, `names` what these look at, `tensors` the places of tensors, each another. `held` are
    code and classes of which torch's guards know the address alone: another object may come to lie
    there. Of other objects `gone` gets the names when they are collected.
    """

    scope: Mapping[str, Any]
    apart: Any = None
    names: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    held: tuple[Any, ...] = ()
    watched: tuple[Any, ...] = field(default=(), repr=False)
    gone: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, decisions: Decisions, scope: Mapping[str, Any]) -> LiveGuards:
        """Those of one compilation."""
        gone: list[str] = []
        held: dict[int, Any] = {}
        watched: dict[int, Any] = {}
        for entry in decisions.checked:
            for value in _by_address(entry):
                if isinstance(value, _HELD):
                    held[id(value)] = value
                elif id(value) not in watched:
                    watched[id(value)] = _watched(value, shown(entry.orig_guard.name), gone)
        guards = [entry for entry in decisions.checked if not decisions.of_inputs(entry)]
        rest = [entry.orig_guard.name for entry in guards]
        names = dict.fromkeys(shown(name) for name in rest if name)
        return cls(
            scope,
            decisions.apart,
            (*names,),
            tuple(n for n, e in zip(rest, guards, strict=True) if e.guard_type == "TENSOR_MATCH"),
            (*held.values(),),
            (*watched.values(),),
            gone,
        )

    def verdicts(self) -> dict[str, str]:
        """What became of each thing that is no input: torch says no more than the first change."""
        by_name = dict.fromkeys(self.names, "ok") | dict(self._one_tensor())
        if self.apart is None:
            return by_name
        answer = self.apart.check_verbose({})
        if answer.result:
            return by_name
        for words in in_words(map(str, answer.verbose_code_parts), {}, self.scope):
            name, _, how = words.partition(": ")
            by_name = dict.fromkeys(by_name, "not compared: an earlier check failed")
            by_name |= {name: f"changed: {how or words}"}
        return by_name

    def _one_tensor(self) -> Iterator[tuple[str, str]]:
        """Each place whose tensor is also at a place before it, which it was not."""
        by_object: dict[int, str] = {}
        for place in self.tensors:
            value = look_up_place(place, {"G": self.scope})
            first = by_object.setdefault(id(value), place)
            if first != place and value is not None:
                yield shown(place), f"changed: it is now the same tensor as {shown(first)}"

    def checks(self) -> tuple[Check, ...]:
        """What torch's guards do not notice: an object is gone of which they know the place."""
        gone = self.gone
        return (lambda _bound: not gone,) if self.watched else ()

    def mismatches(self) -> list[str]:
        """A sentence for each object that was collected."""
        return [
            f"{name}: recompile, because the object at compilation no longer exists"
            for name in self.gone
        ]


def _by_address(entry: Any) -> Iterator[Any]:
    """What a guard compares by its address."""
    kinds = {entry.guard_type, *entry.derived_guard_types}
    if not entry.has_value or not kinds & _BY_ADDRESS:
        return
    if kinds & {"TYPE_MATCH"}:
        yield type(entry.value)
    if kinds & (_BY_ADDRESS - {"TYPE_MATCH"}):
        yield entry.value


def _watched(value: Any, name: str, gone: list[str]) -> Any:
    """A weak reference that tells when the object is collected; what cannot have one is held."""
    try:
        return weakref.ref(value, lambda _reference: gone.append(name))
    except TypeError:
        return value


def list_dropped_guards(
    decisions: Decisions,
    function: types.FunctionType,
    code: InlinedCode,
    arguments: Collection[str],
) -> Iterator[Mapping[str, str]]:
    """Every guard that no file holds, with the reason and, if nothing replaces it, its value.

    That value is `frozen`: a file goes on with it, whatever the place holds then. What a file
    compares by itself, what its contract says of the `arguments`, and what is torch's or Python's
    own, of which it names the release, is not.
    """
    dropped = decisions.dropped
    by_code = {id(dropped[i]) for i in find_compared_in_files(dropped, function, code)}
    for i, (entry, reason) in enumerate(zip(decisions.entries, decisions.reasons, strict=True)):
        if reason is None:
            continue
        row = {"name": entry.name, "kind": entry.guard_type, "why": reason}
        is_compared = i in decisions.replaced or id(entry) in by_code
        if not is_compared and entry.name and not _is_known(entry, arguments, function):
            value = value_text(entry.value, entry.name) if entry.has_value else "unknown"
            row |= {"frozen": value, "place": shown(entry.name)}
        yield row


def _is_known(entry: Any, arguments: Collection[str], function: types.FunctionType) -> bool:
    """Whether the contract has it, or the release of torch or of Python says what it is."""
    place, value = parse_state(entry.orig_guard.name), entry.value
    if place is not None and place[0] == "L" and place[1].root in arguments:
        return isinstance(value, (*CONSTANTS, torch.Tensor))
    if value is os.environ or entry.name.endswith(_VARIABLES):
        return True
    in_class = "__dict__" in entry.name  # the class itself is compared
    of_global = place[1] if place is not None and place[0] == "G" and not in_class else None
    is_own = of_global is not None and not of_global.root.startswith(_MADE_BY_TORCH)
    if of_global is not None and is_own and located(of_global, function) is not None:
        return False
    return is_released(type(value) if entry.guard_type == "TYPE_MATCH" else value)


def is_released(value: Any) -> bool:
    """Whether it is torch's or Python's own, of which a file names the release."""
    if isinstance(value, _NAMED_BY_TORCH):
        return True
    module = value.__name__ if isinstance(value, types.ModuleType) else None
    if isinstance(value, _HELD):
        module = module or getattr(value, "__module__", None)
    root = str(module).partition(".")[0]
    return root in _RELEASED or root in sys.stdlib_module_names


_VARIABLES = ".environ._data"  # where os.environ has them: each that was read has its own guard
_RELEASED = ("torch", "builtins")
_MADE_BY_TORCH = ("__import_", "___unnamed_scope")  # names of what it puts among the globals
_NAMED_BY_TORCH = (torch.dtype, torch.device, torch.layout, torch.memory_format)


def list_default_rows(
    function: Callable[..., Any], bound: Mapping[str, Any]
) -> Iterator[Mapping[str, str]]:
    """Defaults that are objects, as rows of what no file holds: a file has copies of its own."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    for key, parameter in signature_of(function, follow_wrapped=False).parameters.items():
        value = parameter.default
        is_used = value is not parameter.empty and bound.get(key) is value
        if is_used and not _is_constant(value):
            yield {
                "name": f"L[{key!r}]",
                "kind": "DEFAULT",
                "why": "a mutable default: a file has its own copy, made when it was saved",
                "frozen": value_text(value),
                "place": f"{key} (default of {name})",
            }


def list_closure_rows(function: types.FunctionType) -> Iterator[Mapping[str, str]]:
    """The variables of a closure, as rows of what no file holds: a file has copies of its own."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        if name == "__class__" or cell == types.CellType():  # what `super()` reads
            continue
        if not isinstance(cell.cell_contents, torch.nn.Module):  # handed over when it is loaded
            yield {
                "name": f"L[{name!r}]",
                "kind": "CLOSURE",
                "why": "a closure variable: a file has its own copy, made when it was saved",
                "frozen": value_text(cell.cell_contents),
                "place": f"{name} (closure of {function.__qualname__})",
            }


def list_answer_rows(code: InlinedCode) -> Iterator[Mapping[str, str]]:
    """Answers that became constants, as rows of what no file holds and no guard compares."""
    for one in code.parts:
        if one.kind == ANSWER and not one.is_written():
            yield {
                "name": one.name,
                "kind": "ANSWER",
                "why": "torch has no guard for the value that was read",
                "frozen": value_text(one.expected, one.name),
                "place": one.name,
            }


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    return isinstance(value, (*CONSTANTS, *_HELD, *_NAMED_BY_TORCH, enum.Enum, bytes, complex))
