"""Whether a CPU instruction set can be built for, known without a trial compilation."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

# The first release of GNU C++ that knows a flag: https://gcc.gnu.org/gcc-N/changes.html
_SINCE = {
    "-mavx2": 5,
    "-mfma": 5,
    "-mf16c": 5,
    "-mavx512f": 5,
    "-mavx512dq": 5,
    "-mavx512vl": 5,
    "-mavx512bw": 5,
    "-mavx512vnni": 8,
    "-mavx512bf16": 10,
    "-mamx-tile": 11,
    "-mamx-bf16": 11,
    "-mamx-int8": 11,
    "-mamx-fp16": 13,
}
_CXX20 = (
    10  # torch's vector headers need C++20: an older release fails the probe whatever its flags
)


def gnu_release(banner: str) -> int | None:
    """The major release named by the output of `g++ -v`; None for another compiler."""
    found = re.search(r"gcc version (\d+)\.", banner)
    return int(found[1]) if found and "clang" not in banner else None


def knows_flags(flags: str, release: int | None) -> bool | None:
    """Whether GNU C++ of this release builds for these flags; None where only a trial shows it."""
    wanted = flags.split()
    if release is None or not wanted or any(flag not in _SINCE for flag in wanted):
        return None
    return True if release >= max(_CXX20, *(_SINCE[flag] for flag in wanted)) else None


def exports_vector_math(flags: str) -> bool:
    """Whether torch's library has the vector functions that a kernel for these flags links to."""
    symbol = "Sleef_expf16_u10" if "avx512" in flags else "Sleef_expf8_u10"
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        return hasattr(ctypes.CDLL(str(library)), symbol)
    except OSError:
        return False


def without_trial(probe: Callable[..., Any]) -> Callable[..., Any]:
    """Answer torch's trial compilation from the compiler's release, where that decides it.

    torch asks the processor first and tries only what the processor has, so that what is left to
    know is whether the compiler and torch's library support it. Where that is not certain, torch's
    own `probe` runs.
    """

    def check_build(isa: Any, code: str) -> Any:
        flags = isa.build_arch_flags()
        banner = tp.COMPILER_BANNER.get()(tp.CPP_COMPILER.get()())
        if knows_flags(flags, gnu_release(banner)) and exports_vector_math(flags):
            return True
        return probe(isa, code)

    return check_build
