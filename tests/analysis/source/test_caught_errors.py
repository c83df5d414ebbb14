"""An operator that may raise inside of a `try` is named, with its line: only eager code catches."""

from __future__ import annotations

import contextlib

import pytest
import torch

import workbench as wb


def factored(a: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(a)


def caught(a: torch.Tensor) -> torch.Tensor:
    try:
        b = factored(a)  # cholesky
    except RuntimeError:
        b = a
    return b * 2


def many(a: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    try:
        b = torch.linalg.inv(a) + a.index_select(0, i)
        b = b + torch.nn.functional.embedding(i, a)
        b = b + i // (i + 1)
        b = b + torch.multinomial(a.abs(), 1)
        torch._assert_async(b.sum() > -1e9, "small")
    except (RuntimeError, IndexError):
        return a
    with contextlib.suppress(RuntimeError):
        b = b + torch.linalg.solve(a, a)
    return b


def elsewhere(a: torch.Tensor) -> torch.Tensor:
    try:
        scale = float("2")
    except ValueError:
        scale = 1.0
    try:
        b = torch.linalg.inv(a)
    except ValueError:  # which no operator raises
        b = a
    try:
        b = b @ torch.linalg.inv(a)
    except RuntimeError:
        raise
    return factored(b @ b.T) * scale


def notes(found: wb.Report) -> tuple[str, ...]:
    return tuple(note for note in found.request.notes if "Eager code catches" in note)


def test_a_compilation_says_so_and_its_code_raises() -> None:
    compiled = wb.aot_compile(caught, (torch.eye(3),), backend="eager")
    (note,) = notes(compiled.report)
    first = caught.__code__.co_firstlineno
    assert note.startswith("cholesky at ")
    assert f":{factored.__code__.co_firstlineno + 1} may raise" in note
    assert f"may raise in the `try` of line {first + 1}" in note
    assert "torch.linalg.cholesky_ex" in note
    bad = -torch.eye(3)
    assert torch.equal(caught(bad), bad * 2)
    with pytest.raises(Exception, match="cholesky"):
        compiled(bad)


def test_every_kind_of_operator_that_may_raise_is_known() -> None:
    found = wb.explain(many, (torch.eye(3), torch.tensor([0, 1, 2])))
    named = {note.partition(" ")[0] for note in notes(found.report)}
    assert named == {
        *("inv", "index_select", "embedding", "floordiv", "multinomial", "_assert_async", "solve"),
    }
    assert any("may raise in the `suppress` of" in note for note in notes(found.report))
    assert "note: inv at" in str(found)


def test_what_raises_in_eager_code_too_is_not_named() -> None:
    assert notes(wb.explain(elsewhere, (torch.eye(3),)).report) == ()


def drawn(a: torch.Tensor) -> torch.Tensor:
    try:
        return torch.distributions.MultivariateNormal(torch.zeros(3), a).scale_tril
    except RuntimeError:
        return a


def suppressed(a: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(RuntimeError):
        return torch.linalg.inv(a)
    return a


def test_the_cure_is_one_of_what_the_line_calls() -> None:
    (note,) = notes(wb.explain(drawn, (torch.eye(3),)).report)
    assert note.startswith("cholesky at ")
    assert "cholesky_ex" not in note
    (note,) = notes(wb.explain(suppressed, (torch.eye(3),)).report)
    assert note.endswith("or put the `suppress` around the compiled call")
