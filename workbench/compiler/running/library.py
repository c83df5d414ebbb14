"""The compiled library of a model: opened, and its C functions with what they say when they fail.

The C interface is `torch/csrc/inductor/aoti_runtime/interface.h`. Its functions return 0, or 1
after an error whose text belongs to the thread. A call through ctypes releases the GIL.

The interface writes every error to `std::cerr` too, with a dump of the C++ stack, before it returns
the code. The one library is given a stream without a buffer in its place; `std::cerr` itself, and
with it everybody else, stays as it is.
"""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
import re
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int32, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from workbench.artifacts.machine.elf_loading import (
    ANCHOR,
    clear_executable_stack,
    require_shared_runtime,
)
from workbench.errors import ArtifactError, RunError

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
                "what it needs with this machine."
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
                f"The compiled library has no {name}: it was made by a torch that this workbench "
                "does not know. Make the package again with torch 2.13 or newer."
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
            return "it does not say why (libraries of torch before 2.13 do not)"
        text = (message.value or b"").decode(errors="replace")
        text = text.partition(BACKTRACE)[0].strip()
        call = _FAILED_CALL.match(text)
        if call:
            told = self.torch_function(
                "torch_exception_get_what_without_backtrace", result=c_char_p
            )
            inner = (told() or b"").decode(errors="replace").strip()
            text = f"{call[1].removeprefix('aoti_torch_')}: {inner}"
        return text.rstrip(".") or "it does not say why"

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
