from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.made_profile import follow, make_profile, run
from workbench.report.table import Table
from workbench.specs.catalogue import Catalogue
from workbench.worlds.profiles.changes.changes import find_changes
from workbench.worlds.profiles.rows.profile_rows import (
    CollectiveTime,
    DeviceEvent,
    Gap,
    LaunchTime,
    ProfileOpportunity,
    RanKernel,
)
from workbench.worlds.profiles.rows.run_profile import RunProfile

H100 = Catalogue.built_in()["h100"]
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>"
)
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16>"
MM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas"
ODD_MM = "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1"
MB = 1 << 20


def found_in(profile: RunProfile) -> dict[str, ProfileOpportunity]:
    return {change.kind: change for change in find_changes(profile, H100)}


def elementwise(id: str, operator: str = "aten::mul", rows: int = MB, **more: object) -> RanKernel:
    return run(id, ADD, operator, (rows, 64), (rows, 64), **more)


def test_a_chain_that_hands_on_its_result_would_fuse() -> None:
    first, second = elementwise("a", time_us=400.0), elementwise("b", time_us=400.0)
    change = found_in(make_profile(kernels=[first, second]))["fusion"]
    assert change.kernels == ("a", "b")
    assert change.of_us == 800.0
    # 128 MB are read again at 3.35 TB/s; without the write, too, 512 MB are left of 768 MB
    assert change.least_us == pytest.approx(128 * MB / 3.35e6, rel=0.01)
    assert change.most_us == pytest.approx(800 - 4 * 128 * MB / 3.35e6, rel=0.01)


def test_what_a_cache_can_hold_saves_nothing_for_certain() -> None:
    chain = [elementwise(id, rows=MB // 16, time_us=40.0) for id in "ab"]
    change = found_in(make_profile(kernels=chain))["fusion"]
    assert change.least_us is None
    assert change.most_us is not None
    assert "up to" in change.why


def test_a_chain_of_other_sizes_does_not_fuse() -> None:
    other = run("b", ADD, "aten::add", (17, 19), (17, 19))
    assert "fusion" not in found_in(make_profile(kernels=[elementwise("a"), other]))


def test_a_product_between_them_keeps_two_kernels_apart() -> None:
    product = run("m", MM, "aten::mm", (1024, 1024), (1024, 1024))
    profile = make_profile(kernels=[elementwise("a"), product, elementwise("b")])
    assert "fusion" not in found_in(profile)


def test_what_inductor_made_is_not_advised_to_be_compiled() -> None:
    fused = [elementwise(id, kernel_hash="c0ffee") for id in "ab"]
    assert "fusion" not in found_in(make_profile(kernels=fused))


def test_without_shapes_the_saving_of_a_chain_is_not_known() -> None:
    known = [elementwise("a"), elementwise("b")]
    assert find_changes(make_profile(kernels=known), None)[0].least_us is None


def test_an_odd_size_is_padded_and_compared_with_the_other_products() -> None:
    odd = run("odd", ODD_MM, "aten::mm", (2048, 3584), (3584, 5185), time_us=880.0)
    whole = run("whole", MM, "aten::mm", (2048, 3584), (3584, 5184), time_us=120.0)
    change = found_in(make_profile(kernels=[odd, whole]))["sizes"]
    assert change.title == "Pad 5,185 to 5,192"
    assert change.of_us == 880.0
    assert change.least_us == pytest.approx(760, rel=0.01)
    assert "align1" in change.why


def test_an_odd_size_alone_has_no_known_saving() -> None:
    odd = run("odd", ODD_MM, "aten::mm", (2048, 3584), (3584, 5185), time_us=880.0)
    change = found_in(make_profile(kernels=[odd]))["sizes"]
    assert (change.least_us, change.most_us) == (None, None)


def test_float32_products_without_matrix_units_could_use_tf32() -> None:
    product = run(
        "m",
        "ampere_sgemm_128x64_nn",
        "aten::mm",
        (4096, 4096),
        (4096, 4096),
        dtype="float",
        time_us=3000.0,
    )
    change = found_in(make_profile(kernels=[product]))["precision"]
    assert change.code == 'torch.set_float32_matmul_precision("high")'
    assert change.most_us is not None
    assert change.most_us < change.of_us
    assert change.least_us is None


def test_tf32_saves_no_time_of_reading_weights() -> None:
    """What L2 cannot hold of 67 MB takes 9 µs, however fast the matrix units are."""
    shapes, name = ((4096, 4096), (4096, 16)), "ampere_sgemm_128x64_nn"
    product = run("m", name, "aten::mm", *shapes, dtype="float", time_us=30.0)
    change = found_in(make_profile(kernels=[product]))["precision"]
    assert change.most_us == pytest.approx(30 - 9, abs=0.1)


def test_attention_by_hand_is_found_around_its_softmax() -> None:
    scores = run("qk", MM, "aten::bmm", (64, 512, 64), (64, 64, 512))
    softmax = run("s", SOFTMAX, "aten::_softmax", (64, 512, 512))
    values = run("sv", MM, "aten::bmm", (64, 512, 512), (64, 512, 64))
    change = found_in(make_profile(kernels=[scores, softmax, values]))["attention"]
    assert change.kernels == ("qk", "s", "sv")
    assert change.of_us == 30.0
    alone = make_profile(kernels=[softmax, values])
    assert "attention" not in found_in(alone)


def test_products_of_few_rows_read_weights_alone() -> None:
    small = run("m", MM, "aten::mm", (4, 4096), (4096, 4096), time_us=12.0)
    change = found_in(make_profile(kernels=[small]))["small batch"]
    assert change.title == "Process more than 4 rows at a time"
    assert change.most_us is None


def test_a_wait_is_advised_once_for_each_line() -> None:
    gaps = [
        Gap(start_us=at, duration_us=100.0, cause="synchronisation", line=line)
        for at, line in ((10.0, "a.py:3"), (200.0, "b.py:7"), (400.0, "a.py:3"))
    ]
    profile = make_profile(kernels=[elementwise("a")], gaps=gaps)
    waits = [each for each in find_changes(profile, H100) if each.kind == "synchronisation"]
    assert [(each.line, each.of_us, each.gaps) for each in waits] == [
        ("a.py:3", 200.0, (0, 2)),
        ("b.py:7", 100.0, (1,)),
    ]
    assert all(each.least_us is None for each in waits)


def test_late_launches_ask_for_a_cuda_graph_unless_there_is_one() -> None:
    gaps = [Gap(start_us=10.0 * at, duration_us=5.0, cause="launch") for at in range(10)]
    launches = [LaunchTime(name="cudaLaunchKernel", calls=10, kernels=10)]
    profile = make_profile(kernels=[elementwise("a")], gaps=gaps, launches=launches)
    change = found_in(profile)["launches"]
    assert change.title == "Record a CUDA graph: 10 short gaps"
    assert (change.of_us, change.least_us, change.most_us) == (50.0, None, 50.0)
    replayed = [*launches, LaunchTime(name="cudaGraphLaunch", calls=1, kernels=9, is_graph=True)]
    profile = make_profile(kernels=[elementwise("a")], gaps=gaps, launches=replayed)
    assert "launches" not in found_in(profile)


@pytest.mark.parametrize("cause", ["launch", "synchronisation", "memcpy"])
def test_gaps_that_the_table_leaves_out_are_not_said_to_be_none(cause: str) -> None:
    gaps = [Gap(start_us=10.0 * at, duration_us=5.0, cause=cause) for at in range(10)]
    launches = [LaunchTime(name="cudaLaunchKernel", calls=10, kernels=10)]
    profile = make_profile(kernels=[elementwise("a")], gaps=gaps, launches=launches)
    profile = profile.with_tables(gaps=Table.of(Gap, gaps, omitted=7))
    (change,) = find_changes(profile, H100)
    assert "at least 10 " in f"{change.title} {change.why}".lower()


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("data loading", "data loading"),
        ("memcpy", "copies"),
        ("allocation", "allocation"),
        ("first launch", "first launch"),
        ("Python", "Python"),
        ("another process", "another process"),
    ],
)
def test_other_causes_have_a_cure_each(cause: str, kind: str) -> None:
    gap = Gap(duration_us=70.0, cause=cause)
    change = found_in(make_profile(kernels=[elementwise("a")], gaps=[gap]))[kind]
    assert change.of_us == 70.0
    assert change.code


@pytest.mark.parametrize(("other_us", "most_us"), [(400.0, 60.0), (40.0, 40.0)])
def test_collectives_are_hidden_by_no_more_than_there_is(other_us: float, most_us: float) -> None:
    kernel = run("n", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", time_us=60.0)
    times = [CollectiveTime(name="all_reduce", calls=1, time_us=60.0, exposed_us=60.0, kernel="n")]
    kernels = [kernel, elementwise("a", time_us=other_us)]
    change = found_in(make_profile(kernels=kernels, collectives=times))["collectives"]
    assert (change.of_us, change.most_us, change.kernels) == (60.0, most_us, ("n",))
    assert ("can still be overlapped" in change.why) == (most_us < 60.0)


def test_a_gap_counts_for_a_change_only_with_the_part_that_it_explains() -> None:
    parts = (("data loading", 900.0, "load.py:1"), ("synchronisation", 100.0, "model.py:5"))
    gap = Gap(duration_us=1_000.0, cause="data loading", parts=parts)
    found = found_in(make_profile(kernels=[elementwise("a")], gaps=[gap]))
    assert found["data loading"].of_us == 900.0
    assert (found["synchronisation"].most_us, found["synchronisation"].line) == (
        100.0,
        "model.py:5",
    )


def test_a_long_gap_is_not_closed_by_a_cuda_graph() -> None:
    gaps = [Gap(duration_us=29_000.0, cause="launch"), Gap(duration_us=900.0, cause="launch")]
    launches = [LaunchTime(name="cudaLaunchKernel", calls=10, kernels=10)]
    change = found_in(make_profile(kernels=[elementwise("a")], gaps=gaps, launches=launches))
    assert (change["launches"].of_us, change["launches"].gaps) == (900.0, (1,))


def test_a_gap_before_a_kernel_that_was_launched_in_time_is_no_late_launch() -> None:
    """As seen: 2.97 ms were promised to a CUDA graph, of which 1.23 ms waited for launches."""
    gaps = [
        *(Gap(start_us=10.0 * at, duration_us=3.0, cause="between kernels") for at in range(50)),
        Gap(start_us=600.0, duration_us=40.0, cause="launch"),
    ]
    launches = [LaunchTime(name="cudaLaunchKernel", calls=50, kernels=50)]
    found = found_in(make_profile(kernels=[elementwise("a")], gaps=gaps, launches=launches))
    change = found["launches"]
    assert (change.of_us, change.most_us, change.gaps) == (40.0, 40.0, (50,))
    found = found_in(make_profile(kernels=[elementwise("a")], gaps=gaps[:50], launches=launches))
    assert "launches" not in found


def all_reduce(us: float, bus_gbs: float, **more: Any) -> RunProfile:
    """A profile of one all-reduce of 16 MB after a kernel of 400 µs."""
    kernel = run("n", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", time_us=us, least_us=us)
    row = CollectiveTime("all_reduce", 1, us, us, bytes=16 * MB, bus_gbs=bus_gbs, kernel="n")
    collectives = [replace(row, **more)]
    return make_profile(kernels=[elementwise("a", time_us=400.0), kernel], collectives=collectives)


def test_slow_links_are_named() -> None:
    """As seen: an all-reduce of 17.6 MB at 3.56 GB/s, called time to overlap alone."""
    change = found_in(all_reduce(9_000.0, 3.56))["slow links"]
    assert change.title == "Find out why all_reduce reaches only 3.56 GB/s"
    assert (change.of_us, change.most_us) == (9_000.0, None)
    assert "slow links" not in found_in(all_reduce(90.0, 300.0))
    small = all_reduce(90.0, 0.5, bytes=4096)
    assert "slow links" not in found_in(small)  # bound by latency on any links


def test_slow_links_are_held_against_nccls_model_where_it_knows_them() -> None:
    change = found_in(all_reduce(1_000.0, 60.0, model_us=100.0))["slow links"]
    assert change.most_us == 900.0
    assert "NCCL's cost model expects 100 µs" in change.why
    assert "slow links" not in found_in(all_reduce(200.0, 300.0, model_us=100.0))


def test_collectives_beside_each_other_are_exposed_once() -> None:
    kernels = [run(id, "ncclDevKernel_AllReduce", "", time_us=60.0) for id in "nm"]
    times = [
        CollectiveTime(name="all_reduce", calls=1, time_us=60.0, exposed_us=60.0, kernel=id)
        for id in "nm"
    ]
    work = elementwise("a", time_us=400.0)
    events = [
        DeviceEvent("a", 0.0, 400.0, 0, 7),
        DeviceEvent("n", 400.0, 60.0, 0, 8),
        DeviceEvent("m", 400.0, 60.0, 0, 9),
    ]
    made = make_profile(kernels=[work, *kernels], collectives=times, events=events)
    header = replace(made.header, busy_us=460.0, total_us=460.0)
    assert found_in(RunProfile(header, made.tables))["collectives"].most_us == 60.0


def test_what_takes_next_to_nothing_is_left_out() -> None:
    long = run("m", MM, "aten::mm", (8192, 8192), (8192, 8192), time_us=10_000.0)
    gap = Gap(duration_us=10.0, cause="memcpy")
    assert found_in(make_profile(kernels=[long], gaps=[gap])) == {}


@pytest.mark.parametrize(("idle_us", "first"), [(100.0, "fusion"), (5_000.0, "synchronisation")])
def test_the_change_whose_range_lies_highest_comes_first(idle_us: float, first: str) -> None:
    chain = [elementwise("a", time_us=400.0), elementwise("b", time_us=400.0)]
    gap = Gap(duration_us=idle_us, cause="synchronisation", line="a.py:3")
    profile = make_profile(kernels=chain, gaps=[gap])
    changes = find_changes(profile, H100)
    assert changes[0].kind == first


def test_events_of_two_streams_are_no_chain() -> None:
    first, second = elementwise("a"), elementwise("b")
    one, other = follow([first, second])
    apart = [one, type(other)("b", other.start_us, other.duration_us, 0, 20)]
    assert "fusion" not in found_in(make_profile(kernels=[first, second], events=apart))


def test_what_may_save_much_comes_before_what_saves_little() -> None:
    scores = run("qk", MM, "aten::bmm", (64, 512, 64), (64, 64, 512), time_us=300.0)
    softmax = run("s", SOFTMAX, "aten::_softmax", (64, 512, 512), time_us=300.0)
    values = run("sv", MM, "aten::bmm", (64, 512, 512), (64, 512, 64), time_us=300.0)
    gap = Gap(duration_us=30.0, cause="memcpy")
    changes = find_changes(make_profile(kernels=[scores, softmax, values], gaps=[gap]), H100)
    assert [each.kind for each in changes] == ["attention", "copies"]
