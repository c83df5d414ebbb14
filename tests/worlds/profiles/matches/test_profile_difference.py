from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.made_profile import make_profile, run
from workbench.worlds.profiles.matches.profile_difference import compare_profiles
from workbench.worlds.profiles.rows.profile_rows import ProfiledStep
from workbench.worlds.profiles.views.difference_document import document_of_two

TRACES = Path(__file__).parents[3] / "gpu" / "traces"


def product(us: float, module: str = "Model.Linear", **more: object) -> object:
    return run("k0", "gemm", "aten::mm", (8, 8), (8, 8), time_us=us, module=module, **more)


def test_operators_are_matched_by_module_and_shapes_whatever_their_kernels() -> None:
    a = make_profile(kernels=[product(10.0)])
    other = run("k0", "Cijk_Ailk", "aten::mm", (8, 8), (8, 8), time_us=4.0, module="Model.Linear")
    (row,) = compare_profiles(a, make_profile(kernels=[other])).operators
    assert (row.a_us, row.b_us, row.difference_us) == (10.0, 4.0, -6.0)
    assert (row.a_kernel, row.b_kernel) == ("gemm", "Cijk_Ailk")


def test_what_a_graph_has_in_one_is_compared_as_a_whole() -> None:
    eager = [product(10.0), run("k1", "add", "aten::add", (8,), time_us=5.0, module="Model.Norm")]
    fused = run(
        "k0",
        "triton_poi_fused_add_0",
        "triton_poi_fused_add_0",
        (8,),
        time_us=6.0,
        module="OptimizedModule.Model",
        compile_id="0/0",
    )
    difference = compare_profiles(make_profile(kernels=eager), make_profile(kernels=[fused]))
    (row,) = difference.modules
    assert (row.module, row.a_us, row.b_us, row.a_kernels) == ("Model", 15.0, 6.0, 2)


def test_operators_of_a_compiled_module_are_matched_in_it_as_a_whole() -> None:
    inner = run("k1", "add", "aten::add", (8,), time_us=5.0, module="Model")
    fused = run("k1", "triton_add", "triton_add", (8,), module="Model", compile_id="0/0")
    a = make_profile(kernels=[product(10.0), inner])
    difference = compare_profiles(a, make_profile(kernels=[product(8.0, "Model"), fused]))
    rows = {row.operator: (row.module, row.a_us, row.b_us) for row in difference.operators}
    assert rows["aten::mm"] == ("Model", 10.0, 8.0)


def test_kernels_of_one_profile_only_and_the_sentence() -> None:
    other = run("k0", "Cijk", "aten::mm", (8, 8), (8, 8), time_us=5.0, module="Model.Linear")
    a, b = make_profile(kernels=[product(10.0)]), make_profile(kernels=[other])
    difference = compare_profiles(a, b)
    assert [(row.side, row.name) for row in difference.kernels] == [("a", "gemm"), ("b", "Cijk")]
    assert difference.sentence == (
        "10.0 µs → 5.00 µs (−50 %) in all; the largest difference: Linear, 10.0 µs → 5.00 µs; "
        "1 kernel only in a; 1 kernel only in b. Not interleaved, so no verdict."
    )
    assert compare_profiles(a, a).sentences == ()
    without = compare_profiles(a, make_profile(kernels=[product(9.0, "Other")]))
    assert "Linear, 10.0 µs, only in a;" in without.sentence
    assert len(difference.frame("kernels")) == 2


def test_steps_of_the_profiler_make_unequal_profiles_comparable() -> None:
    def steps(count: int) -> list[ProfiledStep]:
        return [ProfiledStep(f"ProfilerStep#{n}", "profiler step") for n in range(count)]

    a = make_profile(kernels=[product(20.0, calls=2)], steps=steps(2))
    b = make_profile(kernels=[product(10.0)], steps=steps(1))
    difference = compare_profiles(a, b)
    assert difference.modules[0].difference_us == 0.0
    assert "in all, one step" in {change.what for change in difference.changes}


def test_two_profiles_that_a_gpu_wrote_say_what_differs_without_a_verdict() -> None:
    a, b = (wb.read_profile(TRACES / f"{kind}.json.gz") for kind in ("eager", "compiled"))
    text = repr(wb.diff(a, b))
    assert "not interleaved, so no verdict" in text
    assert "faster" not in text
    assert len(wb.diff(a, b).frame("operators")) > 10


def test_a_profile_is_not_compared_with_a_report() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    with pytest.raises(wb.errors.UsageError, match="with_profile"):
        wb.diff(make_profile(), report)


def test_of_two_profiles_of_a_cpu_operators_are_told() -> None:
    def on_cpu(*kernels: object) -> wb.RunProfile:
        made = make_profile(kernels=kernels)
        return wb.RunProfile(replace(made.header, on_cpu=True), made.tables)

    add = run("k1", "aten::add", "aten::add", (8,), time_us=5.0)
    a, b = on_cpu(product(10.0), add), on_cpu(product(8.0))
    difference = compare_profiles(a, b)
    assert "1 operator only in a; 0 operators only in b" in difference.sentence
    assert [row.what for row in difference.changes][-1] == "operators"
    shown = document_of_two(difference)
    told = " ".join((str(difference), json.dumps(shown["tables"]), json.dumps(shown["cards"])))
    assert "kernels only" not in told
    assert not re.search(r"\bKernels?\b", told)
    mixed = compare_profiles(a, make_profile(kernels=[product(8.0)]))
    assert "operator only in a; 0 kernels only in b" in mixed.sentence
