"""What a callable can write to besides its inputs: found, noted, put back, by name.

Modules, closures, globals and objects of the user are followed; what belongs to Python, torch or
an installed library is not, except the modules of torch.nn and optimizers.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from workbench.compiler.internals.tensor_subclass import find_dense_parts, mapped
from workbench.processes.shipping.anew import is_users

MOST = 50_000
"""Objects that are followed; more are counted as not compared."""


class _Absent:
    """Stands for a value that there is none of."""

    def __repr__(self) -> str:
        return "nothing"


GONE, UNKNOWN = _Absent(), _Absent()
"""An entry that its container does not have; one whose container is not reached."""

PLAIN_VALUES = (
    bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size,
)  # fmt: skip
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")
_HOOKS = "_hooks"
_NOT_FOLLOWED = ("torch", "numpy", "workbench", "triton", "_pytest", "IPython", "ipykernel")

Root = tuple[str, Any]
"""A name and what is reached by it; the name of the module that is called is ""."""

Place = tuple[str, str]
"""A kind, such as "buffer", and the path behind it."""


@dataclass(frozen=True)
class Holder:
    """A container whose entries can be replaced: the names of its entries, and how they are set.

    `place` tells it from the others of a search.
    """

    place: str
    named: Callable[[Any], str]
    read: Callable[[], dict[Any, Any]]
    write: Callable[[dict[Any, Any]], None]


@dataclass
class Reached:
    """Everything that was found; `is_whole` is False where there is more than is followed.

    `places` are kind and path of all objects by id: a second search gives an object the same name.
    """

    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    generators: dict[str, torch.Generator] = field(default_factory=dict)
    holders: list[Holder] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)
    is_whole: bool = True
    _kept: list[Any] = field(default_factory=list)  # alive, so that no id is used again

    @property
    def learned(self) -> dict[str, torch.Tensor]:
        """The tensors that have gradients of their own, by the names of their places."""
        return {
            name.partition(" ")[2]: tensor
            for name, tensor in self.tensors.items()
            if tensor.requires_grad and tensor.is_leaf
        }


def walk_reachable(roots: Iterable[Root], places: Mapping[int, Place] | None = None) -> Reached:
    """What is reached from the roots, nearest first; `places` are those of an earlier search."""
    return _Search(places or {}).run(roots)


class _Search:
    def __init__(self, known: Mapping[int, Place]):
        self._known = known
        self._found = Reached()
        self._waiting: deque[tuple[str, str, Any]] = deque()

    def run(self, roots: Iterable[Root]) -> Reached:
        for path, value in roots:
            self._waiting.append(("attribute", path, value))
        while self._waiting:
            if len(self._found.places) > MOST:
                self._found.is_whole = False
                break
            self._visit(*self._waiting.popleft())
        return self._found

    def _visit(self, kind: str, path: str, value: Any) -> None:
        if isinstance(value, PLAIN_VALUES) or id(value) in self._found.places:
            return
        kind, path = self._known.get(id(value), (kind, path))
        self._found.places[id(value)] = kind, path
        self._found._kept.append(value)
        for types_of, visit in self._visitors:
            if isinstance(value, types_of):
                visit(kind, path, value)
                return
        if _is_followed(value):
            self._held(kind, path, ".{}", vars(value))
            self._later("attribute", {path or type(value).__name__: type(value)})

    @cached_property
    def _visitors(self) -> tuple[tuple[Any, Callable[[str, str, Any], None]], ...]:
        return (
            (torch.Tensor, self._tensor),
            (torch.Generator, self._generator),
            (torch.nn.Module, self._module),
            (functools.partial, self._partial),
            (types.MethodType, self._method),
            (types.FunctionType, self._function),
            (dict, lambda kind, path, value: self._held(kind, path, "[{!r}]", value)),
            (
                (list, deque),
                lambda kind, path, value: self._held(kind, path, "[{!r}]", _Numbered(value)),
            ),
            (set, lambda kind, path, value: self._held(kind, path, "{{{!r}}}", _Members(value))),
            (tuple, self._tuple),
            (type, self._class),
        )

    def _generator(self, kind: str, path: str, value: torch.Generator) -> None:
        self._found.generators[f"generator {path}"] = value

    def _partial(self, kind: str, path: str, value: Any) -> None:
        parts = {path: value.func, f"{path}.args": value.args, f"{path}.keywords": value.keywords}
        self._later(kind, parts)

    def _method(self, kind: str, path: str, value: types.MethodType) -> None:
        self._later(kind, {path: value.__self__, f"{path}()": value.__func__})

    def _tuple(self, kind: str, path: str, value: tuple[Any, ...]) -> None:
        self._later(kind, {f"{path}[{n}]": part for n, part in enumerate(value)})

    def _tensor(self, kind: str, path: str, value: torch.Tensor) -> None:
        self._found.tensors[f"{kind} {path}"] = value
        if value.is_leaf and value.grad is not None:
            self._later("held gradient", {path: value.grad})

    def _module(self, kind: str, path: str, module: torch.nn.Module) -> None:
        """Parameters, buffers and attributes of a module, then the modules in it."""
        own = vars(module)
        for table, what in (("_parameters", "parameter"), ("_buffers", "buffer")):
            self._held(what, path, ".{}", own.get(table) or {})
        self._held("attribute", path, ".{}", _OwnAttributes(own))
        parts = {k: m for k, m in (own.get("_modules") or {}).items() if m is not None}
        self._later("attribute", {_joined(path, ".{}", key): part for key, part in parts.items()})
        self._later("attribute", {path or type(module).__name__: type(module)})

    def _function(self, kind: str, path: str, function: types.FunctionType) -> None:
        """The cells and the globals that the code names; libraries have state of their own."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        full = {name: cell for name, cell in cells.items() if cell != types.CellType()}
        if full:
            self._held("closure", "", "{}", _Cells(full))
        module = sys.modules.get(function.__globals__.get("__name__", ""))
        if module is None or is_users(module) or module.__name__ == "__main__":
            named = {n for n in _names(function.__code__) if n in function.__globals__}
            self._held("global", "", "{}", _Some(function.__globals__, named))

    def _class(self, kind: str, path: str, owner: type) -> None:
        """The attributes of a class of the user, and what its methods read."""
        if not is_users(sys.modules.get(owner.__module__)) and owner.__module__ != "__main__":
            return
        data = {
            name
            for name, value in vars(owner).items()
            if not name.startswith("__") and not hasattr(value, "__get__")
        }
        self._held("attribute", path, ".{}", _ClassAttributes(owner, data))
        for name, value in vars(owner).items():
            if isinstance(value, types.FunctionType):
                self._later("attribute", {f"{path}.{name}": value})

    def _held(self, kind: str, path: str, form: str, entries: Any) -> None:
        """A container of which an entry may be replaced, and what is in it."""
        held = _Table(entries) if isinstance(entries, dict) else entries

        def named(key: Any) -> str:
            return f"{kind} {_joined(path, form, key)}"

        place = f"{kind} {path} {form}"
        self._found.holders.append(Holder(place, named, held.read, held.write))
        self._later(kind, {_joined(path, form, key): value for key, value in held.read().items()})

    def _later(self, kind: str, parts: Mapping[str, Any]) -> None:
        self._waiting.extend((kind, path, part) for path, part in parts.items())


def _joined(path: str, form: str, key: Any) -> str:
    text = form.format(key)
    return f"{path}{text}" if path or not text.startswith(".") else text[1:]


@dataclass(frozen=True)
class _Table:
    """The entries of a dictionary."""

    entries: dict[Any, Any]

    def read(self) -> dict[Any, Any]:
        return dict(self.entries)

    def write(self, entries: Mapping[Any, Any]) -> None:
        self.entries.clear()
        self.entries.update(entries)


@dataclass(frozen=True)
class _Numbered:
    """The entries of a list by their number."""

    values: Any

    def read(self) -> dict[Any, Any]:
        return dict(enumerate(self.values))

    def write(self, entries: Mapping[Any, Any]) -> None:
        self.values.clear()
        self.values.extend(entries.values())


@dataclass(frozen=True)
class _Members:
    values: set[Any]

    def read(self) -> dict[Any, Any]:
        return dict.fromkeys(self.values, True)

    def write(self, entries: Mapping[Any, Any]) -> None:
        self.values.clear()
        self.values.update(entries)


@dataclass(frozen=True)
class _Cells:
    cells: Mapping[str, Any]

    def read(self) -> dict[Any, Any]:
        return {
            name: cell.cell_contents
            for name, cell in self.cells.items()
            if cell != types.CellType()
        }

    def write(self, entries: Mapping[Any, Any]) -> None:
        for name, value in entries.items():
            self.cells[name].cell_contents = value


@dataclass(frozen=True)
class _Some:
    """Some names of a namespace, which has others."""

    space: dict[str, Any]
    names: set[str]

    def read(self) -> dict[Any, Any]:
        return {name: self.space[name] for name in sorted(self.names) if name in self.space}

    def write(self, entries: Mapping[Any, Any]) -> None:
        for name in self.names:
            if name in entries:
                self.space[name] = entries[name]
            else:
                self.space.pop(name, None)


@dataclass(frozen=True)
class _OwnAttributes:
    """What a module has in its own dictionary, but its tables and hooks."""

    space: dict[str, Any]

    def read(self) -> dict[Any, Any]:
        return {
            name: value
            for name, value in self.space.items()
            if name not in _MODULE_TABLES and not name.endswith(_HOOKS)
        }

    def write(self, entries: Mapping[Any, Any]) -> None:
        for name in self.read().keys() - entries.keys():
            del self.space[name]
        self.space.update(entries)


@dataclass(frozen=True)
class _ClassAttributes:
    kind: type
    names: set[str]

    def read(self) -> dict[Any, Any]:
        own = vars(self.kind)
        return {name: own[name] for name in sorted(self.names) if name in own}

    def write(self, entries: Mapping[Any, Any]) -> None:
        for name, value in entries.items():
            setattr(self.kind, name, value)


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a function and those written inside of it use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_followed(value: Any) -> bool:
    """Whether an object is one of the user's, of a library of models, or an optimizer."""
    if not hasattr(value, "__dict__") or isinstance(value, types.ModuleType):
        return False
    if isinstance(value, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
        return True
    root = type(value).__module__.partition(".")[0]
    return root not in _NOT_FOLLOWED and root not in sys.stdlib_module_names


@dataclass(frozen=True)
class Change:
    """The value that a call left at a place; tensors as copies, `GONE` where it was removed."""

    place: str
    value: Any


@dataclass
class Snapshot:
    """The state of everything that was reached, at one moment."""

    reached: Reached
    tensors: dict[str, torch.Tensor]
    generators: dict[str, torch.Tensor]
    entries: list[dict[Any, Any]]

    @classmethod
    def of(cls, reached: Reached) -> Snapshot:
        """The state now; tensors are copied."""
        return cls(
            reached,
            {name: copied(tensor) for name, tensor in reached.tensors.items()},
            {name: one.get_state() for name, one in reached.generators.items()},
            [holder.read() for holder in reached.holders],
        )

    def changes(self) -> dict[str, Change]:
        """What is another value now, by name."""
        by_name: dict[str, Change] = {}
        for name, before in self.tensors.items():
            now = self.reached.tensors[name]
            if not same_tensor(before, now):
                by_name[name] = Change(name, copied(now))
        for name, state in self.generators.items():
            now = self.reached.generators[name].get_state()
            if not torch.equal(state, now):
                by_name[name] = Change(name, now)
        return by_name | _replaced(self.reached.holders, self.entries)

    def before(self, name: str, place: str) -> Any:
        """The value that a name had: `GONE` where it had none, `UNKNOWN` where its place is not."""
        if name in self.tensors:
            return self.tensors[name]
        if name in self.generators:
            return self.generators[name]
        value_before = UNKNOWN
        for holder, entries in zip(self.reached.holders, self.entries, strict=True):
            if holder.place == place:
                value_before = GONE
                for key, value in entries.items():
                    if holder.named(key) == name:
                        return value
        return value_before

    def restore(self) -> None:
        """Put back what has changed."""
        for holder, entries in zip(self.reached.holders, self.entries, strict=True):
            later = holder.read()
            if later.keys() != entries.keys() or any(later[k] is not entries[k] for k in entries):
                holder.write(entries)
        for name, before in self.tensors.items():
            now = self.reached.tensors[name]
            if not same_tensor(before, now):
                _put_back(now, before)
        for name, state in self.generators.items():
            self.reached.generators[name].set_state(state)


@dataclass
class Marks:
    """As a snapshot, without copies of tensors: a digest tells that one has changed."""

    reached: Reached
    digests: dict[str, bytes]
    entries: list[dict[Any, Any]]

    @classmethod
    def of(cls, reached: Reached) -> Marks:
        """The state now."""
        digests = {name: _digest(tensor) for name, tensor in reached.tensors.items()}
        return cls(reached, digests, [holder.read() for holder in reached.holders])

    @property
    def names(self) -> list[str]:
        """Every tensor and plain value that is reached."""
        plain = [
            holder.named(key)
            for holder, entries in zip(self.reached.holders, self.entries, strict=True)
            for key, value in entries.items()
            if isinstance(value, PLAIN_VALUES)
        ]
        return [*self.digests, *plain]

    def changes(self) -> dict[str, Change]:
        """What is another value now, by name."""
        by_name = {
            name: Change(name, copied(self.reached.tensors[name]))
            for name, digest in self.digests.items()
            if _digest(self.reached.tensors[name]) != digest
        }
        return by_name | _replaced(self.reached.holders, self.entries)


def _digest(tensor: torch.Tensor) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in find_dense_parts(tensor.detach()):
        if part.layout is torch.strided and not part.is_quantized and part.device.type != "meta":
            flat = part.cpu().contiguous().reshape(-1).view(torch.uint8)
            digest.update(flat.numpy().tobytes())
    return digest.digest()


def _replaced(holders: Iterable[Holder], before: Iterable[dict[Any, Any]]) -> dict[str, Change]:
    """The entries of containers that are others now."""
    by_name: dict[str, Change] = {}
    for holder, entries in zip(holders, before, strict=True):
        later = holder.read()
        for key in {**entries, **later}:
            old, new = entries.get(key, GONE), later.get(key, GONE)
            if old is not new and not _are_equal(old, new):
                value = GONE if new is GONE else _kept(new)
                by_name[holder.named(key)] = Change(holder.place, value)
    return by_name


def copied(value: torch.Tensor) -> torch.Tensor:
    """A copy of a tensor, without its gradient."""
    return mapped(value.detach(), lambda part: part.clone())


def same_tensor(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same values, a NaN being the same as a NaN."""
    left, right = (list(find_dense_parts(part.detach())) for part in (one, other))
    if [(p.shape, p.dtype, p.layout) for p in left] != [
        (p.shape, p.dtype, p.layout) for p in right
    ]:
        return False
    return all(_same_values(a, b) for a, b in zip(left, right, strict=True))


def _same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout is not torch.strided or a.is_quantized or a.is_meta or b.is_meta:
        return True  # what cannot be compared is listed as such by whoever compares
    if torch.equal(a, b):
        return True
    is_float = a.is_floating_point() or a.is_complex()
    return is_float and bool(((a == b) | (a.isnan() & b.isnan())).all())


def _put_back(now: torch.Tensor, before: torch.Tensor) -> None:
    for part, old in zip(find_dense_parts(now), find_dense_parts(before), strict=True):
        mode = torch.inference_mode if part.is_inference() else torch.no_grad
        with mode():
            if part.shape != old.shape:
                part.data = old.clone()
            else:
                part.copy_(old)


def _are_equal(old: Any, new: Any) -> bool:
    if type(old) is not type(new) or not isinstance(old, PLAIN_VALUES):
        return False
    return bool(old == new or (old != old and new != new))


def _kept(value: Any) -> Any:
    """A value that later calls do not change; objects stay what they are."""
    if isinstance(value, torch.Tensor):
        return copied(value)
    if type(value) in (list, tuple):
        return type(value)(map(_kept, value))
    return {key: _kept(part) for key, part in value.items()} if type(value) is dict else value
