"""A machine as data: read here without torch, written as JSON, described by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts.machine.machine_description import (
    GpuFacts,
    Machine,
    describe_current_machine,
    find_amd_gpus,
)

H100 = GpuFacts("NVIDIA H100 80GB HBM3", "sm_90", 80 << 30)


def test_this_machine_can_be_written_as_json_and_read_back() -> None:
    machine = describe_current_machine()
    assert machine.is_whole
    assert Machine.of(json.loads(str(machine))) == machine
    assert repr(machine).startswith(f"Machine(python {machine.python}, torch {machine.torch}")


def test_reading_it_imports_no_torch() -> None:
    program = "import sys, workbench as wb; print(wb.machine()); assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["torch"] == wb.machine().torch


def test_a_machine_is_described_by_a_mapping_or_a_file(tmp_path: Path) -> None:
    described = {
        "torch": "2.13.0+cu130",
        "triton": "3.7.1",
        "gpus": [{"name": "X", "arch": "sm_90"}],
    }
    machine = Machine.of(described)
    assert not machine.is_whole
    assert machine.toolkit == "CUDA 13.0"  # by the name of the build
    assert machine.gpu
    (tmp_path / "gpu.json").write_text(json.dumps(described))
    assert Machine.of(tmp_path / "gpu.json") == Machine.of(machine) == machine
    assert Machine.of({"hip": "7.0"}).toolkit == "ROCm 7.0"


@pytest.mark.parametrize(
    ("description", "words"),
    [
        (3, "machine is a int: expected a dict from wb.machine"),
        ("nothing.json", "cannot be read"),
        ({"cude": "13.0"}, "machine has the unknown entry cude"),
        ({"cuda": 13.0}, "machine\\['cuda'\\] is 13.0: expected a text"),
        (
            {"gpus": [{"name": "h", "arch": "a", "sms": 4}]},
            "machine has the unknown entry gpus.sms",
        ),
        ({"gpus": [{"name": "h", "arch": 90}]}, r"\['gpus'\]\[0\]\['arch'\] is 90: expected a"),
        ({"gpus": ["h100"]}, "machine\\['gpus'\\] is a list of dicts"),
        ({"cpu_flags": "avx2"}, "machine\\['cpu_flags'\\] is 'avx2': expected a list of texts"),
        ({"modules": [[1]]}, "expected a list of texts"),
        ({"modules": 5}, "expected a list of texts"),
        ({"symbols": ["GLIBC"]}, "machine\\['symbols'\\] is .* expected a dict"),
    ],
)
def test_a_wrong_description_is_named(description: object, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        Machine.of(description)


def test_amd_gpus_are_read_from_the_kernel(tmp_path: Path) -> None:
    for node, version in enumerate((0, 90402, 90010)):
        (tmp_path / str(node)).mkdir()
        text = f"cpu_cores_count 0\ngfx_target_version {version}\n"
        (tmp_path / str(node) / "properties").write_text(text)
    assert [gpu.arch for gpu in find_amd_gpus(tmp_path)] == ["gfx942", "gfx90a"]
