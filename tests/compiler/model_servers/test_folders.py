"""The folders of model servers: written, loaded as the server does, called, compared with eager.

The servers are not started. `triton_python_backend_utils` exists only inside of Triton's image: a
stand-in has what the model uses of it. TorchServe needs Java: its context is a stand-in, while the
archive is made by its own torch-model-archiver where that is installed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from sample_packages import many_inputs
from torch.utils.dlpack import from_dlpack, to_dlpack

import workbench as wb
from workbench.handles.packages.package import Package

NAMES = ["x", "scale", "ids", "picture"]


@pytest.fixture(scope="module")
def package(many: Package) -> Package:
    return many


def imported(file: Path, name: str) -> ModuleType:
    """A module from a file of a folder, as a server imports it."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class Tensor:
    """Stands for pb_utils.Tensor."""

    def __init__(self, name: str, value: torch.Tensor) -> None:
        self.name, self.value = name, value

    def to_dlpack(self) -> Any:
        return to_dlpack(self.value)

    @staticmethod
    def from_dlpack(name: str, capsule: Any) -> Tensor:
        return Tensor(name, from_dlpack(capsule))


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module that Triton's Python backend gives to a model."""
    made: Any = ModuleType("triton_python_backend_utils")
    made.Tensor = Tensor
    made.TritonError = str
    made.InferenceResponse = lambda output_tensors=(), error=None: SimpleNamespace(
        outputs=output_tensors, error=error
    )
    made.get_input_tensor_by_name = lambda request, name: request[name]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return


@pytest.mark.usefixtures("backend")
def test_triton_loads_the_model_and_answers_as_eager(package: Package, tmp_path: Path) -> None:
    folder = package.model_folder(tmp_path / "repository", "triton")
    assert folder == tmp_path / "repository" / "many"
    config = (folder / "config.pbtxt").read_text()
    assert 'name: "many"\nbackend: "python"\nmax_batch_size: 0' in config
    assert 'name: "x"\n    data_type: TYPE_FP32\n    dims: [ -1, 8 ]' in config
    assert 'name: "ids"\n    data_type: TYPE_INT64\n    dims: [ -1 ]' in config
    assert 'name: "output_1"\n    data_type: TYPE_FP32\n    dims: [ 2, 3 ]' in config
    model = imported(folder / "1" / "model.py", "triton_model").TritonPythonModel()
    model.initialize({"model_name": "many"})
    x, scale, ids, picture = many_inputs(6)
    good = [x, scale, ids, picture.contiguous()]  # a server's tensors are in row-major order
    bad = [x[:, :7].contiguous(), scale, ids, picture]
    asked = [
        {name: Tensor(name, value) for name, value in zip(NAMES, values, strict=True)}
        for values in (good, bad)
    ]
    answer, refused = model.execute(asked)
    assert [one.name for one in answer.outputs] == ["output_0", "output_1"]
    expected = package.originals[package.names[0]](*good)
    for found, wanted in zip(answer.outputs, expected, strict=True):
        torch.testing.assert_close(found.value, wanted)
    assert "x: expected size 8 at dimension 1, got 7" in refused.error
    model.finalize()
    with pytest.raises(wb.UsageError, match="closed"):
        model.package(*many_inputs(6))


def request_of(inputs: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    datatypes = {torch.float32: "FP32", torch.int64: "INT64"}
    return {
        "inputs": [
            {"name": n, "datatype": datatypes[t.dtype], "shape": [*t.shape], "data": t.tolist()}
            for n, t in zip(NAMES, inputs, strict=True)
        ]
    }


def archived(folder: Path, to: Path) -> Path:
    """The folder's archive, unpacked as TorchServe does; by the command of its README."""
    readme = (folder / "README.md").read_text().replace("\\\n", "")
    command = re.search(r"^    torch-model-archiver (.*)$", readme, re.MULTILINE)
    assert command is not None
    words = command[1].replace("--export-path ..", f"--export-path {to}").split()
    program = [sys.executable, "-m", "model_archiver.model_packaging", *words]
    subprocess.run(program, cwd=folder, check=True)
    with ZipFile(to / f"{folder.name}.mar") as archive:
        archive.extractall(to / "unpacked")
    return to / "unpacked"


def test_torchserve_loads_the_archive_and_answers_as_eager(
    package: Package, tmp_path: Path
) -> None:
    folder = package.model_folder(tmp_path, "torchserve", name="served")
    serialized = "package.pt2"
    if importlib.util.find_spec("model_archiver") is not None:
        folder = archived(folder, tmp_path)
        manifest = json.loads((folder / "MAR-INF" / "MANIFEST.json").read_text())
        assert manifest["model"]["handler"] == "handler.py"
        assert manifest["model"]["serializedFile"] == serialized
        assert manifest["model"]["configFile"] == "model-config.yaml"
    handler = imported(folder / "handler.py", "torchserve_handler").Handler()
    codes: dict[int, int] = {}
    context = SimpleNamespace(
        system_properties={"model_dir": str(folder)},
        set_response_status=lambda code, phrase, idx: codes.update({idx: code}),
    )
    handler.initialize(context)
    inputs = many_inputs(6)
    good, bad = request_of(inputs), request_of(inputs)
    bad["inputs"][0]["datatype"] = "INT64"
    rows = [{"body": good}, {"body": json.dumps(bad).encode()}, {"data": "{"}, {"body": {}}]
    answer, refused, broken, empty = handler.handle(rows, context)
    json.dumps(answer)
    expected = package.originals[package.names[0]](*inputs)
    for found, wanted in zip(answer["outputs"], expected, strict=True):
        made = torch.tensor(found["data"]).reshape(found["shape"])
        torch.testing.assert_close(made, wanted)
    assert codes == {1: 400, 2: 400, 3: 400}
    assert "x: expected dtype float32, got int64" in refused["error"]
    assert "error" in broken
    assert "KeyError: 'inputs'" in empty["error"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"server": "mlserver"}, "expected one of triton, torchserve"),
        ({"server": "triton", "name": "a b"}, "is not a valid model name"),
        ({"server": "triton", "model": "other"}, "other"),
    ],
)
def test_what_cannot_be_written_is_refused(
    package: Package, tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(wb.WorkbenchError, match=words):
        package.model_folder(tmp_path, **more)
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_is_there_is_kept(package: Package, tmp_path: Path) -> None:
    folder = package.model_folder(tmp_path, "triton")
    with pytest.raises(wb.UsageError, match=r"exists\. Use another name=, or pass overwrite=True"):
        package.model_folder(tmp_path, "triton")
    assert package.model_folder(tmp_path, "triton", overwrite=True) == folder
