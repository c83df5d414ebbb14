"""Notes every configuration of every Triton kernel as it is compiled: all its texts and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.compiler import torch_private as tp
from workbench.compiler.patches import Patches

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
    """Hands over each configuration when it has been compiled."""

    def __init__(self, patches: Patches, listener: Callable[[CompiledConfig], object]):
        self._patches = patches
        self._listener = listener
        self._sources: dict[str, str] = {}

    def install(self) -> None:
        """Watch the compilation of kernels."""
        self._patches.observe(tp.AUTOTUNER_PRECOMPILE, PANE, after=self._on_kernel)

    def _on_kernel(self, _: None, tuner: Any, *args: Any, **kwargs: Any) -> None:
        for result in tuner.compile_results:  # also when it was compiled before, in this process
            self._on_config(result.kernel, tuner, result.config)

    def _on_config(self, kernel: Any, tuner: Any, config: Any) -> None:
        texts, binary = code_of(kernel) if hasattr(kernel, "asm") else _from_cache(kernel)
        metadata = getattr(kernel, "metadata", kernel)
        file = tuner.fn.fn.__code__.co_filename
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


def _from_cache(kernel: Any) -> tuple[dict[str, str], bytes]:
    """Inductor's own launcher keeps only the place of the binary, beside which the texts lie."""
    binary = Path(kernel.cubin_path)
    texts = {
        stage: binary.with_suffix(f".{stage}").read_text()
        for stage in _TEXTS
        if binary.with_suffix(f".{stage}").exists()
    }
    return texts, binary.read_bytes()
