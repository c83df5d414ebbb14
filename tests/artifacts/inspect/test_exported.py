"""Exported programs of torch, and the pickled tensors inside of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.archive.test_package_container import write_as_torch
from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.preflight.check import check


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ArtifactReport:
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 4)
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * self.scale

    batch = torch.export.Dim("batch", min=2, max=512)
    program = torch.export.export(Model(), (torch.ones(3, 8),), dynamic_shapes=({0: batch},))
    path = tmp_path_factory.mktemp("exported") / "m.pt2"
    torch.export.save(program, path)
    return inspect(path)


def test_signature_ranges_and_weights_are_read(report: ArtifactReport) -> None:
    assert report.kind == "exported program"
    (value,) = report.inputs
    assert (value.name, value.dtype, value.device) == ("x", "float32", "cpu")
    assert value.shape.endswith(" in 2..512, 8]")
    assert [(c.name, c.kind, c.size) for c in report.constants] == [
        ("linear.weight", "parameter", 128),
        ("linear.bias", "parameter", 16),
        ("scale", "buffer", 16),
    ]
    assert any(row.kind == "RANGE" for row in report.guards)
    assert "aten.linear" in report.source("model.json")


def test_the_pickle_in_the_archive_in_the_archive_is_seen(report: ArtifactReport) -> None:
    assert any("data.pkl" in row.name for row in report.pickled)
    assert "torch._utils:_rebuild_tensor_v2" in report.imports
    assert report.unusual == ()


def test_an_older_torch_does_not_read_it(report: ArtifactReport) -> None:
    assert check(report.path).ok
    assert not check(report.path, {"torch": "1.9.0"}).ok


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b"[]",
        b"{",
        b'{"graph_module": 7}',
        b'{"range_constraints": [], "opset_version": 1}',
        b'{"graph_module": {"signature": {"input_specs": ['
        b'{"user_input": {"arg": {"as_tensor": {}}}},'
        b' 7, {"user_input": 1}]}, "graph": {"tensor_values": {"x": {"sizes": [1, {}]}}}}}',
    ],
)
def test_a_damaged_program_is_shown_as_far_as_it_goes(tmp_path: Path, program: bytes) -> None:
    config: Any = {"config": {"w": {"path_name": 7}, "v": None}}
    members = {
        "archive_format": b"pt2",
        "models/model.json": program,
        "data/weights/model_weights_config.json": json.dumps(config).encode(),
    }
    write_as_torch(tmp_path / "m.pt2", members)
    report = inspect(tmp_path / "m.pt2")
    assert report.kind == "exported program"
    assert repr(report)
    assert report._repr_html_()
