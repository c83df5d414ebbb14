"""Where `wb.variants` finds nothing that was compiled, it names the break that is to blame."""

from __future__ import annotations

from collections.abc import Iterator

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
        (generating, "It is a generator, which torch.compile runs as it is"),
        (lambda x: 3, "Nothing of .* No call of it computed with tensors"),
    ],
    ids=["a loop", "a try", "a generator", "no tensor"],
)
def test_the_break_that_left_nothing_to_save_is_named(function: object, why: str) -> None:
    torch.compiler.reset()
    with pytest.raises(wb.ArtifactError, match=why) as caught:
        wb.variants(function, [(torch.ones(3),)])  # type: ignore[arg-type]
    assert "functions were compiled on their own" not in str(caught.value)
