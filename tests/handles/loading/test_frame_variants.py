"""Where `wb.variants` finds nothing that was compiled, it names the break that is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import workbench as wb


class Looping(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number in range(2):
            x = x + number
            print(number)
        return x


def trying(x: torch.Tensor) -> torch.Tensor:
    try:
        y = x + 1
        print("in a try")
        return y * 2
    except ValueError:
        return x


def generating(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x + 1


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (Looping(), r'breaks at .*:\d+ in Looping.forward: "print\(number\)" \(Failed to trace'),
        (trying, r'breaks at .*:\d+ in trying: "print\("in a try"\)"'),
        (generating, "It is a generator, which torch.compile runs in eager"),
        (lambda x: 3, "No graph of .* In none of its calls did torch.compile capture"),
    ],
    ids=["a loop", "a try", "a generator", "no tensor"],
)
def test_the_break_that_left_nothing_to_save_is_named(function: object, why: str) -> None:
    torch.compiler.reset()
    with pytest.raises(wb.ArtifactError, match=why) as caught:
        wb.variants(function, [(torch.ones(3),)])  # type: ignore[arg-type]
    assert "functions were compiled separately" not in str(caught.value)


def picking(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    y = x[rows] * 2
    torch._dynamo.graph_break()
    if y.sum() > 1e9:
        raise ValueError("of the user")
    return y + 1


def test_what_fails_in_compiled_code_is_a_run_error_and_what_the_user_raises_is_not(
    tmp_path: Path,
) -> None:
    torch.compiler.reset()
    x, rows = torch.ones(8), torch.tensor([1, 2])
    wb.variants(picking, [(x, rows)]).save(tmp_path / "f.aotv")
    loaded = wb.load(tmp_path / "f.aotv", picking, on_miss="error", trust=True)
    try:
        with pytest.raises(wb.RunError, match="compiled picking failed while it ran") as caught:
            loaded(x, torch.tensor([100, 2]))
        assert isinstance(caught.value.__cause__, RuntimeError)
        with pytest.raises(ValueError, match="of the user"):
            loaded(x * 1e12, rows)
    finally:
        loaded.close()
