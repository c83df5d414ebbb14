"""A container behind torch's own Python binding, for libraries that call operators of others.

Such a library needs torch's proxy executor, which only the binding makes. The binding holds the
GIL while the model runs, so that runners take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.running.container import Constant
from workbench.errors import ArtifactError, RunError

NOTE = (
    "it calls operators that only torch's Python binding can run, which holds the GIL: runners "
    "take turns instead of working in parallel"
)


class BindingContainer:
    """The same as `NativeContainer`, by torch's `AOTIModelContainerRunner…`."""

    def __init__(self, path: Path, *, runners: int, device: str) -> None:
        cuda = device.startswith("cuda")
        make = (tp.AOTI_CUDA_RUNNER if cuda else tp.AOTI_CPU_RUNNER).get()
        more = (device, str(path.parent)) if cuda else ()
        try:
            self._runner: Any = make(str(path), runners, *more)
        except RuntimeError as error:
            raise ArtifactError(
                f"torch cannot start the compiled library: {_reason(error)}. Import what registers "
                "its operators first."
            ) from error
        names = self._runner.get_constant_names_to_original_fqns()
        self.constants = tuple(Constant(name, fqn, False, False) for name, fqn in names.items())
        specs = self._runner.get_call_spec()
        self.specs = (specs[0], specs[1])

    def run(self, inputs: list[torch.Tensor]) -> list[Any]:
        """Run once; raises `RunError`."""
        try:
            found: list[Any] = self._runner.run(inputs)
        except RuntimeError as error:
            raise RunError(f"The compiled code failed: {_reason(error)}.") from error
        return found

    def current(self) -> dict[str, torch.Tensor]:
        """The weights in use by the library's names."""
        found = self._runner.extract_constants_map(False)
        return {c.name: found[c.fqn] for c in self.constants if c.fqn in found}

    def set_weights(self, tensors: Mapping[str, torch.Tensor], *, inactive: bool) -> None:
        """Copy all weights into the library: the binding cannot keep the tensors themselves."""
        self._runner.update_constant_buffer(dict(tensors), inactive, False)

    def fold(self, *, inactive: bool) -> None:
        """The binding computes it at the next call, while no other runs."""

    def swap(self) -> None:
        """Use the other set of weights from now on."""
        self._runner.swap_constant_buffer()

    def forget_inactive(self, *, all_replaced: bool) -> None:
        """Free the set that is not in use, which the binding has copied whole."""
        self._runner.free_inactive_constant_buffer()

    def close(self) -> None:
        """Free the models and the library."""
        self._runner = None


def _reason(error: RuntimeError) -> str:
    return str(error).partition("\nException raised from ")[0].strip().rstrip(".")
