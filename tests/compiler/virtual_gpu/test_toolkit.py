"""The toolkit that stands in for CUDA's: headers of Triton, libraries with names alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from torch.utils import cpp_extension

from workbench.artifacts.machine.elf import read_library
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.virtual_gpu import gpu_library


def test_it_is_torch_s_toolkit_until_it_is_left(tmp_path: Path) -> None:
    before = cpp_extension.CUDA_HOME
    with ProcessPatches() as process_patches:
        gpu_library.make_cuda_toolkit(process_patches, tmp_path)
        assert str(tmp_path) == cpp_extension.CUDA_HOME
        assert (tmp_path / "include" / "cuda_runtime.h").exists()
    assert before == cpp_extension.CUDA_HOME
    libraries = tmp_path / "lib64"
    for name, function in (
        ("libcuda.so", b"cuLaunchKernel"),
        ("libtorch_cuda.so", b"aoti_torch_create_cuda_stream_guard"),
    ):
        content = (libraries / name).read_bytes()
        assert function in content
        assert read_library(content) is not None


def test_the_header_takes_blocks_with_and_without_parentheses(tmp_path: Path) -> None:
    """As the headers of CUDA write them: of a device, of a newer one, of the host."""
    (tmp_path / "nv").mkdir()
    shutil.copy(Path(gpu_library.__file__).with_name("nv_target.h"), tmp_path / "nv" / "target")
    source = tmp_path / "it.cpp"
    source.write_text(
        "#include <nv/target>\n"
        "NV_IF_ELSE_TARGET(NV_IS_DEVICE, (a, b;), (c, d;))\n"
        "NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, e;, f;)\n"
        "NV_IF_TARGET(NV_IS_HOST, (g;))\n"
        "NV_IF_TARGET(NV_IS_DEVICE, h;)\n"
    )
    command = ["g++", "-E", "-P", "-I", str(tmp_path), str(source)]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert made.split() == ["c,", "d;", "f;", "g;"]
