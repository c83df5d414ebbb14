"""The compiled library of a model: opened, and its C functions with what they say when they fail.

The C interface is `torch/csrc/inductor/aoti_runtime/interface.h`. Its functions return 0, or 1
after an error whose text belongs to the thread. A call through ctypes releases the GIL.
"""

from __future__ import annotations

import _ctypes
import ctypes
import re
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from workbench.compiler.running.quiet import silence
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
    "ExtractConstantsMapEntries": (c_void_p, POINTER(c_void_p), POINTER(c_size_t), c_bool),
    "UpdateUserManagedConstantBufferPairs": (c_void_p, c_void_p, c_size_t, c_bool, c_bool),
    "RunConstantFolding": (c_void_p, c_bool, c_void_p, c_void_p),
    "SwapConstantBuffer": (c_void_p,),
    "FreeInactiveConstantBuffer": (c_void_p,),
}
_FAILED_CALL = re.compile(r"(\w+)\(.*\) API call failed at ", re.DOTALL)
_BACKTRACE = "\nException raised from "


class Library:
    """An open library of one compiled model; nothing of it runs before a container is made."""

    def __init__(self, path: Path) -> None:
        try:
            self._dll = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            raise ArtifactError(
                f"The compiled library cannot be loaded here: {error}. wb.check(path) compares "
                "what it needs with this machine."
            ) from error
        self.is_quiet = silence(self._dll, path)
        self._functions: dict[str, Callable[..., int]] = {}

    def function(self, name: str) -> Callable[..., int]:
        """One function of the container's interface; raises `ArtifactError` when it has none."""
        if name not in self._functions:
            found: Any = self._named(PREFIX + name)
            found.argtypes = _SIGNATURES[name]
            found.restype = c_int32
            self._functions[name] = found
        return self._functions[name]

    def torch_function(self, name: str, *types: Any, result: Any = c_int32) -> Callable[..., Any]:
        """One function of torch that the library stands on, called without releasing the GIL."""
        found: Any = self._named(name, ctypes.PyDLL(None, handle=self._dll._handle))
        found.argtypes, found.restype = types, result
        return found  # type: ignore[no-any-return]

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
            return "it does not say why"
        text = (message.value or b"").decode(errors="replace")
        text = text.partition(_BACKTRACE)[0].strip()
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
