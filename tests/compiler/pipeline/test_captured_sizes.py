"""What a compilation says of its sizes: those that a line fixed, those that only fit together."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch
from torch.export import Dim

import workbench as wb
from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.pipeline.captured_sizes import captured
from workbench.compiler.sizes.dims import Dynamic

X = torch.randn(8, 6)
W = torch.ones(6, 3)


def asks_for_eight(a: torch.Tensor) -> torch.Tensor:
    return a + 1 if a.shape[0] == 8 else a * 2  # fixes rows


def times_weight(a: torch.Tensor) -> torch.Tensor:
    return a.relu() @ W  # fixes columns


def smaller(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + 1 if a.shape[0] < b.shape[0] else a + 2


def added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b


def kept(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    picked = b[a > 0]  # counts
    return picked if picked.shape[0] < b.shape[0] else picked + 1  # decides


def place(mark: str) -> str:
    """The line of this file that ends in a comment."""
    lines = linecache.getlines(__file__)
    number = next(n for n, text in enumerate(lines, 1) if text.endswith(f"# {mark}\n"))
    return f"test_captured_sizes.py:{number} in "


def compiled(f: Any, *args: torch.Tensor, dims: Any) -> wb.Compiled:
    return wb.aot_compile(f, args, backend="eager", dynamic_shapes=dims)


@pytest.mark.parametrize(
    ("f", "at", "size", "line"),
    [(asks_for_eight, 0, 8, "fixes rows"), (times_weight, 1, 6, "fixes columns")],
)
def test_the_line_that_fixed_a_size_is_named(f: Any, at: int, size: int, line: str) -> None:
    with pytest.raises(wb.CaptureError) as caught:
        compiled(f, X, dims=({at: Dim("n")},))
    said = f"a.shape[{at}] is declared dynamic, but "
    assert said in str(caught.value)
    assert f'{place(line)}{f.__name__}: "return' in str(caught.value)
    made = compiled(f, X, dims=({at: Dim.AUTO},))
    (note,) = made.report.request.notes
    assert note.startswith(f"a.shape[{at}] was requested as dynamic, but is fixed to {size}: ")
    assert place(line) in note
    assert "a: float32 [8, 6] on cpu" in repr(made)


def test_a_call_of_a_fixed_size_is_told_the_size() -> None:
    made = compiled(asks_for_eight, X, dims=({0: Dim.AUTO},))
    with pytest.raises(wb.ContractError, match="a: expected size 8 at dimension 0, got 12"):
        made(torch.ones(12, 6))


@pytest.mark.parametrize(
    ("f", "other", "dims", "said"),
    [
        (added, X, (Dim("n"), Dim("m")), "only where m == n)"),
        (added, X, (Dim("n"), Dim("n")), None),
        (added, X, (Dim.AUTO, Dim.AUTO), "only where b.shape[0] == a.shape[0])"),
        (smaller, torch.ones(9, 6), (Dim("n"), Dim("m")), "only where n < m and 1 <= m)"),
        (smaller, torch.ones(9, 6), (Dim.AUTO, Dim.AUTO), "only where a.shape[0] < b.shape[0])"),
        (smaller, torch.ones(90, 6), (Dim("n", max=16), Dim("m", min=20)), None),
    ],
)
def test_the_summary_says_what_only_fits_together(
    f: Any, other: torch.Tensor, dims: Any, said: str | None
) -> None:
    made = compiled(f, X, other.clone(), dims=tuple({0: dim} for dim in dims))
    assert bool(made.report.request.conditions) is (said is not None)
    assert (said or "") in repr(made)
    assert (made.report.request.together or "inputs") in str(made.report)


def test_a_size_that_torch_decides_about_has_the_range_of_its_guards() -> None:
    made = compiled(smaller, X, torch.ones(9, 6), dims=({0: Dim.AUTO}, {0: Dim.AUTO}))
    assert "a: float32 [2.., 6] on cpu, b: float32 [3.., 6] on cpu" in repr(made)


def test_what_depends_on_data_is_said_in_terms_of_the_inputs() -> None:
    dims = ({0: Dim("n")}, {0: Dim("n")})
    with pytest.raises(wb.CaptureError) as caught:
        compiled(kept, torch.ones(4), torch.ones(4), dims=dims)
    words = str(caught.value)
    assert place("decides") in words
    assert "u0 < b.shape[0], where u0 is computed from data at " in words
    assert place("counts") in words
    assert "Cure: choose with torch.where" in words
    report = caught.value.report
    assert report is not None
    assert [row.kind for row in report.breaks] == ["Decision by data"]
    assert "u0 < b.shape[0]" in report.breaks[0].reason


def rows(*sizes: Any) -> Contract:
    leaves = (
        Leaf(Path(name), "tensor", "Tensor", shape=(size,), sizes=(8,), dtype="float32")
        for name, size in zip("ab", sizes, strict=False)
    )
    return Contract(tuple(leaves))


@pytest.mark.parametrize(
    ("guards", "said"),
    [
        (["L['a'].size()[0] % 4 == 0", "6*L['a'].size()[0] % 24 == 0"], ("n % 4 == 0",)),
        (["n_is_no_place(L['a'])"], ("n_is_no_place(a)",)),
        (["L['a'].stride()[0] == 1"], ()),
        (["2 <= L['a'].size()[0]"], ()),
        (["L['a'].size()[0] <= 64"], ("n <= 64",)),
    ],
)
def test_what_follows_from_simpler_conditions_is_left_out(
    guards: list[str], said: tuple[str, ...]
) -> None:
    contract = rows(Dynamic("n", 2), 8)
    assert captured(contract, (), guards) == (contract, said)
