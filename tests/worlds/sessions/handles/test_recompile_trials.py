"""A patch of a recompile is run before it is praised: recompiles before and after, outputs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.changes.tried_change import Counts, TriedChange, weigh
from workbench.worlds.sessions.findings.advice import Advice, advice
from workbench.worlds.sessions.handles import recompile_trials

SCALE = 1


class Grows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append(x)
        return x + 1


class Shifts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Notes(Shifts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        self.notes.append(1.0)
        return y


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return x * self.seen


class Loops(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rounds = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.rounds += 1
        for _ in range(self.rounds):
            x = x + 1
        return x


class Rated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rate = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.rate


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


@torch.compile(backend="eager")
def sized(x: torch.Tensor) -> torch.Tensor:
    return x.sum() * 2


def by(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k


def laid_out(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def run_list() -> Any:
    grows = Grows()
    call = torch.compile(grows, backend="eager")
    for _ in range(4):
        call(torch.ones(3))
    return grows


def run_counter() -> Any:
    counts = Counting()
    call = torch.compile(counts, backend="eager")
    for _ in range(4):
        call(torch.ones(3))
    return counts


def run_loop() -> Any:
    loops = Loops()
    call = torch.compile(loops, backend="eager")
    for _ in range(3):
        call(torch.ones(3))
    return loops


def run_rate() -> Any:
    rated = Rated()
    call = torch.compile(rated, backend="eager")
    for k in (0.25, 0.75):
        rated.rate = k
        call(torch.ones(3))
    return rated


def run_global() -> Any:
    global SCALE
    call = torch.compile(scaled, backend="eager")
    for _ in range(3):
        call(torch.ones(3))
        SCALE *= 2


def run_sizes() -> Any:
    for n in (4, 6):
        batch = torch.ones(n)
        sized(batch)


def run_number() -> Any:
    call = torch.compile(by, backend="eager")
    for k in (0.25, 0.5):
        call(torch.ones(4), k)


def run_layout() -> Any:
    call = torch.compile(laid_out, backend="eager")
    for x in (torch.ones(4, 6), torch.ones(6, 4).t()):
        call(x)


def run_notes() -> Any:
    notes = Notes()
    call = torch.compile(notes, backend="eager")
    for _ in range(4):
        call(torch.ones(4))
    return notes


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def record(program: Callable[[], Any]) -> tuple[wb.Session, Advice, Any]:
    with wb.session() as session:
        kept = program()
    found = [one for one in advice(session) if one.kind == "recompile"]
    assert len(found) == 1
    return session, found[0], kept


CURED = [
    (run_list, 0, "add_to_log(self, x)", "3 → 0 recompiles, 0 → 1 graph breaks"),
    (run_notes, 0, "add_to_notes(self)", "3 → 0 recompiles, 0 → 1 graph breaks"),
    (run_counter, 0, "self.register_buffer('seen', torch.tensor(0), persistent=False)", "3 → 0"),
    (run_rate, 0, "rated.rate = torch.tensor(k)", "1 → 0"),
    (run_global, 0, "SCALE = torch.tensor(1)", "2 → 0"),
    (run_sizes, 0, '@torch.compile(backend="eager", dynamic=True)', "1 → 0"),
    (run_sizes, 1, "torch._dynamo.maybe_mark_dynamic(batch, 0)", "1 → 0"),
    (run_number, 0, "k = torch.tensor(k)", "1 → 0"),
    (run_layout, 0, "x = x.contiguous()", "1 → 0"),
]


@pytest.mark.parametrize(("program", "at", "line", "counts"), CURED)
def test_a_patch_is_tried_on_the_calls_that_were_compiled(
    program: Callable[[], Any], at: int, line: str, counts: str
) -> None:
    session, found, kept = record(program)
    before = dict(vars(kept)) if isinstance(kept, torch.nn.Module) else SCALE
    patch = found.patches[at]
    made = session.start_patch(patch.id).result()
    assert made.verdict == "cures", made
    assert made.sentence.startswith(counts)
    assert "Outputs, gradients, inputs and buffers after the call agree" in made.sentence
    assert ("then have different strides" in made.sentence) is (program is run_layout)
    written = [each for edit in patch.change.edits for each in edit.after]
    assert line in written
    assert f"+{line}".replace(" ", "") in made.patch.replace(" ", "")
    now = dict(vars(kept)) if isinstance(kept, torch.nn.Module) else SCALE
    assert str(now) == str(before)  # the program stays as it is


def test_a_patch_that_does_not_help_is_not_given() -> None:
    _session, found, _kept = record(run_loop)
    assert found.patches == ()
    assert "register_buffer" not in found.cure


def test_more_recompiles_than_before_are_no_help() -> None:
    """As seen: "Tried. 2 → 4 recompiles, 0 → 1 graph breaks", and no word on what that means."""
    two, four, none = (Counts(1, 0, recompiles) for recompiles in (2, 4, 0))
    worse = TriedChange(weigh(True, two, four), "Outputs agree.", two, four)
    assert (worse.verdict, worse.sentence[:24]) == ("no help", "The change does not help")
    cured = TriedChange(weigh(True, two, none), "Outputs agree.", two, none)
    assert cured.verdict == "cures"
    assert cured.sentence.startswith("2 → 0 recompiles")


def test_what_cannot_be_tried_counts_no_recompiles() -> None:
    """Seen: "3 → 0 recompiles in 4 calls … It raises UsageError"."""
    made = TriedChange("refused", "It raises KeyError: 'x'.", Counts(1, 0, 3))
    assert made.sentence == "It raises KeyError: 'x'."


def test_a_change_of_a_function_that_cannot_be_copied_is_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, found, _kept = record(run_list)

    def refuse(*_: Any) -> Any:
        raise wb.UsageError("append_to is a lambda. Change the line yourself and recompile.")

    monkeypatch.setattr(recompile_trials, "rewrite_callable", refuse)
    made = session.start_patch(found.patches[0].id).result()
    assert made.verdict == "not checked"
    assert made.sentence.startswith("Not applied: append_to is a lambda.")


def test_what_is_gone_is_said() -> None:
    session, found, kept = record(run_counter)
    del kept
    gc.collect()
    torch._dynamo.reset()
    made = session.start_patch(found.patches[0].id).result()
    assert made.sentence == "The call cannot be replayed: self was freed."


def chained(x: torch.Tensor, layers: list[torch.nn.Module], rounds: range) -> torch.Tensor:
    for _ in rounds:
        for layer in layers:
            x = layer(x)
    return x


def test_what_cannot_be_kept_is_recorded_all_the_same() -> None:
    layers = [torch.nn.Linear(3, 3)]
    call = torch.compile(chained, backend="eager")
    with wb.session() as session:
        for n in (2, 4):
            call(torch.ones(n, 3), layers, range(2))
    assert session.header.missing == ()
    (found,) = [one for one in advice(session) if one.kind == "recompile"]
    with pytest.raises(wb.WorkbenchError, match="The calls cannot be replayed"):
        session.start_patch(found.patches[-1].id)


def test_nothing_is_tried_while_it_records_or_from_a_file(tmp_path: Any) -> None:
    session, found, _kept = record(run_counter)
    session.save(tmp_path / "a.wbs")
    loaded = wb.Session.load(tmp_path / "a.wbs")
    (again,) = [one for one in advice(loaded) if one.kind == "recompile"]
    assert again.patches == found.patches
    with pytest.raises(wb.WorkbenchError, match="the process that recorded the session"):
        loaded.start_patch(found.patches[0].id)
    with wb.session() as running, pytest.raises(wb.WorkbenchError, match="session stops"):
        running.start_patch("any")
