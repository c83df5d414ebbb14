"""Programs that keep state wherever Python lets them; each writes to it in a call."""

from __future__ import annotations

import collections
import enum
import functools
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tests.compiler.call_state import other_module

TOTALS: dict[str, int] = {"n": 0}
SPACE = types.SimpleNamespace(n=0, weight=torch.ones(2))
WEIGHT = torch.ones(2, requires_grad=True)
MADE: int


class Base(nn.Module):
    calls = 0

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        TOTALS["n"] += 1
        Base.calls += 1
        return x


class Derived(Base):
    """Has neither a forward nor data of its own."""


class WithStatic(nn.Module):
    @staticmethod
    def count() -> None:
        SPACE.n += 1

    def forward(self, x: Tensor) -> Tensor:
        self.count()
        return x


class Cached(nn.Module):
    @functools.lru_cache  # noqa: B019
    def read(self) -> Tensor:
        return WEIGHT

    @property
    def bias(self) -> Tensor:
        return SPACE.weight

    def forward(self, x: Tensor) -> Tensor:
        return x * self.read() + self.bias


class Slotted:
    __slots__ = ("count", "empty", "weight")

    def __init__(self) -> None:
        self.count = 0
        self.weight = torch.ones(2)


@dataclass(frozen=True, slots=True)
class Pair:
    left: Tensor
    right: list[int]


class OddKey:
    def __repr__(self) -> str:
        raise RuntimeError("it has no text")


class NoAttributes:
    """Raises for every attribute that it does not have, and for its class."""

    def __init__(self) -> None:
        self.count = [0]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    @property
    def __class__(self) -> Any:
        raise RuntimeError("it says nothing of its class")

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise RuntimeError(kind)


class Closed(dict[str, Any]):
    """A dict that nobody may look through, with an attribute."""

    def __init__(self, **entries: Any) -> None:
        super().__init__(entries)
        self.extra = [0]

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("closed")

    def keys(self) -> Any:
        raise RuntimeError("closed")

    def items(self) -> Any:
        raise RuntimeError("closed")


class Color(enum.Enum):
    RED = 1


class Keeping(nn.Module):
    """Holds a value and changes it in every call."""

    def __init__(self, value: Any, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.value = value
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        self.change(self.value)
        return x


class Worker:
    def __init__(self) -> None:
        self.weight = torch.ones(2, requires_grad=True)
        self.calls = 0

    def run(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.weight


WORKER = Worker()


class Holding(nn.Module):
    """Holds itself within its own dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[str, Any] = {"n": 0}
        self.table["me"] = self.table

    def forward(self, x: Tensor) -> Tensor:
        self.table["n"] += 1
        return x


def count_in_default(x: Tensor, seen: list[int] = [0]) -> Tensor:  # noqa: B006
    seen[0] += 1
    return x


def count_on_itself(x: Tensor) -> Tensor:
    count_on_itself.calls += 1  # type: ignore[attr-defined]
    return x


count_on_itself.calls = 0  # type: ignore[attr-defined]


def count_in_module(x: Tensor) -> Tensor:
    other_module.flag += 1
    return other_module.step(x)


def make_global(x: Tensor) -> Tensor:
    global MADE
    MADE = 1
    return x


def make_appending() -> Callable[[Tensor], Tensor]:
    log: list[int] = []
    append = log.append

    def run(x: Tensor) -> Tensor:
        append(1)
        return x

    return run


def read_within(x: Tensor) -> Tensor:
    def inner(y: Tensor) -> Tensor:
        return y * WEIGHT

    return inner(x)


def _set(name: str) -> Callable[[Any], None]:
    return lambda value: setattr(value, name, getattr(value, name) + 1)


def _first(value: Any) -> None:
    value[0] += 1


def _of_odd(value: dict[Any, list[int]]) -> None:
    _first(next(iter(value.values())))


def _of_member(value: Any) -> None:
    next(iter(value)).calls += 1


def make_ordered() -> collections.OrderedDict[str, int]:
    return collections.OrderedDict(a=1, b=2)


Sample = tuple[Callable[..., Any], set[str]]


def list_writing() -> dict[str, Sample]:
    """By what holds the state: something to call, and the names of the places that it writes."""
    tied = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2), nn.Linear(2, 2))
    tied[2].weight = tied[1].weight

    return {
        "base class": (Derived(), {"global TOTALS['n']", "attribute Base.calls"}),
        "static method": (WithStatic(), {"global SPACE.n"}),
        "slots": (Keeping(Slotted(), _set("count")), {"attribute value.count"}),
        "frozen data class": (
            Keeping(Pair(torch.ones(1), [0]), lambda pair: _first(pair.right)),
            {"attribute value.right[0]"},
        ),
        "namespace": (
            Keeping(types.SimpleNamespace(n=0), _set("n")),
            {"attribute value.n"},
        ),
        "user dict": (
            Keeping(collections.UserDict(a=1), lambda value: value.update(a=2)),
            {"attribute value.data['a']"},
        ),
        "key without a text": (
            Keeping({OddKey(): [0]}, _of_odd),
            {"attribute value[<OddKey>][0]"},
        ),
        "raising attributes": (
            Keeping([NoAttributes()], lambda value: _first(value[0].count)),
            {"attribute value[0].count[0]"},
        ),
        "closed dict": (
            Keeping(Closed(a=1), lambda value: (value.update(a=2), _first(value.extra))),
            {"attribute value['a']", "attribute value.extra[0]"},
        ),
        "ordered dict": (
            Keeping(make_ordered(), lambda value: value.pop("a")),
            {"attribute value['a']"},
        ),
        "member of a set": (Keeping({WORKER}, _of_member), {"attribute value{0}.calls"}),
        "member of a frozen set": (
            Keeping(frozenset((Worker(),)), _of_member),
            {"attribute value[0].calls"},
        ),
        "mapping proxy": (
            Keeping(types.MappingProxyType({"a": [0]}), lambda value: _first(value["a"])),
            {"attribute value['a'][0]"},
        ),
        "deque": (Keeping(collections.deque([0]), _first), {"attribute value[0]"}),
        "weak reference": (
            Keeping(weakref.ref(WORKER), lambda value: _set("calls")(value())),
            {"attribute value().calls"},
        ),
        "default": (count_in_default, {"attribute count_in_default()[0][0]"}),
        "function": (count_on_itself, {"attribute count_on_itself.calls"}),
        "module of the user": (
            count_in_module,
            {"global other_module.flag", "global SEEN[0]", "global BIAS"},
        ),
        "new global": (make_global, {"global MADE"}),
        "bound method of a list": (make_appending(), {"closure append[0]"}),
        "method of an object": (Worker().run, {"attribute calls"}),
        "partial": (
            functools.partial(count_in_default, seen=[0]),
            {"attribute .keywords['seen'][0]"},
        ),
        "itself": (Holding(), {"attribute table['n']"}),
        "buffers": (
            tied,
            {"buffer 0.running_mean", "buffer 0.running_var", "buffer 0.num_batches_tracked"},
        ),
    }
