"""What a CUDA library is compiled and linked against where no CUDA toolkit is installed.

The headers are those that come with Triton. Libraries are only named: what a linker needs of
libcuda and libtorch_cuda are their functions' names, which stand in headers, as in the stubs of
NVIDIA's toolkit. The real ones are found where the library is loaded.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import torch
from torch.utils import cpp_extension

from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import CaptureError

_DRIVER = re.compile(r"\bcu[A-Z]\w*(?=\()")
_SHIM = re.compile(r"\baoti_torch_\w*cuda\w*(?=\()")
_SHIM_HEADERS = ("generated/c_shim_cuda.h", "c/shim.h")
_TARGET = Path(__file__).with_name("nv_target.h")
_LIMIT_S = 120


def make_cuda_toolkit(process_patches: ProcessPatches, folder: Path) -> None:
    """Have torch build CUDA libraries with a toolkit that is made in `folder`.

    Raises `CaptureError` where Triton's headers or a compiler are missing.
    """
    _headers(folder / "include")
    libraries = folder / "lib64"
    libraries.mkdir()
    driver = (folder / "include" / "cuda.h").read_text()
    shim = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "inductor" / "aoti_torch"
    functions = "".join((shim / name).read_text() for name in _SHIM_HEADERS)
    _stub(libraries / "libcuda.so", "libcuda.so.1", _DRIVER.findall(driver))
    _stub(libraries / "libtorch_cuda.so", "libtorch_cuda.so", _SHIM.findall(functions))
    process_patches.attribute(cpp_extension, "CUDA_HOME", str(folder))


def _headers(to: Path) -> None:
    """Links to Triton's headers, and what they include from a part that Triton leaves out."""
    import triton.backends.nvidia as nvidia

    source = Path(nvidia.__path__[0]) / "include"
    if not (source / "cuda_runtime.h").exists():
        raise CaptureError(
            "A package for a virtual GPU is built with CUDA's headers, which this Triton "
            "lacks: install the release of Triton that torch names."
        )
    shutil.copytree(source, to, copy_function=lambda name, link: Path(link).symlink_to(name))
    if not (to / "nv").exists():
        (to / "nv").mkdir()
        shutil.copy(_TARGET, to / "nv" / "target")


def _stub(to: Path, name: str, functions: Iterable[str]) -> None:
    """A library of that name whose functions do nothing: it is linked against, never loaded."""
    compiler = next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
    if compiler is None:
        raise CaptureError(
            "A package for a virtual GPU is built with a C++ compiler, and there is none: "
            "install g++ or clang++ (on Debian: apt-get install g++)."
        )
    lines = [f'extern "C" void {function}() {{}}' for function in sorted({*functions})]
    source = to.with_suffix(".cpp")
    source.write_text("\n".join(lines))
    command = [compiler, "-shared", "-fPIC", "-O0", f"-Wl,-soname,{name}"]
    subprocess.run(
        [*command, "-o", str(to), str(source)], check=True, capture_output=True, timeout=_LIMIT_S
    )
