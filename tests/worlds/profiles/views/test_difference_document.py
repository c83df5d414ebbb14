from __future__ import annotations

from tests.made_profile import make_profile, run
from workbench.views.static_html.render import summarize, write_page
from workbench.worlds.profiles.matches.profile_difference import ProfileDiff, compare_profiles
from workbench.worlds.profiles.rows.profile_rows import RanKernel
from workbench.worlds.profiles.views.difference_document import document_of_two
from workbench.worlds.profiles.views.profile_page import build_blocks_of_two


def made() -> ProfileDiff:
    def add(us: float, name: str = "add") -> object:
        return run("k0", name, "aten::add", (8,), time_us=us, module="Model.Norm")

    def mm(us: float) -> object:
        return run("k1", "gemm", "aten::mm", (8, 8), time_us=us, module="Model.Head")

    a = make_profile(kernels=[add(10.0), mm(40.0)])
    return compare_profiles(a, make_profile(kernels=[add(30.0, "other_add")]))


def test_times_share_one_scale_and_changes_another() -> None:
    shown = document_of_two(made())
    rows = {row["operator"]: row for table in shown["tables"][1:2] for row in table["rows"]}
    add, mm = rows["aten::add"], rows["aten::mm"]
    assert (add["a_part"], add["b_part"], add["change_part"]) == (0.25, 0.75, 0.5)
    assert (mm["a_part"], mm["b_part"], mm["change_part"]) == (1.0, 0.0, -1.0)
    assert mm["b_us"] is None  # it did not run: that is no time of 0


def test_a_row_is_tied_to_its_module_each_way_and_says_its_kernels() -> None:
    shown = document_of_two(made())
    modules = [row["shown"] for row in shown["tables"][0]["rows"]]
    operators = [row["operator"] for row in shown["tables"][1]["rows"]]
    norm, add = (
        f"modules:{modules.index('Model.Norm')}",
        f"operators:{operators.index('aten::add')}",
    )
    assert norm in shown["ties"][add]
    assert add in shown["ties"][norm]
    assert shown["cards"][add]["full"] == "a: add\nb: other_add"
    head = shown["cards"][f"modules:{modules.index('Model.Head')}"]
    assert ("Difference", "−40.0 µs: only in a") in head["facts"]


def test_a_page_and_what_a_notebook_keeps_have_the_sentence_and_the_tables() -> None:
    difference = made()
    shown = build_blocks_of_two(difference)
    for html in (write_page(shown), summarize(shown)):
        assert "Not interleaved, so no verdict." in html
        assert "aten::add" in html
    assert len(summarize(shown)) <= 10_000


def test_sizes_of_a_list_of_tensors_are_those_of_each() -> None:
    def cat(us: float) -> RanKernel:
        return run(
            "k0", "cat", "aten::cat", ((8, 4), (8, 2)), time_us=us, module="Model.Block.Join"
        )

    difference = compare_profiles(
        make_profile(kernels=[cat(1.0)]), make_profile(kernels=[cat(2.0)])
    )

    (row,) = document_of_two(difference)["tables"][1]["rows"]
    assert row["sizes"] == "8 × 4, 8 × 2"
    assert row["class_name"] == "Join", "its end tells modules apart"
