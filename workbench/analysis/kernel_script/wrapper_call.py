"""How a generated program calls kernels, and how what it calls them with lies in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from workbench.artifacts.programs import (
    Allocate,
    Call,
    Check,
    Dims,
    Event,
    Share,
    find_kernels,
    flatten,
    normalize_expression,
    read_functions,
    split_parts,
)
from workbench.errors import UsageError

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True)
class Layout:
    """Shape and strides of a variable in memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass
class WrapperCalls:
    """The first calls of some kernels, in the order of the program.

    `types` are the texts of what the kernels are compiled for, by name; `calls` a kernel and the
    expressions that it is called with; `tensors` the variables in those with their layouts,
    `layouts` those of all variables. `reused` names the variable whose memory another one takes
    over.
    """

    types: dict[str, str]
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tensors: dict[str, Layout] = field(default_factory=dict)
    layouts: dict[str, Layout] = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The variable that the memory of another one was made for."""
        while name in self.reused:
            name = self.reused[name]
        return name

    def take(self, event: Event) -> None:
        """Follow an event of the program; raises `UsageError` for a call that cannot be told."""
        match event:
            case Check(name, shape, stride) | Allocate(name=name, shape=shape, stride=stride):
                self._lay_out(name, shape, stride)
            case Share(name, base) if base.startswith("pool"):
                self.layouts.pop(name, None)  # several lie in it, beside each other
            case Share(name, base, None, layout=(shape, stride)):
                self._lay_out(name, shape, stride)
                self.reused[name] = base
            case Share(name, base, None) if base in self.layouts:
                self.layouts[name], self.reused[name] = self.layouts[base], base
            case Call(kernel) if kernel in self.types and kernel not in self.calls:
                parts = [part for part in event.split_arguments() if _is_by_place(part)]
                for part in parts:
                    self.tensors.update(self._tensors(kernel, part))
                self.calls[kernel] = tuple(map(normalize_expression, parts))

    def _lay_out(self, name: str, shape: Dims, stride: Dims) -> None:
        sizes = tuple(n for n in shape if isinstance(n, int))
        steps = tuple(n for n in stride if isinstance(n, int))
        self.layouts.pop(name, None)
        if (len(sizes), len(steps)) == (len(shape), len(stride)):  # else symbolic
            self.layouts[name] = Layout(sizes, steps)

    def _tensors(self, kernel: str, argument: str) -> Iterator[tuple[str, Layout]]:
        for name in _NAME.findall(argument):
            if name == "reinterpret_tensor":
                continue
            if name not in self.layouts:
                raise UsageError(
                    f"{kernel} is called with {argument}, whose size is symbolic or not written "
                    "in the wrapper: compile with fixed sizes to make a script of it."
                )
            yield name, self.layouts[name]


def read_calls(text: str, kernels: Sequence[str]) -> WrapperCalls:
    """The first calls of kernels in a program; raises `UsageError` where they cannot be told."""
    types = {
        kernel.name: normalize_expression(next(iter(split_parts(kernel.arguments)), "''"))
        for kernel in find_kernels(text)
        if kernel.name in kernels
    }
    for kernel in kernels:
        if kernel not in types:
            raise UsageError(f"The wrapper does not define {kernel}: it cannot be built alone.")
    for function in read_functions(text):
        calls = WrapperCalls({kernel: types[kernel] for kernel in kernels})
        for event in flatten(function.events):
            calls.take(event)
        if len(calls.calls) == len(types):
            return calls
    raise UsageError(f"The wrapper does not call {' and '.join(kernels)} by name.")


def _is_by_place(argument: str) -> bool:
    return re.match(r"\w+ ?=(?!=)", argument) is None
