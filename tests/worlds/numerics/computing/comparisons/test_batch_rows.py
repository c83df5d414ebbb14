from __future__ import annotations

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from workbench.compiler.sizes.dims import Dynamic
from workbench.worlds.numerics.computing.comparisons.batch_rows import Batch, find_batch


def attention_of(x, w):
    return torch.softmax(x @ w, -1)


def scaled(x):
    return x * 2 + 1


X, W = cases.draw(8, 64), cases.draw(64, 100, seed=1)
ROWS = {"x": {0: torch.export.Dim("rows", min=1, max=64)}}


def test_a_row_is_put_into_other_company() -> None:
    batch = Batch((X, W), {"more": X}, 8, 3, (True, False, True))
    places = dict(batch.list_cases())
    assert places["alone"] == (3,)
    assert places["with zeros before it"] == (*[None] * 7, 3)
    assert len(places["in half of the batch"]) == 4
    assert 3 in places["in half of the batch"]
    (x, w), named = batch.select(places["with zeros behind it"])
    assert torch.equal(x[0], X[3])
    assert not x[1:].any()
    assert w is W  # no batch
    assert torch.equal(named["more"], x)


def test_what_computes_each_element_by_itself_is_invariant() -> None:
    found = wb.numerics(wb.aot_compile(scaled, (X,), grad=False, dynamic_shapes=ROWS), (X,))
    answer = found.batch_invariance(3)
    assert answer.is_invariant is True
    assert answer.sentence == (
        "Row 3 is bitwise equal alone, with zeros behind it, with zeros before it "
        "and in half of the batch."
    )
    assert list(answer.frame().equal) == [True] * 4
    assert repr(answer) == "BatchInvariance(row 3: invariant)"


def test_the_first_kernel_that_gives_a_row_another_value_is_named(monkeypatch) -> None:
    from torch._inductor.select_algorithm import extern_kernels

    args = (X, W)
    compiled = wb.aot_compile(attention_of, args, grad=False, dynamic_shapes={**ROWS, "w": None})
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
    assert row.reason.startswith("the library uses a different kernel")
    assert row.differ > 0
    assert "Row 3 alone (1 row) first differs at k0 (extern_kernels.mm, mm): " in answer.sentence


def test_a_batch_of_one_size_is_only_compared_with_others_of_that_size() -> None:
    found = wb.numerics(wb.aot_compile(scaled, (X,), grad=False), (X,))
    answer = found.batch_invariance()
    by_case = {row.case: row.equal for row in answer.rows}
    assert by_case == {
        "alone": None,
        "with zeros behind it": True,
        "with zeros before it": True,
        "in half of the batch": None,
    }
    assert answer.is_invariant is None
    assert (
        "Not checked alone and in half of the batch: the code for 8 rows accepts no other batch"
        in (answer.sentence)
    )
    with pytest.raises(wb.UsageError, match="Row 8 does not exist: the batch has 8"):
        found.batch_invariance(8)


def test_the_forward_of_a_training_step_is_compared() -> None:
    x = cases.draw(4, 8).requires_grad_()
    found = wb.numerics(wb.aot_compile(scaled, (x,), grad=True), (x,))
    by_case = {row.case: row.equal for row in found.batch_invariance().rows}
    assert by_case["with zeros behind it"] is by_case["with zeros before it"] is True


def test_a_tensor_that_is_given_twice_stays_one() -> None:
    x = cases.draw(4, 8)
    found = wb.numerics(wb.aot_compile(lambda a, b: a.exp() + b, (x, x), grad=False), (x, x))
    assert [row.equal for row in found.batch_invariance().rows][1:3] == [True, True]


def test_where_nothing_can_be_said_of_a_row_it_is_refused() -> None:
    found = wb.numerics(wb.aot_compile(scaled, (X[:1],), grad=False), (X[:1],))
    with pytest.raises(wb.UsageError, match="The batch has 1 row: pass at least 2"):
        found.batch_invariance()
    drawn = wb.aot_compile(lambda x: torch.nn.functional.dropout(x, 0.5), (X,), grad=False)
    with pytest.raises(wb.UsageError, match="draws different random numbers for each row"):
        wb.numerics(drawn, (X,)).batch_invariance()


def test_a_row_at_another_place_is_not_laid_to_the_number_of_rows(monkeypatch) -> None:
    from torch._inductor.select_algorithm import extern_kernels

    found = wb.numerics(wb.aot_compile(attention_of, (X, W), grad=False), (X, W))

    def by_place(a, b, *, out):
        torch.mm(a, b, out=out)
        out[-1] += 1e-5

    monkeypatch.setattr(extern_kernels, "mm", by_place)
    reasons = {row.case: row.reason for row in found.batch_invariance(3).rows if not row.equal}
    words = "or split for a different position of the row in the batch"
    assert reasons["with zeros before it"].endswith(words)


def test_weights_that_are_rewritten_have_no_rows() -> None:
    """The kernel that lays weights out anew leaves 8 channels: with 4 rows these were 2 a row."""
    x = cases.draw(4, 3, 8, 8)
    found = wb.numerics(wb.aot_compile(Mixing().eval(), (x,), grad=False), (x,))
    by_case = {row.case: row for row in found.batch_invariance().rows}
    assert by_case["with zeros before it"].equal is not False, by_case["with zeros before it"]


class Mixing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(8, 3))
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x):
        weight = torch.softmax(self.weight, -1)
        return self.norm(torch.einsum("oc,nchw->nohw", weight, x)).relu(), weight


@pytest.mark.parametrize("row", [0, 2])
def test_what_mixes_the_rows_is_told_from_rounding(row: int) -> None:
    x = cases.draw(4, 3, 8, 8)
    found = wb.numerics(wb.aot_compile(Mixing().train(), (x,), grad=False), (x,))
    other = [each for each in found.batch_invariance(row).rows if each.equal is False]
    assert {each.case for each in other} == {"with zeros behind it", "with zeros before it"}
    reason = "the value depends on other rows of the batch, as in batch norm in training mode"
    assert all(each.reason.endswith(reason) for each in other), other
    assert (other[0].reason == reason) is (row == 0)  # at its place, with as many rows


N = torch.export.Dim("n")
SQUARE = torch.zeros(8, 8)
GUESSES = {
    "what may vary is the batch": ([W, X, X], [(64, 100), (N, 64), (N, 64)], (8, (0, 1, 1))),
    "and nothing else of its length": ([SQUARE, X], [(8, 8), (N, 64)], (8, (0, 1))),
    "another dimension that varies is another": (
        [X, SQUARE],
        [(N, 64), (torch.export.Dim("m"), 8)],
        (8, (1, 0)),
    ),
    "of fixed sizes the first has it": ([X, SQUARE], [(8, 64), (8, 8)], (8, (1, 1))),
    "but no parameter": ([torch.nn.Parameter(SQUARE), X], [(8, 8), (8, 64)], (8, (0, 1))),
    "a number has none": ([torch.tensor(1.0)], [()], None),
}


@pytest.mark.parametrize("how", GUESSES)
def test_the_batch_is_where_sizes_vary(how: str) -> None:
    tensors, sizes, expected = GUESSES[how]
    shapes = [
        tuple(n if isinstance(n, int) else Dynamic(n.__name__) for n in size) for size in sizes
    ]
    assert find_batch(tensors, shapes) == expected


def test_weights_as_long_as_the_batch_are_not_taken_apart() -> None:
    args = cases.draw(8, 8, seed=1), cases.draw(8, 8)
    rows = {"w": None, "x": {0: torch.export.Dim("rows", min=2, max=64)}}
    found = wb.numerics(wb.aot_compile(scores, args, grad=False, dynamic_shapes=rows), args)
    assert {row.case: row.equal for row in found.batch_invariance(3).rows if row.rows > 1} == {
        "with zeros behind it": True,
        "with zeros before it": True,
        "in half of the batch": True,
    }


def scores(w, x):
    return torch.softmax(torch.nn.functional.relu(x @ w), -1)
