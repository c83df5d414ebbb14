from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.specs.opcodes import explain, explanations, opcodes_in
from workbench.specs.opcodes.opcode_words import find_undescribed

OCCURRING = json.loads(Path(__file__).with_name("occurring_opcodes.json").read_text())


@pytest.mark.parametrize("stage", OCCURRING)
def test_everything_that_occurs_in_the_cases_is_described(stage: str) -> None:
    assert [name for opcode in OCCURRING[stage] for name in find_undescribed(stage, opcode)] == []


def test_an_opcode_is_explained_by_its_parts() -> None:
    load = explain("ptx", "ld.global.v4.b32")
    assert load is not None
    assert load.text == "Loads from memory into registers."
    assert load.parts == (
        ("global", "global memory"),
        ("v4", "four values at once"),
        ("b32", "32 bits"),
    )
    assert "Parallel Thread Execution" in load.source
    product = explain("sass", "HMMA.16816.F32.BF16")
    assert product is not None
    assert product.parts[0] == ("16816", "16 × 8 results, each a sum of 16 products")
    wide = explain("sass", "LDG.E.128")
    assert wide is not None
    assert wide.parts == (("E", "64-bit address"), ("128", "128 bits per thread"))


def test_a_longer_opcode_wins_over_its_beginning() -> None:
    found = explain("ptx", "cp.async.commit_group")
    assert found is not None
    assert "group" in found.text
    assert found.parts == ()
    shifted = explain("amdgcn", "v_lshl_add_u32")
    assert shifted is not None
    assert shifted.text == "Shifts to the left and adds."


def test_an_unknown_opcode_has_no_explanation() -> None:
    assert explain("sass", "ZZZ.E") is None
    assert explain("cpp", "ld") is None
    assert find_undescribed("sass", "LDG.ZZ") == ["LDG ZZ"]


def test_what_stands_in_a_text_is_found_with_its_predicate() -> None:
    ptx = "\t@%p1 bra \t$L__BB0_2;\n\t@!%p2 ld.global.b32 %r1, [%rd1];\n\t{ mov.b32 %r1, 0; }\n"
    assert opcodes_in("ptx", ptx) == {"@", "bra", "@!", "ld.global.b32", "mov.b32"}
    sass = "        /*0120*/              @!P1 LDG.E.EF.128 R4, desc[UR4][R2.64] ;\n.L_x_0:"
    assert opcodes_in("sass", sass) == {"@!", "LDG.E.EF.128"}
    triton = '    %a = "tt.reduce"(%b) <{axis = 1 : i32}> ({\n      tt.reduce.return %c : f32'
    assert opcodes_in("ttir", triton) == {"tt.reduce", "tt.reduce.return"}
    llvm = "define void @f() {\n  %1 = tail call float @llvm.nvvm.fabs.ftz.f32(float %0)\n"
    assert opcodes_in("llir", llvm) == {"call", "llvm.nvvm.fabs.ftz.f32"}
    assert set(explanations("sass", sass)) == {"@!", "LDG.E.EF.128"}
