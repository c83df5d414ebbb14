"""What a call reaches and can write to besides its inputs: found, noted, put back, by name.

One walk of Python objects for all that asks. Modules, closures, globals and objects of the user
are followed; what belongs to Python, torch or an installed library is not, except the modules of
torch.nn, optimizers, and objects of libraries of models.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from workbench.compiler.call_state.entries import (
    Cells,
    ClassAttributes,
    Entries,
    Members,
    Numbered,
    OwnAttributes,
    Slots,
    Some,
    Table,
    is_of,
    list_slots,
    read_dictionary,
)
from workbench.compiler.internals.tensor_kind import find_dense_parts, mapped
from workbench.compiler.internals.users_modules import is_users

MOST = 50_000
"""Objects that are followed; more are counted as not compared."""


class _Absent:
    """Stands for a value that there is none of."""

    def __repr__(self) -> str:
        return "nothing"


GONE, UNKNOWN = _Absent(), _Absent()
"""An entry that its container does not have; one whose container is not reached."""

PLAIN_VALUES = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    torch.dtype,
    torch.device,
    torch.Size,
)
_NOT_FOLLOWED = ("torch", "numpy", "workbench", "triton", "_pytest", "IPython", "ipykernel")
_HOLD_DATA = ("argparse", "collections", "queue", "types")
"""Modules of Python whose objects hold what a user puts there."""
_BUILT_IN = (dict, list, set, frozenset, tuple, deque, OrderedDict)
_NAME, _ITEM, _MEMBER, _OUTSIDE = ".{}", "[{}]", "{{{}}}", "{}"
"""How the name of an entry is written behind that of its container."""
_CACHE = type(functools.lru_cache(int))
_WRAPPERS = (
    staticmethod,
    classmethod,
    property,
    functools.cached_property,
    functools.partialmethod,
    _CACHE,
)
_WRAPPED = ("__func__", "fget", "fset", "func", "__wrapped__")

Root = tuple[str, Any]
"""A name and what is reached by it; the name of the module that is called is ""."""

Place = tuple[str, str]
"""A kind, such as "buffer", and the path behind it."""


@dataclass(frozen=True)
class Follows:
    """How far a walk goes: into what functions and methods name, into objects of libraries."""

    code: bool = True
    libraries: bool = False
    most: int = MOST


_DATA = Follows(code=False)
_PICKLED = Follows(code=False, libraries=True, most=10_000)


class Variable(NamedTuple):
    """The attribute, closure variable or global that holds a value, by itself or in containers.

    `kind` is "class" for an attribute of a class; `module` is the path of the module that an
    attribute is of.
    """

    kind: str
    name: str
    key: str
    module: str | None = None


@dataclass(frozen=True)
class Holder:
    """A container whose entries can be replaced: the names of its entries, and how they are set.

    `place` tells it from the others of a search.
    """

    kind: str
    place: str
    named: Callable[[Any], str]
    variable: Callable[[Any], Variable]
    entries: Entries

    def read(self) -> dict[Any, Any]:
        """The entries now."""
        return self.entries.read()

    def write(self, entries: Mapping[Any, Any]) -> None:
        """Give it these entries, and no others."""
        self.entries.write(entries)


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

    def without_values(self) -> Reached:
        """The containers alone: a snapshot of them copies no tensor."""
        return replace(self, tensors={}, generators={})

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
    search = _Search(Follows(), places or {})
    for _ in search.run(roots):
        pass
    return search.found


def list_tensors(*values: Any, code: bool = False) -> list[torch.Tensor]:
    """The tensors that are reached from values, each once; with `code` those that functions read.

    Gradients that tensors hold are none of them.
    """
    search = _Search(Follows() if code else _DATA, {})
    reached = search.run(("", value) for value in values)
    tensors = [value for value in reached if isinstance(value, torch.Tensor)]
    held = {id(gradient) for tensor in tensors if (gradient := _held_gradient(tensor)) is not None}
    return [tensor for tensor in tensors if id(tensor) not in held]


def _held_gradient(tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        return tensor.grad if tensor.is_leaf else None
    except RuntimeError:  # one of several views whose base was written to, as FSDP1 does
        return None


def holds_tensors(value: Any) -> bool:
    """Whether a tensor or a module is reached from an object; so is one with too many parts."""
    search = _Search(_PICKLED, {})
    reached = search.run([("", value)])
    return any(isinstance(one, torch.Tensor | torch.nn.Module) for one in reached) or (
        not search.found.is_whole
    )


class _At(NamedTuple):
    """Where a search is: the kind and path of a value, and the variable that holds it.

    `part` is its path as a part of the module that the search begins with.
    """

    kind: str
    path: str
    variable: Variable
    part: str | None = None

    def at(self, path: str) -> _At:
        """The same at another path, which is none of a part."""
        return self._replace(path=path, part=None)


class _Search:
    def __init__(self, follows: Follows, places: Mapping[int, Place]):
        self._follows = follows
        self._known = places
        self.found = Reached()
        self._waiting: deque[tuple[_At, Any]] = deque()

    def run(self, roots: Iterable[Root]) -> Iterator[Any]:
        """Every object that is found, once what it holds is noted."""
        for path, value in roots:
            self._later(_At("attribute", path, Variable("attribute", path, path), path), value)
        while self._waiting:
            if len(self.found.places) > self._follows.most:
                self.found.is_whole = False
                break
            at, value = self._waiting.popleft()
            if id(value) not in self.found.places:
                self._visit(at, value)
                yield value

    def _visit(self, at: _At, value: Any) -> None:
        kind, path = self._known.get(id(value), (at.kind, at.path))
        at = at._replace(kind=kind, path=path)
        self.found.places[id(value)] = kind, path
        self.found._kept.append(value)
        for types_of, visit in _VISITORS:
            if is_of(value, types_of):
                visit(self, at, value)
                return
        self._attributes(at, value)

    def _nothing(self, at: _At, value: Any) -> None:
        """Whose contents are no state of a call."""

    def _builtin(self, at: _At, value: types.BuiltinMethodType) -> None:
        self._later(at, value.__self__)

    def _weakly(self, at: _At, value: weakref.ref[Any]) -> None:
        self._later(at.at(f"{at.path}()"), value())

    def _dict(self, at: _At, value: dict[Any, Any]) -> None:
        self._container(at, _ITEM, Table(value), value)

    def _list(self, at: _At, value: Any) -> None:
        self._container(at, _ITEM, Numbered(value), value)

    def _generator(self, at: _At, value: torch.Generator) -> None:
        self.found.generators[f"generator {at.path}"] = value

    def _partial(self, at: _At, value: Any) -> None:
        self._later(at, value.func)
        self._later(at.at(f"{at.path}.args"), value.args)
        self._later(at.at(f"{at.path}.keywords"), value.keywords)

    def _method(self, at: _At, value: types.MethodType) -> None:
        self._later(at, value.__self__)
        self._later(at.at(f"{at.path}()"), value.__func__)

    def _wrapper(self, at: _At, value: Any) -> None:
        """The functions of a property, a static method, a cache."""
        if self._follows.code:
            for name in _WRAPPED:
                self._later(at, getattr(value, name, None))

    def _fixed(self, at: _At, value: Any) -> None:
        """What a tuple, a set or a mapping holds that nobody can change."""
        items = value.items() if isinstance(value, types.MappingProxyType) else enumerate(value)
        for key, part in items:
            self._later(at.at(_joined(at.path, _ITEM, key)), part)
        self._attributes(at, value)

    def _tensor(self, at: _At, value: torch.Tensor) -> None:
        self.found.tensors[f"{at.kind} {at.path}"] = value
        if (gradient := _held_gradient(value)) is not None:
            self._later(at._replace(kind="held gradient"), gradient)

    def _set(self, at: _At, value: set[Any]) -> None:
        self._container(at, _MEMBER, Members(value), value)
        for number, part in enumerate(set.__iter__(value)):
            self._later(at.at(_joined(at.path, _MEMBER, number)), part)

    def _container(self, at: _At, form: str, entries: Entries, value: Any) -> None:
        self._held(at, form, entries, lambda key: at.variable)
        self._attributes(at, value)

    def _module(self, at: _At, module: torch.nn.Module) -> None:
        """Parameters, buffers and attributes of a module, then the modules in it."""
        own, at = vars(module), at._replace(kind="attribute")
        for table, what in (("_parameters", "parameter"), ("_buffers", "buffer")):
            entries = own.get(table) or {}
            if not is_of(entries, dict):  # TorchScript (torch 2.13) keeps them in C++
                entries = dict(entries.items())
            self._namespace(at._replace(kind=what), Table(entries))
        self._namespace(at, OwnAttributes(own))
        for key, part in (own.get("_modules") or {}).items():
            to = None if at.part is None else _joined(at.part, _NAME, key)
            self._later(at._replace(path=_joined(at.path, _NAME, key), part=to), part)
        self._class_of(module)

    def _attributes(self, at: _At, value: Any) -> None:
        """What an object has in its own dictionary and slots, and what its class has."""
        kind = type(value)
        if kind in _BUILT_IN or not (self._follows.libraries or _is_followed(kind)):
            return
        own, slots = read_dictionary(value), list_slots(kind)
        if own is not None:
            self._namespace(at, Table(own))
        if slots:
            self._namespace(at, Slots(value, slots))
        if own is not None or slots:
            self._class_of(value)

    def _class_of(self, value: Any) -> None:
        name = type(value).__name__
        self._later(_At("attribute", name, Variable("class", name, name)), type(value))

    def _function(self, at: _At, function: types.FunctionType) -> None:
        """The cells and the globals that the code names; libraries have state of their own."""
        if not self._follows.code:
            return
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if cells:
            self._namespace(_outside("closure"), Cells(cells), _OUTSIDE)
        path = at.path or function.__name__
        self._later(at.at(f"{path}()"), function.__defaults__)
        self._later(at.at(f"{path}()"), function.__kwdefaults__)
        module = sys.modules.get(function.__globals__.get("__name__", ""))
        if module is not None and not is_users(module) and module.__name__ != "__main__":
            return
        self._namespace(at.at(path), Table(vars(function)))
        space, names = function.__globals__, frozenset(_names(function.__code__))
        self._namespace(_outside("global"), Some(space, names), _OUTSIDE)
        for name in sorted(names & space.keys()):
            if is_users(space[name]):
                self._namespace(_outside("global", name), Some(vars(space[name]), names))

    def _class(self, at: _At, owner: type) -> None:
        """The attributes of a class, and what the methods of one of the user read."""
        module = sys.modules.get(owner.__module__)
        is_own = is_users(module) or owner.__module__ == "__main__"
        if not (is_own or self._follows.libraries or _is_followed(owner)):
            return
        self._namespace(at.at(owner.__name__), ClassAttributes(owner))
        for base in owner.__bases__:
            self._later(at.at(base.__name__), base)
        for name, value in vars(owner).items() if is_own and self._follows.code else ():
            if is_of(value, (types.FunctionType, *_WRAPPERS)):
                self._later(at.at(f"{owner.__name__}.{name}"), value)

    def _namespace(self, at: _At, entries: Entries, form: str = _NAME) -> None:
        """A namespace, each of whose entries is a variable."""
        outer = at.variable.kind

        def variable(key: Any) -> Variable:
            kind = at.kind if outer == "attribute" else outer
            return Variable(kind, _joined(at.path, form, key), str(key), at.part)

        self._held(at, form, entries, variable)

    def _held(
        self, at: _At, form: str, entries: Entries, variable: Callable[[Any], Variable]
    ) -> None:
        """A container of which an entry may be replaced, and what is in it."""
        kind, path = at.kind, at.path

        def named(key: Any) -> str:
            return f"{kind} {_joined(path, form, key)}"

        self.found.holders.append(Holder(kind, f"{kind} {path} {form}", named, variable, entries))
        for key, value in entries.read().items():
            if not is_of(value, PLAIN_VALUES):
                self._later(_At(kind, _joined(path, form, key), variable(key)), value)

    def _later(self, at: _At, value: Any) -> None:
        if not is_of(value, PLAIN_VALUES):
            self._waiting.append((at, value))


_VISITORS: tuple[tuple[Any, Callable[[_Search, _At, Any], None]], ...] = (
    (torch.Tensor, _Search._tensor),
    (torch.Generator, _Search._generator),
    (torch.nn.Module, _Search._module),
    (functools.partial, _Search._partial),
    (types.MethodType, _Search._method),
    (types.FunctionType, _Search._function),
    (_WRAPPERS, _Search._wrapper),
    (types.BuiltinMethodType, _Search._builtin),
    (weakref.ref, _Search._weakly),
    (dict, _Search._dict),
    ((list, deque), _Search._list),
    (set, _Search._set),
    ((tuple, frozenset, types.MappingProxyType), _Search._fixed),
    (type, _Search._class),
    (types.ModuleType, _Search._nothing),
)
"""By the type of a value how it is walked; functions, as a search that held its own methods would
keep what it found until a garbage collection."""


def _outside(kind: str, path: str = "") -> _At:
    return _At(kind, path, Variable(kind, path, path))


def _joined(path: str, form: str, key: Any) -> str:
    text = form.format(key if form in (_NAME, _OUTSIDE) else _shown(key))
    return f"{path}{text}" if path or not text.startswith(".") else text[1:]


def _shown(key: Any) -> str:
    try:
        return repr(key)
    except Exception:  # the user's own, which may raise whatever it likes
        return f"<{type(key).__name__}>"


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a function and those written inside of it use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_followed(kind: type) -> bool:
    """Whether objects of a class are the user's, of a library of models, or optimizers."""
    if issubclass(kind, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
        return True
    root = str(kind.__module__).partition(".")[0]
    is_pythons = root in sys.stdlib_module_names and root not in _HOLD_DATA
    return root not in _NOT_FOLLOWED and not is_pythons


@dataclass(frozen=True)
class LeftValue:
    """The value that a call left at a place; tensors as copies, `GONE` where it was removed."""

    place: str
    value: Any


@dataclass(frozen=True)
class Replaced:
    """An entry of a container that is another one later; `GONE` where it has none."""

    holder: Holder
    key: Any
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The name of the place."""
        return self.holder.named(self.key)

    @property
    def variable(self) -> Variable:
        """The variable that holds it."""
        return self.holder.variable(self.key)

    @property
    def change(self) -> LeftValue:
        """What the call left there."""
        return LeftValue(self.holder.place, GONE if self.after is GONE else _kept(self.after))

    def put(self, value: Any) -> None:
        """Put a value there, or take away what is there."""
        entries = {k: v for k, v in self.holder.read().items() if k != self.key}
        self.holder.write(entries if value is GONE else {**entries, self.key: value})


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

    def changes(self) -> dict[str, LeftValue]:
        """What is another value now, by name."""
        by_name: dict[str, LeftValue] = {}
        for name, before in self.tensors.items():
            now = self.reached.tensors[name]
            if not same_tensor(before, now):
                by_name[name] = LeftValue(name, copied(now))
        for name, state in self.generators.items():
            now = self.reached.generators[name].get_state()
            if not torch.equal(state, now):
                by_name[name] = LeftValue(name, now)
        return by_name | {one.name: one.change for one in self.list_replaced()}

    def list_replaced(self, later: Snapshot | None = None) -> list[Replaced]:
        """The entries of containers that are others now, or were in a later one of the same."""
        holders = self.reached.holders
        after = [holder.read() for holder in holders] if later is None else later.entries
        return list(_replaced(holders, self.entries, after))

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

    def changes(self) -> dict[str, LeftValue]:
        """What is another value now, by name."""
        by_name = {
            name: LeftValue(name, copied(self.reached.tensors[name]))
            for name, digest in self.digests.items()
            if _digest(self.reached.tensors[name]) != digest
        }
        after = [holder.read() for holder in self.reached.holders]
        replaced = _replaced(self.reached.holders, self.entries, after)
        return by_name | {one.name: one.change for one in replaced}


def _digest(tensor: torch.Tensor) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in find_dense_parts(tensor.detach()):
        if part.layout is torch.strided and not part.is_quantized and part.device.type != "meta":
            flat = part.cpu().contiguous().reshape(-1).view(torch.uint8)
            digest.update(flat.numpy().tobytes())
    return digest.digest()


def _replaced(
    holders: Iterable[Holder], before: Iterable[dict[Any, Any]], after: Iterable[dict[Any, Any]]
) -> Iterator[Replaced]:
    for holder, entries, later in zip(holders, before, after, strict=True):
        for key in {**entries, **later}:
            old, new = entries.get(key, GONE), later.get(key, GONE)
            if not _are_equal(old, new, frozenset()):
                yield Replaced(holder, key, old, new)


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


def _are_equal(old: Any, new: Any, within: frozenset[tuple[int, int]]) -> bool:
    """Whether a value is still the same: containers by what they hold, objects by identity."""
    if old is new or (id(old), id(new)) in within:
        return True
    if type(old) is not type(new):
        return False
    within |= {(id(old), id(new))}
    if isinstance(old, dict):
        one, other = Table(old).read(), Table(new).read()
        return one.keys() == other.keys() and all(
            _are_equal(value, other[key], within) for key, value in one.items()
        )
    if isinstance(old, list | tuple):  # a torch.Size of an export holds symbols
        base: Any = list if isinstance(old, list) else tuple
        pair = [*base.__iter__(old)], [*base.__iter__(new)]
        return len(pair[0]) == len(pair[1]) and all(
            _are_equal(one, other, within) for one, other in zip(*pair, strict=True)
        )
    if isinstance(old, PLAIN_VALUES):
        return bool(old == new or (old != old and new != new))
    return isinstance(old, set) and Members(old).read() == Members(new).read()


def _kept(value: Any) -> Any:
    """A value that later calls do not change; objects stay what they are."""
    if isinstance(value, torch.Tensor):
        return copied(value)
    if type(value) in (list, tuple):
        return type(value)(map(_kept, value))
    return {key: _kept(part) for key, part in value.items()} if type(value) is dict else value
