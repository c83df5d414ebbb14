from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diffs import diff, recorded, rows
from workbench.analysis.diff.difference import get_label
from workbench.analysis.diff.report_comparison import compare
from workbench.report import Kernel, Report, Table


def relations(a: str, b: str) -> list[tuple[str, str, str]]:
    return [(",".join(m.a), ",".join(m.b), m.relation) for m in diff(a, b).kernels]


def test_a_compilation_made_again_has_the_same_kernels() -> None:
    found = diff("static", "again")
    assert found.is_same
    assert {match.relation for match in found.kernels} == {"same"}
    assert {match.alike for match in found.kernels} == {1.0}


def test_kernels_of_static_and_dynamic_sizes_are_pairs() -> None:
    found = diff("static", "dynamic")
    assert relations("static", "dynamic") == [
        ("k0", "k0", "changed"),
        ("k1", "k1", "same"),
        ("k2", "k2", "changed"),
        ("k3", "k3", "same"),
        ("k4", "k4", "changed"),
    ]
    assert {m.why[1] for m in found.kernels if m.why} == {"sizes became arguments"}
    assert found.kernels[2].lines == 5
    back = diff("dynamic", "static")
    assert {m.why[1] for m in back.kernels if m.why} == {"sizes became constants"}


def test_what_fusion_did_not_put_together_is_a_split() -> None:
    assert relations("h100", "apart") == [
        ("k0", "k0,k1,k2", "split"),
        ("k1", "k3", "same"),
        ("k2", "k4", "same"),
        ("k3", "k5", "same"),
        ("k4", "k6,k7,k8", "split"),
    ]
    assert [relation for *_, relation in relations("apart", "h100")].count("merged") == 2


def test_kernels_that_compute_the_same_node_twice_stay_pairs() -> None:
    assert {relation for *_, relation in relations("apart", "apart")} == {"same"}


def test_kernels_of_another_target_are_found_by_what_was_captured() -> None:
    found = {(a, b): relation for a, b, relation in relations("static", "h100")}
    assert set(found) == {(f"k{n}", f"k{n}") for n in range(5)}
    why = {match.why for match in diff("static", "h100").kernels}
    assert why == {("cpp became triton",), ("addmm became mm",)}


def test_backward_kernels_are_new_where_only_one_of_them_trains() -> None:
    found = relations("static", "train")
    assert [a for a, _, _ in found[:5]] == ["k0", "k1", "k2", "k3", "k4"]
    assert {relation for a, _, relation in found if not a} == {"added"}
    assert len(rows(diff("static", "train"), "kernels")) == 9


def test_without_graphs_kernels_are_paired_by_their_names() -> None:
    def bare(*names: str) -> Report:
        kernels = [Kernel(f"k{n}", name, "cpp", "i0") for n, name in enumerate(names)]
        return Report(tables={"kernels": Table.of(Kernel, kernels)})

    a = bare("cpp_fused_add_0", "cpp_fused_mul_1")
    b = bare("cpp_fused_mul_0", "cpp_fused_add_1", "cpp_fused_neg_2")
    found = [(m.a, m.b, m.relation) for m in compare(a, b).kernels]
    assert found == [
        (("k0",), ("k1",), "same"),
        (("k1",), ("k0",), "same"),
        ((), ("k2",), "added"),
    ]


def test_a_source_that_is_shared_by_more_calls_is_no_fusion() -> None:
    from workbench.analysis.diff.kernel_matching import match_kernels
    from workbench.analysis.diff.schedule import Tokens

    def side(*kernels: Kernel) -> tuple[Report, dict[str, Tokens]]:
        own = {k.id: frozenset(k.nodes) for k in kernels}
        nothing = frozenset[str]()
        found = {id: Tokens(nothing, nodes, nodes, nodes, nothing) for id, nodes in own.items()}
        return Report(tables={"kernels": Table.of(Kernel, kernels)}), found

    a, of_a = side(
        Kernel("k0", "cpp_fused_add_0", "cpp", "i0", nodes=("n0",)),
        Kernel("k1", "cpp_fused_add_1", "cpp", "i0", nodes=("n1",)),
    )
    b, of_b = side(Kernel("k0", "cpp_fused_add_0", "cpp", "i0", nodes=("n0", "n1"), calls=2))
    (match,) = match_kernels(a, b, (of_a, of_b))
    assert match.relation == "regrouped"
    assert match.why == ("2 calls in both; 2 sources in a, 1 in b",)


def test_redacted_reports_can_be_compared() -> None:
    from workbench.views.pages.redaction import redact

    a, b = redact(recorded("static"))[0], redact(recorded("dynamic"))[0]
    found = compare(a, b)
    assert [match.relation for match in found.kernels] == ["same"] * 5
    assert len(rows(found, "nodes")) == len(rows(diff("static", "dynamic"), "nodes"))


def test_a_source_on_one_side_only_is_a_difference() -> None:
    a = recorded("static")
    kernels = [replace(kernel, text=None) for kernel in a.kernels]
    b = replace(a, tables={**a.tables, "kernels": Table.of(Kernel, kernels)})
    assert compare(a, b).kernels[0].why == ("its source is not in b",)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("triton_per_fused__softmax_add_12", "softmax_add"),
        ("cpp_fused_gelu_view_1", "gelu_view"),
        ("extern_kernels.addmm", "addmm"),
        ("torch.ops.aten.topk.default", "topk.default"),
    ],
)
def test_labels_have_no_numbers(name: str, label: str) -> None:
    assert get_label(Kernel("k0", name, "cpp", "i0")) == label
