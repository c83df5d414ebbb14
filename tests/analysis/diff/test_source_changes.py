from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diffs import diff
from workbench.analysis.diff.source_changes import canonical, compare_source_blocks
from workbench.errors import UsageError
from workbench.report import Table
from workbench.report.machine_rows import Assembly
from workbench.report.texts import TextWriter

FUSED = """def triton_poi_fused_add_0(in_ptr0, out_ptr0):
    tmp0 = tl.load(in_ptr0)
    tmp1 = tmp0 + tmp0
    tl.store(out_ptr0, tmp1)"""


def test_numbers_of_names_do_not_count() -> None:
    other = FUSED.replace("_0(", "_7(").replace("tmp1", "tmp5").replace("tmp0", "tmp3")
    assert canonical(FUSED) == canonical(other)
    assert [block.kind for block in compare_source_blocks(FUSED, other)] == ["same"]


def test_one_line_more_leaves_the_lines_behind_it_the_same() -> None:
    other = """def triton_poi_fused_add_0(in_ptr0, out_ptr0):
    tmp0 = tl.load(in_ptr0)
    tmp1 = tl.abs(tmp0)
    tmp2 = tmp1 + tmp1
    tl.store(out_ptr0, tmp2)"""
    kinds = [
        (block.kind, block.before, block.after) for block in compare_source_blocks(FUSED, other)
    ]
    assert kinds == [
        ("same", range(0, 2), range(0, 2)),
        ("added", range(2, 2), range(2, 3)),
        ("same", range(2, 4), range(3, 5)),
    ]


def test_the_same_lines_tied_in_another_way_differ() -> None:
    a = "tmp0 = x\ntmp1 = y\ntmp2 = tmp0 - tmp1"
    b = "tmp0 = x\ntmp1 = y\ntmp2 = tmp1 - tmp0"
    assert [block.kind for block in compare_source_blocks(a, b)] == ["same", "changed"]


def test_the_condition_of_a_loop_is_no_comment() -> None:
    a = "for(int64_t x0=0; x0<256L; x0+=1)"
    assert compare_source_blocks(a, a.replace("256L", "ks0"))[0].kind == "changed"


def test_the_number_of_a_size_counts_where_more_than_numbers_differs() -> None:
    a = "f(ks0, ks1)\ntmp0 = x % ks0\ntmp1 = y % ks1\ntmp2 = tmp0"
    b = "f(ks0, ks1)\ntmp0 = x % ks1\ntmp1 = y % ks1\ntmp3 = abs(tmp0)"
    assert [block.kind for block in compare_source_blocks(a, b)] == [
        "same",
        "changed",
        "same",
        "changed",
    ]
    renumbered = a.replace("ks1", "ks2")
    assert [block.kind for block in compare_source_blocks(a, renumbered)] == ["same"]


def test_a_size_that_became_dynamic_is_seen_in_the_source() -> None:
    text = diff("static", "dynamic").source("k2").unified()
    assert "+                       const int64_t ks0," in text
    assert "k2 of static" in text
    assert "k2 of dynamic" in text


def test_the_dictionary_of_a_decorator_has_an_entry_on_each_line() -> None:
    lines = diff("h100", "apart").source("k0").before.split("\n")
    at = next(n for n, line in enumerate(lines) if line.strip() == "triton_meta={")
    assert lines[at + 1].strip().startswith("'signature': {")
    assert lines[at + 2].strip().startswith("'device': DeviceProperties(")


def test_a_kernel_is_found_by_its_name_and_on_either_side() -> None:
    found = diff("static", "train")
    assert found.source("cpp_fused_gelu_view_1").a == "k2 of static"
    assert found.source("k8").before == ""  # only the training step has it


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("k77", "Kernel 'k77' does not exist; a has k0, k1"),
        ("k1", "has no source: it is a library call"),
    ],
)
def test_what_has_no_source_is_refused(kernel: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        diff("static", "dynamic").source(kernel)


def test_machine_code_is_that_of_the_first_configuration() -> None:
    found = diff("h100", "h100")
    with pytest.raises(UsageError, match="of k0 is not in both reports; they share no stage"):
        found.machine_code("k0")
    writer = TextWriter()
    rows = [Assembly("k0", "k0:c0", "ptx", writer.add("mov.u32 %r1, %tid.x;\nret;"))]
    own = replace(found.a, tables={**found.a.tables, "assembly": Table.of(Assembly, rows)})
    both = replace(own, texts=writer.finish())
    code = replace(found, a=both, b=both).machine_code("k0")
    assert (code.stage, code.changed) == ("ptx", 0)
    with pytest.raises(UsageError, match="sass of k0 is not in both reports; choose one of: ptx"):
        replace(found, a=both, b=both).machine_code("k0", "sass")
