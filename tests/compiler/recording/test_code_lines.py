"""Matching generated text with what generated it."""

from __future__ import annotations

from workbench.compiler.recording.code_lines import Body, map_nodes_by_line

TRITON = """@triton.jit
def triton_(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = libdevice.sin(tmp0)
    tl.store(out_ptr0 + (x0), tmp1, xmask)"""


def triton_body(*names: str) -> Body:
    body = Body([], {name: {f"node_{name}": None} for name in names})
    body.stores = {"tmp1": ["stored"]}
    return body


def test_a_triton_program_by_its_variables() -> None:
    found = map_nodes_by_line(TRITON, [triton_body("tmp0", "tmp1")])
    assert found == {4: ("node_tmp0",), 5: ("node_tmp1",), 6: ("stored",)}


def test_nothing_where_two_objects_could_have_written_it() -> None:
    assert map_nodes_by_line(TRITON, [triton_body("tmp0", "tmp1"), triton_body("tmp0")]) != {}
    assert (
        map_nodes_by_line(TRITON, [triton_body("tmp0", "tmp1"), triton_body("tmp0", "tmp1")]) == {}
    )


CPP = """extern "C" void kernel()
{
    {
        float tmp_acc0 = 0;
        for(;;)
        {
            auto tmp0 = in_ptr0[0];
            tmp_acc0 = tmp_acc0 + tmp0;
        }
        out_ptr0[0] = tmp_acc0;
    }
    {
        float tmp_acc0 = 0;
        for(;;)
        {
            auto tmp0 = in_ptr0[0];
            tmp_acc0 = tmp_acc0 * tmp0;
        }
    }
}"""


def cpp_body(combine: str, name: str) -> Body:
    blocks = [
        [("auto tmp0 = in_ptr0[0];", False)],
        [(f"tmp_acc0 = tmp_acc0 {combine} tmp0;", False), ("out_ptr9[0] = tmp0;", True)],
    ]
    return Body(blocks, {"tmp0": {f"load_{name}": None}, "tmp_acc0": {name: None}})


def test_each_loop_nest_has_its_own_variables() -> None:
    discarded = cpp_body("-", "never")
    found = map_nodes_by_line(CPP, [discarded, cpp_body("+", "sum"), cpp_body("*", "prod")])
    assert found[7] == ("load_sum",)
    assert found[15 + 1] == ("load_prod",)
    assert found[4] == found[8] == found[10] == ("sum",)
    assert found[13] == found[17] == ("prod",)
    assert set(found) == {4, 7, 8, 10, 13, 16, 17}
