"""The memory of a model in a package, read from its program in C++."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.compiler.packaging.conftest import Made
from tests.handles.memory.programs import PROGRAMS, SCRATCH


@pytest.mark.slow
def test_a_package_says_what_the_profiler_sees(two: Made) -> None:
    (x,), _ = two.calls["mlp"]
    found = two.package.memory("mlp")
    assert found.at_peak("kind")["weights"] == 4 * (16 * 32 + 32 + 32 * 4 + 4)
    assert found.timeline.is_sized_by_hint
    assert "dynamic sizes other than those of the compiled call" in found.missing
    measured = found.measure(x)
    assert measured.error == pytest.approx(0, abs=0.01), str(measured)
    with pytest.raises(wb.UsageError, match="these inputs have different ones"):
        found.measure(torch.randn(5, 16))


@pytest.mark.slow
def test_a_record_of_a_package_says_the_same(two: Made, tmp_path: Path) -> None:
    found = two.package.memory("nested")
    two.package.report_of("nested").save(tmp_path / "nested.wbr")
    assert wb.memory(tmp_path / "nested.wbr").allocations == found.allocations


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "images", "attention", "gpt2", "sort", "softmax"])
def test_programs_in_cpp_hold_what_those_in_python_do(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    fn, args = PROGRAMS[name]()
    model = fn.eval() if isinstance(fn, torch.nn.Module) else fn
    with torch.no_grad():
        package = wb.package(model, args, path=tmp_path / "m.pt2")
        counted = package.memory()
        measured = counted.measure(*args)
        in_python = wb.aot_compile(model, args, grad=False).memory()
    assert counted.sentence.startswith("At least" if counted.scratch else "At most")
    assert -SCRATCH.get((name, False), 0.001) <= measured.error <= 0.001, str(measured)
    assert counted.peak - counted.base == pytest.approx(in_python.peak - in_python.base, rel=0.02)


@pytest.mark.slow
def test_a_package_for_an_absent_gpu_takes_its_weights_outside_of_torchs_allocator(
    tmp_path: Path,
) -> None:
    fn, args = PROGRAMS["mlp"]()
    with pytest.warns(UserWarning, match="compiled for a virtual GPU and not run"):
        package = wb.package(fn.eval(), args, path=tmp_path / "m.pt2", target="h100")
    found = wb.memory(package)
    whole, weights = found.peaks[-1], found.at_peak("kind")["weights"]
    assert found.sentence.startswith("At least")
    assert "temporary memory of mm on the GPU is not known" in found.missing
    assert whole.reserved_bytes is not None
    assert weights == sum(parameter.nbytes for parameter in fn.parameters())
    assert (whole.reserved_bytes - weights) % (2 << 20) == 0
