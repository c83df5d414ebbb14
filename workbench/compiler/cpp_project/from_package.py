"""The C++ project of a loaded model, with an example that was run here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.compiler.cpp_project.header import call_contract
from workbench.compiler.cpp_project.project import Example, example_inputs, write_project
from workbench.compiler.running.checking import CallContract
from workbench.compiler.running.loaded import LoadedModel

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]


def project_of(
    folder: str | PathLike[str],
    package: Path,
    manifest: PackageManifest,
    loaded: LoadedModel,
    arguments: Arguments | None,
    *,
    overwrite: bool,
) -> Path:
    """Write the project of a loaded model; see `Package.cpp_project`."""
    model = loaded.model
    inputs = _tensors(loaded, call_contract(model), arguments)
    outputs = [
        value if value is None else torch.as_tensor(value) for value in loaded.run_flat(inputs)
    ]
    return write_project(
        folder,
        package,
        manifest,
        model,
        Example(inputs, outputs),
        overwrite=overwrite,
    )


def _tensors(
    loaded: LoadedModel, contract: CallContract, arguments: Arguments | None
) -> list[torch.Tensor]:
    if arguments is None:
        return example_inputs([contract.leaves[place] for place in contract.tensors])
    leaves = contract.examine(loaded.signature.leaves(*arguments))
    return [leaves[place] for place in contract.tensors]
