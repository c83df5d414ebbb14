"""Makes the first compilation on a machine quick: no trial compilations, a cache that lasts."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import random
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.cold_start.partial_pch import PartialPch, precompiling
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.errors import WorkbenchError
from workbench.settings import Settings
from workbench.temporary import make_private_folder

_HEADERS = "precompiled_headers"
_NAMELESS = "without-key-"
_CACHE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
_HEADER_LOCK = threading.Lock()  # the folder of precompiled headers is a global of torch
PATIENCE = 3
"""Kernels that are built without the precompiled header before it is worth building.

The header takes as long to build as about three kernels without it.
"""


# The first release of GNU C++ that knows a flag: https://gcc.gnu.org/gcc-N/changes.html
_FLAGS_SINCE = {
    5: "-mavx2 -mfma -mf16c -mavx512f -mavx512dq -mavx512vl -mavx512bw",
    8: "-mavx512vnni",
    10: "-mavx512bf16",
    11: "-mamx-tile -mamx-bf16 -mamx-int8",
    13: "-mamx-fp16",
}
_SINCE = {flag: since for since, flags in _FLAGS_SINCE.items() for flag in flags.split()}
# torch's vector headers need C++20: an older release fails the probe whatever its flags
_CXX20 = 10


@dataclass
class FastStart:
    """What was done to make a compilation start quickly; filled while it runs.

    `folder` is our cache folder, None when it cannot be written. `header` says what became of the
    precompiled header: "unused", "skipped", "its opening only", "built or reused".
    """

    folder: Path | None = None
    header: str = "unused"
    notes: list[str] = field(default_factory=list)


def find_cache_folder(settings: Settings) -> Path:
    """The cache of this user for this torch, Python and processor.

    Kernels are built for the machine that runs them (`-march=native`), torch's key names only the
    flag: a home folder that several machines share needs a folder for each kind of processor.
    """
    flags = Path("/proc/cpuinfo")
    lines = flags.read_text().splitlines() if flags.exists() else [platform.processor()]
    processor = next((s for s in lines if s.startswith(("flags", "Features"))), platform.machine())
    digest = hashlib.sha256(processor.encode()).hexdigest()[:8]
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return settings.cache_folder / f"torch-{torch.__version__}-{python}-{digest}"


@contextmanager
def start_fast(
    settings: Settings | None = None,
    *,
    patience: int = PATIENCE,
    pch: PartialPch | None = None,
) -> Iterator[FastStart]:
    """Compile without trial compilations and with a cache that only this user can enter.

    The kernels and their cache keys are those that torch would produce. Use it in the thread that
    compiles, one compilation at a time.
    """
    settings = settings or Settings.from_environment()
    start = FastStart()
    try:
        make_private_folder(settings.cache_folder)
        start.folder = make_private_folder(find_cache_folder(settings))
    except OSError as error:
        start.notes.append(f"no lasting cache: {error.strerror or error}")
    with Patches() as patches, _cache_variable(start.folder, settings.inductor_cache):
        if start.folder is None or not find_trial_marker(start.folder).exists():
            patches.wrap(tp.ISA_TRIAL, wrap_without_trial, "first compile")
        patches.wrap(tp.AUTOGRAD_CACHE_KEY, _never_twice, "first compile")
        patches.wrap(tp.AUTOGRAD_CACHE_WRITE, _unless_nameless, "first compile")
        if start.folder is not None:
            headers = _Headers(start, start.folder / _HEADERS, patience, pch)
            patches.wrap(tp.PRECOMPILE_HEADER, headers.hook, "first compile")
        yield start


def _never_twice(key_of: Callable[..., Any]) -> Callable[..., Any]:
    """Give a graph that torch cannot make a key of a name that no other graph has.

    torch takes `random.random()` for it: after the same `random.seed`, two graphs would share one
    entry, and the second would be answered with the code of the first.
    """

    def key(*args: Any, **kwargs: Any) -> Any:
        state = random.getstate()
        cache_key, lines = key_of(*args, **kwargs)
        if not _is_drawn(cache_key):
            return cache_key, lines
        random.setstate(state)
        return f"{_NAMELESS}{uuid.uuid4().hex}", lines

    return key


def _is_drawn(key: str) -> bool:
    try:
        return 0 <= float(key) < 1
    except ValueError:
        return False


def _unless_nameless(write: Callable[..., None]) -> Callable[..., None]:
    def write_to_cache(key: str, content: bytes) -> None:
        if not key.startswith(_NAMELESS):  # else nobody will ask for it
            write(key, content)

    return write_to_cache


@contextmanager
def partial_pch(settings: Settings | None = None) -> Iterator[PartialPch | None]:
    """Precompile what kernels include first, for `start_fast`; begin it before anything else.

    It runs beside the import of torch's compiler: None once that is imported, and where a whole
    precompiled header is there already.
    """
    settings = settings or Settings.from_environment()
    headers: Path | None = None
    if tp.CODECACHE_MODULE.module not in sys.modules:
        with suppress(OSError, WorkbenchError):  # `start_fast` says what is wrong with the folder
            make_private_folder(settings.cache_folder)
            headers = make_private_folder(find_cache_folder(settings)) / _HEADERS
    is_there = headers is not None and any(headers.glob("*.ready"))
    with precompiling(None if is_there else headers) as pch:
        yield pch


def find_trial_marker(folder: Path) -> Path:
    """The file that says: torch's trial gave another answer here than we did."""
    return folder / "trial-compilations-needed"


@contextmanager
def _cache_variable(folder: Path | None, chosen: str | None) -> Iterator[None]:
    """Send torch's caches to our folder, unless the user chose one."""
    default = tp.DEFAULT_CACHE_DIR.find()
    # torch itself sets the variable to its default when it first needs the folder
    is_default = default is not None and chosen == os.path.abspath(default())
    if folder is None or (chosen is not None and not is_default):
        yield
        return
    os.environ[_CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_CACHE_VARIABLE, None)
        os.environ.update({} if chosen is None else {_CACHE_VARIABLE: chosen})


@dataclass(frozen=True)
class _Headers:
    """Decides for each kernel whether the precompiled header is used, built or left out.

    The header is no part of a kernel's key, and the library comes out the same bit for bit.
    """

    start: FastStart
    folder: Path
    patience: int
    pch: PartialPch | None = None

    def hook(self, precompile: Callable[..., Any]) -> Callable[..., Any]:
        def precompile_header(header: str, command_line: str, **options: Any) -> Any:
            digest = hashlib.sha256(f"{header}\n{command_line}".encode()).hexdigest()[:16]
            if not self._wanted(digest):
                opening = None if self.pch is None else self.pch.for_command(command_line)
                self.start.header = "skipped" if opening is None else "its opening only"
                return opening
            self.start.header = "built or reused"
            with _header_folder(self.folder):
                built = precompile(header, command_line, **options)
                if _is_unfinished(compiled := Path(f"{built}.gch")):
                    compiled.unlink()
                    built = precompile(header, command_line, **options)
            self._ready(digest).touch()
            return built

        return precompile_header

    def _ready(self, digest: str) -> Path:
        return self.folder / f"{digest}.ready"

    def _wanted(self, digest: str) -> bool:
        """True when the header is there, or when enough kernels went without it."""
        make_private_folder(self.folder)
        if self._ready(digest).exists():
            return True
        with (self.folder / f"{digest}.without").open("ab") as counter:
            if counter.tell() >= self.patience:
                return True
            counter.write(b".")
        return False


def _is_unfinished(compiled: Path) -> bool:
    """Whether a header's compiler was killed: torch takes the empty file for one that is built."""
    return compiled.exists() and compiled.stat().st_size == 0


@contextmanager
def _header_folder(folder: Path) -> Iterator[None]:
    """Have torch keep its precompiled headers with us; its own folder is open to others."""
    cache = tp.CODECACHE_MODULE.get()
    places = {"_HEADER_DIR": folder, "_HEADER_LOCK_DIR": folder / "locks"}
    with _HEADER_LOCK, ExitStack() as stack:
        for name, place in places.items():
            stack.callback(setattr, cache, name, getattr(cache, name))
            setattr(cache, name, str(place))
        yield


# whether a CPU instruction set can be built for, known without a trial compilation


def read_gnu_release(banner: str) -> int | None:
    """The major release named by the output of `g++ -v`; None for another compiler."""
    match = re.search(r"gcc version (\d+)\.", banner)
    return int(match[1]) if match and "clang" not in banner else None


def match_flags(flags: str, release: int | None) -> bool | None:
    """Whether GNU C++ of this release builds for these flags; None where only a trial shows it."""
    words = flags.split()
    if release is None or not words or any(flag not in _SINCE for flag in words):
        return None
    return True if release >= max(_CXX20, *(_SINCE[flag] for flag in words)) else None


def has_vector_math(flags: str) -> bool:
    """Whether torch's library has the vector functions that a kernel for these flags links to."""
    symbol = "Sleef_expf16_u10" if "avx512" in flags else "Sleef_expf8_u10"
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        return hasattr(ctypes.CDLL(str(library)), symbol)
    except OSError:
        return False


def wrap_without_trial(probe: Callable[..., Any]) -> Callable[..., Any]:
    """Answer torch's trial compilation from the compiler's release, where that decides it.

    torch asks the processor first and tries only what the processor has, so that what is left to
    know is whether the compiler and torch's library support it. Where that is not certain, torch's
    own `probe` runs.
    """

    def check_build(isa: Any, code: str) -> Any:
        flags = isa.build_arch_flags()
        banner = tp.COMPILER_BANNER.get()(tp.CPP_COMPILER.get()())
        if match_flags(flags, read_gnu_release(banner)) and has_vector_math(flags):
            return True
        return probe(isa, code)

    return check_build
