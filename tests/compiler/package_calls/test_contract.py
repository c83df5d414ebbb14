"""What does not fit what was compiled is refused, with words for each leaf."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb


def refusal(package: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(wb.ContractError) as error:
        package(*args, **kwargs)
    return str(error.value)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.randn(4, 64), "x: expected size 8 at dimension 0, got 4"),
        (torch.randn(16, 64), "x: expected size 8 at dimension 0, got 16"),
        (torch.randn(8, 64, dtype=torch.float64), "x: expected dtype float32, got float64"),
        (torch.ones(8, 64, dtype=torch.int32), "x: expected dtype float32, got int32"),
        (torch.randn(8, 64, 1), "x: expected shape [8, 64], got [8, 64, 1]"),
        (torch.randn(64, 8).t(), "x: expected a contiguous tensor, got stride [1, 8]"),
        (torch.randn(8, 128)[:, ::2], "x: expected a contiguous tensor, got stride [128, 2]"),
        (torch.randn(8, 64).to_sparse(), "x: expected a dense tensor, got torch.sparse_coo"),
        (torch.randn(8, 64, device="meta"), "x: expected device cpu, got meta"),
        ([[1.0] * 64] * 8, "x: expected float32 [8, 64] on cpu, got list"),
        (None, "x: expected float32 [8, 64] on cpu, got NoneType"),
    ],
)
def test_inputs_that_would_be_silently_wrong_are_refused(plain: Any, x: Any, words: str) -> None:
    assert words in refusal(plain.load(), x, **plain.kwargs)


def test_the_layout_is_that_of_the_example(plain: Any) -> None:
    package, (x,) = plain.load(), plain.args
    words = refusal(package, x, every=torch.randn(3, 6))
    assert "every: expected stride [1, 3], got stride [6, 1]" in words
    assert package(x, **plain.kwargs)[1].shape == (6, 3)


def test_every_bad_leaf_is_listed(plain: Any) -> None:
    words = refusal(plain.load(), torch.randn(4, 64), every=torch.ones(3, 6, dtype=torch.int32))
    assert "x: expected size 8" in words
    assert "every: expected dtype float32, got int32" in words


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_the_ends_of_a_range_belong_to_it(small: Any, batch: int) -> None:
    x, y = torch.randn(batch, 16), torch.randn(batch, 8)
    torch.testing.assert_close(small.load()(x, y), small.eager(x, y))


@pytest.mark.parametrize("batch", [0, 65])
def test_beyond_a_range_is_refused(small: Any, batch: int) -> None:
    words = refusal(small.load(), torch.randn(batch, 16), torch.randn(batch, 8))
    assert f"x: dimension 0 is {batch}, outside the declared batch in 1..64" in words


def test_a_shared_dimension_has_one_size(small: Any) -> None:
    words = refusal(small.load(), torch.randn(8, 16), torch.randn(5, 8))
    assert "y: dimension 0 makes batch 5, but x dimension 0 makes it 8" in words


def test_what_was_left_at_its_default_is_part_of_the_code(small: Any) -> None:
    words = refusal(small.load(), *small.args, 3.0)
    assert "was compiled for scale=2.0" in words


def test_a_call_that_is_written_wrongly_shows_the_signature(small: Any, tied: Any) -> None:
    assert "The signature is model(x, y, scale=2.0)" in refusal(small.load(), small.args[0])
    assert "The signature is model(batch, *, flag=True)" in refusal(tied.load())


def test_the_nesting_has_to_be_the_same(tied: Any) -> None:
    package, (batch,) = tied.load(), tied.args
    assert "batch: 'mask' is missing" in refusal(package, {"ids": batch["ids"]})
    assert "batch: 'more' is unexpected" in refusal(package, {**batch, "more": 1})
    assert "batch: expected a dict, got Tensor" in refusal(package, batch["ids"])
    assert "compiled for flag=True" in refusal(package, batch, flag=False)


def test_differences_that_do_not_matter_are_accepted(small: Any) -> None:
    package, (x, y) = small.load(), small.args
    expected = small.eager()
    torch.testing.assert_close(package(torch.nn.Parameter(x, requires_grad=False), y), expected)
    with torch.inference_mode():
        inside = x.clone()
        torch.testing.assert_close(package(inside, y), expected)
    one = torch.randn(4, 16)[:1]
    odd = one.as_strided((1, 16), (999, 1))
    torch.testing.assert_close(package(odd, y[:1]), package(one, y[:1]))


def test_tensors_without_plain_memory_are_refused(small: Any) -> None:
    package, (x, y) = small.load(), small.args

    class Mine(torch.Tensor):
        pass

    assert "expected a plain tensor, got Mine" in refusal(package, x.as_subclass(Mine), y)
    negated = torch.randn(4, 16, dtype=torch.complex64).conj().imag
    assert "call .resolve_neg()" in refusal(package, negated, y)
    with pytest.raises(wb.ContractError, match=r"belongs to a torch\.func transform"):
        torch.func.vmap(lambda row: package(row, y))(x.expand(3, 4, 16))


def test_autocast_changes_nothing(small: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        found = small.load()(*small.args)
    torch.testing.assert_close(found, small.eager())


def test_without_the_check_only_tensors_are_asked_for(small: Any) -> None:
    package, (x, y) = small.load(check=False), small.args
    torch.testing.assert_close(package(x, y), small.eager())
    assert "x must be a tensor, got list" in refusal(package, [1], y)
    with pytest.raises(wb.WorkbenchError, match=r"shapes cannot be multiplied|does not say why"):
        package(torch.randn(4, 15), y)
