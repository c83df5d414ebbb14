"""What is read of the code that Triton's compiler returns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.compiler.machine_code.code_readers import CompiledConfig, code_of, read_texts

IR = """#loc1 = loc("k.py":3:4)
module {
  tt.func public @k() {
    ttg.barrier local loc(#loc1)
    tt.return loc(#loc1)
  } loc(#loc1)
}
"""


@pytest.mark.parametrize("name", ["ttgir", "glir"])
def test_the_ir_of_gluon_is_read_under_both_of_its_names(name: str) -> None:
    compiled = SimpleNamespace(asm={name: IR, "llir": "", "ptx": "", "cubin": b"code"})
    texts, binary = code_of(compiled)
    assert ([*texts], binary) == (["ttgir", "llir", "ptx"], b"code")
    code = read_texts(CompiledConfig("k", "k.py", "", "", 4, 3, 0, texts, binary), None)
    assert any("ttg.barrier" in line for line in code.listings["ttgir"].lines)


def test_where_gluon_has_a_stage_of_its_own_in_front_the_later_one_is_read() -> None:
    texts, _ = code_of(SimpleNamespace(asm={"glir": "as written", "ttgir": IR, "ptx": ""}))
    assert texts["ttgir"] == IR
