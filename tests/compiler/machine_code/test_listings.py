"""Where lines of assembly come from, in the forms in which compilers have written it."""

from __future__ import annotations

from workbench.compiler.machine_code.listings import assembler

INLINED_AT = """\
	.file 1 "/k" "kernel.py"
	.file 2 "/h" "helpers.py"
	.loc 1 41 12                         // kernel.py:41:12
	mov.u32 %r1, %tid.x;
	.loc 2 332 12, function_name $L0, inlined_at 1 41 12 // helpers.py:332:12
	shl.b32 %r2, %r1, 1;
	.loc 2 276 12, function_name $L0, inlined_at 2 332 12 // helpers.py:276:12
	add.s32 %r3, %r2, 1;
"""
IN_A_COMMENT = """\
	.file 1 "/k" "kernel.py"
	.file 2 "/h" "helpers.py"
	.loc 2 276 12 // helpers.py:276:12 @[ helpers.py:332:12 @[ kernel.py:41:12 ] ]
	add.s32 %r3, %r2, 1;
"""
INLINE_ASSEMBLY = """\
	.file 1 "/k" "kernel.py"
	.loc 1 34 12 // kernel.py:34:12
	// begin inline asm
	mov.u64 %rd2, 0x0;
	.loc 1 35 12 // kernel.py:35:12
	ld.global.b32 %r1, [ %rd1 ];
	// end inline asm
	.loc 1 40 12 // kernel.py:40:12
	ret;
"""


def lines_of(text: str, instruction: str) -> list[int]:
    listing = assembler(text)
    at = next(n for n, line in enumerate(listing.lines) if instruction in line)
    return [place.line for place in listing.chains[at]]


def test_calls_that_name_the_place_around_them() -> None:
    assert lines_of(INLINED_AT, "mov.u32") == [41]
    assert lines_of(INLINED_AT, "shl.b32") == [332, 41]
    assert lines_of(INLINED_AT, "add.s32") == [276, 332, 41]


def test_calls_in_a_comment() -> None:
    assert lines_of(IN_A_COMMENT, "add.s32") == [276, 332, 41]


def test_inline_assembly_comes_from_its_call() -> None:
    assert lines_of(INLINE_ASSEMBLY, "ld.global") == [34]
    assert lines_of(INLINE_ASSEMBLY, "ret") == [40]
