"""The loop around the matrix instructions, found in machine code."""

from __future__ import annotations

from workbench.analysis.product_configs.inner_loop import InnerLoop, find_inner_loop

HOPPER = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E R7, desc[UR4][R2.64] ;
.L_x_2:
        /*0020*/                   LDS.128 R8, [R3] ;
        /*0030*/                   F2FP.F16.E4M3.UNPACK_B R9, R8 ;
        /*0040*/              @!P1 QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24, gsb0 ;
        /*0050*/               @P0 BRA `(.L_x_2) ;
        /*0060*/               @P1 BRA `(.L_x_1) ;
.L_x_3:
        /*0070*/                   BRA `(.L_x_3);
"""
AMD = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.LBB0_2:
	global_load_dwordx4 v[0:3], v[4:5], off
	ds_read_b128 v[8:11], v7
	v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3]
	s_cbranch_scc1 .LBB0_2
	s_endpgm
"""


def test_the_innermost_loop_with_all_matrix_instructions_is_counted() -> None:
    assert find_inner_loop(HOPPER) == InnerLoop(
        instructions=4, way="warp group", conversions=1, global_loads=0, shared=1
    )


def test_amd_assembly_is_read_too() -> None:
    assert find_inner_loop(AMD) == InnerLoop(
        instructions=4, way="wave", conversions=0, global_loads=1, shared=1
    )


def test_code_without_matrix_instructions_has_none() -> None:
    assert find_inner_loop(HOPPER.replace("QGMMA", "FFMA")) is None
    assert find_inner_loop("") is None
