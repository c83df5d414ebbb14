"""The bytes of one instruction are read of PTX and of AMD's assembly, by line and column."""

import pytest

from workbench.compiler.memory_layouts.laid_tensors import read_widths

PTX = """
	.file	1 "/home/user" "kernels.py"
	.loc	1 5 20
	// begin inline asm
	.loc	1 99 1
	{INSTRUCTION}
	// end inline asm
"""


@pytest.mark.parametrize(
    ("instruction", "kind", "width"),
    [
        ("@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];", "read", 16),
        ("ld.global.b16 { %rs1 }, [ %rd3 + 0 ];", "read", 2),
        (
            "@%p1 ld.global.L1::evict_last.L2::cache_hint.v2.b64 { %rd1, %rd2 }, [ %rd3 ];",
            "read",
            16,
        ),
        ("@%p3 st.global.v2.b32 [ %rd1 + 0 ], { %r1, %r2 };", "write", 8),
        ("@%p3 atom.global.gpu.acq_rel.add.u32 %r14, [ %rd12 + 0 ], %r15;", "atomic", 4),
        ("@%p3 red.relaxed.gpu.global.add.f32 [ %rd12 + 0 ], %r15;", "atomic", 4),
        ("@%p3 atom.global.gpu.acq_rel.add.noftz.f16x2 %r14, [ %rd12 ], %r15;", "atomic", 4),
        ("cp.async.cg.shared.global [ %r5 + 0 ], [ %rd1 + 0 ], 0x10, %r7;", "read", 16),
        ("cp.async.ca.shared.global [ %r5 + 0 ], [ %rd1 + 0 ], 4, %r7;", "read", 4),
    ],
)
def test_an_instruction_of_nvidia_says_its_bytes(instruction, kind, width):
    found = read_widths({"ptx": PTX.replace("{INSTRUCTION}", instruction)})

    assert found.find("kernels.py", 5, 21, kind) == (width,)


@pytest.mark.parametrize(
    ("instruction", "kind", "width"),
    [
        ("global_load_dwordx4 v[2:5], v[2:3], off", "read", 16),
        ("buffer_load_ushort v1, v2, s[0:3], 0 offen", "read", 2),
        ("global_load_b128 v[2:5], v[2:3], off", "read", 16),
        ("buffer_load_dwordx4 v1, s[0:3], 0 offen lds", "read", 16),
        ("global_load_lds_dwordx4 v[2:3], off", "read", 16),
        ("global_load_short_d16_hi v1, v[2:3], off", "read", 2),
        ("global_store_dwordx2 v[0:1], v[2:3], off", "write", 8),
        ("buffer_atomic_add_f32 v1, v2, s[0:3], 0 offen", "atomic", 4),
        ("global_atomic_add_x2 v[0:1], v[2:3], off", "atomic", 8),
    ],
)
def test_an_instruction_of_amd_says_its_bytes(instruction, kind, width):
    text = f'\t.file 1 "/home/user" "kernels.py"\n\t.loc 1 5 20\n\t.loc 1 0 3\n\t{instruction}\n'

    assert read_widths({"amdgcn": text}).find("/elsewhere/kernels.py", 5, 21, kind) == (width,)


def test_two_accesses_of_one_line_are_told_apart_by_their_columns():
    text = (
        '\t.file 1 "k.py"\n\t.loc 1 5 20\n\tld.global.b32 { %r1 }, [ %rd1 ];\n'
        "\t.loc 1 5 40\n\tld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 ];\n"
    )
    found = read_widths({"ptx": text})

    assert found.find("k.py", 5, 21, "read") == (4,)
    assert found.find("k.py", 5, 41, "read") == (16,)
    assert found.find("k.py", 5, 99, "read") == ()
    assert found.find("k.py", 6, 21, "read") == ()
