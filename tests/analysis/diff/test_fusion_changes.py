"""Which pairs two compilations fused differently, and why."""

from __future__ import annotations

from dataclasses import replace

from tests.diffs import diff, recorded, rows
from workbench.analysis.diff.report_comparison import compare
from workbench.report import FusionPair, Table


def test_what_is_no_longer_fused_has_the_reason_of_the_scheduler() -> None:
    changes = rows(diff("h100", "apart"), "fusion")
    assert {c.change for c in changes} == {"apart"}
    assert changes[0].item == "k0 (native_layer_norm) and k1 (native_layer_norm)"
    assert changes[0].a == "together in k0 (native_layer_norm)"
    assert changes[0].b == "exceeds max fusion"
    assert (changes[0].id_a, changes[0].id_b) == ("k0", "k0,k1")


def test_what_is_fused_now_has_the_reason_why_it_was_not() -> None:
    changes = rows(diff("apart", "h100"), "fusion")
    assert {c.change for c in changes} == {"fused"}
    assert {c.a for c in changes} == {"exceeds max fusion"}


def test_another_reason_is_a_difference_another_number_in_it_is_not() -> None:
    a = recorded("static")

    def because(reason: str) -> list[str]:
        pairs = [replace(p, reason=reason) if p.verdict == "rejected" else p for p in a.fusion]
        b = replace(a, tables={**a.tables, "fusion": Table.of(FusionPair, pairs)})
        return [change.change for change in rows(compare(a, b), "fusion")]

    (known,) = {p.reason for p in a.fusion if p.verdict == "rejected" and p.a == "op0"}
    assert because(known.replace("node1", "node7")) == []
    assert because("the backend does not want it") == ["reason"]
