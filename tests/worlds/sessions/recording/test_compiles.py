"""A recompile is one entry for its cause: the user's line that changed the value, the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb

SCALE = 1


class Grows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append(x)
        return x + len(self.log)


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        return x * self.n


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


def closed_over(f: Callable[[Any], Any], x: torch.Tensor) -> torch.Tensor:
    return f(x)  # type: ignore[no-any-return]


def multiply_by(k: int) -> Callable[[Any], Any]:
    return lambda x: x * k


def run_list() -> None:
    grows = torch.compile(Grows(), backend="eager")
    for _ in range(4):
        grows(torch.ones(3))


def run_counter() -> None:
    counts = torch.compile(Counts(), backend="eager")
    for _ in range(4):
        counts(torch.ones(3))


def run_global() -> None:
    global SCALE
    call = torch.compile(scaled, backend="eager")
    for _ in range(3):
        call(torch.ones(3))
        SCALE *= 2


def run_closure() -> None:
    call = torch.compile(closed_over, backend="eager")
    for k in range(2, 4):
        call(multiply_by(k), torch.ones(3))


@pytest.mark.parametrize(
    ("program", "source", "values", "code"),
    [
        (run_list, "len(self.log)", "0 → 1 → 2 → 3", "self.log.append(x)"),
        (run_counter, "self.n", "0 → 1 → 2 → 3", "self.n += 1"),
        (run_global, "the global SCALE", "1 → 2 → 4", "SCALE *= 2"),
        (run_closure, "a variable that f closes over", "was 3, not 2", ""),
    ],
)
def test_one_entry_names_the_line_and_the_values(
    program: Callable[[], None], source: str, values: str, code: str
) -> None:
    torch._dynamo.reset()
    with wb.session() as session:
        program()
    (entry,) = [one for one in session.advice if "recompiled" in str(one)]
    said = str(entry)
    assert source in said
    assert values in said
    if code:
        assert f"`{code}` changes it (test_compiles.py:" in said


def raises(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("bad batch")


def takes_too_many(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x, x)  # type: ignore[call-arg]


def mixes(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def asserts(x: torch.Tensor) -> torch.Tensor:
    assert x.shape[0] == 4
    return x + 1


@pytest.mark.parametrize("fails", [raises, takes_too_many, mixes, asserts])
def test_an_error_of_the_program_is_no_break_of_a_session(fails: Callable[[Any], Any]) -> None:
    torch._dynamo.reset()
    with wb.session() as session, pytest.raises(Exception):  # noqa: B017, PT011
        torch.compile(fails, backend="eager")(torch.ones(3, 5))
    assert list(session.tables["breaks"]) == []
    assert f"at test_compiles.py:{fails.__code__.co_firstlineno + 1}" in session.advice[0]
