"""What has to be installed to run a file, counted."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.errors import UsageError


def test_a_deployment_is_the_file_with_what_has_to_be_installed() -> None:
    report = ArtifactReport("models/net.aot", "artifact", "", "", size=1000)
    found = report.deployment()
    sizes = found.frame().set_index("name")["size"]
    assert sizes["net.aot"] == 1000
    assert sizes["torch"] > 100e6
    assert {"workbench", "safetensors", "numpy", "sympy", "mpmath"} <= {*sizes.index}
    assert found.size == sizes.sum()
    parts = {part.name: part for part in found.parts}
    assert parts["torch"].version == version("torch")
    assert parts["mpmath"].why == "required by sympy"
    assert "counted on this machine" in repr(found)
    of_torch = ArtifactReport("net.bin", "torch", "", "", size=1).deployment()
    assert not {"workbench", "safetensors"} & {part.name for part in of_torch.parts}


def test_a_program_in_cpp_needs_the_libraries_of_torch_and_no_python() -> None:
    report = ArtifactReport("models/net.pt2", "package", "", "", size=1000)
    found = report.deployment(python=False)
    parts = {part.name: part for part in found.parts}
    assert parts["net.pt2"].why == "file"
    assert parts["libtorch_cpu.so"].why == "torch"
    assert not {"torch", "numpy", "workbench", "libtorch_python.so"} & parts.keys()
    saved = report.deployment().size - found.size
    assert saved > 50e6  # what is claimed of a package without Python


def test_what_only_python_loads_has_no_deployment_in_cpp() -> None:
    report = ArtifactReport("models/net.aot", "artifact", "", "", size=1000)
    with pytest.raises(UsageError, match="only Python can load it"):
        report.deployment(python=False)
