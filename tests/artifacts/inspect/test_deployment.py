"""What has to be installed to run a file, counted."""

from __future__ import annotations

from importlib.metadata import version

from workbench.artifacts.inspect.report import ArtifactReport


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
