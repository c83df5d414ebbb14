"""What a compilation needs, packed for another process: code by value, tensors in shared memory."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.shipped_operators import (
    CustomOperator,
    DefinedOperator,
    LibraryOperator,
)
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.errors import UsageError, read_first_line
from workbench.processes.shipping.caller_context import CallerContext
from workbench.temporary import make_folder

REQUEST, ROWS, TENSORS = "request.pkl", "rows.pkl", "tensors.bin"
_SHARED = Path("/dev/shm")  # memory that another process maps without copying it again
_ALIGNMENT = 64  # bytes
_CURE = "Compile it here with aot_compile, or keep that object out of what is compiled."
_DEPTH = 6  # attributes of attributes that are looked through


def explain_unsendable(
    error: Exception,
    parcel: Mapping[str, Any],
    what: str,
    dump: Callable[[Any], object],
    cure: str = _CURE,
) -> UsageError:
    """The error in words, naming the innermost part; `what` is the name of the function."""
    place = _culprit(parcel, dump)
    where = f"{what}: {place}" if place else what
    return UsageError(
        f"{where} cannot be sent to another process ({read_first_line(error)}). {cure}"
    )


def _culprit(parcel: Mapping[str, Any], dump: Callable[[Any], object]) -> str | None:
    path: list[str] = []
    parts: Iterator[tuple[str, Any]] = iter(parcel.items())
    for _ in range(_DEPTH):
        culprit = next((part for part in parts if not _can(part[1], dump)), None)
        if culprit is None:
            break
        path.append(culprit[0])
        parts = _parts(culprit[1])
    names = [name for name in path if name not in parcel]
    return " of ".join(reversed(names)) or None


def _can(value: Any, dump: Callable[[Any], object]) -> bool:
    try:
        dump(value)
    except Exception:  # that it fails is the answer
        return False
    return True


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object is made of, with words for each part."""
    if isinstance(value, Mapping):
        yield from ((f"{key!r}", inner) for key, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"item {n}", inner) for n, inner in enumerate(value))
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f"the closure variable {name!r}", c.cell_contents) for name, c in cells)
        scope = value.__globals__
        used = (name for name in value.__code__.co_names if name in scope)
        yield from ((f"the global {name!r}", scope[name]) for name in used)
    elif isinstance(value, torch.nn.Module):
        yield from ((f"the submodule {name!r}", m) for name, m in value.named_children())
        yield from _attributes(value)
    else:
        yield from _attributes(value)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        yield f"the object {type(owner).__name__}", owner
    held: Mapping[str, Any] = getattr(value, "__dict__", None) or {}
    yield from ((f"the attribute {name!r}", inner) for name, inner in held.items())


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
            region = None if value.is_meta else self._region(value.untyped_storage())
            self.rows.append(_Shipped(region, TensorLike.of(value)))
        return self._numbers[id(value)]

    def _region(self, storage: torch.UntypedStorage) -> tuple[int, int]:
        key = storage.data_ptr() or id(storage)
        if key not in self.storages:
            region = self.size, storage.nbytes()
            self.storages[key] = region, storage
            self.size += -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT
        return self.storages[key][0]


def pack(parcel: Mapping[str, Any], what: str, cure: str = _CURE) -> Path:
    """Write a parcel into a new private folder, in shared memory where there is room.

    Raises `UsageError` naming what cannot be pickled, and how to do without; `what` is the name of
    the function.
    """
    tensors = _Tensors()
    try:
        content = _dump(dict(parcel), tensors)
    except Exception as error:  # pickling raises whatever the objects raise
        raise explain_unsendable(
            error, parcel, what, lambda part: _dump(part, tensors), cure
        ) from error
    room = 1.2 * tensors.size + (1 << 24)
    is_roomy = _SHARED.is_dir() and shutil.disk_usage(_SHARED).free > room
    folder = make_folder("workbench-", _SHARED if is_roomy else None)
    try:
        (folder / REQUEST).write_bytes(content)
        (folder / ROWS).write_bytes(pickle.dumps(tensors.rows))
        _write(folder / TENSORS, tensors)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


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


def _dump(value: Any, tensors: _Tensors) -> bytes:
    from workbench.processes.shipping.anew import AnewPickler

    operators: dict[int, tuple[Any, CustomOperator]] = {}

    class Pickler(AnewPickler):
        def persistent_id(self, value: Any) -> int | tuple[int, CustomOperator] | None:
            if type(value) in PLAIN and value.layout == torch.strided:
                return tensors.number(value)
            if id(value) not in operators:
                if (described := CustomOperator.of(value)) is None:
                    return None
                operators[id(value)] = value, described  # keeps it alive, so that the id is its own
            return id(value), operators[id(value)][1]

    buffer = io.BytesIO()
    pickler = Pickler(buffer)
    pickler.dump(value)
    pickler.dump(tuple(map(_travelling, pickler.operators)))
    return buffer.getvalue()


def _travelling(operator: Any) -> Any:
    """An operator as it travels; raises `UsageError` for one that another process cannot run."""
    if not isinstance(operator, LibraryOperator):
        return operator
    defined = DefinedOperator.of(operator)
    if not defined.module:
        raise UsageError(
            f"The operator {operator.name} runs in this process alone: of the functions that were "
            "registered with torch.library.impl or a Library torch gives nothing back. Define it "
            "with torch.library.custom_op, or in a package that is installed."
        )
    return defined


def unpack(folder: Path) -> dict[str, Any]:
    """Read a parcel; its CPU tensors look into the file, and copy only what they change."""
    with (folder / TENSORS).open("rb") as opened:
        memory = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    rows: list[_Shipped] = pickle.loads((folder / ROWS).read_bytes())
    made: dict[int, torch.Tensor] = {}
    storages: dict[tuple[int, int], torch.UntypedStorage] = {}
    operators: dict[int, Any] = {}

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: int | tuple[int, CustomOperator]) -> Any:
            if isinstance(number, tuple):
                key, described = number
                if key not in operators:
                    here = tp.OPERATOR_DEFINITIONS.get().get(described.name)
                    # in the process that packed it: made anew, it would displace the user's own
                    operators[key] = here if id(here) == key else described.defined()
                return operators[key]
            if number not in made:
                made[number] = _made(rows[number], memory, storages)
            return made[number]

    unpickler = Unpickler(io.BytesIO((folder / REQUEST).read_bytes()))
    parcel: dict[str, Any] = unpickler.load()
    for operator in unpickler.load():  # which functions find by name
        if isinstance(operator, DefinedOperator):
            operator.defined()
    return parcel


def _made(
    row: _Shipped, memory: mmap.mmap, storages: dict[tuple[int, int], torch.UntypedStorage]
) -> torch.Tensor:
    if row.region is None:
        return row.like.dressed(row.like.empty())
    if row.region not in storages:
        start, size = row.region
        content = torch.empty(0, dtype=torch.uint8)
        if size:
            content = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=start)
        storages[row.region] = content.to(row.like.device).untyped_storage()
    return row.like.dressed(row.like.view(storages[row.region]))


@dataclass(frozen=True)
class Parcel:
    """What work elsewhere needs: a folder of `pack`, and for other machines its content."""

    folder: str
    context: CallerContext
    content: bytes | None = None

    def with_content(self) -> Parcel:
        """The parcel as it travels to a machine that does not have the folder."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name in (REQUEST, ROWS, TENSORS):
                archive.write(Path(self.folder) / name, name)
        return replace(self, content=buffer.getvalue())

    def find_folder(self, temporary: Path) -> Path:
        """The folder; where it is not on this machine, its content inside of `temporary`."""
        here = Path(self.folder)
        if (here / REQUEST).exists() or self.content is None:
            return here
        there = temporary / "parcel"
        with zipfile.ZipFile(io.BytesIO(self.content)) as archive:
            archive.extractall(there)
        return there


@contextmanager
def packed(content: Mapping[str, Any], what: str, cure: str = _CURE) -> Iterator[Parcel]:
    """A parcel whose folder is removed afterwards; raises as `pack` does."""
    folder = pack(content, what, cure)
    try:
        yield Parcel(os.fspath(folder), CallerContext.current())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
