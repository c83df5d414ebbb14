"""Builds and loads the C++ hooks that let autograd work for a device that is not there."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.settings import Settings
from workbench.temporary import make_private_folder

_SOURCES = tuple(Path(__file__).with_name(name) for name in ("hooks.cpp", "attention.cpp"))
_BEFORE = ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so")
_LIMIT_S = 120
_GUARD = "workbench_virtual_guard"
_ATTENTION = "workbench_attention_for"


def load_before_torch(settings: Settings) -> str | None:
    """Load the hooks, built once per torch; call it before torch is imported.

    Returns why training cannot be compiled when they cannot be had.
    """
    if "torch" in sys.modules:
        return "torch was imported before the hooks for a virtual GPU could be loaded"
    torch_folder = _torch_folder()
    if torch_folder is None:
        return "torch is not installed"
    try:
        library = _built(settings, torch_folder)
        for name in _BEFORE:
            ctypes.CDLL(str(torch_folder / "lib" / name), mode=ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except (OSError, subprocess.SubprocessError, WorkbenchError) as error:
        return _reason(error)
    return None


def guard() -> int | None:
    """The address of the hooks' device guard, or None when they are not loaded."""
    function = getattr(ctypes.CDLL(None), _GUARD, None)
    if function is None:
        return None
    function.restype = ctypes.c_void_p
    address: int | None = function()
    return address


def choose_attention(capability: int, *, has_aotriton: bool) -> bool:
    """Have torch choose attention kernels for a device; 0 for none. False without the hooks."""
    function = getattr(ctypes.CDLL(None), _ATTENTION, None)
    if function is None:
        return False
    function.argtypes = [ctypes.c_int64, ctypes.c_bool]
    function.restype = None
    function(capability, has_aotriton)
    return True


def _torch_folder() -> Path | None:
    spec = importlib.util.find_spec("torch")
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0]) if places else None


def _built(settings: Settings, torch_folder: Path) -> Path:
    """The library for this torch, built unless it is in the cache."""
    version = importlib.metadata.version("torch")
    content = b"".join(source.read_bytes() for source in _SOURCES)
    digest = hashlib.sha256(content).hexdigest()[:12]
    make_private_folder(settings.cache_folder)
    folder = make_private_folder(settings.cache_folder / "virtual_gpu")
    library = folder / f"hooks-{version}-{digest}.so"
    if library.exists():
        return library
    compiler = next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
    if compiler is None:
        raise WorkbenchError(
            "A virtual GPU needs a C++ compiler for its autograd hooks, and none was found. "
            "Install g++ or clang++ (on Debian: apt-get install g++)."
        )
    built = library.with_suffix(f".{os.getpid()}.tmp")
    include = torch_folder / "include"
    command = [compiler, "-O1", "-shared", "-fPIC", "-std=c++20", *map(str, _SOURCES)]
    command += ["-o", str(built)]
    command += [f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}"]
    command += [f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LIMIT_S)
    built.replace(library)
    return library


def _reason(error: Exception) -> str:
    words = getattr(error, "stderr", None) or str(error)
    lines = [line for line in words.splitlines() if "error" in line] or words.splitlines()
    return f"the C++ hooks for a virtual GPU could not be built: {lines[0] if lines else error}"
