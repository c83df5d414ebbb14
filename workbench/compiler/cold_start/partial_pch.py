"""A part of a kernel's headers, precompiled on a second core while torch's compiler is imported."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.temporary import make_private_folder

PATIENCE_SECONDS = 0.7
"""How long a kernel waits for a header that is nearly built; it saves about a second."""
_STALE_SECONDS = 3600.0
_PREFIX = "early-"
_FLAGS = """
-D TORCH_INDUCTOR_CPP_WRAPPER -D STANDALONE_TORCH_HEADER -D TORCH_INDUCTOR_PRECOMPILE_HEADERS
-D C10_USING_CUSTOM_GENERATED_MACROS -D CPU_CAPABILITY_AVX2 -O3 -DNDEBUG -fno-omit-frame-pointer
-g1 -fno-trapping-math -funsafe-math-optimizations -ffinite-math-only -fno-signed-zeros
-fno-finite-math-only -fno-unsafe-math-optimizations -fmath-errno -ffp-contract=off
-fexcess-precision=fast -fno-tree-loop-vectorize -march=native -shared -fPIC -Wall -std=c++20
-Wno-unused-variable -Wno-unknown-pragmas -pedantic -fopenmp
"""
_ISA_FLAGS = "-mavx2 -mfma -mf16c"


@dataclass(frozen=True)
class PartialPch:
    """A header that g++ is precompiling, for kernels built with exactly these arguments."""

    process: subprocess.Popen[bytes]
    header: Path
    command: tuple[str, ...]

    def for_command(self, command_line: str) -> str | None:
        """The header to include first; None when it is not ready or made for another command.

        What it includes is what a kernel includes first, in the same order: a kernel comes out the
        same with it.
        """
        if compile_arguments(command_line) != self.command:
            return None
        try:
            code = self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()  # the kernel needs the core
            return None
        return str(self.header) if code == 0 else None

    def stop(self) -> None:
        """End the compiler; harmless when it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def compile_arguments(command_line: str) -> tuple[str, ...]:
    """The compiler and its flags in torch's command line, without source, output and libraries."""
    compiler, _, *rest = command_line.split()
    return (compiler, *(rest[: rest.index("-o")] if "-o" in rest else rest))


def list_expected_arguments() -> tuple[str, ...]:
    """What torch passes for a kernel of this processor with default options.

    Found without importing torch's compiler. A wrong guess costs the header, nothing else.
    """
    include = _torch_include()
    folders = (sysconfig.get_path("include"), include, include / "torch/csrc/api/include")
    places = (f"-I{folder}" for folder in folders)
    return ("g++", *_FLAGS.split(), *places, *_ISA_FLAGS.split())


def read_opening() -> tuple[str, ...]:
    """What a kernel includes first: the part that is precompiled in the time there is."""
    prefix = _includes("torch/csrc/inductor/cpp_prefix.h")
    nested = _includes("c10/util/hash.h")
    before, after = "<c10/util/hash.h>", "<c10/util/ArrayRef.h>"
    if before not in prefix or after not in nested:
        return ()
    return (*prefix[: prefix.index(before)], *nested[: nested.index(after)])


@contextlib.contextmanager
def precompiling(folder: Path | None) -> Iterator[PartialPch | None]:
    """Precompile in the folder until the context ends; what was built goes with it.

    None where it cannot help: on one core, on a processor other than AVX2, without a folder.
    """
    is_avx2 = tp.CPU_CAPABILITY.get()() == "AVX2"
    if folder is None or not is_avx2 or len(os.sched_getaffinity(0)) < 2 or not read_opening():
        yield None
        return
    _remove_stale(folder)
    with contextlib.ExitStack() as stack:
        pch: PartialPch | None = None
        with contextlib.suppress(OSError):  # no g++, a full disk: torch says so if it matters
            name = tempfile.TemporaryDirectory(
                prefix=_PREFIX, dir=make_private_folder(folder), ignore_cleanup_errors=True
            )
            pch = _start(Path(stack.enter_context(name)))
            stack.callback(pch.stop)
        yield pch


def _start(folder: Path) -> PartialPch:
    header, command = folder / "opening.h", list_expected_arguments()
    header.write_text("".join(f"#include {name}\n" for name in read_opening()))
    compiler, *flags = command
    process = subprocess.Popen(
        [compiler, "-x", "c++-header", str(header), *flags, "-o", f"{header}.gch"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return PartialPch(process, header, command)


def _remove_stale(folder: Path) -> None:
    """Remove what a process that was killed has left."""
    for left in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left)


def _torch_include() -> Path:
    return Path(torch.__file__).parent / "include"


def _includes(name: str) -> list[str]:
    file = _torch_include() / name
    return re.findall(r"^#include (<.*?>)", file.read_text(), re.M) if file.exists() else []
