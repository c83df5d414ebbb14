"""Each row of the table, shown on the installed torch by doing what it says."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.export import Dim
from torch.utils import cmake_prefix_path

import workbench as wb
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.pipeline.modes import (
    advice,
    check_options,
    is_there,
    list_written_names,
)

inductor = pytest.importorskip("torch._inductor")
ROWS = {row.written: row for row in list_written_names()}
INCLUDE = Path(cmake_prefix_path, "..", "..", "include").resolve()
PROGRAM = """
#include <torch/torch.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
int main(int, char** arguments) {
  torch::inductor::AOTIModelContainerRunnerCpu runner(arguments[1], 2);
  std::cout << runner.run({torch::randn({8, 4})})[0].sizes() << std::endl;
}
"""


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Eights(torch.nn.Module):
    def forward(self, x):
        return x.view(-1, 8).sum(1)


def exported(dim=None, model=None, args=None):
    shapes = None if dim is None else {"x": {0: dim}}
    return torch.export.export(
        model or Linear(), args or (torch.randn(8, 4),), dynamic_shapes=shapes
    )


@pytest.fixture(scope="module")
def library() -> str:
    """What `aot_compile` makes of a model whose batch is declared as 1 to 512."""
    program = exported(Dim("batch", min=1, max=512))
    with start_fast():
        return inductor.aot_compile(program.module(), (torch.randn(8, 4),))


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("names") / "m.pt2")
    program = exported(Dim("batch", min=1, max=512))
    with start_fast():
        return inductor.aoti_compile_and_package(program, package_path=path)


@pytest.mark.parametrize("row", list_written_names(), ids=lambda row: row.written)
def test_torch_has_what_a_row_says_and_lacks_what_it_says_is_gone(row):
    assert {name: is_there(name) for name in row.there} == dict.fromkeys(row.there, True)
    assert {name: is_there(name) for name in row.gone} == dict.fromkeys(row.gone, False)


@pytest.mark.parametrize("row", list_written_names(), ids=lambda row: row.written)
def test_a_row_that_does_not_work_says_what_to_write_instead(row):
    assert row.verdict in ("works", "renamed", "different", "gone")
    assert row.verdict == "works" or row.instead


def test_the_table_is_a_frame():
    frame = wb.aotinductor_names()
    assert list(frame.columns[:4]) == ["written", "language", "verdict", "instead"]
    assert len(frame) == len(ROWS) > 30


def test_the_capture_of_older_articles_is_gone_and_its_successor_works():
    with pytest.raises(ImportError):
        exec("from torch._export import capture_pre_autograd_graph")
    assert exported().module()(torch.ones(8, 4)).shape == (8, 4)


def test_export_is_not_strict():
    assert inspect.signature(torch.export.export).parameters["strict"].default is False


def test_a_branch_on_a_value_raises_an_error_of_its_own_type():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(RuntimeError, match="data-dependent"):
        exported(model=Branch())


def test_a_dimension_has_the_declared_range_1_included():
    (bounds,) = exported(Dim("batch", min=1, max=512)).range_constraints.values()
    assert (int(bounds.lower), int(bounds.upper)) == (1, 512)


def test_a_dimension_without_bounds_has_no_end():
    (bounds,) = exported(Dim("batch")).range_constraints.values()
    assert int(bounds.lower) <= 2
    assert str(bounds.upper) == "int_oo"


def test_a_shared_dim_is_one_symbol():
    batch = Dim("batch", min=2, max=64)
    args = (torch.ones(4), torch.ones(4))
    program = torch.export.export(Sum(), args, dynamic_shapes={"x": {0: batch}, "y": {0: batch}})
    assert len(program.range_constraints) == 1
    with pytest.raises(Exception, match=r"size|equal"):
        program.module()(torch.ones(4), torch.ones(5))


def test_a_multiple_is_a_derived_dim():
    with pytest.raises(Exception, match="8"):
        exported(Dim("seq", min=8, max=2048), Eights(), (torch.ones(64),))
    assert exported(8 * Dim("seq8", min=1, max=256), Eights(), (torch.ones(64),)).range_constraints


def test_an_exported_program_has_its_parts_but_not_equality_constraints():
    program = exported()
    assert isinstance(program.graph_module, torch.fx.GraphModule)
    assert program.graph_signature.user_inputs == ("x",)
    assert not hasattr(program, "equality_constraints")


def test_an_exported_program_is_saved_by_a_function(tmp_path):
    program = exported()
    assert not hasattr(program, "save")
    assert not hasattr(program, "load")
    torch.export.save(program, tmp_path / "m.pt2")
    assert torch.export.load(tmp_path / "m.pt2").module()(torch.ones(8, 4)).shape == (8, 4)


@pytest.mark.slow
def test_aot_compile_of_the_module_gives_a_library(library):
    assert library.endswith(".so")
    assert Path(library).is_file()


def test_aot_compile_does_not_take_an_exported_program():
    with pytest.raises(AssertionError):
        inductor.aot_compile(exported(), (torch.randn(8, 4),))


def test_aot_compile_knows_no_cuda_graphs():
    with pytest.raises(AttributeError, match="cuda_graphs"):
        inductor.aot_compile(
            exported().module(), (torch.randn(8, 4),), options={"cuda_graphs": True}
        )


def test_the_mode_without_cudagraphs_is_a_set_of_options():
    assert inductor.list_mode_options("max-autotune-no-cudagraphs") == {
        "max_autotune": True,
        **inductor.list_mode_options("max-autotune-no-cudagraphs"),
    }


@pytest.mark.slow
def test_a_library_is_not_loaded_as_a_package(library):
    with pytest.raises(RuntimeError, match="zip"):
        inductor.aoti_load_package(library)
    run = torch._export.aot_load(library, "cpu")
    assert run(torch.ones(8, 4)).shape == (8, 4)


def test_a_package_is_made_from_the_export_alone(tmp_path):
    for wrong in ({"args": (torch.ones(8, 4),)}, {"options": {"max_autotune": True}}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            inductor.aoti_compile_and_package(
                exported(), package_path=str(tmp_path / "m.pt2"), **wrong
            )


@pytest.mark.slow
def test_torchs_loader_runs_a_package_and_checks_no_range(package):
    run = inductor.aoti_load_package(package)
    for size in (1, 512, 1024):
        assert run(torch.ones(size, 4)).shape == (size, 4)


@pytest.mark.slow
def test_the_wrapper_checks_inputs_only_when_told_to(package):
    program = (
        "import torch\n"
        f"run = torch._C._aoti.AOTIModelPackageLoader({package!r}, 'model', False, 1, -1)\n"
        "print(run.boxed_run([torch.ones(8, 4, dtype=torch.float64)])[0].shape)"
    )
    unchecked = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    checked = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={"AOTI_RUNTIME_CHECK_INPUTS": "1"},
    )
    assert b"unmatched dtype" not in unchecked.stderr
    assert checked.returncode != 0
    assert b"unmatched dtype" in checked.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_written_command_needs_a_second_folder_and_libc10(library, tmp_path):
    source, binary = tmp_path / "inference.cpp", tmp_path / "inference"
    source.write_text(PROGRAM)
    lib = INCLUDE.parent / "lib"
    command = ["g++", "-std=c++17", str(source), f"-I{INCLUDE}", f"-L{lib}", "-o", str(binary)]
    written = [*command, "-ltorch", "-ltorch_cpu"]
    second = f"-I{INCLUDE}/torch/csrc/api/include"
    failed = subprocess.run(written, capture_output=True, text=True, check=False)
    assert "torch/torch.h: No such file" in failed.stderr
    subprocess.run([*written, second, "-lc10", f"-Wl,-rpath,{lib}"], check=True)
    answer = subprocess.run([binary, library], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[8, 4]"


def test_what_is_gone_is_told_where_it_is_used():
    assert "torch.compile(mode='reduce-overhead')" in advice("cuda_graphs")
    with pytest.raises(wb.WorkbenchError, match="no graph capture"):
        check_options({"cuda_graphs": True})


def test_a_bare_library_is_refused_with_the_way_to_a_package():
    with pytest.raises(wb.WorkbenchError, match="bare shared library"):
        wb.load(torch._C.__file__)
    with pytest.raises(wb.WorkbenchError, match=r"wb\.package"):
        wb.load(torch._C.__file__)
