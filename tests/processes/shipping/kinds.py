"""Functions of every kind that is sent to another process, as a module of a user has them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch.nn.utils.parametrizations import weight_norm
from torch.testing._internal.two_tensor import TwoTensor

T = TypeVar("T")
SCALE = 3.0
FRAME = sys._getframe()  # what no process can be given
LOCK = threading.Lock()
ABSENT = object()


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


def read_frame(x: torch.Tensor) -> torch.Tensor:
    return x + (1 if FRAME is not None else 2)


def read_lock(x: torch.Tensor) -> torch.Tensor:
    return x + (1 if LOCK is not None else 2)


def compare_identity(x: torch.Tensor, given: object = ABSENT) -> torch.Tensor:
    return x + (1 if given is ABSENT else 2)


def add_one(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args) + 1

    return inner


@add_one
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@functools.lru_cache
def read_factor(n: int) -> int:
    return 2 * n


def ask_cache(x: torch.Tensor) -> torch.Tensor:
    return x * read_factor(2)


def generate(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x + 1
    yield x * 2


def sum_generated(x: torch.Tensor) -> torch.Tensor:
    first, second = generate(x)
    return first + second


class Owner:
    def __init__(self) -> None:
        self.factor = 2.0

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.factor


class Mode(enum.Enum):
    DOUBLED = 2
    TRIPLED = 3


def choose(x: torch.Tensor, mode: Mode) -> torch.Tensor:
    return x * (2 if mode is Mode.DOUBLED else 3)


class Bounds(NamedTuple):
    low: float
    high: float


UNIT = Bounds(-1.0, 1.0)


def clamp(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(UNIT.low, UNIT.high)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted(Generic[T]):
    value: T


def read_slot(x: torch.Tensor, slotted: Slotted[float] = Slotted(4.0)) -> torch.Tensor:
    return x * slotted.value


class Base:
    def __init_subclass__(cls, *, factor: float) -> None:
        cls.factor = factor


class Derived(Base, factor=2.5):
    factor: float


def read_class(x: torch.Tensor) -> torch.Tensor:
    return x * Derived.factor


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor


torch.utils._pytree.register_dataclass(Pair)


def add_pair(pair: Pair) -> torch.Tensor:
    return pair.first + pair.second


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0] * 2


def use_own_function(x: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = Doubling.apply(x)  # type: ignore[no-untyped-call]
    return made


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.linear(x)
        return made


def make_hooked() -> torch.nn.Module:
    layer = Layer()
    layer.linear.register_forward_hook(lambda module, args, out: out * 2)
    layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return layer


def make_parametrized() -> torch.nn.Module:
    return torch.nn.Sequential(weight_norm(torch.nn.Linear(4, 4)), torch.nn.ReLU())


class OfSubclass(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        weight = TwoTensor(torch.ones(4, 4), torch.ones(4, 4))  # type: ignore[no-untyped-call]
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: Any = torch.nn.functional.linear(x, self.weight)
        return made.a + made.b if isinstance(made, TwoTensor) else made


def call_torch_ops(x: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.aten.relu.default(x)
    return made


@torch.library.custom_op("kinds_of_functions::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def make_twice(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def call_custom(x: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.kinds_of_functions.twice(x) + twice(x)
    return made


torch.library.define("kinds_of_functions::shifted", "(Tensor x) -> Tensor")


@torch.library.impl("kinds_of_functions::shifted", "cpu")
def shift(x: torch.Tensor) -> torch.Tensor:
    return x + 5


@torch.library.register_fake("kinds_of_functions::shifted")
def make_shifted(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def call_defined(x: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.kinds_of_functions.shifted(x)
    return made


def close_over_number() -> Callable[..., torch.Tensor]:
    factor, weight = 3.0, torch.ones(4)
    return lambda x: x * factor + weight


def close_over_frame() -> Callable[..., torch.Tensor]:
    frame = sys._getframe()
    return lambda x: x + frame.f_lineno


def close_over_generator() -> Callable[..., torch.Tensor]:
    numbers = (n for n in range(3))
    return lambda x: x + next(numbers)
