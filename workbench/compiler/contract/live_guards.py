"""What the guards of torch need besides their own tree, in the process that compiled."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.contract.guard_policy import Decisions
from workbench.compiler.contract.guard_words import found_at, in_words, shown

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
class LiveGuards:
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
        found = [entry for entry in decisions.checked if not decisions.of_inputs(entry)]
        rest = [entry.orig_guard.name for entry in found]
        names = dict.fromkeys(shown(name) for name in rest if name)
        return cls(
            scope,
            decisions.apart,
            (*names,),
            tuple(n for n, e in zip(rest, found, strict=True) if e.guard_type == "TENSOR_MATCH"),
            (*held.values(),),
            (*watched.values(),),
            gone,
        )

    def verdicts(self) -> dict[str, str]:
        """What became of each thing that is no input: torch says no more than the first change."""
        found = dict.fromkeys(self.names, "ok") | dict(self._one_tensor())
        if self.apart is None:
            return found
        answer = self.apart.check_verbose({})
        if answer.result:
            return found
        for words in in_words(map(str, answer.verbose_code_parts), {}, self.scope):
            name, _, how = words.partition(": ")
            found = dict.fromkeys(found, "not compared: a check before it failed")
            found |= {name: f"changed: {how or words}"}
        return found

    def _one_tensor(self) -> Iterator[tuple[str, str]]:
        """Each place whose tensor is also at a place before it, which it was not."""
        seen: dict[int, str] = {}
        for place in self.tensors:
            value = found_at(place, {"G": self.scope})
            first = seen.setdefault(id(value), place)
            if first != place and value is not None:
                yield shown(place), f"changed: it is the tensor of {shown(first)} now"

    def checks(self) -> tuple[Check, ...]:
        """What torch's guards do not notice: an object is gone of which they know the place."""
        gone = self.gone
        return (lambda _bound: not gone,) if self.watched else ()

    def mismatches(self) -> list[str]:
        """A sentence for each object that was collected."""
        return [
            f"{name}: the object that was compiled in is gone: compile again" for name in self.gone
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
