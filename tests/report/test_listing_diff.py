from __future__ import annotations

from workbench.report.listing_diff import compare

A = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/                   IADD3 R2, R0, 0x1, RZ ;
        /*0030*/                   EXIT ;"""
B = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   S2R R7, SR_TID.X ;
        /*0020*/                   IADD3 R9, R7, 0x1, RZ ;
        /*0030*/                   BAR.SYNC 0x0 ;
        /*0040*/                   EXIT ;"""


def shape(before: str, after: str, *, loose: bool = False) -> list[tuple[str, int, int]]:
    blocks = compare(before, after, loose=loose)
    return [(block.kind, len(block.before), len(block.after)) for block in blocks]


def test_addresses_and_blanks_do_not_count() -> None:
    moved = A.replace("/*0", "/*7").replace("MOV R1", "MOV  R1")
    assert shape(A, moved) == [("same", 4, 4)]


def test_places_in_the_source_do_not_count() -> None:
    ptx = '\t.file 1 "a.py"\n\t.loc\t1 24 28  // a.py:24:28\n\tret;'
    other = '\t.file 1 "b.py"\n\t.loc\t1 23 28  // b.py:23:28\n\tret;'
    assert shape(ptx, other) == [("same", 3, 3)]


def test_lines_are_the_same_changed_or_added() -> None:
    assert shape(A, B) == [("same", 1, 1), ("changed", 2, 3), ("same", 1, 1)]


def test_numbers_of_registers_may_be_left_out() -> None:
    assert shape(A, B, loose=True) == [("same", 3, 3), ("added", 0, 1), ("same", 1, 1)]
    ptx = "\tadd.s32 %r4, %r3, 1;\n$L__BB0_1:\n\tld.global.b32 %r5, [%rd2];"
    other = ptx.replace("%r4", "%r14").replace("%rd2", "%rd20").replace("BB0_1", "BB0_7")
    assert shape(ptx, other, loose=True) == [("same", 3, 3)]
    amd = "v_add_f32_e32 v1, v2, v3\ns_load_dwordx2 s[2:3], s[0:1], 0x0"
    assert shape(amd, amd.replace("v1", "v9").replace("s[2:3]", "s[4:5]"), loose=True) == [
        ("same", 2, 2)
    ]
    assert shape("LDG.E.64 R1", "LDG.E.32 R1", loose=True) == [("changed", 1, 1)]


def test_every_line_is_in_exactly_one_block() -> None:
    blocks = compare(A, B)
    assert [line for block in blocks for line in block.before] == list(range(4))
    assert [line for block in blocks for line in block.after] == list(range(5))
