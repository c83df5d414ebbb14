"""The call that makes a package again, read from the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sample_report

import workbench as wb
from tests.artifacts.package_sample import CODE, manifest, model, parts, write_package
from workbench.artifacts.archive.package_container import REPORT_SUFFIX, encode_report
from workbench.report import Request

REPORT = f"{CODE}/m{REPORT_SUFFIX}"


def written(path: Path, request: Request, **changes: str) -> Path:
    """A package whose report holds this request."""
    report = replace(sample_report.make(), request=request)
    members = {**parts(), REPORT: encode_report(report.to_bytes())}
    write_package(path, model(report=REPORT, **changes), members=members)
    return path


def refusal(path: Path) -> str:
    """What recompiling a package says."""
    with pytest.raises(wb.UsageError) as caught:
        wb.recompile(path)
    return str(caught.value)


def test_the_call_names_all_that_was_asked_for(tmp_path: Path) -> None:
    request = Request(
        name="Block",
        inputs=("x: float32[8, 64]", "y: int64[8]"),
        mode="max-autotune",
        options=(("max_fusion_size", "8"), ("epilogue_fusion", "False")),
        dynamic_shapes="{'x': {0: Dim('batch')}}",
    )
    path = written(tmp_path / "m.pt2", request, weights="beside")
    assert refusal(path).splitlines() == [
        f"{path} is a package without example inputs, so it cannot be rebuilt from "
        f"the file alone. It was made on torch {manifest().versions.torch} with:",
        f"  wb.package(Block, args, path='{path}', dynamic_shapes={{'x': {{0: Dim('batch')}}}}, "
        """options={"max_fusion_size": 8, "epilogue_fusion": False}, mode='max-autotune', """
        "weights='beside')  # model: x: float32[8, 64], y: int64[8]",
    ]


def test_the_call_leaves_out_what_was_not_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "m.pt2", Request(name="", inputs=("x",)), weights="inside")
    assert refusal(path).splitlines()[1] == f"  wb.package(model, args, path='{path}')  # model: x"


def test_a_model_without_a_report_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    write_package(path, model(name="encoder", weights="inside"))
    assert (
        refusal(path).splitlines()[1] == f"  wb.package(encoder, args, path='{path}')  # encoder: "
    )


def test_of_a_package_by_torch_the_model_is_asked_for(tmp_path: Path) -> None:
    from tests.faults.conftest import without_manifest

    write_package(tmp_path / "m.pt2")
    (tmp_path / "torch.pt2").write_bytes(without_manifest(tmp_path / "m.pt2"))
    assert refusal(tmp_path / "torch.pt2").endswith(
        "Package the model with wb.package(model, args, path=...)."
    )
