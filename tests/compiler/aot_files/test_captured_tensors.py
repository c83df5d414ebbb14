"""Tensors that code has captured come back as they were, and as they lay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import workbench as wb

X = torch.ones(4)
NEWER = (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.complex32)
Function = Callable[[torch.Tensor], torch.Tensor]


def reading(dtype: torch.dtype) -> Function:
    held = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(dtype)
    empty = torch.empty(0, 4).to(dtype)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * torch.abs(held.to(torch.complex64)) + empty.shape[1]

    return f


@pytest.mark.parametrize("dtype", NEWER, ids=str)
def test_what_torch_writes_and_does_not_read(dtype: torch.dtype, tmp_path: Path) -> None:
    f = reading(dtype)
    wb.aot_compile(f, (X,), backend="eager").save(tmp_path / "f.aot")
    assert torch.equal(wb.load(tmp_path / "f.aot")(X), f(X))


def writing(dtype: torch.dtype, kind: str) -> Function:
    """Writes into a tensor in whose memory another one lies, which it reads."""
    whole = torch.arange(8.0).to(dtype)
    part = whole[2:6]
    held = {"whole": whole, "part": part}
    listed = [whole, whole.view(2, 4)[:, 1:3]]

    def by_name(x: torch.Tensor) -> torch.Tensor:
        whole.copy_((whole.float() + 1).to(dtype))
        return x + part.float()

    def by_key(x: torch.Tensor) -> torch.Tensor:
        held["whole"].copy_((held["whole"].float() * 2).to(dtype))
        return x + held["part"].float()

    def by_place(x: torch.Tensor) -> torch.Tensor:
        listed[1].copy_((listed[1].float() + 3).to(dtype))
        return x + listed[0][:4].float()

    return {"name": by_name, "key": by_key, "place": by_place}[kind]


@pytest.mark.parametrize("kind", ["name", "key", "place"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e5m2], ids=str)
def test_tensors_that_share_memory_share_it_after_a_load(
    dtype: torch.dtype, kind: str, tmp_path: Path
) -> None:
    """torch writes the memory of each anew: a file gave the numbers of before the writing."""
    wb.aot_compile(writing(dtype, kind), (X,), backend="eager").save(tmp_path / "f.aot")
    loaded, eager = wb.load(tmp_path / "f.aot"), writing(dtype, kind)
    for _ in range(3):
        assert torch.equal(loaded(X), eager(X))


def test_layouts_and_what_a_program_has_set_come_back(tmp_path: Path) -> None:
    whole = torch.arange(8.0).view(2, 4)
    turned, weight = whole.t(), torch.nn.Parameter(whole[0], requires_grad=True)
    turned.unit = "seconds"  # type: ignore[attr-defined]

    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * weight + turned.sum(1) + whole[1], turned

    wb.aot_compile(f, (X,), backend="eager", grad=False).save(tmp_path / "f.aot")
    with torch.no_grad():
        (numbers, held), (expected, _) = wb.load(tmp_path / "f.aot")(X), f(X)
    assert torch.equal(numbers, expected)
    assert (held.stride(), held.unit) == (turned.stride(), "seconds")


def test_several_threads_save(tmp_path: Path) -> None:
    made = [wb.aot_compile(reading(torch.uint16), (X,), backend="eager") for _ in range(4)]
    errors: list[Exception] = []

    def save(number: int) -> None:
        try:
            for _ in range(3):
                made[number].save(tmp_path / f"{number}.aot")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
