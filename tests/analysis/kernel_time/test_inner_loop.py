"""The loop around the matrix instructions, found in machine code."""

from __future__ import annotations

from workbench.analysis.kernel_time.inner_loop import InnerLoop, find_inner_loop

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


def test_an_instruction_that_never_runs_is_not_counted() -> None:
    """The listing in a record leaves it out; the same loop has one count in both texts."""
    never = "/*0018*/              @!PT LDS RZ, [RZ] ;\n        /*0020*/"
    assert find_inner_loop(HOPPER.replace("/*0020*/", never)) == find_inner_loop(HOPPER)


def test_only_registers_that_a_turn_stores_are_spilled() -> None:
    loads = "/*0021*/ LDL R5, [R1+0x8] ;\n/*0022*/ LDL.64 R6, [R1+0x10] ;\n.L_x_2:\n"
    outside = HOPPER.replace(".L_x_2:\n", "/*0011*/ STL [R1+0x8], R5 ;\n.L_x_2:\n")
    inside = (
        loads.replace(".L_x_2:\n", "/*0023*/ STL.64 [R1+0x10], R6 ;\n") + "/*0024*/ STL [R1], R4 ;"
    )
    reloads = find_inner_loop(outside.replace("/*0020*/", f"{loads[:-8]}/*0020*/"))
    stores = find_inner_loop(HOPPER.replace("/*0020*/", f"{inside}\n/*0020*/"))
    assert reloads
    assert (reloads.instructions, reloads.spilled) == (6, 0)
    assert stores
    assert (stores.instructions, stores.spilled) == (8, 3)


def test_amds_registers_of_several_values_are_counted_each() -> None:
    store = "\tscratch_store_dwordx4 off, v[0:3], s33 offset:16\n\ts_cbranch_scc1"
    found = find_inner_loop(AMD.replace("\ts_cbranch_scc1", store))
    assert found
    assert found.spilled == 4
