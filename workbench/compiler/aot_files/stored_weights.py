"""A module's tensors, stored once each, beside a skeleton of the module without them."""

from __future__ import annotations

import io
import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from torch.nn.utils.parametrize import is_parametrized, type_before_parametrizations

from workbench.compiler.captured_code.code_digest import digest
from workbench.compiler.captured_code.inlined_code import to_function
from workbench.compiler.guards.guard_words import look_up_place, shown
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_kind import is_flattenable
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.errors import ArtifactError

_PLAIN = frozenset(
    (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
)


class NotStorable(ArtifactError):
    """A module that cannot be pickled."""


_ALIGNMENT = 16  # bytes: a multiple of every element's size


@dataclass(frozen=True)
class Bundle:
    """The parts of a module on disk: a safetensors file, the alias table, the skeleton."""

    file: Path
    table: Mapping[str, Any]
    skeleton: bytes


_Collected = dict[int, tuple[int, torch.Tensor]]
"""The tensors met while the module is pickled, with their numbers, by the object's id."""


def _number(collected: _Collected, tensor: torch.Tensor) -> int:
    return collected.setdefault(id(tensor), (len(collected), tensor))[0]


def pack(module: torch.nn.Module, folder: Path) -> Bundle:
    """Take a module apart; the tensors go into a file in `folder`.

    Raises `NotStorable` when the module cannot be pickled.
    """
    collected: _Collected = {}
    # one of a subclass is pickled, and its inner tensors are stored
    named = [(name, tensor) for name, tensor in _named(module) if not is_flattenable(tensor)]
    names = {name: _number(collected, tensor) for name, tensor in named}
    skeleton = _pickle(module, collected)
    labels: dict[int, str] = {}
    for name, number in names.items():
        labels.setdefault(number, name)
    stored, rows = _store([tensor for _, tensor in collected.values()], labels)
    file = folder / "weights.safetensors"
    from safetensors.torch import save_file

    save_file(stored, file)
    return Bundle(file, {"names": names, "tensors": rows}, skeleton)


def _named(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _plain(value: object) -> bool:
    return type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided  # type: ignore[attr-defined]


def _pickle(module: torch.nn.Module, collected: _Collected) -> bytes:
    import cloudpickle

    from workbench.processes.shipping.anew import code_with_file

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """Leaves the tensors out, by number."""

        def persistent_id(self, value: object) -> int | None:
            return _number(collected, value) if _plain(value) else None  # type: ignore[arg-type]

        def reducer_override(self, obj: Any) -> Any:
            """A parametrized module as its own class, which exists in this process alone."""
            if isinstance(obj, CodeType):
                return code_with_file(self, obj)
            if isinstance(obj, torch.nn.Module) and is_parametrized(obj):
                state = dict(vars(obj))
                names = list(state["_modules"]["parametrizations"])
                return parametrized, (type_before_parametrizations(obj), names), state
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(module)
    except Exception as error:  # pickle raises whatever an object's own code raises
        raise explain_not_storable(str(error)) from error
    return buffer.getvalue()


_OWN_RULES = (
    "because of custom pickling in its class or in a part of it (__reduce__, __getstate__, "
    "__setstate__)"
)
_FORMER_NAME = "workbench.compiler.aot_files.weights"  # in files of 0.1.0 and some later ones


class _Unpickler(pickle.Unpickler):
    """Reads modules whose classes may be those of this process, which stay as they are.

    cloudpickle finds such a class again by a number, and then writes its members anew (3.1.2): the
    methods of every module of it would read copies of their globals from then on.

    `here` has classes of this process for those that were stored, by their place among them.
    """

    def __init__(self, content: bytes, here: Mapping[int, type]):
        super().__init__(io.BytesIO(content))
        self.made: list[type] = []
        self._here = here

    def find_class(self, module: str, name: str) -> Any:
        imported = super().find_class(__name__ if module == _FORMER_NAME else module, name)
        if module.partition(".")[0] != "cloudpickle":
            return imported
        if name == "_make_skeleton_class":
            return lambda *args: self._take(imported, args)
        if name == "_class_setstate":
            return lambda cls, state: self._fill(imported, cls, state)
        return imported

    def _take(self, make: Callable[..., type], args: tuple[Any, ...]) -> type:
        self.made.append(self._here.get(len(self.made)) or make(*args))
        return self.made[-1]

    def _fill(self, fill: Callable[[type, Any], type], cls: type, state: Any) -> type:
        is_whole = cls in self._here.values() or state[0].keys() <= vars(cls).keys()
        return cls if is_whole else fill(cls, state)


def _read(
    unpickler: Callable[[bytes, Mapping[int, type]], _Unpickler], skeleton: bytes
) -> tuple[torch.nn.Module, list[type]]:
    """The module of a skeleton, and the classes that came with it and are none of this program.

    What `__main__` defines is stored by value. A script that is run again, or a notebook, has most
    of it, too: inputs are of its classes, and guards ask for these by name.
    """
    reading = unpickler(skeleton, {})
    module: torch.nn.Module = reading.load()
    here: dict[int, type] = {}
    for number, kind in enumerate(reading.made):
        if (same := _same_in_main(kind)) is not None and same is not kind:
            here[number] = same
    if here:
        reading = unpickler(skeleton, here)
        module = reading.load()
    return module, [kind for number, kind in enumerate(reading.made) if number not in here]


def _same_in_main(kind: type) -> type | None:
    """The class of this name in `__main__`, where its code and that of its bases is the same."""
    if kind.__module__ != "__main__":
        return kind
    try:
        same = operator.attrgetter(kind.__qualname__)(sys.modules["__main__"])
    except AttributeError:
        return None
    if not isinstance(same, type) or _code(same) != _code(kind):
        return None
    bases = [_same_in_main(base) for base in kind.__bases__]
    return same if bases == [_same_in_main(base) for base in same.__bases__] else None


def _code(kind: type) -> dict[str, str]:
    functions = {
        name: to_function(getattr(value, "__func__", value), lambda function: True)[1]
        for name, value in vars(kind).items()
    }
    return {name: digest(f.__code__) for name, f in functions.items() if f is not None}


def rebuilt(module: torch.nn.Module) -> tuple[torch.nn.Module, list[type]]:
    """The module as a file would give it back, with the tensors of this one, and its classes.

    Raises `NotStorable` when it cannot be pickled, or when its own pickling loses tensors.
    """
    collected: _Collected = {}
    skeleton = _pickle(module, collected)
    tensors = dict(collected.values())
    if any(tensor.is_meta for tensor in tensors.values()):
        raise explain_not_storable("the module holds a tensor without data, on the meta device")
    if any(tensor.is_conj() or tensor.is_neg() for tensor in tensors.values()):
        raise explain_not_storable("the module holds a conjugated view, which a file cannot store")

    class Unpickler(_Unpickler):
        """Puts the tensors back, by number."""

        def persistent_load(self, number: Any) -> torch.Tensor:
            return tensors[number]

    try:
        twin, classes = _read(Unpickler, skeleton)
        again = dict(_named(twin))
    except Exception as error:  # unpickling raises whatever the stored objects raise
        raise explain_not_storable(f"{type(error).__name__}: {error}") from error
    lost = [n for n, t in _named(module) if again.get(n) is not t and not is_flattenable(t)]
    if lost:
        raise explain_not_storable(
            f"{type(module).__name__} loses {lost[0]} when pickled and unpickled, {_OWN_RULES}"
        )
    return twin, classes


def find_changed(
    places: Iterable[str], here: Mapping[str, Any], stored: Mapping[str, Any]
) -> str | None:
    """What is wrong with the first of the places, as guards name them, that has other numbers now.

    Guards ask whether a plain tensor is there and of which shape, never for its numbers.
    """
    for place in places:
        own, other = (look_up_place(place, {"L": held}) for held in (here, stored))
        if own is not other and _plain(own) and _plain(other) and not _is_same(own, other):
            return f"{shown(place)} has different values after it was read back, {_OWN_RULES}"
    return None


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same bytes: a NaN is itself, every type can be compared."""
    if (a.dtype, a.device, a.shape) != (b.dtype, b.device, b.shape):
        return False
    first, second = (t.detach().resolve_conj().resolve_neg().flatten() for t in (a, b))
    return torch.equal(first.contiguous().view(torch.uint8), second.contiguous().view(torch.uint8))


def explain_not_storable(why: str) -> NotStorable:
    """The error for a module that a file cannot hold, with what to do."""
    return NotStorable(
        f"The module cannot be stored in the artifact: {why.rstrip('.')}. Save with "
        "weights='later' and pass the module to wb.load(path, module=model)."
    )


def parametrized(kind: type[torch.nn.Module], names: Sequence[str]) -> torch.nn.Module:
    """A module of a class whose tensors with these names are computed when they are read.

    Torch makes such a class for each parametrized module; the state of the module follows.
    """

    def computed(name: str) -> property:
        def read(self: Any) -> Any:
            return self.parametrizations[name]()

        def write(self: Any, value: torch.Tensor) -> None:
            self.parametrizations[name].right_inverse(value)

        return property(read, write)

    subclass: Any = type(
        f"Parametrized{kind.__name__}", (kind,), {name: computed(name) for name in names}
    )
    module: torch.nn.Module = subclass.__new__(subclass)
    return module


@dataclass
class _Extent:
    """The part of a storage, in bytes, that the module's tensors use."""

    label: str
    start: int
    end: int
    members: list[int] = field(default_factory=list)


def _store(
    tensors: list[torch.Tensor], labels: Mapping[int, str]
) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    """Each storage once, then for every tensor how it lies in its storage."""
    extents: dict[tuple[str, int], _Extent] = {}
    keys = []
    for number, tensor in enumerate(tensors):
        key = (str(tensor.device), tp.storage_of(tensor))
        start, end = _span(tensor)
        label = labels.get(number, f"tensor_{number}")
        extent = extents.setdefault(key, _Extent(label, start, end))
        extent.start, extent.end = min(extent.start, start), max(extent.end, end)
        extent.members.append(number)
        keys.append(key)
    stored = {e.label: _flat([tensors[i] for i in e.members], e) for e in extents.values()}
    return stored, [_row(t, extents[k]) for t, k in zip(tensors, keys, strict=True)]


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """Where the tensor's elements lie in its storage, in bytes."""
    size = tensor.element_size()
    start = int(tensor.storage_offset()) * size
    aligned = start // _ALIGNMENT * _ALIGNMENT
    if tensor.numel() == 0:
        return aligned, start
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return aligned, start + (int(reach) + 1) * size


def _flat(members: list[torch.Tensor], extent: _Extent) -> torch.Tensor:
    """What is stored: the tensor itself where one fills its storage, else its bytes."""
    first = members[0].detach()
    alone = all(t.dtype == first.dtype for t in members) and first.dtype in _PLAIN
    if alone and first.is_contiguous() and first.nbytes == extent.end - extent.start:
        return first.cpu()
    whole = torch.empty(0, dtype=torch.uint8, device=first.device)
    whole.set_(first.untyped_storage())
    return whole[extent.start : extent.end].cpu().clone()


def _row(tensor: torch.Tensor, extent: _Extent) -> dict[str, Any]:
    return {
        "stored": extent.label,
        "offset": tensor.storage_offset() * tensor.element_size() - extent.start,
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": tensor.device.type,
        "parameter": isinstance(tensor, torch.nn.Parameter),
        "requires_grad": tensor.requires_grad,
    }


class Weights:
    """The tensors of a bundle, made when first asked for, each object once."""

    def __init__(self, file: Path, table: Mapping[str, Any]):
        from safetensors.torch import load_file

        self._stored = load_file(file)
        self._table = table
        self._bases: dict[tuple[str, str], torch.Tensor] = {}
        self._made: dict[int, torch.Tensor] = {}

    def tensor(self, number: int) -> torch.Tensor:
        """One tensor; two that shared a storage share it again."""
        if number not in self._made:
            self._made[number] = self._make(self._table["tensors"][number])
        return self._made[number]

    def _make(self, row: Mapping[str, Any]) -> torch.Tensor:
        base = self._base(row["stored"], row["device"])
        offset = base.storage_offset() * base.element_size() + row["offset"]
        like = replace(
            TensorLike.named(tuple(row["shape"]), tuple(row["stride"]), row["dtype"]),
            offset=offset // getattr(torch, row["dtype"]).itemsize,
            requires_grad=row["requires_grad"],
            kind="Parameter" if row["parameter"] else "Tensor",
        )
        return like.dressed(like.view(base.untyped_storage()))

    def _base(self, label: str, device: str) -> torch.Tensor:
        key = (label, device)
        if key not in self._bases:
            # a copy: independent of the file and aligned as kernels like it
            self._bases[key] = self._stored[label].to(device, copy=True)
        return self._bases[key]

    def module(self, skeleton: bytes) -> tuple[torch.nn.Module, list[type]]:
        """The module with its tensors, and the classes that came with it; runs their code."""
        weights = self

        class Unpickler(_Unpickler):
            """Puts the tensors back, by number."""

            def persistent_load(self, number: Any) -> torch.Tensor:
                return weights.tensor(number)

        return _read(Unpickler, skeleton)

    def fill(self, module: torch.nn.Module) -> None:
        """Assign the tensors to those parameters and buffers that are on the meta device.

        Raises `ArtifactError` that lists each one that the bundle lacks or has in another shape.
        """
        numbers = self._table["names"]
        on_meta = {name: tensor for name, tensor in _named(module) if tensor.is_meta}
        wrong = [
            f"  {name}: the module has {tuple(tensor.shape)}, the artifact {self._shape(name)}"
            for name, tensor in on_meta.items()
            if self._shape(name) != tuple(tensor.shape)
        ]
        if wrong:
            raise ArtifactError(
                "The module does not fit the artifact's weights:\n"
                + "\n".join(wrong)
                + "\nBuild the module with the configuration that was compiled."
            )
        for name in on_meta:
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            place = owner._parameters if leaf in owner._parameters else owner._buffers
            place[leaf] = self.tensor(numbers[name])  # type: ignore[assignment]

    def _shape(self, name: str) -> tuple[int, ...] | None:
        number = self._table["names"].get(name)
        return None if number is None else tuple(self._table["tensors"][number]["shape"])
