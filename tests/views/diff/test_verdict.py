"""The first sentence of a difference judges it, or says that there is nothing to judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.diff.report_comparison import compare
from workbench.report import Break, Guard, Kernel, Outcome, Report, Request, Table, Wrapper
from workbench.views.diff.verdict import tell_verdict

MEGABYTE = 1 << 20


def make(
    kernels: int = 2, moved: int = MEGABYTE, guards: int = 0, breaks: int = 0, inputs: str = "x"
) -> Report:
    rows = [
        Kernel(f"k{n}", f"add_{n}", "cpp", "g0", bytes_read=moved, bytes_written=0)
        for n in range(kernels)
    ]
    checks = [Guard(f"q{n}", True, "EQUALS_MATCH", f"G['v{n}']") for n in range(guards)]
    places = [Break(f"b{n}", "m.py", n, "f", "x", "kind", None, "why", "") for n in range(breaks)]
    return Report(
        request=Request(name="f", inputs=(inputs,)),
        tables={
            "kernels": Table.of(Kernel, rows),
            "guards": Table.of(Guard, checks),
            "breaks": Table.of(Break, places),
        },
    )


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (
            make(4),
            make(2),
            "Better in b: kernels 4 → 2 and DRAM traffic 4.19 MB → 2.10 MB (−50 %).",
        ),
        (
            make(2, breaks=1),
            make(4, MEGABYTE // 4),
            "Better in b: graph breaks 1 → 0 and DRAM traffic 2.10 MB → 1.05 MB (−50 %); worse: "
            "kernels 2 → 4.",
        ),
        (make(guards=1), make(guards=3), "Worse in b: guards 1 → 3."),
        (make(2), make(2, inputs="y"), "Neither is better: the differences do not affect "),
        (make(2), make(1, inputs="y"), "Less in b: kernels 2 → 1 and DRAM traffic "),
        (make(), make(), "Only measured times may differ."),
        (
            Report(outcome=Outcome(False, "capture", "x")),
            make(),
            "b compiled; a failed in capture.",
        ),
    ],
)
def test_what_got_better_or_worse_comes_first(a: Report, b: Report, verdict: str) -> None:
    found = compare(a, b)
    assert tell_verdict(found).startswith(verdict)
    assert found.sentences[0] == tell_verdict(found)


def test_the_same_code_is_said_to_be_the_same() -> None:
    wrapper = Table.of(Wrapper, [Wrapper("w0", "g0", False, "t")])
    own = make()
    a = replace(own, tables={**own.tables, "wrappers": wrapper}, texts={"t": "def call(): ..."})
    b = replace(a, request=replace(a.request, options=(("max_fusion_size", "1"),)))
    assert compare(a, b).sentences[0] == "Both generate the same code."
