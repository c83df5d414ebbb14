"""A compiled model in this process, driven through its C interface or by torch's own binding.

A container has several runners and two sets of weights, one of them in use.

The C interface of its library is `torch/csrc/inductor/aoti_runtime/interface.h`. Its functions
return 0, or 1 after an error whose text belongs to the thread. A call through ctypes releases the
GIL.

The interface writes every error to `std::cerr` too, with a dump of the C++ stack, before it returns
the code. The one library is given a stream without a buffer in its place; `std::cerr` itself, and
with it everybody else, stays as it is.
"""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import (
    POINTER,
    byref,
    c_bool,
    c_char,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_size_t,
    c_void_p,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import finalize

import torch

from workbench.artifacts.machine.elf_loading import (
    ANCHOR,
    clear_executable_stack,
    require_shared_runtime,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import find_stream
from workbench.device_kinds import is_gpu
from workbench.errors import ArtifactError, RunError
from workbench.number_text import plural


class _String(ctypes.Structure):
    """`std::string`: up to 15 characters lie in it, more lie elsewhere."""

    _fields_ = (("data", c_void_p), ("size", c_size_t), ("inside", c_char * 16))

    def text(self) -> str:
        return ctypes.string_at(self.data or 0, self.size).decode()


class _Node(ctypes.Structure):
    _fields_ = (
        *(("next", c_void_p), ("name", _String)),
        *(("handle", c_void_p), ("hash", c_size_t)),
    )


class _Map(ctypes.Structure):
    """`std::unordered_map` when it is empty: its one bucket lies in it."""

    _fields_ = (
        *(("buckets", c_void_p), ("bucket_count", c_size_t)),
        *(("first", c_void_p), ("count", c_size_t)),
        *(("load", c_float), ("next_resize", c_size_t), ("bucket", c_void_p)),
    )


def filled(fill: Callable[[object], None], delete: Any = None) -> list[tuple[str, int]]:
    """The names and handles that `fill` puts into an empty map, which is freed afterwards.

    `delete` is C++'s `operator delete(void*)`, that of the process unless it is given.
    """
    empty = _Map(bucket_count=1, load=1.0)
    own = ctypes.addressof(empty) + _Map.bucket.offset
    empty.buckets = own
    try:
        fill(byref(empty))
        return [(node.name.text(), int(node.handle or 0)) for node in _nodes(empty)]
    finally:
        _free(empty, own, delete or ctypes.CDLL("libstdc++.so.6")["_ZdlPv"])


def _nodes(table: _Map) -> Iterator[_Node]:
    place = table.first
    while place:
        node = _Node.from_address(place)
        place = node.next  # a number, read before whoever asks frees the node
        yield node


def _free(table: _Map, own_bucket: int, delete: Any) -> None:
    delete.argtypes, delete.restype = (c_void_p,), None
    for node in _nodes(table):
        at = ctypes.addressof(node)
        if node.name.data != at + _Node.name.offset + _String.inside.offset:
            delete(node.name.data)
        delete(at)
    if table.buckets != own_bucket:
        delete(table.buckets)


Tensors = Sequence[torch.Tensor]
_TENSOR_CONSTANT = 3  # constant_type.h
BINDING_NOTE = (
    "it calls operators that need torch's Python binding, which holds the GIL, so runners take "
    "turns instead of running in parallel"
)


@dataclass(frozen=True)
class Constant:
    """One weight, buffer or constant of a library, as the library itself names it.

    A `fixed` one belongs to the program: it is no weight and cannot be changed.
    """

    name: str
    fqn: str
    folded: bool
    fixed: bool


class _Entry(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("handle", c_void_p))


_pointer: Callable[[Any, None], int] = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule: Callable[[int, None, None], Any] = ctypes.PYFUNCTYPE(
    ctypes.py_object, c_void_p, c_void_p, c_void_p
)(("PyCapsule_New", ctypes.pythonapi))


class NativeContainer:
    """A container behind the C interface of its library; calls of `run` are really parallel.

    The library takes over the handles of the inputs and clears their places; what an error left
    in the places, of inputs or of outputs, is freed here. The outputs of `run` have no grad; a call
    that fails raises `RunError`.
    """

    def __init__(self, path: Path, *, runners: int, device: str, on_gpu: bool) -> None:
        self.library = Library(path)
        index = torch.device(device).index
        self._stream: Callable[[], int] | None = None  # that of the calling thread, at each call
        if on_gpu:
            self._stream = partial(find_stream, index)
        self._delete_handle = self.library.torch_function(
            "aoti_torch_delete_tensor_object", c_void_p
        )
        self._copy_handle = self.library.torch_function(
            "aoti_torch_new_tensor_handle", c_void_p, c_void_p
        )
        self._handle = c_void_p()
        create = self.library.function("CreateWithDevice")
        self.library.check(
            create(byref(self._handle), runners, device.encode(), str(path.parent).encode())
        )
        self._held: dict[bool, Held] = {}
        self._active = False  # which of the two sets is in use
        self._end = finalize(self, _end, self.library, self._handle, self._held)
        self._end.atexit = False  # torch may be gone by then; the system takes the memory back
        self.constants = self._constants()
        self.specs = self._specs()
        self.run = self._runner()

    def _runner(self) -> Callable[[list[torch.Tensor]], list[Any]]:
        """The call itself: everything that it needs is at hand."""
        handles, tensors = tp.AOTI_HANDLES.get(), tp.AOTI_TENSORS.get()
        library, container, stream = self.library, self._handle, self._stream
        call, release = library.function("Run"), self._delete_handle
        inputs = library.ask("GetNumInputs", container, kind=c_size_t)
        outputs = library.ask("GetNumOutputs", container, kind=c_size_t)
        InputPlaces, OutputPlaces = c_void_p * inputs, c_void_p * outputs

        def run(values: list[torch.Tensor]) -> list[Any]:
            if len(values) != inputs:  # beyond the interface the process would end
                count = plural(len(values), "tensor")
                raise ValueError(f"got {count} for a library that takes {inputs}")
            arguments, answers = InputPlaces(), OutputPlaces()
            try:
                arguments[:] = [_pointer(handle, None) for handle in handles(values)]
                code = call(
                    container, arguments, inputs, answers, outputs, stream and stream(), None
                )
                library.check(code)
            except BaseException:
                for place in (*arguments, *answers):
                    if place:
                        release(place)
                raise
            places = answers[:]
            if None in places:
                return [place and tensors([_capsule(place, None, None)])[0] for place in places]
            results: list[Any] = tensors([_capsule(place, None, None) for place in places])
            return results

        return run

    def _constants(self) -> tuple[Constant, ...]:
        ask, container = self.library.ask, self._handle
        count = ask("GetNumConstants", container, kind=c_size_t)
        return tuple(
            Constant(
                ask("GetConstantName", container, index, kind=c_char_p).decode(),
                ask("GetConstantOriginalFQN", container, index, kind=c_char_p).decode(),
                ask("GetConstantFromFolded", container, index, kind=c_bool),
                ask("GetConstantType", container, index, kind=c_int32) == _TENSOR_CONSTANT,
            )
            for index in range(count)
        )

    def _specs(self) -> tuple[str, str]:
        ins, outs = c_char_p(), c_char_p()
        self.library.check(
            self.library.function("GetCallSpec")(self._handle, byref(ins), byref(outs))
        )
        return (ins.value or b"").decode(), (outs.value or b"").decode()

    def current(self) -> dict[str, torch.Tensor]:
        """The weights in use by the library's names, as views of its memory."""
        names: dict[str, list[str]] = {}
        for constant in self.constants:
            if not constant.folded:
                names.setdefault(constant.fqn, []).append(constant.name)
        if not self.library.has("ExtractConstantsMapEntries"):
            mapped = {fqn: self._tensor(handle) for fqn, handle in filled(self._fill)}
            return {name: mapped[fqn] for fqn in mapped for name in names.get(fqn, ())}
        entries, count = c_void_p(), c_size_t()
        extract = self.library.function("ExtractConstantsMapEntries")
        self.library.check(extract(self._handle, byref(entries), byref(count), False))
        if not entries.value:
            return {}
        rows = (_Entry * count.value).from_address(entries.value)
        return {names[row.name.decode()].pop(0): self._tensor(row.handle) for row in rows}

    def _fill(self, place: Any) -> None:
        self.library.check(self.library.function("ExtractConstantsMap")(self._handle, place, False))

    def _tensor(self, handle: int) -> torch.Tensor:
        own = c_void_p()
        self.library.check(self._copy_handle(handle, byref(own)))
        tensor: torch.Tensor = tp.AOTI_TENSORS.get()([_capsule(own.value or 0, None, None)])[0]
        return tensor

    def set_weights(self, tensors: Mapping[str, torch.Tensor], *, inactive: bool) -> None:
        """Hand over all weights; `inactive` fills the set that is not in use.

        The library uses the tensors' own memory, which is kept here.
        """
        held = Held(tensors, self._delete_handle)
        update = self.library.function("UpdateUserManagedConstantBufferPairs")
        self.library.check(update(self._handle, held.entries, held.count, inactive, False))
        self._held[self._active ^ inactive] = held  # frees what the set has used before

    def fold(self, *, inactive: bool) -> None:
        """Compute what follows from the weights alone, where the library has such."""
        stream = self._stream() if self._stream else None
        self.library.check(
            self.library.function("RunConstantFolding")(self._handle, inactive, stream, None)
        )

    def swap(self) -> None:
        """Use the other set of weights from now on; no call may be running."""
        self.library.check(self.library.function("SwapConstantBuffer")(self._handle))
        self._active = not self._active

    def forget_inactive(self, *, all_replaced: bool) -> None:
        """Free the weights that are not in use any more.

        The library keeps their addresses, but reads none before the set is filled again. What it
        was loaded with is one block, freed when `all_replaced`: none of it is in use.
        """
        self._held.pop(not self._active, None)
        if all_replaced:
            self.library.check(self.library.function("FreeInactiveConstantBuffer")(self._handle))

    def close(self) -> None:
        """Free the models, the weights and the library; no call may be running."""
        self._end()


class Held:
    """Tensors behind handles that a library uses without owning them; freed with this object."""

    def __init__(self, tensors: Mapping[str, torch.Tensor], release: Callable[..., Any]) -> None:
        self.count = len(tensors)
        capsules = tp.AOTI_HANDLES.get()(list(tensors.values()))
        handles = [_pointer(capsule, None) for capsule in capsules]
        self.entries = (_Entry * self.count)(
            *[_Entry(name.encode(), place) for name, place in zip(tensors, handles, strict=True)]
        )
        self._end = finalize(self, _release, release, handles, dict(tensors))
        self._end.atexit = False


def _release(release: Callable[..., Any], handles: list[int], _kept: Any) -> None:
    for handle in handles:
        release(handle)


def _end(library: Library, container: c_void_p, held: dict[bool, Held]) -> None:
    library.function("Delete")(container)
    held.clear()
    library.close()


class BindingContainer:
    """The same as `NativeContainer`, by torch's `AOTIModelContainerRunner…`.

    Only the binding makes torch's proxy executor, which a library needs that calls operators of
    others. It holds the GIL while the model runs, so that runners take turns.
    """

    def __init__(self, path: Path, *, runners: int, device: str) -> None:
        on_gpu = is_gpu(device)
        make = (tp.AOTI_CUDA_RUNNER if on_gpu else tp.AOTI_CPU_RUNNER).get()
        more = (device, str(path.parent)) if on_gpu else ()
        clear_executable_stack(path)  # which newer systems refuse
        try:
            self._runner: Any = make(str(path), runners, *more)
        except RuntimeError as error:
            raise ArtifactError(
                f"torch cannot start the compiled library: {_reason(error)}. First import the "
                "module that registers its operators."
            ) from error
        names = self._runner.get_constant_names_to_original_fqns()
        self.constants = tuple(Constant(name, fqn, False, False) for name, fqn in names.items())
        specs = self._runner.get_call_spec()
        self.specs = (specs[0], specs[1])

    def run(self, inputs: list[torch.Tensor]) -> list[Any]:
        """Run once; raises `RunError`."""
        try:
            outputs: list[Any] = self._runner.run(inputs)
        except RuntimeError as error:
            raise RunError(f"The compiled code failed: {_reason(error)}.") from error
        return outputs

    def current(self) -> dict[str, torch.Tensor]:
        """The weights in use by the library's names."""
        tensors = self._runner.extract_constants_map(False)
        return {c.name: tensors[c.fqn] for c in self.constants if c.fqn in tensors}

    def set_weights(self, tensors: Mapping[str, torch.Tensor], *, inactive: bool) -> None:
        """Copy all weights into the library: the binding cannot keep the tensors themselves."""
        self._runner.update_constant_buffer(dict(tensors), inactive, False)

    def fold(self, *, inactive: bool) -> None:
        """The binding computes it at the next call, while no other runs."""

    def swap(self) -> None:
        """Use the other set of weights from now on."""
        self._runner.swap_constant_buffer()

    def forget_inactive(self, *, all_replaced: bool) -> None:
        """Free the set that is not in use, which the binding has copied whole."""
        self._runner.free_inactive_constant_buffer()

    def close(self) -> None:
        """Free the models and the library."""
        self._runner = None


def _reason(error: RuntimeError) -> str:
    return str(error).partition(BACKTRACE)[0].strip().rstrip(".")


Container = NativeContainer | BindingContainer


PREFIX = "AOTInductorModelContainer"
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "CreateWithDevice": (POINTER(c_void_p), c_size_t, c_char_p, c_char_p),
    "Delete": (c_void_p,),
    "Run": (c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p),
    "GetNumInputs": (c_void_p, POINTER(c_size_t)),
    "GetNumOutputs": (c_void_p, POINTER(c_size_t)),
    "GetNumConstants": (c_void_p, POINTER(c_size_t)),
    "GetConstantName": (c_void_p, c_size_t, POINTER(c_char_p)),
    "GetConstantOriginalFQN": (c_void_p, c_size_t, POINTER(c_char_p)),
    "GetConstantFromFolded": (c_void_p, c_size_t, POINTER(c_bool)),
    "GetConstantType": (c_void_p, c_size_t, POINTER(c_int32)),
    "GetCallSpec": (c_void_p, POINTER(c_char_p), POINTER(c_char_p)),
    "ExtractConstantsMap": (c_void_p, c_void_p, c_bool),
    "ExtractConstantsMapEntries": (c_void_p, POINTER(c_void_p), POINTER(c_size_t), c_bool),
    "UpdateUserManagedConstantBufferPairs": (c_void_p, c_void_p, c_size_t, c_bool, c_bool),
    "RunConstantFolding": (c_void_p, c_bool, c_void_p, c_void_p),
    "SwapConstantBuffer": (c_void_p,),
    "FreeInactiveConstantBuffer": (c_void_p,),
}
_FAILED_CALL = re.compile(r"(\w+)\(.*\) API call failed at ", re.DOTALL)
BACKTRACE = "\nException raised from "
_MAKE_STREAM = "_ZNSoC1EPSt15basic_streambufIcSt11char_traitsIcEE"  # std::ostream(std::streambuf*)
_STREAM_BYTES = 1024  # a std::ostream of libstdc++ takes 272
_PAGE = mmap.PAGESIZE
_READ, _WRITE = 1, 2


class Library:
    """An open library of one compiled model; nothing of it runs before a container is made."""

    def __init__(self, path: Path) -> None:
        anchor, slots = require_shared_runtime(path)
        try:
            self._dll = _opened(path)
        except OSError as error:
            raise ArtifactError(
                f"The compiled library cannot be loaded here: {error}. wb.check(path) compares "
                "its requirements with this machine."
            ) from error
        _silence(self._dll, anchor, slots)
        self._functions: dict[str, Callable[..., int]] = {}

    def function(self, name: str) -> Callable[..., int]:
        """One function of the container's interface; raises `ArtifactError` when it has none."""
        if name not in self._functions:
            entry: Any = self._named(PREFIX + name)
            entry.argtypes = _SIGNATURES[name]
            entry.restype = c_int32
            self._functions[name] = entry
        return self._functions[name]

    def has(self, name: str) -> bool:
        """Whether the container's interface has a function: newer releases of torch add some."""
        return hasattr(self._dll, PREFIX + name)

    def torch_function(self, name: str, *types: Any, result: Any = c_int32) -> Callable[..., Any]:
        """One function of torch that the library stands on, called without releasing the GIL."""
        entry: Any = self._named(name, ctypes.PyDLL(None, handle=self._dll._handle))
        entry.argtypes, entry.restype = types, result
        return entry  # type: ignore[no-any-return]

    def _named(self, name: str, dll: ctypes.CDLL | None = None) -> Any:
        try:
            return (dll or self._dll)[name]
        except AttributeError:
            raise ArtifactError(
                f"The compiled library has no {name}: its torch release is unknown to this "
                "workbench. Rebuild the package with torch 2.13 or newer."
            ) from None

    def ask(self, name: str, container: c_void_p, *index: int, kind: Any) -> Any:
        """What a function stores behind its last argument."""
        answer = kind()
        self.check(self.function(name)(container, *index, byref(answer)))
        return answer.value

    def check(self, code: int) -> None:
        """Raise `RunError` with the reason when a function has failed in this thread."""
        if code:
            raise RunError(f"The compiled code failed: {self.reason()}.")

    def reason(self) -> str:
        """Why the last function failed in this thread, in one line."""
        message = c_char_p()
        try:
            self._dll["AOTInductorGetLastError"](byref(message))
        except AttributeError:
            return "it gives no reason (libraries of torch before 2.13 do not)"
        text = (message.value or b"").decode(errors="replace")
        text = text.partition(BACKTRACE)[0].strip()
        call = _FAILED_CALL.match(text)
        if call:
            get_reason = self.torch_function(
                "torch_exception_get_what_without_backtrace", result=c_char_p
            )
            inner = (get_reason() or b"").decode(errors="replace").strip()
            text = f"{call[1].removeprefix('aoti_torch_')}: {inner}"
        return text.rstrip(".") or "it gives no reason"

    def close(self) -> None:
        """Give the library back; nothing of it may be in use."""
        _ctypes.dlclose(self._dll._handle)


def _opened(path: Path) -> ctypes.CDLL:
    """The library, without the executable stack that this system may refuse it.

    The file is a copy of ours: what torch or an older release of ours packed asks for one.
    """
    try:
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        if "executable stack" not in str(error) or not clear_executable_stack(path):
            raise
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)


def _silence(dll: ctypes.CDLL, anchor: int | None, slots: list[int]) -> None:
    """Give the library another stream; it is left as it is where that cannot be."""
    if anchor is None or not slots:
        return
    try:
        base = (ctypes.cast(dll[ANCHOR.decode()], c_void_p).value or 0) - anchor
        make = dll[_MAKE_STREAM]
        protect = dll["mprotect"]
    except AttributeError:
        return
    make.argtypes, make.restype = (c_void_p, c_void_p), None
    protect.argtypes, protect.restype = (c_void_p, c_size_t, c_int), c_int
    stream = ctypes.create_string_buffer(_STREAM_BYTES)
    make(stream, None)
    dll.silent_stream = stream  # type: ignore[attr-defined]  # lives as long as the library
    for place in (base + slot for slot in slots):
        # where the linker has resolved an address; its page may be read-only by now
        if protect(place - place % _PAGE, _PAGE, _READ | _WRITE):
            return
        c_void_p.from_address(place).value = ctypes.addressof(stream)
