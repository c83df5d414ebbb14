"""What a compilation needs, packed for another process: code by value, tensors in shared memory."""

from __future__ import annotations

import io
import mmap
import pickle
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.processes.unpicklable import cannot_be_sent

REQUEST, ROWS, TENSORS = "request.pkl", "rows.pkl", "tensors.bin"
_SHARED = Path("/dev/shm")  # memory that another process maps without copying it again
_ALIGNMENT = 64  # bytes


@dataclass(frozen=True)
class _Shipped:
    """One tensor and the region of its storage in the file, None on meta."""

    region: tuple[int, int] | None
    like: TensorLike


@dataclass
class _Tensors:
    """Tensors met while pickling, each object once, each storage once."""

    rows: list[_Shipped] = field(default_factory=list)
    storages: dict[int, tuple[tuple[int, int], torch.UntypedStorage]] = field(default_factory=dict)
    alive: list[torch.Tensor] = field(default_factory=list)
    size: int = 0
    _numbers: dict[int, int] = field(default_factory=dict)

    def number(self, value: torch.Tensor) -> int:
        """The number under which a tensor is shipped."""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.rows)
            self.alive.append(value)
            self.rows.append(self._row(value))
        return self._numbers[id(value)]

    def _row(self, value: torch.Tensor) -> _Shipped:
        region = None if value.is_meta else self._region(value.untyped_storage())
        return _Shipped(region, TensorLike.of(value))

    def _region(self, storage: torch.UntypedStorage) -> tuple[int, int]:
        key = storage.data_ptr() or id(storage)
        if key not in self.storages:
            region = self.size, storage.nbytes()
            self.storages[key] = region, storage
            self.size += -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT
        return self.storages[key][0]


def pack(parcel: Mapping[str, Any], what: str) -> Path:
    """Write a parcel into a new private folder, in shared memory where there is room.

    Raises `UsageError` naming what cannot be pickled; `what` is the name of the function.
    """
    tensors = _Tensors()
    content = _pickled(parcel, tensors, what)
    folder = _folder(tensors.size)
    try:
        (folder / REQUEST).write_bytes(content)
        (folder / ROWS).write_bytes(pickle.dumps(tensors.rows))
        _write(folder / TENSORS, tensors)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _folder(size: int) -> Path:
    is_roomy = _SHARED.is_dir() and shutil.disk_usage(_SHARED).free > 1.2 * size + (1 << 24)
    return Path(tempfile.mkdtemp(prefix="workbench-", dir=_SHARED if is_roomy else None))


def _write(file: Path, tensors: _Tensors) -> None:
    with file.open("wb") as made:
        made.truncate(max(tensors.size, 1))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
        for (start, size), storage in tensors.storages.values():
            if size:
                target = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=start)
                source = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
                target.copy_(source)
                del target  # the mapping cannot be closed while somebody looks into it


def _pickled(parcel: Mapping[str, Any], tensors: _Tensors, what: str) -> bytes:
    try:
        return _dump(dict(parcel), tensors)
    except Exception as error:  # pickling raises whatever the objects raise
        raise cannot_be_sent(error, parcel, what, lambda part: _dump(part, tensors)) from error


def _dump(value: Any, tensors: _Tensors) -> bytes:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # has no types
        def persistent_id(self, value: Any) -> int | None:
            is_plain = type(value) in PLAIN and value.layout == torch.strided
            return tensors.number(value) if is_plain else None

    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.getvalue()


def unpack(folder: Path) -> dict[str, Any]:
    """Read a parcel; its CPU tensors look into the file, and copy only what they change."""
    with (folder / TENSORS).open("rb") as opened:
        memory = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    rows: list[_Shipped] = pickle.loads((folder / ROWS).read_bytes())
    made: dict[int, torch.Tensor] = {}
    storages: dict[tuple[int, int], torch.UntypedStorage] = {}

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: int) -> torch.Tensor:
            if number not in made:
                made[number] = _made(rows[number], memory, storages)
            return made[number]

    parcel: dict[str, Any] = Unpickler(io.BytesIO((folder / REQUEST).read_bytes())).load()
    return parcel


def _made(
    row: _Shipped, memory: mmap.mmap, storages: dict[tuple[int, int], torch.UntypedStorage]
) -> torch.Tensor:
    if row.region is None:
        return row.like.dressed(row.like.empty())
    if row.region not in storages:
        storages[row.region] = _storage(row.region, memory, row.like.device)
    return row.like.dressed(row.like.view(storages[row.region]))


def _storage(region: tuple[int, int], memory: mmap.mmap, device: str) -> torch.UntypedStorage:
    start, size = region
    if not size:
        return torch.empty(0, dtype=torch.uint8, device=device).untyped_storage()
    content = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=start)
    return content.to(device).untyped_storage()
