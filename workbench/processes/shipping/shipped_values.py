"""The one way in which functions, and what they need, get to another process.

The user's functions and classes travel by value: the other process sees what a notebook sees, not
what a file says by now. Where one of them holds what no process can be given, or cannot be made
anew, they go by the names of their modules, which are imported there: as long as their files say
what was imported here.

Torch writes functions and classes into a file by their names, and follows a call into another
module by importing that: both must meet the objects that were sent, not a second copy.
"""

from __future__ import annotations

import io
import os
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.internals.shipped_operators import (
    CustomOperator,
    DefinedOperator,
    LibraryOperator,
    forget,
)
from workbench.compiler.internals.users_modules import is_edited
from workbench.errors import UsageError, read_first_line
from workbench.processes.shipping.anew import AnewPickler, is_users
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_tensors import (
    DescribedTensors,
    FakeTensors,
    ReadTensors,
    Receiver,
    Sender,
    StoredTensors,
)
from workbench.temporary import make_folder

REQUEST, TENSORS = "request.pkl", "tensors.bin"
_SHARED = Path("/dev/shm")  # memory that another process maps without copying it again
_CURE = "Compile it here with aot_compile, or keep that object out of the compiled code."
_DEPTH = 6  # attributes of attributes that are looked through
_INPUTS = ("args", "kwargs")

Forms = tuple[bytes, ...]
"""A parcel with the user's modules by value, and by name; only those that are possible."""


@dataclass(frozen=True)
class Arrived:
    """A parcel in the other process.

    `named` are the user's own classes and functions in it, `operators` the custom operators that
    were made for it.
    """

    content: dict[str, Any]
    named: tuple[Named, ...]
    operators: tuple[Any, ...]

    @contextmanager
    def entered(self) -> Iterator[dict[str, Any]]:
        """The content, while imports find what came with it; its operators end with the block."""
        with ExitStack() as stack:
            for operator in self.operators:
                stack.callback(forget, operator)
            stack.enter_context(import_sent_modules(self.named))
            yield self.content


class _Packer(AnewPickler):
    def __init__(self, buffer: io.BytesIO, tensors: Sender):
        super().__init__(buffer)
        self._tensors = tensors
        self._kept: dict[int, Any] = {}  # keeps what was seen alive, so that ids stay unique
        self._by_value = cloudpickle.list_registry_pickle_by_value()
        self._named: dict[tuple[str, str], Any] = {}
        self._is_input = False
        self.modules: set[str] = set()  # those of functions and classes that were met

    def dump_parcel(self, parcel: Mapping[str, Any]) -> None:
        """Pack everything in three parts with one memory: these objects, no copies."""
        self.dump({name: value for name, value in parcel.items() if name not in _INPUTS})
        self._is_input = True
        self.dump({name: parcel[name] for name in _INPUTS if name in parcel})
        self._is_input = False
        named = tuple((module, name, value) for (module, name), value in self._named.items())
        self.dump((named, tuple(self.operators)))

    def persistent_id(self, value: Any) -> tuple[int, Any] | None:
        """Describe a tensor or an operator, with what tells it apart; pickle all else."""
        if id(value) not in self._kept:
            if isinstance(value, torch.Tensor):
                described = self._tensors.describe(value)
            elif isinstance(value, LibraryOperator):
                described = self._tensors.describe_operator(value)
            else:
                described = CustomOperator.of(value)
            if described is None:
                return None
            self._kept[id(value)] = value, described
        return id(value), self._kept[id(value)][1]

    def reducer_override(self, value: Any) -> Any:
        """Note the user's classes and functions on the way."""
        if isinstance(value, type | FunctionType):
            module, name = value.__module__, value.__qualname__
            self.modules.add(str(module))
            is_own = module == "__main__" or module in self._by_value
            if is_own and getattr(sys.modules.get(module), name, None) is value:
                self._named[module, name] = value
        elif isinstance(value, ModuleType):
            self.modules.add(value.__name__)
        if (reduced := self._tensors.reduce(value, self._is_input)) is not None:
            return reduced
        return super().reducer_override(value)

    def _can_travel(self, value: Any) -> bool:
        return _can(value, lambda part: _dump(part, self._tensors.like()))


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, tensors: Receiver):
        super().__init__(io.BytesIO(data))
        self._tensors = tensors
        self._made: dict[int, Any] = {}
        self.operators: list[Any] = []

    def read(self) -> Arrived:
        """The parcel; raises whatever its objects raise, with all operators undone."""
        try:
            content = {**self.load(), **self.load()}
            named, _ = self.load()
        except Exception:
            for operator in self.operators:
                forget(operator)
            raise
        return Arrived(content, named, tuple(self.operators))

    def persistent_load(self, sent: tuple[int, Any]) -> Any:
        """The tensor or operator for a description; the same one for the same object."""
        key, described = sent
        if key not in self._made:
            if isinstance(described, CustomOperator | DefinedOperator):
                self._made[key] = self._define(key, described)
            else:
                self._made[key] = self._tensors.make(described)
        return self._made[key]

    def _define(self, key: int, described: CustomOperator | DefinedOperator) -> Any:
        here = tp.OPERATOR_DEFINITIONS.get().get(described.name)
        if id(here) == key:  # in the process that packed it: made anew, it would displace this one
            return here
        operator = described.defined()
        if operator is not None:
            self.operators.append(operator)
        return operator


def pack_described(
    parcel: Mapping[str, Any], what: str, cure: str
) -> tuple[Forms, DescribedTensors]:
    """A parcel without the data of its tensors, and what was seen of them.

    Raises as `pack` does, and for what cannot be on a virtual GPU.
    """
    tensors = DescribedTensors()
    return _pack_forms(parcel, tensors, what, cure), tensors


def unpack_described(forms: Forms, mode: Any) -> Arrived:
    """What `pack_described` packed, with fakes of `mode` on the target's device for its tensors.

    Raises whatever its objects raise while they are made.
    """
    return _unpack_forms(forms, FakeTensors(mode))


def _pack_forms(parcel: Mapping[str, Any], tensors: Sender, what: str, cure: str) -> Forms:
    """A parcel as bytes; `tensors` describes its tensors."""
    forms: list[bytes] = []
    edited: list[str] = []
    with _users_modules_by_value() as users:
        try:
            packer, by_value = _pickle(parcel, tensors)
            forms.append(by_value)
        except UsageError:
            raise
        except Exception as error:  # pickling raises whatever the objects raise
            refused = error
    if not forms or packer.modules & users:
        with suppress(Exception):  # the first form, or its error, is there
            packer, by_name = _pickle(parcel, tensors)
            edited = sorted(n for n in packer.modules & users if is_edited(sys.modules[n]))
            if not edited:
                forms.append(by_name)
    if not forms:
        if edited:
            cure = f"The file of {', '.join(edited)} changed since it was imported. {cure}"
        with _users_modules_by_value():
            raise _explain(refused, parcel, what, tensors, cure) from refused
    return tuple(forms)


def _pickle(parcel: Mapping[str, Any], tensors: Sender) -> tuple[_Packer, bytes]:
    packer = _Packer(buffer := io.BytesIO(), tensors)
    packer.dump_parcel(parcel)
    return packer, buffer.getvalue()


def _dump(value: Any, tensors: Sender) -> None:
    _Packer(io.BytesIO(), tensors).dump(value)


def _unpack_forms(forms: Sequence[bytes], tensors: Receiver) -> Arrived:
    """What `_pack_forms` packed; raises whatever its objects raise while they are made."""
    for form in forms[:-1]:
        with suppress(Exception):  # the next form does without what cannot be made
            return _Unpacker(form, tensors).read()
    return _Unpacker(forms[-1], tensors).read()


@contextmanager
def _users_modules_by_value() -> Iterator[set[str]]:
    """Have cloudpickle copy what belongs to the user, and name what is installed."""
    registered = set(cloudpickle.list_registry_pickle_by_value())
    # by its own name: a module may stand in sys.modules under several
    users = {m.__name__: m for m in list(sys.modules.values()) if is_users(m)}
    modules = [module for name, module in users.items() if name not in registered]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield {module.__name__ for module in modules}
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def pack(
    parcel: Mapping[str, Any], what: str, cure: str = _CURE, *, is_imported: bool = False
) -> Path:
    """Write a parcel into a new private folder, in shared memory where there is room.

    With `is_imported` modules whose files say what was imported here go by name first: a file that
    is loaded there writes into the module that its functions came from. Raises `UsageError` naming
    what cannot be pickled, and how to do without; `what` is the name of the function.
    """
    tensors = StoredTensors()
    forms = _pack_forms(parcel, tensors, what, cure)
    forms = forms[::-1] if is_imported else forms
    room = 1.2 * tensors.size + (1 << 24)
    is_roomy = _SHARED.is_dir() and shutil.disk_usage(_SHARED).free > room
    folder = make_folder("workbench-", _SHARED if is_roomy else None)
    try:
        (folder / REQUEST).write_bytes(pickle.dumps(forms))
        tensors.write(folder / TENSORS)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def unpack(folder: Path) -> dict[str, Any]:
    """Read a parcel; its CPU tensors look into the file, and copy only what they change."""
    return _arrive(folder).content


@contextmanager
def unpacked(folder: Path) -> Iterator[dict[str, Any]]:
    """A parcel as `unpack` reads it; meanwhile imports find the functions that came with it."""
    with _arrive(folder).entered() as content:
        yield content


def _arrive(folder: Path) -> Arrived:
    forms: Forms = pickle.loads((folder / REQUEST).read_bytes())
    return _unpack_forms(forms, ReadTensors(folder / TENSORS))


def _explain(
    error: Exception, parcel: Mapping[str, Any], what: str, tensors: Sender, cure: str
) -> UsageError:
    """The error in words, naming the innermost part; `what` is the name of the function."""
    place = _culprit(parcel, lambda part: _dump(part, tensors.like()))
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
class Parcel:
    """What work elsewhere needs: a folder of `pack`, and for other machines its content."""

    folder: str
    context: CallerContext
    content: bytes | None = None

    def with_content(self) -> Parcel:
        """The parcel as it travels to a machine that does not have the folder."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name in (REQUEST, TENSORS):
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


Named = tuple[str, str, Any]
"""A class or function that was sent: its module, its name there, itself."""


@contextmanager
def import_sent_modules(named: Sequence[Named]) -> Iterator[None]:
    """Have what was sent be found by import, until the block is left."""
    modules: dict[str, list[Named]] = {}
    for entry in named:
        modules.setdefault(entry[0], []).append(entry)
    with ProcessPatches() as process_patches:
        for name, entries in modules.items():
            scope = _globals(value for _, _, value in entries)
            scope |= {own: value for _, own, value in entries}
            if name == "__main__":
                for own, value in scope.items():
                    process_patches.attribute(sys.modules[name], own, value)
            else:
                process_patches.entry(sys.modules, name, _SentModule(name, scope))
        yield


class _SentModule(ModuleType):
    """A module as far as it was sent; the rest of it is imported when asked for."""

    def __init__(self, name: str, sent: Mapping[str, Any]):
        super().__init__(name)
        self._rest = sys.modules.get(name)  # where an operator that it defines was needed
        package = name.rpartition(".")[0]
        self.__spec__ = PathFinder.find_spec(name, _places(package) if package else None)
        if self.__spec__ is not None:
            self.__file__ = self.__spec__.origin
            if self.__spec__.submodule_search_locations is not None:
                self.__path__ = self.__spec__.submodule_search_locations
        self.__dict__.update(sent)

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        if name.startswith("__") or spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._rest is None:
            self._rest = module_from_spec(spec)
            spec.loader.exec_module(self._rest)
        return getattr(self._rest, name)


def _places(package: str) -> list[str]:
    """The folders of a package's modules, of one that is not imported too."""
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    within, _, name = package.rpartition(".")
    spec = PathFinder.find_spec(name, _places(within) if within else None)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _globals(values: Iterator[Any]) -> dict[str, Any]:
    """What the functions among these and the methods of the classes read as globals."""
    scope: dict[str, Any] = {}
    for value in values:
        parts = vars(value).values() if isinstance(value, type) else (value,)
        for function in parts:
            if isinstance(function, FunctionType):
                scope |= function.__globals__
    return {name: value for name, value in scope.items() if not name.startswith("__")}
