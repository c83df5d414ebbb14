"""Writing the folder of one model for a model server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template

import torch

from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.compiler.contract.contract import Leaf
from workbench.compiler.package_calls.call_check import CallContract
from workbench.device_kinds import is_gpu
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.report.atomic import write_saved_folder

FILE = "package.pt2"
DATATYPES: Mapping[str, str] = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "BF16",
}
"""The dtypes of the Open Inference Protocol, which both servers speak."""
_FILES = {  # of each server: the file, and the template that fills it
    "triton": {"config.pbtxt": "config.pbtxt", "1/model.py": "triton_model.py.in"},
    "torchserve": {
        "handler.py": "torchserve_handler.py.in",
        "model-config.yaml": "model-config.yaml",
        "README.md": "torchserve.md",
    },
}
_PACKAGES = {"triton": f"1/{FILE}", "torchserve": FILE}


def write_model_folder(
    folder: str | PathLike[str],
    package: Path,
    digest: str,
    model: PackagedModel,
    server: str,
    name: str | None,
    *,
    overwrite: bool,
) -> Path:
    """Write the folder and return it; see `Package.model_folder`."""
    if server not in _FILES:
        raise UsageError(
            f"{server!r} is not a supported server: expected one of {', '.join(_FILES)}."
        )
    called = name or re.sub(r"[^\w.-]+", "_", package.stem, flags=re.ASCII)
    if not re.fullmatch(r"\w[\w.-]*", called, flags=re.ASCII):
        raise UsageError(
            f"name={called!r} is not a valid model name: use letters, digits, '_', '-' and '.'."
        )
    values = _values(package.name, digest, model, called)
    target = Path(check_file_path(folder)) / called
    if target.exists() and not overwrite:
        raise UsageError(
            f"The folder {target} exists. Use another name=, or pass overwrite=True to replace an "
            "earlier one."
        )
    templates = files("workbench.compiler.model_servers") / "templates"
    with write_saved_folder(target) as staging:
        for place, template in _FILES[server].items():
            text = Template((templates / template).read_text(encoding="utf-8")).substitute(values)
            (staging / place).parent.mkdir(parents=True, exist_ok=True)
            (staging / place).write_text(text, encoding="utf-8")
        shutil.copyfile(package, staging / _PACKAGES[server])
    return target


def _values(package: str, digest: str, model: PackagedModel, name: str) -> Mapping[str, str]:
    """What fills the places of the templates; raises `UsageError` for what cannot be served."""
    if not model.contract:
        raise UsageError(
            "The package has no input contract, because torch itself wrote it. Make it with "
            "wb.package."
        )
    if model.weights == "later":
        raise UsageError(
            f"{model.name} was packaged without its weights, which no server can supply. Package "
            'it with weights="inside" or "beside".'
        )
    contract = CallContract.of(model.name, model.contract, torch.device(model.device))
    leaves = [contract.leaves[place] for place in contract.tensors]
    names = _names(leaves)
    inputs = [
        _tensor(n, leaf.dtype, [s if isinstance(s, int) else -1 for s in leaf.shape])
        for n, leaf in zip(names, leaves, strict=True)
    ]
    outputs = [
        _tensor(f"output_{i}", one.dtype, [s if isinstance(s, int) else -1 for s in one.shape])
        for i, one in enumerate(model.outputs)
        if one.type != "NoneType"
    ]
    on_gpu = is_gpu(model.device)
    return {
        "name": name,
        "model": repr(model.name),
        "package": package,
        "file": FILE,
        "digest": digest,
        "inputs": ",\n".join(inputs),
        "outputs": ",\n".join(outputs),
        "kind": "KIND_GPU" if on_gpu else "KIND_CPU",
        "input_names": repr(names),
        "datatypes": repr({text: dtype for dtype, text in DATATYPES.items()}),
        "example": ", ".join(_example(n, leaf) for n, leaf in zip(names, leaves, strict=True)),
    }


def _names(leaves: Sequence[Leaf]) -> list[str]:
    """A name for each input that every server takes, such as `batch_ids` for `batch['ids']`."""
    names: list[str] = []
    for leaf in leaves:
        name = re.sub(r"\W+", "_", str(leaf.path), flags=re.ASCII).strip("_")
        names.append(name if name and name not in names else f"{name}_{len(names)}")
    return names


def _datatype(name: str, dtype: str) -> str:
    if dtype not in DATATYPES:
        raise UsageError(
            f"{name} is {dtype}, which model servers do not support: expected one of "
            f"{', '.join(DATATYPES)}. Convert it to a supported dtype in the model."
        )
    return DATATYPES[dtype]


def _tensor(name: str, dtype: str, sizes: Sequence[int]) -> str:
    """One tensor in Triton's configuration, where a number is a reshaped list of one."""
    lines = [f'name: "{name}"', f"data_type: TYPE_{_datatype(name, dtype)}"]
    lines += [f"dims: [ {', '.join(map(str, sizes or [1]))} ]"]
    lines += [] if sizes else ["reshape { shape: [ ] }"]
    return "  {\n" + "".join(f"    {line}\n" for line in lines) + "  }"


def _example(name: str, leaf: Leaf) -> str:
    return (
        f'{{"name": "{name}", "datatype": "{_datatype(name, leaf.dtype)}", '
        f'"shape": {list(leaf.sizes)}, "data": […]}}'
    )
