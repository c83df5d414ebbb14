"""How tensors get to another process: with their data in shared memory, or described only.

Described tensors arrive as fakes on a GPU, so that a model on meta, or one of many gigabytes, costs
nothing.

How a process group and a mesh of devices get to a process that compiles for a virtual GPU.

A group is found again by its name, which graphs hold too; a mesh arrives as one of GPUs, and finds
its groups by their names as well.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.shipped_operators import DefinedOperator, LibraryOperator
from workbench.compiler.internals.tensor_kind import Flattened, is_flattenable
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.device_kinds import CPU, GPU
from workbench.errors import UsageError

_ALIGNMENT = 64  # bytes


class Sender(Protocol):
    """What of a parcel depends on the process that gets it: tensors, operators, devices."""

    def describe(self, value: torch.Tensor) -> Any | None:
        """What is pickled for a tensor; None for one that pickles itself."""

    def describe_operator(self, operator: LibraryOperator) -> DefinedOperator:
        """What is pickled for an operator of `torch.library.define`."""

    def reduce(self, value: Any, is_input: bool) -> Any | None:
        """How a value is pickled that means something else there; None for all else."""

    def like(self) -> Sender:
        """An empty one of its kind, to try what can be pickled."""


class Receiver(Protocol):
    """Makes tensors of what a `Sender` described."""

    def make(self, described: Any) -> torch.Tensor:
        """A new tensor."""


@dataclass(frozen=True)
class _Stored:
    """One tensor and the region of its storage in the file, None on meta."""

    region: tuple[int, int] | None
    like: TensorLike


class StoredTensors:
    """Sends tensors with their data, each storage once."""

    def __init__(self) -> None:
        self.size = 0
        self._storages: dict[int, tuple[tuple[int, int], torch.UntypedStorage]] = {}
        self._alive: list[torch.Tensor] = []

    def like(self) -> StoredTensors:
        """As `Sender.like`."""
        return StoredTensors()

    def describe(self, value: torch.Tensor) -> _Stored | None:
        """As `Sender.describe`; one of a subclass pickles itself, with the tensors in it."""
        if type(value) not in PLAIN or value.layout != torch.strided:
            return None
        self._alive.append(value)
        region = None if value.is_meta else self._region(value.untyped_storage())
        return _Stored(region, TensorLike.of(value))

    def describe_operator(self, operator: LibraryOperator) -> DefinedOperator:
        """The operator, which will be run; raises `UsageError` for one that cannot be."""
        return DefinedOperator.of(operator, is_run=True)

    def reduce(self, value: Any, is_input: bool) -> None:
        """Nothing means something else on the same machine."""

    def _region(self, storage: torch.UntypedStorage) -> tuple[int, int]:
        key = storage.data_ptr() or id(storage)
        if key not in self._storages:
            region = self.size, storage.nbytes()
            self._storages[key] = region, storage
            self.size += -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT
        return self._storages[key][0]

    def write(self, file: Path) -> None:
        """Write the data of all tensors that were described."""
        with file.open("wb") as output:
            output.truncate(max(self.size, 1))
        with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
            for (start, size), storage in self._storages.values():
                if size:
                    target = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=start)
                    source = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
                    target.copy_(source)
                    del target  # the mapping cannot be closed while somebody looks into it


class ReadTensors:
    """Tensors that look into the file of `StoredTensors.write`, and copy only what they change."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._memory = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
        self._storages: dict[tuple[int, int], torch.UntypedStorage] = {}

    def make(self, described: _Stored) -> torch.Tensor:
        """As `Receiver.make`."""
        region, like = described.region, described.like
        if region is None:
            return like.dressed(like.empty())
        if region not in self._storages:
            start, size = region
            content = torch.empty(0, dtype=torch.uint8)
            if size:
                content = torch.frombuffer(
                    self._memory, dtype=torch.uint8, count=size, offset=start
                )
            self._storages[region] = content.to(like.device).untyped_storage()
        return like.dressed(like.view(self._storages[region]))


class DescribedTensors:
    """Sends tensors without their data, to a process that compiles for a virtual GPU.

    `has_grad` says whether one of them requires grad, `lost_backward` names an operator whose
    backward stays here.
    """

    def __init__(self) -> None:
        self.has_grad = False
        self.lost_backward: str | None = None

    def like(self) -> DescribedTensors:
        """As `Sender.like`."""
        return DescribedTensors()

    def describe(self, value: torch.Tensor) -> TensorLike | Flattened:
        """As `Sender.describe`; raises `UsageError` for one that cannot be on a virtual GPU.

        The inner tensors of a flattened one are met in its description, and described too.
        """
        self.has_grad |= value.requires_grad
        if value.layout is not torch.strided or value.is_quantized:
            raise UsageError(
                f"A tensor of layout {value.layout} cannot be compiled for a virtual GPU: only "
                "dense tensors can. Pass value.to_dense(), or compile with target='host'."
            )
        if is_flattenable(value):
            return Flattened.of(value)
        if type(value) not in (*PLAIN, tp.FAKE_TENSOR.get()):
            raise UsageError(
                f"A {type(value).__name__} cannot be compiled for a virtual GPU: it is a tensor "
                "subclass without __tensor_flatten__, which lists its inner tensors. Replace it "
                "with a plain tensor, or compile with target='host' on a machine with the GPU."
            )
        return TensorLike.of(value)

    def describe_operator(self, operator: LibraryOperator) -> DefinedOperator:
        """The operator, which will be traced; raises `UsageError` for one that cannot be."""
        defined = DefinedOperator.of(operator)
        if defined.has_backward:
            self.lost_backward = defined.name
        return defined

    def reduce(self, value: Any, is_input: bool) -> Any | None:
        """A process group or mesh; a device in an input, as a cache has it, is its tensors'."""
        if isinstance(value, torch.device) and is_input:
            return torch.device, (GPU if value.type == CPU else str(value),)
        return reduce_group(value)


class FakeTensors:
    """Fakes of a mode on the GPU that it believes in."""

    def __init__(self, mode: Any) -> None:
        self._mode = mode

    def make(self, described: TensorLike | Flattened) -> torch.Tensor:
        """As `Receiver.make`."""
        with self._mode:
            if isinstance(described, Flattened):
                return described.rebuilt(GPU)
            return described.dressed(described.empty(GPU))


def reduce_group(value: Any) -> Any | None:
    """How a process group or a mesh is pickled, as `__reduce_ex__` gives it; None for all else.

    Raises `UsageError` for a mesh whose process groups are not those of this process any more.
    """
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available():
        return None
    if isinstance(value, dist.ProcessGroup):
        return tp.RESOLVE_PROCESS_GROUP.get(), (value.group_name,)
    if isinstance(value, dist.device_mesh.DeviceMesh):
        require_groups(value)
        state = value.__getstate__()
        tensors = {name: part for name, part in state.items() if isinstance(part, torch.Tensor)}
        ranks = {name: (part.tolist(), part.dtype) for name, part in tensors.items()}
        plain = {name: part for name, part in state.items() if name not in tensors}
        # its hash is of the device too
        plain |= {"_device_type": GPU, "_hash": None}
        return _make_mesh, (ranks,), plain, None, None, _set_state
    return None


def require_groups(mesh: Any) -> None:
    """Raise `UsageError` unless the process groups of a mesh are those of this process."""
    import torch.distributed as dist

    if dist.is_initialized():
        by_name = {group.group_name: group for group in tp.DISTRIBUTED_WORLD.get().pg_names}
        names = [group.group_name for group in _find_groups(mesh)]
        sizes = [by_name[name].size() if name in by_name else 0 for name in names]
        if names and sizes == list(mesh.shape):
            return
    raise UsageError(
        f"{mesh} belongs to a cluster that no longer exists. Build the model and compile it inside "
        "the same `with wb.virtual_cluster(…)`, or with the process group that it was built with."
    )


def _find_groups(mesh: Any) -> list[Any]:
    try:
        return list(mesh.get_all_groups())
    except (RuntimeError, ValueError, KeyError):  # torch knows no group of that name
        return []


def _make_mesh(ranks: Mapping[str, tuple[Any, torch.dtype]]) -> Any:
    from torch.distributed.device_mesh import DeviceMesh

    mesh = DeviceMesh.__new__(DeviceMesh)
    with tp.UNSET_FAKE.get()():  # torch reads numbers out of the ranks
        for name, (numbers, dtype) in ranks.items():
            setattr(mesh, name, torch.tensor(numbers, dtype=dtype, device="cpu"))
    return mesh


def _set_state(mesh: Any, state: Mapping[str, Any]) -> None:
    mesh.__setstate__(state)
    # parts of a mesh share the groups of the whole, flattened ones too; each got its own alone
    groups = {group.group_name: group for group in tp.DISTRIBUTED_WORLD.get().pg_names}
    vars(mesh).setdefault("_pg_registry", {}).update(groups)
