"""Writing a small CMake project that runs one model of a package from C++."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import torch

from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.compiler.contract.contract import Leaf
from workbench.compiler.cpp_project.contract_header import (
    build_contract_values,
    call_contract,
    list_input_leaves,
    write_cpp_literal,
)
from workbench.compiler.package_calls.signature import CallSignature
from workbench.compiler.running.loaded import LoadedModel
from workbench.compiler.sizes import dims
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.report.atomic import write_saved_folder

INPUTS = "example_inputs.pt"
OUTPUTS = "example_outputs.pt"
WEIGHTS = {
    "inside": """\
The weights are in the package. `update_weights` exchanges them under load.""",
    "beside": """\
The weights are members of the package and are mapped from the file, not copied: keep the file
  while a client lives. `update_weights` exchanges them under load.""",
    "later": """\
The package holds no weights: call `update_weights` before the first `run`; their names are in
  `kWeights` of `contract.hpp`. `example` (as its fourth argument) and `benchmark` (`--weights`)
  read them from a file that `torch.save(dict(model.state_dict()), file)` wrote.""",
}


@dataclass(frozen=True)
class Example:
    """Tensors that the library takes, in its order, and what it returns for them in Python."""

    inputs: Sequence[torch.Tensor]
    outputs: Sequence[torch.Tensor | None]


def project_of(
    folder: str | PathLike[str],
    package: Path,
    manifest: PackageManifest,
    loaded: LoadedModel,
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]] | None,
    *,
    libraries: Sequence[str | PathLike[str]] = (),
    overwrite: bool,
) -> Path:
    """Write the project of a loaded model, with an example run here; see `Package.cpp_project`."""
    model = loaded.model
    linked = _linked(model, libraries)
    if arguments is None:
        inputs = make_example_inputs(list_input_leaves(model))
    else:
        inputs = read_inputs(model, *arguments)
    outputs = [None if v is None else torch.as_tensor(v) for v in loaded.run_flat(inputs)]
    example = Example(inputs, outputs)
    return write_project(
        folder, package, manifest, model, example, libraries=linked, overwrite=overwrite
    )


def read_inputs(
    model: PackagedModel, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[torch.Tensor]:
    """The tensors that the library takes of a call; raises `ContractError` for one that misfits."""
    contract = call_contract(model)
    leaves = contract.examine(CallSignature.of(model).leaves(args, kwargs))
    return [leaves[place] for place in contract.tensors]


def _linked(model: PackagedModel, libraries: Sequence[str | PathLike[str]]) -> list[Path]:
    """The libraries with custom operators; raises `UsageError` where they are needed or missing."""
    if model.operators and not libraries:
        raise UsageError(
            f"{model.name} calls {', '.join(model.operators)}, which has no C++ schema in a "
            "program without Python: register it in C++ (TORCH_LIBRARY), build that as a library "
            "and pass it: cpp_project(folder, libraries=[path])."
        )
    paths = [Path(check_file_path(library)).resolve() for library in libraries]
    for path in paths:
        if not path.is_file():
            raise UsageError(f"There is no library {path}: build it first, or correct the path.")
    return paths


def write_project(
    folder: str | PathLike[str],
    package: Path,
    manifest: PackageManifest,
    model: PackagedModel,
    example: Example,
    *,
    libraries: Sequence[Path] = (),
    overwrite: bool = False,
) -> Path:
    """Write the project of one model of the file `package` and return its folder.

    Raises UsageError for a folder that holds something, unless `overwrite` allows to replace the
    files of the same names.
    """
    target = Path(check_file_path(folder))
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file: name a folder for the C++ project.")
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise UsageError(
            f"The folder {target} is not empty: name another one, or pass overwrite=True to "
            "replace the files of an earlier project in it."
        )
    texts = render_files(package, manifest, model, libraries)
    with write_saved_folder(target) as made:
        for name, text in texts.items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(text, encoding="utf-8")
        for name, tensors in ((INPUTS, example.inputs), (OUTPUTS, example.outputs)):
            content = BytesIO()  # torch's own writer says of a full disk that it is at fault
            torch.save([None if t is None else t.detach().cpu() for t in tensors], content)
            (made / name).write_bytes(content.getbuffer())
    return target


def render_files(
    package: Path,
    manifest: PackageManifest,
    model: PackagedModel,
    libraries: Sequence[Path] = (),
) -> dict[str, str]:
    """The texts of the project's files by their path in its folder."""
    values = {
        **build_contract_values(model),
        **_readme_values(model),
        "package": package.name,
        "package_literal": write_cpp_literal(package.name),
        "path": str(package.resolve()),
        "model": model.name,
        "model_path": quote(model.name, safe=""),
        "namespace": name_namespace(package),
        "torch": manifest.versions.torch,
        "libraries": _link_lines(name_namespace(package), libraries),
    }
    templates = files("workbench.compiler.cpp_project") / "templates"
    return {name: Template(text).substitute(values) for name, text in _texts(templates)}


def _texts(folder: Traversable, place: str = "") -> Iterator[tuple[str, str]]:
    """The templates in a folder and below it, by path."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{place}{entry.name}/")
        else:
            yield place + entry.name, entry.read_text(encoding="utf-8")


def _link_lines(target: str, libraries: Sequence[Path]) -> str:
    """Lines of CMake that link libraries whose only use is that they register operators."""
    if not libraries:
        return ""
    kept = [f'  "-Wl,--no-as-needed,{path},--as-needed"' for path in libraries]
    folders = [f'  "{folder}"' for folder in dict.fromkeys(path.parent for path in libraries)]
    lines = [
        "",
        "# Custom operators: linked though no code names them: they register themselves.",
        f"target_link_libraries({target} PUBLIC",
        *kept,
        ")",
        "list(APPEND CMAKE_BUILD_RPATH",
        *folders,
        ")",
        "",
    ]
    return "\n".join(lines)


def name_namespace(package: Path) -> str:
    """The C++ namespace of a package's client, such as `gpt2_client` for `gpt2.pt2`."""
    name = re.sub(r"\W+", "_", package.stem, flags=re.ASCII).strip("_").lower() or "model"
    return f"model_{name}_client" if name[0].isdigit() else f"{name}_client"


def _readme_values(model: PackagedModel) -> Mapping[str, str]:
    leaves = list_input_leaves(model)
    names = [re.sub(r"\W+", "_", str(leaf.path), flags=re.ASCII).strip("_") for leaf in leaves]
    rows = [f"| `{leaf.path}` | {leaf.dtype} | {dims.text(leaf.shape)} |" for leaf in leaves]
    outputs = [
        f"| {i} | {output.dtype} | [{', '.join(map(str, output.shape))}] |"
        for i, output in enumerate(model.outputs)
    ]
    table = ["| input | dtype | shape |", "| --- | --- | --- |", *rows]
    return {
        "arguments": ", ".join(names),
        "input_rows": "\n".join(table),
        "output_rows": "\n".join(outputs),
        "weights_text": WEIGHTS[model.weights],
    }


def make_example_inputs(leaves: Sequence[Leaf], seed: int = 0) -> list[torch.Tensor]:
    """Inputs that fit a contract: the sizes of the example call, floats normal, the rest zero."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for leaf in leaves:
        tensor = leaf.like.empty()
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.copy_(torch.randn(leaf.sizes, generator=generator))
        else:
            tensor.zero_()
        made.append(tensor)
    return made
