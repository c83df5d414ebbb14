from __future__ import annotations

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from workbench.compiler.numerics.comparisons.batch_rows import Batch


def attention_of(x, w):
    return torch.softmax(x @ w, -1)


def scaled(x):
    return x * 2 + 1


X, W = cases.draw(8, 64), cases.draw(64, 100, seed=1)
ROWS = {"x": {0: torch.export.Dim("rows", min=1, max=64)}}


def test_a_row_is_put_into_other_company() -> None:
    batch = Batch((X, W), {"more": X}, 8, 3)
    places = dict(batch.list_cases())
    assert places["alone"] == (3,)
    assert places["zeros before it"] == (*[None] * 7, 3)
    assert len(places["half of the batch"]) == 4
    assert 3 in places["half of the batch"]
    (x, w), named = batch.select(places["zeros behind it"])
    assert torch.equal(x[0], X[3])
    assert not x[1:].any()
    assert w is W  # no batch
    assert torch.equal(named["more"], x)


def test_what_computes_each_element_by_itself_is_invariant() -> None:
    found = wb.numerics(wb.aot_compile(scaled, (X,), grad=False, dynamic_shapes=ROWS), (X,))
    answer = found.batch_invariance(3)
    assert answer.is_invariant is True
    assert answer.sentence == (
        "Row 3 is the same bit for bit alone, zeros behind it, zeros before it, half of the batch."
    )
    assert list(answer.frame().equal) == [True] * 4
    assert repr(answer) == "BatchInvariance(row 3: invariant)"


def test_the_first_kernel_that_gives_a_row_another_value_is_named(monkeypatch) -> None:
    from torch._inductor.select_algorithm import extern_kernels

    args = (X, W)
    compiled = wb.aot_compile(
        attention_of, args, grad=False, dynamic_shapes={**ROWS, "w": None}
    )  # fmt: skip
    found = wb.numerics(compiled, args)

    def by_rows(a, b, *, out):  # as a library does that splits one row otherwise
        torch.mm(a, b, out=out)
        if a.shape[0] == 1:
            half = a.shape[1] // 2
            out.copy_(a[:, :half] @ b[:half] + a[:, half:] @ b[half:])

    monkeypatch.setattr(extern_kernels, "mm", by_rows)
    answer = found.batch_invariance(3)
    assert answer.is_invariant is False
    row = answer.rows[0]
    assert (row.case, row.kernel, row.node, row.equal) == ("alone", "k0", "mm", False)
    assert row.reason.startswith("the library takes another kernel")
    assert row.differ > 0
    assert "Row 3 alone, of 1 row, is another one from k0 (extern_kernels.mm, mm) on" in (
        answer.sentence
    )


def test_a_batch_of_one_size_is_only_compared_with_others_of_that_size() -> None:
    found = wb.numerics(wb.aot_compile(scaled, (X,), grad=False), (X,))
    answer = found.batch_invariance()
    by_case = {row.case: row.equal for row in answer.rows}
    assert by_case == {
        "alone": None, "zeros behind it": True, "zeros before it": True, "half of the batch": None
    }  # fmt: skip
    assert answer.is_invariant is None
    assert (
        "Not checked alone, half of the batch: the code that was compiled for 8 rows does not"
        in (answer.sentence)
    )
    with pytest.raises(wb.UsageError, match="There is no row 8: the batch has 8"):
        found.batch_invariance(8)
