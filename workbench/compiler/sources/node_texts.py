"""What FX nodes show: texts of targets, types and devices, shapes, module paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_ROOT = re.compile(r"^L\['\w+'\]\.?")  # the local variable that holds the module
Described = tuple[Any, Any, str | None, str | None, int | None]


class NodeTexts:
    """Texts of targets, types and devices, each made once."""

    def __init__(self) -> None:
        import torch

        self._tensor_type = torch.Tensor
        self._strided = torch.strided
        self._targets: dict[int, tuple[Any, str]] = {}
        self._paths: dict[Any, str | None] = {}
        self._texts: dict[Any, str] = {}
        self._seen: dict[int, tuple[Any, Described]] = {}  # stages share most of their values

    def target(self, target: Any) -> str:
        """The name of a target: an operator, a function, or the text that names an attribute."""
        if isinstance(target, str):
            return target
        seen = self._targets.get(id(target))  # hashing an operator is a call in Python
        if seen is None:
            seen = self._targets[id(target)] = target, _target(target)
        return seen[1]

    def _text(self, value: Any) -> str:
        text = self._texts.get(value)
        if text is None:
            text = self._texts[value] = str(value).removeprefix("torch.")
        return text

    def module_path(self, meta: dict[str, Any]) -> str | None:
        """The path of the innermost module that an operation belongs to."""
        stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
        if not stack:
            return None
        path = next(reversed(stack.values()))[0]
        if path not in self._paths:
            self._paths[path] = _ROOT.sub("", str(path)) or None
        return self._paths[path]

    def forget(self) -> None:
        """Let go of torch's objects."""
        self._seen.clear()
        self._targets.clear()

    def tensor(self, value: Any) -> Described:
        """Shape, stride, dtype, device and bytes of a value; of several tensors, their bytes."""
        seen = self._seen.get(id(value))
        if seen is None:
            seen = self._seen[id(value)] = value, self._describe(value)
        return seen[1]

    def _describe(self, value: Any) -> Described:
        if isinstance(value, self._tensor_type):
            shape = _dims(value.shape)
            stride = _dims(value.stride()) if value.layout is self._strided else None
            size = bytes_of(shape, value.dtype.itemsize)
            return shape, stride, self._text(value.dtype), self._text(value.device), size
        if isinstance(value, tuple | list):
            parts = [self.tensor(part)[4] for part in value]
            known = [part for part in parts if part is not None]
            return None, None, None, None, sum(known) if known else None
        return None, None, None, None, None


def _dims(values: Iterable[Any]) -> tuple[int | str, ...]:
    return tuple(v if type(v) is int else str(v) for v in values)


def bytes_of(shape: tuple[int | str, ...], itemsize: int) -> int | None:
    """The bytes of a dense tensor; None where a size is symbolic."""
    size = itemsize
    for dim in shape:
        if not isinstance(dim, int):
            return None
        size *= dim
    return size


def _target(target: Any) -> str:
    text = str(target)
    if not text.startswith("<"):
        return text
    module = str(getattr(target, "__module__", "") or "").removeprefix("_")
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    return f"{module}.{name}".lstrip(".") if name else type(target).__name__
