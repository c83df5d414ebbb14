from __future__ import annotations

from workbench.report.side_by_side import Difference

A = "MOV R1 ;\nS2R R0 ;\nIADD3 R2 ;\nFADD R3 ;\nEXIT ;"
B = "MOV R1 ;\nS2R R7 ;\nIADD3 R2 ;\nFADD R3 ;\nBAR ;\nEXIT ;"


def difference() -> Difference:
    return Difference("k0", "sass", "a100", "h100", A, B)


def test_rows_stand_beside_each_other() -> None:
    rows = [(r.kind, r.before_line, r.after_line, r.after) for r in difference().rows]
    assert rows == [
        ("same", 1, 1, "MOV R1 ;"),
        ("changed", 2, 2, "S2R R7 ;"),
        ("same", 3, 3, "IADD3 R2 ;"),
        ("same", 4, 4, "FADD R3 ;"),
        ("added", None, 5, "BAR ;"),
        ("same", 5, 6, "EXIT ;"),
    ]
    assert difference().changed == 2


def test_unified_as_diff_writes_it() -> None:
    assert difference().unified(context=1).split("\n") == [
        "--- k0 sass a100",
        "+++ k0 sass h100",
        "@@ -1,5 +1,6 @@",
        " MOV R1 ;",
        "-S2R R0 ;",
        "+S2R R7 ;",
        " IADD3 R2 ;",
        " FADD R3 ;",
        "+BAR ;",
        " EXIT ;",
    ]
    far = difference().unified(context=0).split("\n")
    assert [line for line in far if line.startswith("@@")] == [
        "@@ -2,1 +2,1 @@",
        "@@ -0,0 +5,1 @@",
    ]


def test_equal_listings_have_no_difference() -> None:
    same = Difference("k0", "ptx", "a100", "l4", A, A)
    assert (same.changed, same.unified().count("\n")) == (0, 1)
    assert repr(same) == "k0, ptx: a100 and l4, 0 rows differ\n  …"
