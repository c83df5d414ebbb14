"""Kinds of values that a program holds or captures, for files that a fresh process loads.

`python -m tests.saved_kinds FOLDER` loads each file there and prints what it found, as JSON.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import json
import sys
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import workbench as wb

X = torch.arange(8.0).reshape(2, 4)
Sample = tuple[Callable[..., Any], tuple[Any, ...]]


class Color(enum.Enum):
    RED = 1


SCALES = {Color.RED: 2.0}


def by_keys(x: torch.Tensor) -> torch.Tensor:
    """Reads what the keys of a dict have, which no path of plain keys reaches."""
    for key, scale in SCALES.items():
        x = x * key.value + scale
    return x


class Kept:
    def __init__(self) -> None:
        self.k = 2.0


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    k: float = 2.0


class Answering:
    """Asks its own attribute for every other one, also before it is there."""

    def __init__(self) -> None:
        self.inner = {"k": 2.0}

    def __getattr__(self, name: str) -> Any:
        if name in self.inner:
            return self.inner[name]
        raise AttributeError(name)


class Made:
    def __new__(cls, k: float) -> Made:
        made = super().__new__(cls)
        made.k = k
        return made

    k: float


class Restoring:
    def __init__(self) -> None:
        self.k, self.part = 2.0, Kept()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.again = self.part.k


class Holder(nn.Module):
    """Holds a value that it does not read."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        return y


class Reader(Holder):
    """Holds a value and reads it."""

    def __init__(self, value: Any, read: Callable[[Any, torch.Tensor], torch.Tensor]) -> None:
        super().__init__(value)
        self.read = read

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.read(self.value, super().forward(x))


class RestoringModule(Holder):
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.again = self.value.k


class MadeModule(Holder):
    def __new__(cls, value: Any) -> MadeModule:
        return super().__new__(cls)


class Checking(Holder):
    """Wraps its own method, as metrics of torchmetrics do: the wrapper has the method's name."""

    def __init__(self) -> None:
        super().__init__(2.0)
        self.update = _checked(self.update, self)  # type: ignore[method-assign]

    def update(self, y: torch.Tensor) -> torch.Tensor:
        return y * self.value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.update(super().forward(x))


def _checked(update: Callable[..., torch.Tensor], owner: Any) -> Callable[..., torch.Tensor]:
    @functools.wraps(update)
    def wrapper(*args: Any, by: float = 1.0, **kwargs: Any) -> torch.Tensor:
        if not owner.training:
            by = 0.0
        return update(*args, **kwargs) * by

    return wrapper


class Equipped:
    """Has functions of its own that are no methods: one under a method's name, one local."""

    def __init__(self) -> None:
        self.k = 3.0

        def scale(y: torch.Tensor) -> torch.Tensor:
            return y * self.k

        @functools.wraps(Equipped.move)
        def move(y: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
            return y + by * self.k

        scale.__module__ = "torchlike"  # not torch's own, of which torch can do without the code
        self.scale, self.move = scale, move  # type: ignore[method-assign]

    def move(self, y: torch.Tensor) -> torch.Tensor:
        return y


class Unread(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part, self.linear = nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, _other: Any) -> torch.Tensor:
        y: torch.Tensor = self.part(self.linear(x))
        return y


def times_k(value: Any, y: torch.Tensor) -> torch.Tensor:
    return y * value.k


def times_entry(value: Any, y: torch.Tensor) -> torch.Tensor:
    return y * value["k"]


def times(value: Any, y: torch.Tensor) -> torch.Tensor:
    return y * value


def added(value: Any, y: torch.Tensor) -> torch.Tensor:
    return y + torch.from_numpy(value)


def in_format(value: torch.memory_format, y: torch.Tensor) -> torch.Tensor:
    return y.view(1, 1, 2, 4).contiguous(memory_format=value)


HELD = {
    "dtype": torch.float32,
    "device": torch.device("cpu"),
    "layout": torch.strided,
    "memory format": torch.contiguous_format,
    "size": torch.Size([1, 2]),
    "dtypes": [torch.float32, {"a": torch.float64}],
    "enum": Color.RED,
    "numpy dtype": np.dtype("float32"),
    "numpy array": np.ones(3),
    "generator": torch.Generator(),
    "a dict with a generator": {"k": torch.Generator()},
    "an event": {"k": threading.Event()},
    "a lock in a dict": {"k": threading.Lock()},
    "an iterator": {"k": (i for i in range(3))},
    "a weak reference": weakref.ref(Color),
    "a lambda": lambda x: x,
    "a partial": functools.partial(times_k, Kept()),
    "an operator": torch.ops.aten.add,
    "a class": {"k": nn.Linear},
    "a namespace": types.SimpleNamespace(k=threading.Lock()),
    "a deque": collections.deque([threading.Lock()]),
}
READ: dict[str, tuple[Any, Callable[[Any, torch.Tensor], torch.Tensor]]] = {
    "dtype": (torch.float64, lambda v, y: y.to(v)),
    "device": (torch.device("cpu"), lambda v, y: y.to(v)),
    "memory format": (torch.channels_last, in_format),
    "an object": (Kept(), times_k),
    "slots": (Slotted(), times_k),
    "__getattr__": (Answering(), times_k),
    "__new__": (Made(2.0), times_k),
    "__setstate__": (Restoring(), times_k),
    "an entry beside a lock": ({"k": 2.0, "lock": threading.Lock()}, times_entry),
    "an attribute beside a lock": (types.SimpleNamespace(k=2.0, lock=threading.Lock()), times_k),
    "an entry beside an iterator": ({"k": 2.0, "i": iter([1])}, times_entry),
    **{
        f"numpy {name}": (getattr(np, name)(3), times)
        for name in ("int8", "int64", "uint16", "float16", "float32", "float64", "complex128")
    },
    "numpy array": (np.ones(4, "float32"), added),
    "a local function": (Equipped(), lambda v, y: v.scale(y)),
    "a wrapper named as a method": (Equipped(), lambda v, y: v.move(y)),
    "wrappers in a list": ([_checked(times, Checking())], lambda v, y: v[0](y, y)),
}


def _captured() -> dict[str, Sample]:
    class Local:
        k = 2.0

        def __init__(self) -> None:
            self.k = 3.0

    array, number, local, shared = np.ones(4, "float32"), np.float64(3.0), Local(), Local()
    table = {"k": 2.0, "lock": threading.Lock()}
    again = shared
    return {
        "a captured array": (lambda x: x * torch.from_numpy(array), (X,)),
        "a captured number": (lambda x: x * number, (X,)),
        "a captured object of a local class": (lambda x: x * local.k, (X,)),
        "the same under two names": (lambda x: x * shared.k * again.k, (X,)),
        "a captured dict with a lock": (lambda x: x * table["k"], (X,)),
    }


def samples() -> dict[str, Sample]:
    """Every sample by name; made anew, with the same weights, at each call."""
    torch.manual_seed(0)
    array = np.ones(4, "float32")
    return {
        **{f"held: {name}": (Holder(value), (X,)) for name, value in HELD.items()},
        **{f"read: {name}": (Reader(*pair), (X,)) for name, pair in READ.items()},
        "a module with __setstate__": (RestoringModule(Kept()), (X,)),
        "a module with __new__": (MadeModule(Kept()), (X,)),
        "a module with a wrapped method": (Checking(), (X,)),
        "an unread class": (Unread(), (X, nn.ReLU)),
        "an unread dtype": (Unread(), (X, torch.float32)),
        "unread parts": (Unread(), (X, {"c": nn.Linear, "l": threading.Lock()})),
        "an array": (lambda x, n: x * torch.from_numpy(n), (X, array)),
        "arrays in a dict": (lambda x, n: x * torch.from_numpy(n["k"][0]), (X, {"k": [array]})),
        "a number of numpy": (lambda x, n: x * n, (X, np.float32(3))),
        "keys that are no constants": (by_keys, (X,)),
        **_captured(),
    }


def file_of(folder: Path, name: str) -> Path:
    """Where a sample is saved."""
    return folder / f"{''.join(c if c.isalnum() else '_' for c in name)}.aot"


def main(folder: Path) -> None:
    """Load and call each file, here where nothing was compiled."""
    found = {}
    for name, (function, args) in samples().items():
        expected = function(*args)
        path = file_of(folder, name)
        if not path.exists():
            continue  # the test saved others
        module = function if isinstance(function, nn.Module) else None
        try:
            with torch.no_grad():
                given = wb.load(path, module=module, trust=True)(*args)
            found[name] = "ok" if torch.equal(given, expected) else "another result"
        except wb.WorkbenchError as error:
            found[name] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    from tests import saved_kinds  # whose classes are those of the files

    saved_kinds.main(Path(sys.argv[1]))
