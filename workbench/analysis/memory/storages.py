"""Follows the storages of a program through its events: who refers to them, what lives when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.analysis.fusion.traffic import VIEWS
from workbench.artifacts.programs import (
    Allocate,
    Call,
    Clear,
    Drop,
    Event,
    Inputs,
    Retain,
    Return,
    Share,
)
from workbench.report.memory_rows import Kind


@dataclass(frozen=True, slots=True)
class Hold:
    """Memory that something outside of the program takes while it runs, until `Let` of the name."""

    name: str
    bytes: int
    kind: Kind
    module: str


@dataclass(frozen=True, slots=True)
class Let:
    """The end of what `Hold` took; nothing where that has ended."""

    name: str


IN_CPP = "aoti_torch_"  # a library call in C++; in Python it has a dot: extern_kernels.mm
_NAME = re.compile(r"\b[A-Za-z_]\w*")
Parts = Callable[[str], Sequence[tuple[str, int | None]]]
"""The results of a library call by its name: the name and the bytes of each; None: not known."""


@dataclass(slots=True)
class Storage:
    """A piece of memory, from the step in which it is allocated to the last that needs it.

    `names` are all names that it had, `shares` which name took it over from which. `is_given`: it
    was there before the program. `kind` and `module` are of what the program does not take itself.
    """

    program: int
    names: list[str]
    bytes: int
    is_given: bool
    is_of_library: bool
    first_step: int
    last_step: int | None = None
    first_moment: int = 0
    last_moment: int | None = None
    references: int = 1
    shares: list[tuple[str, str]] = field(default_factory=list)
    kind: Kind | None = None
    module: str | None = None


@dataclass(slots=True)
class Step:
    """A kernel or a library call, with the bytes allocated for it and freed after it."""

    program: int
    kernel: str
    allocated: int = 0
    freed: int = 0


@dataclass
class Walk:
    """Runs programs one after the other: what one gives is what the next may take.

    `moments` has the live bytes after each allocation and at each step, with the step's number.
    """

    storages: list[Storage] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    moments: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    live: int = 0
    _names: dict[str, list[Storage]] = field(default_factory=dict)
    _held: dict[str, Storage] = field(default_factory=dict)  # over programs
    _allocated: int = 0
    _program: int = -1

    def run(
        self,
        events: Iterable[Event | Hold | Let],
        given: Mapping[str, Storage],
        sizes: Mapping[str, int],
        parts: Parts,
    ) -> list[Storage | None]:
        """Run a program; returns the storage behind each of its outputs, which it leaves held.

        `given` are the storages that an earlier program left and this one takes, with that
        reference; an input that is in neither is the caller's, which keeps it, and has `sizes`.
        """
        self._program += 1
        self._names = {}
        outputs: list[Storage | None] = []
        for event in events:
            match event:
                case Inputs(names):
                    self._take(names, given, sizes)
                case Call():
                    self._call(event, parts)
                case Return(names):
                    outputs = self._give(names)
                case Hold() | Let():
                    self._hold(event)
                case _:
                    self._name(event)
        for name in list(self._names):  # what a function refers to goes with it
            self._release(self._names.pop(name))
        return outputs

    def _name(self, event: Event) -> None:
        """What changes who refers to what."""
        match event:
            case Allocate(name, bytes):
                self._bind(name, [self._new(name, bytes, is_of_library=False)])
            case Share(name, base, part):
                self._share(name, base, part)
            case Drop(name):
                self._release(self._names.pop(name, []))
            case Retain(names):
                for storage in self._of(names):
                    storage.references += 1
            case Clear(names):
                self._rebind(names)

    def _hold(self, event: Hold | Let) -> None:
        if isinstance(event, Let):
            self._release([self._held.pop(event.name)] if event.name in self._held else [])
            return
        storage = self._new(event.name, event.bytes, is_of_library=False)
        storage.kind, storage.module = event.kind, event.module
        self._held[event.name] = storage

    def given(self, name: str, bytes: int) -> Storage:
        """Memory that is there before the next program runs; the caller holds it."""
        return self._new(name, bytes, is_of_library=False, before=self._program + 1)

    def _of(self, names: Iterable[str | None]) -> list[Storage]:
        return [storage for name in names for storage in self._names.get(name or "", ())]

    def _take(
        self, names: Iterable[str], left: Mapping[str, Storage], sizes: Mapping[str, int]
    ) -> None:
        for name in names:
            storage = left.get(name)
            if storage is not None:
                storage.names += [name] if name not in storage.names else []
                self._names[name] = [storage]
            elif name in sizes:
                storage = self._new(name, sizes[name], is_of_library=False, before=self._program)
                storage.references += 1  # the caller's
                self._names[name] = [storage]

    def _new(
        self, name: str, bytes: int | None, *, is_of_library: bool, before: int | None = None
    ) -> Storage:
        """`before`: the program that finds it there."""
        if bytes is None:
            self.unknown.append(name)
        storage = Storage(
            self._program if before is None else before,
            [name],
            bytes or 0,
            before is not None,
            is_of_library,
            len(self.steps),
            first_moment=len(self.moments),
        )
        self.storages.append(storage)
        self.live += storage.bytes
        self._allocated += storage.bytes
        self.moments.append((self.live, len(self.steps)))
        return storage

    def _bind(self, name: str, storages: list[Storage]) -> None:
        before = self._names.get(name)
        self._names[name] = storages
        if before is not None:
            self._release(before)

    def _rebind(self, names: Iterable[str]) -> None:
        """The reference of the list becomes that of a name inside of the part."""
        for name in names:
            if name not in self._names:
                last = [s for s in self.storages if name in s.names and s.references]
                self._names[name] = last[-1:]

    def _share(self, name: str, base: str, part: int | None) -> None:
        storages = self._names.get(base, [])
        if part is not None and storages:
            storages = storages[part : part + 1] or storages[-1:]
        for storage in storages:
            storage.references += 1
            if name not in storage.names:
                storage.names.append(name)
                storage.shares.append((name, base))
        if storages:
            self._bind(name, storages)

    def _release(self, storages: Iterable[Storage]) -> None:
        for storage in storages:
            storage.references -= 1
            if storage.references == 0:
                storage.last_step = max(storage.first_step, len(self.steps) - 1)
                storage.last_moment = len(self.moments)
                self.live -= storage.bytes
                if self.steps:  # what is deleted after a call belonged to it
                    self.steps[-1].freed += storage.bytes

    def _call(self, call: Call, parts: Parts) -> None:
        kernel, result = call.kernel, call.result
        base = self._find_base(call) if name_operator(kernel) in VIEWS else None
        if result is not None and base is not None:
            self._share(result, base, None)
        elif result is not None:
            storages = [self._new(name, size, is_of_library=True) for name, size in parts(result)]
            self._bind(result, storages)
        number = len(self.steps)
        self.moments.append((self.live, number))
        self.steps.append(Step(self._program, kernel, self._allocated))
        self._allocated = 0

    def _find_base(self, call: Call) -> str | None:
        """The tensor that a library call gives a view of: the first that it is given."""
        return next((name for name in _NAME.findall(call.arguments) if name in self._names), None)

    def _give(self, names: Iterable[str | None]) -> list[Storage | None]:
        storages = [next(iter(self._names.get(name or "", ())), None) for name in names]
        for storage in storages:
            if storage is not None:
                storage.references += 1
        return storages


def name_operator(kernel: str) -> str:
    """`mm` of `extern_kernels.mm`, `torch.ops.aten.mm.default`, `aten.mm.default`, C++'s names."""
    if kernel.startswith(IN_CPP):
        name = kernel.removeprefix(IN_CPP).partition("_")[2]
        return name.removesuffix("_out")
    parts = kernel.split(".")
    if "ops" in parts and len(parts) > parts.index("ops") + 2:
        return parts[parts.index("ops") + 2]
    has_overload = parts[0] == "aten" and len(parts) > 2  # aten.scatter_reduce_.two
    return parts[1] if has_overload else parts[-1]
