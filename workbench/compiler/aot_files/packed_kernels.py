"""GPU kernels that torch packed into its own bytes: listed for a file, handed over at load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.artifacts.manifest.manifest import BuiltFor
from workbench.compiler.internals import torch_private as tp

BINARIES = (".cubin", ".hsaco")
_ASKED = re.compile(r"async_compile\.triton\('(\w+)'")


@dataclass(frozen=True)
class PackedBinary:
    """One kernel in one configuration: its name, machine code and the assembly beside it."""

    name: str
    binary: bytes
    assembly: str


def packed_binaries(programs: Sequence[Any]) -> Iterator[PackedBinary]:
    """The machine code in the bundles of compiled graphs, each content once."""
    seen: set[bytes] = set()
    for program in programs:
        for kernel in getattr(getattr(program, "_triton_bundle", None), "kernel_artifacts", ()):
            files = {part.filename: part.payload for part in kernel.artifacts}
            for file, content in files.items():
                stem, dot, kind = file.rpartition(".")
                if dot + kind in BINARIES and content not in seen:
                    seen.add(content)
                    text = files.get(f"{stem}.ptx") or files.get(f"{stem}.amdgcn") or b""
                    yield PackedBinary(stem, content, text.decode(errors="replace"))


def kernels_asked_for(programs: Sequence[Any]) -> frozenset[str]:
    """The names of the Triton kernels that generated programs ask for."""
    return frozenset(name for program in programs for name in _ASKED.findall(program.source_code))


class PackedKernels:
    """Hands torch the kernels that another build of the same release packed.

    Torch finds a packed kernel by its source and a hash of torch's own files, which differs from
    build to build (+cpu, +cu130): they are put where this build looks.
    """

    def __init__(self, built_for: BuiltFor):
        self.built_for = built_for
        self._key = bytes.fromhex(built_for.torch_key)

    def emit(self, bundle: Any) -> None:
        """Write the files of the kernels where Triton looks, and offer what can be started."""
        for autotuner in getattr(bundle, "static_autotuners", ()):
            # what Inductor adds where a kernel takes many registers is packed already
            autotuner.kernel.inductor_meta["dynamic_scale_rblock"] = False
            vars(autotuner.kernel).pop("_could_rblock_scale", None)  # the answer before that
        tp.TRITON_BUNDLER.get().read_and_emit(bundle)

    def __call__(self, torch: Any, name: str, source: str, **options: Any) -> Any:
        """One kernel of a generated program, by torch."""
        packed = tp.PACKED_KERNELS.get()
        theirs = tp.CODE_HASH.get()(source, extra=self._key)
        found = packed._cache.pop(theirs, None)
        if found is not None:
            packed._cache[packed.key(source)] = found
        return torch().triton(name, source, **options)
