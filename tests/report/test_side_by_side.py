from __future__ import annotations

from workbench.report.side_by_side import Difference, compare

A = "MOV R1 ;\nS2R R0 ;\nIADD3 R2 ;\nFADD R3 ;\nEXIT ;"
B = "MOV R1 ;\nS2R R7 ;\nIADD3 R2 ;\nFADD R3 ;\nBAR ;\nEXIT ;"
BEFORE = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/                   IADD3 R2, R0, 0x1, RZ ;
        /*0030*/                   EXIT ;"""
AFTER = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   S2R R7, SR_TID.X ;
        /*0020*/                   IADD3 R9, R7, 0x1, RZ ;
        /*0030*/                   BAR.SYNC 0x0 ;
        /*0040*/                   EXIT ;"""


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


def shape(before: str, after: str, *, loose: bool = False) -> list[tuple[str, int, int]]:
    blocks = compare(before, after, loose=loose)
    return [(block.kind, len(block.before), len(block.after)) for block in blocks]


def test_addresses_and_blanks_do_not_count() -> None:
    moved = BEFORE.replace("/*0", "/*7").replace("MOV R1", "MOV  R1")
    assert shape(BEFORE, moved) == [("same", 4, 4)]


def test_places_in_the_source_do_not_count() -> None:
    ptx = '\t.file 1 "a.py"\n\t.loc\t1 24 28  // a.py:24:28\n\tret;'
    other = '\t.file 1 "b.py"\n\t.loc\t1 23 28  // b.py:23:28\n\tret;'
    assert shape(ptx, other) == [("same", 3, 3)]


def test_lines_are_the_same_changed_or_added() -> None:
    assert shape(BEFORE, AFTER) == [("same", 1, 1), ("changed", 2, 3), ("same", 1, 1)]


def test_numbers_of_registers_may_be_left_out() -> None:
    assert shape(BEFORE, AFTER, loose=True) == [("same", 3, 3), ("added", 0, 1), ("same", 1, 1)]
    ptx = "\tadd.s32 %r4, %r3, 1;\n$L__BB0_1:\n\tld.global.b32 %r5, [%rd2];"
    other = ptx.replace("%r4", "%r14").replace("%rd2", "%rd20").replace("BB0_1", "BB0_7")
    assert shape(ptx, other, loose=True) == [("same", 3, 3)]
    amd = "v_add_f32_e32 v1, v2, v3\ns_load_dwordx2 s[2:3], s[0:1], 0x0"
    assert shape(amd, amd.replace("v1", "v9").replace("s[2:3]", "s[4:5]"), loose=True) == [
        ("same", 2, 2)
    ]
    assert shape("LDG.E.64 R1", "LDG.E.32 R1", loose=True) == [("changed", 1, 1)]


def test_every_line_is_in_exactly_one_block() -> None:
    blocks = compare(BEFORE, AFTER)
    assert [line for block in blocks for line in block.before] == list(range(4))
    assert [line for block in blocks for line in block.after] == list(range(5))
