"""Values that no argument is meant to take: of each kind of wrong one, and what the user's make."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

DEEP = 5_000  # lists within each other; Python's own limit is 1,000 calls


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def raising(method: str, base: type = object) -> type:
    """A class whose one method raises, as of a handle that was closed or a row that is gone."""

    def raises(self: Any, *_: Any) -> Any:
        raise RuntimeError(f"no {method}")

    return type(f"No{method.strip('_').title()}", (base,), {method: raises})


def nested(depth: int = DEEP) -> list[Any]:
    """Lists within lists."""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def cyclic() -> list[Any]:
    """A list that holds itself."""
    made: list[Any] = [1]
    made.append(made)
    return made


def cyclic_mapping() -> dict[str, Any]:
    """A dict that holds itself."""
    made: dict[str, Any] = {"a": 1}
    made["x"] = made
    return made


def existing() -> str:
    """The path of a file that is no file of ours."""
    Path("notes.txt").write_text("nothing\n")
    return "notes.txt"


WRONG: Mapping[str, Callable[[], Any]] = {
    "None": lambda: None,
    "negative": lambda: -1,
    "zero": lambda: 0,
    "huge": lambda: 10**30,
    "number": lambda: 3,
    "fraction": lambda: 0.5,
    "NaN": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "text": lambda: "x",
    "empty text": lambda: "",
    "long text": lambda: "x" * 5000,
    "surrogate": lambda: "\ud800",
    "zero byte": lambda: "a\0b",
    "bytes": lambda: b"x",
    "bool": lambda: True,
    "empty tuple": lambda: (),
    "tuple of None": lambda: (None,),
    "list": lambda: [3],
    "dict": lambda: {"a": 3},
    "dict by number": lambda: {1: 2},
    "generator": lambda: (n for n in range(3)),
    "set": lambda: {1, 2},
    "object": object,
    "unhashable": Unhashable,
    "class": lambda: int,
    "function": lambda: lambda: None,
    "tensor": lambda: torch.ones(2),
    "module": lambda: torch.nn.Linear(2, 2),
    "file": lambda: io.BytesIO(b"nothing"),
    "folder": lambda: Path(),
}
ODD: Mapping[str, Callable[[], Any]] = {
    "2 ** 31": lambda: 2**31,
    "2 ** 63": lambda: 2**63,
    "number as text": lambda: "3",
    "empty list": list,
    "numpy number": lambda: np.int64(3),
    "numpy fraction": lambda: np.float32(0.5),
    "array": lambda: np.ones(3),
    "frame": lambda: pd.DataFrame({"a": [1, 2]}),
    "meta tensor": lambda: torch.ones(2, device="meta"),
    "existing file": existing,
    "nested lists": nested,
    "cyclic list": cyclic,
    "cyclic dict": cyclic_mapping,
    "tuple of a cyclic list": lambda: (cyclic(),),
    "no len": lambda: raising("__len__")(),
    "no lt": lambda: raising("__lt__")(),
    "no fspath": lambda: raising("__fspath__")(),
    "no repr": lambda: raising("__repr__")(),
    "no eq": lambda: raising("__eq__")(),
    "no iter": lambda: raising("__iter__")(),
    "no bool": lambda: raising("__bool__")(),
    "no attributes": lambda: raising("__getattr__")(),
    "list without iter": lambda: raising("__iter__", list)([1]),
    "list without len": lambda: raising("__len__", list)([1]),
    "list of no eq": lambda: [raising("__eq__")()],
    "dict without items": lambda: raising("items", dict)(a=1),
    "dict without iter": lambda: raising("__iter__", dict)(a=1),
    "text without eq": lambda: raising("__eq__", str)("x"),
    "text without len": lambda: raising("__len__", str)("x"),
    "number without lt": lambda: raising("__lt__", int)(3),
    "number without index": lambda: raising("__index__", int)(3),
    "function without eq": lambda: raising("__eq__", FunctionLike)(),
}
"""Further ones; the objects have one method that raises, which nobody may let through."""


class FunctionLike:
    """An object that can be called with anything."""

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args else None


def returned_values() -> dict[str, Callable[[], Any]]:
    """What a function of the user may return that nobody can compute with."""
    names = ("None", "text", "NaN", "object", "module", "meta tensor", "array", "frame")
    names += ("nested lists", "cyclic list", "cyclic dict", "list", "dict by number", "generator")
    names += ("no len", "no eq", "no repr", "no iter", "no attributes", "list without iter")
    every = {**WRONG, **ODD}
    return {name: every[name] for name in names}
