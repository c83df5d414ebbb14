"""The Python places in which a model can keep state: attributes, closures, globals."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs, leaves_of, restore_state
from workbench.compiler.comparison.judgement import Judge, pair_leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.sources.sources import Places

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set)
_SHARED = (torch.Tensor, *_PLAIN, *_CONTAINERS)
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_CALLED = _CODE[2:]
_SLOTS = 200_000  # places that are watched
_MOST = 10_000  # elements of a container that are compared
_MISSING: Any = object()
_FOREIGN = ("torch", "builtins", "threading", "logging", "workbench")
_OWN = frozenset(vars(torch.nn.Module()))


@dataclass(frozen=True)
class Slot:
    """A place that holds a value; `part` is the path of the module whose attribute it is."""

    name: str
    holder: dict[str, Any] | types.CellType | type
    key: str
    part: str | None = None

    def get(self) -> Any:
        """What it holds, `_MISSING` for nothing."""
        if isinstance(self.holder, dict):
            return self.holder.get(self.key, _MISSING)
        if isinstance(self.holder, type):
            return vars(self.holder).get(self.key, _MISSING)
        try:
            return self.holder.cell_contents
        except ValueError:  # an empty cell
            return _MISSING

    def set(self, value: Any) -> None:
        """Put a value there, or take away what is there."""
        if isinstance(self.holder, types.CellType):
            self.holder.cell_contents = value
        elif isinstance(self.holder, type):
            setattr(self.holder, self.key, value)
        elif value is _MISSING:
            self.holder.pop(self.key, None)
        else:
            self.holder[self.key] = value


State = Mapping[tuple[int, str], tuple[Slot, Any]]


def state_of(module: torch.nn.Module) -> State:
    """The values of every slot; containers are copied, what they hold is not."""
    slots_of_module = itertools.chain(_attributes(module), _of_classes(module), _outer(module))
    slots = itertools.islice(slots_of_module, _SLOTS)
    return {(id(slot.holder), slot.key): (slot, _copied(slot.get())) for slot in slots}


def _attributes(module: torch.nn.Module) -> Iterator[Slot]:
    seen: set[int] = set()
    for path, part in module.named_modules():
        for key, value in list(vars(part).items()):
            if key in _OWN and key.startswith("_"):
                continue
            name = ".".join(word for word in ("self", path, key) if word)
            yield Slot(name, vars(part), key, path)
            yield from _inside(value, name, seen)


def _of_classes(module: torch.nn.Module) -> Iterator[Slot]:
    """Values that all modules of a class share."""
    for kind in {type(part) for part in module.modules()}:
        if kind.__module__.partition(".")[0] not in _FOREIGN:
            for key, value in list(vars(kind).items()):
                if not key.startswith("__") and isinstance(value, _SHARED):
                    yield Slot(f"{kind.__name__}.{key}", kind, key)


def _inside(value: Any, name: str, seen: set[int]) -> Iterator[Slot]:
    """The attributes of plain objects, also of those in containers."""
    if id(value) in seen or len(seen) > _SLOTS:
        return
    if isinstance(value, _CONTAINERS) and 0 < _length(value) < _MOST:
        seen.add(id(value))
        for key, item in _items(value):
            yield from _inside(item, f"{name}[{key!r}]", seen)
    elif _is_plain_object(value):
        seen.add(id(value))
        for key, part in list(vars(value).items()):
            yield Slot(f"{name}.{key}", vars(value), key)
            yield from _inside(part, f"{name}.{key}", seen)


def _length(value: Any) -> int:
    """The length of a container as its base has it: a class of its own may refuse to say."""
    base = next(kind for kind in _CONTAINERS if isinstance(value, kind))
    return base.__len__(value)


def _items(value: Any) -> list[tuple[Any, Any]]:
    """The parts of a container by key or number, as its base has them."""
    if isinstance(value, dict):
        return list(dict.items(value))
    base = next(kind for kind in _CONTAINERS if isinstance(value, kind))
    return list(enumerate(base.__iter__(value)))


def _is_plain_object(value: Any) -> bool:
    if isinstance(value, (torch.Tensor, torch.nn.Module, *_CODE)):
        return False
    return hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] not in _FOREIGN


def _outer(module: torch.nn.Module) -> Iterator[Slot]:
    """The variables outside of the user's own functions that a call reaches."""
    seen: set[int] = set()
    for slot in _reached(module):
        value = slot.get()
        if not isinstance(value, (torch.nn.Module, *_CODE)):
            yield slot
            yield from _inside(value, slot.name, seen)


def find_outer_functions(module: torch.nn.Module) -> list[Slot]:
    """The variables outside of the user's own functions that hold functions."""
    return [slot for slot in _reached(module) if isinstance(slot.get(), _CALLED)]


def _reached(module: torch.nn.Module) -> Iterator[Slot]:
    """Closure variables and globals of the user's functions and of those that they name."""
    places, done = Places(), set[int]()
    kinds = {type(part) for part in module.modules()}
    todo = [member for kind in kinds for member in vars(kind).values()]
    while todo:
        function = inspect.unwrap(todo.pop())
        if not isinstance(function, types.FunctionType) or id(function) in done:
            continue
        done.add(id(function))
        if not places.is_own(function.__code__.co_filename):
            continue
        for slot in _variables(function):
            todo.append(slot.get())
            yield slot


def _variables(function: types.FunctionType) -> Iterator[Slot]:
    scope, code = function.__globals__, function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield Slot(name, cell, name)
    yield from (Slot(name, scope, name) for name in _names(code) if name in scope)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)


def _copied(value: Any) -> Any:
    """The same containers again, with the same contents."""
    if type(value) in _CONTAINERS and len(value) < _MOST:
        if isinstance(value, dict):
            return {key: _copied(part) for key, part in value.items()}
        return type(value)(part if isinstance(value, set) else _copied(part) for part in value)
    return value


def changed(before: State, after: State) -> dict[tuple[int, str], Slot]:
    """The slots whose value is another one than before."""
    slots = {key: row[0] for key, row in (*before.items(), *after.items())}
    nothing = (None, _MISSING)
    return {
        key: slot
        for key, slot in slots.items()
        if not _same(before.get(key, nothing)[1], after.get(key, nothing)[1])
    }


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, torch.Tensor):
        return False
    if isinstance(a, _PLAIN):
        return bool(a == b)
    if isinstance(a, dict):
        others = dict(_items(b))
        return dict.keys(a) == others.keys() and all(
            _same(value, others[key]) for key, value in _items(a)
        )
    if isinstance(a, list | tuple):
        pairs = zip(_items(a), _items(b), strict=False)
        return _length(a) == _length(b) and all(_same(one[1], two[1]) for one, two in pairs)
    return _length(a) == _length(b) if isinstance(a, set) else True


def put_back(before: State, slots: Mapping[tuple[int, str], Slot]) -> None:
    """Give slots what they held; a container that is still there gets its contents."""
    for key, slot in slots.items():
        value = before[key][1] if key in before else _MISSING
        now = slot.get()
        if _same(now, value):
            continue
        if type(now) is type(value) and isinstance(now, list):
            now[:] = value
        elif type(now) is type(value) and isinstance(now, dict | set):
            now.clear()
            now.update(value)
        else:
            slot.set(value)


@contextmanager
def holding(before: State, after: State, slots: Mapping[tuple[int, str], Slot]) -> Iterator[None]:
    """The slots with what they held after a call, real tensors in place of fake ones."""
    try:
        for key, slot in slots.items():
            slot.set(_real(after[key][1]) if key in after else _MISSING)
        yield
    finally:
        for key, slot in slots.items():
            slot.set(before[key][1] if key in before else _MISSING)


def _real(value: Any) -> Any:
    if isinstance(value, tp.FAKE_TENSOR.get()):
        shape = [size if isinstance(size, int) else int(size.node.hint) for size in value.shape]
        count = torch.Size(shape).numel()
        numbers = torch.arange(count, device=value.device) % 89 + 3
        return numbers.reshape(shape).to(value.dtype)
    if isinstance(value, dict):
        return {key: _real(part) for key, part in value.items()}
    return type(value)(map(_real, value)) if type(value) in (list, tuple) else value


@contextmanager
def state_kept(module: torch.nn.Module) -> Iterator[State]:
    """Everything as it was before, also the fake tensors gone that a capture left behind."""
    before, hooks = state_of(module), [(each, dict(each)) for each in _hooks(module)]
    try:
        yield before
    finally:
        put_back(before, changed(before, state_of(module)))
        for now, then in hooks:
            if now.keys() != then.keys():
                now.clear()
                now.update(then)


def _hooks(module: torch.nn.Module) -> Iterator[dict[int, Any]]:
    """The dictionaries with the hooks of every part: a first call may install some."""
    for part in module.modules():
        yield from (value for key, value in vars(part).items() if "_hooks" in key and key in _OWN)
    yield tp.BUFFER_HOOKS.get()  # a failed export leaves one for every module


def is_state_dependent(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether the model gives something else after a call with other inputs, as no cache does.

    It runs silently; its state, its buffers and the random state are as they were.
    """

    def call(*, other: bool = False) -> Any:
        given, named = copy_all_inputs(tuple(args), kwargs)
        if other:
            for _, leaf in leaves_of((given, named)):
                if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                    leaf.mul_(-0.5).add_(1)
        with restore_state(module):
            torch.manual_seed(0)
            return leaves_of(copy_all_inputs((module(*given, **named),), {}))

    with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        with state_kept(module):
            first = call()
        with state_kept(module):
            call(other=True)
            second = call()
    rows = Judge().judge([*pair_leaves("output", first, second)])
    return any(row.verdict == "failed" for row in rows)
