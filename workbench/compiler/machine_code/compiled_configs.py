"""Notes every configuration of every Triton kernel as it is compiled: all its texts and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches

PANE = "assembly"
_TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn")


@dataclass(frozen=True)
class CompiledConfig:
    """One kernel in one configuration; `dynamic_shared` is bytes of a block.

    `file` is the kernel's source, `binary` a cubin or a code object of AMD.
    """

    kernel: str
    file: str
    source: str
    choice: str
    warps: int
    stages: int
    dynamic_shared: int
    texts: Mapping[str, str]
    binary: bytes


class ConfigRecorder:
    """Hands over each configuration when it has been compiled, before a device loads it."""

    def __init__(self, patches: Patches, listener: Callable[[CompiledConfig], object]):
        self._patches = patches
        self._listener = listener
        self._sources: dict[str, str] = {}
        self._seen: dict[int, Any] = {}  # by identity; keeps them, so that it stays theirs

    def install(self) -> None:
        """Watch the compilation of kernels."""
        # where a device is there, a kernel that was loaded has forgotten where its files are
        self._patches.observe(tp.MAKE_LAUNCHERS, PANE, before=self._on_tuner)
        self._patches.observe(tp.AUTOTUNER_PRECOMPILE, PANE, after=self._on_kernel)

    def _on_kernel(self, _: None, tuner: Any, *args: Any, **kwargs: Any) -> None:
        self._on_tuner(tuner)

    def _on_tuner(self, tuner: Any) -> None:
        for result in tuner.compile_results:  # also when it was compiled before, in this process
            if id(result) not in self._seen:
                self._seen[id(result)] = result
                self._on_config(result.kernel, tuner, result.config)

    def _on_config(self, kernel: Any, tuner: Any, config: Any) -> None:
        texts, binary = code_of(kernel) if hasattr(kernel, "asm") else _from_cache(kernel, tuner)
        metadata = getattr(kernel, "metadata", kernel)
        # a kernel from another process comes without its function
        function = getattr(tuner.fn, "fn", None)
        file = str(tuner.filename) if function is None else function.__code__.co_filename
        if file not in self._sources:
            self._sources[file] = Path(file).read_text()
        choice = ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
        name = tuner.inductor_meta.get("kernel_name") or tuner.fn.__name__
        self._listener(
            CompiledConfig(
                kernel=str(name),
                file=file,
                source=self._sources[file],
                choice=choice,
                warps=int(metadata.num_warps),
                stages=int(config.num_stages),
                dynamic_shared=int(metadata.shared),
                texts=texts,
                binary=binary,
            )
        )


def code_of(kernel: Any) -> tuple[dict[str, str], bytes]:
    """The text of each stage and the binary of what `triton.compile` returned."""
    asm = kernel.asm
    texts = {stage: str(asm[stage]) for stage in _TEXTS if stage in asm}
    return texts, next((bytes(asm[k]) for k in ("cubin", "hsaco") if k in asm), b"")


def _from_cache(kernel: Any, tuner: Any) -> tuple[dict[str, str], bytes]:
    """Inductor's own launcher keeps only the place of the binary, beside which the texts lie."""
    binary = Path(kernel.cubin_path) if kernel.cubin_path else _in_cache(kernel, tuner)
    files = {stage: binary.with_suffix(f".{stage}") for stage in _TEXTS}
    texts = {stage: file.read_text() for stage, file in files.items() if file.exists()}
    return texts, binary.read_bytes()


def _in_cache(kernel: Any, tuner: Any) -> Path:
    """The binary of a kernel that is on the device already, in Triton's cache."""
    folder = Path(tp.TRITON_CACHE_FOLDER.get()(tuner.triton_meta.get("device", 0)))
    stem = folder / str(tp.TRITON_HASH_KEY.get()(kernel.hash)) / str(kernel.name)
    cubin = stem.with_suffix(".cubin")
    return cubin if cubin.exists() else stem.with_suffix(".hsaco")
