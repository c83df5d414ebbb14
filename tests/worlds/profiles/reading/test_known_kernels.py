"""What a profile says of a kernel by its name and its operator."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace


def read(trace: SyntheticTrace, folder: Path) -> dict[str, wb.RunProfile]:
    rows = wb.read_profile(trace.write(folder / "trace.json.gz")).tables["kernels"]
    return {row.name: row for row in rows}


def test_a_kernel_has_its_bound_and_what_the_model_expects(tmp_path: Path) -> None:
    trace, name = SyntheticTrace(), "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
    external = trace.operator("aten::mm", 0.0, 50.0, [[4096, 4096], [4096, 4096]])
    trace.launch(name, 10.0, 60.0, 173.4, external)
    row = read(trace, tmp_path)[name]
    assert row.bound_us == pytest.approx(138.9, abs=0.1)
    assert row.modelled_us == pytest.approx(173, rel=0.15)
    assert 0 < row.modelled_error < 0.9
    assert row.modelled_why.startswith("fitted to traces of ")


def test_two_gradients_of_a_convolution_do_not_share_their_work(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    shapes = [[16, 64, 56, 56], [16, 64, 56, 56], [64, 64, 3, 3]]
    rest = ["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    external = trace.operator(
        "aten::convolution_backward", 0.0, 90.0, shapes, **{"Concrete Inputs": rest}
    )
    names = [
        f"sm90_xmma_{part}_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32"
        for part in ("dgrad", "wgrad")
    ]
    for place, name in enumerate(names):
        trace.launch(name, 10.0 + 10 * place, 100.0 + 50 * place, 40.0, external)
    rows = read(trace, tmp_path)
    assert [rows[name].operations for name in names] == [2 * 16 * 56 * 56 * 64 * 576] * 2
    assert all(rows[name].bound_us for name in names)


def read_addmm(folder: Path, helper: str, helper_us: float) -> dict[str, wb.RunProfile]:
    trace = SyntheticTrace()
    shapes = [[512], [1024, 1705], [1705, 512]]
    external = trace.operator("aten::addmm", 0.0, 90.0, shapes)
    trace.launch(
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_x", 10.0, 60.0, 90.0, external
    )
    trace.launch(helper, 20.0, 160.0, helper_us, external)
    return read(trace, folder)


@pytest.mark.parametrize(
    "helper",
    [
        "void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long)",
        "void add_the_bias(float*)",
    ],
)
def test_the_work_of_an_operator_is_that_of_its_main_kernel(helper: str, tmp_path: Path) -> None:
    rows = read_addmm(tmp_path, helper, 1.0)
    main = next(row for name, row in rows.items() if "gemm" in name)
    assert main.operations == 2 * 1024 * 1705 * 512
    assert main.bound_us is not None
    assert (rows[helper].operations, rows[helper].bound_us) == (None, None)


def test_a_kernel_that_is_faster_than_the_work_of_its_operator_has_no_bound(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    external = trace.operator("aten::addmm", 0.0, 90.0, [[4096], [4096, 4096], [4096, 4096]])
    trace.launch("void a_part_of_it(float*)", 20.0, 160.0, 18.0, external)
    (row,) = read(trace, tmp_path).values()
    assert (row.bound_us, row.reached) == (None, None)
    assert row.why_slow.startswith("no bound: the kernel took 18.0 µs, less than the")
