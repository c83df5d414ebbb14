"""A session in which nothing was compiled says that first, and passes no check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from tests.worlds.sessions.recording.programs import Factor, scaled
from workbench.report.program.record_rows import ProgramHeader
from workbench.report.table import Table
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables
from workbench.worlds.sessions.rows.session_rows import Region
from workbench.worlds.sessions.views.session_document import document
from workbench.worlds.sessions.views.session_facts import notes


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _refusing(graph: object, inputs: object) -> Any:
    raise ValueError("not today")


def _sequential() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    model.compile(backend="eager")
    model(torch.ones(2, 3))


def _caught() -> None:
    with pytest.raises(Exception, match="not today"):
        torch.compile(scaled, backend=_refusing)(torch.ones(3), Factor())


def _suppressed() -> None:
    with torch._dynamo.config.patch(suppress_errors=True):
        torch.compile(scaled, backend=_refusing)(torch.ones(3), Factor())


def _never_called() -> None:
    torch.compile(scaled, backend="eager")
    scaled(torch.ones(3), Factor())


def _forced() -> None:
    with torch.compiler.set_stance("force_eager"):
        torch.compile(scaled, backend="eager")(torch.ones(3), Factor())


def _without_tensors() -> None:
    torch.compile(lambda x: x, backend="eager")(torch.ones(3))


def _broken_at_once() -> None:
    def printing(x: torch.Tensor) -> torch.Tensor:
        print(end="")
        return x

    torch.compile(printing, backend="eager")(torch.ones(3))


PROGRAMS = (
    (
        _sequential,
        r"Dynamo skips the frames of Sequential.* write `model = torch.compile\(model\)`",
    ),
    (
        _caught,
        r"compilation of scaled failed \(.*not today\), and the program continued without it",
    ),
    (_suppressed, r"compilation of scaled failed \(.*not today.*\), and it runs eagerly"),
    (_never_called, r"no function returned by torch.compile was called"),
    (_forced, r"torch.compiler.set_stance"),
    (_without_tensors, r"ran no tensor operator"),
    (_broken_at_once, r"printing breaks before its first operator \(test_nothing_compiled.py:\d+"),
)


@pytest.mark.parametrize(("program", "words"), PROGRAMS, ids=lambda each: str(each)[:16])
def test_it_is_said_first_and_no_check_passes(program: Any, words: str) -> None:
    with wb.session() as session:
        program()
    first = session.advice[0]
    assert first.startswith("Nothing was compiled, and no compiled graph was called: ")
    assert re.search(words, first)
    assert repr(session).startswith("Session(nothing compiled, ")
    with pytest.raises(wb.ExpectationError, match="This session had no compiled graph") as caught:
        session.check(breaks=0, recompiles=0)
    assert first in str(caught.value)
    kept = wb.Session.from_bytes(session.to_bytes(), "kept.wbs")
    assert kept.advice[0] == first
    with pytest.raises(wb.ExpectationError):
        kept.check(recompiles=0)


def test_what_is_advised_is_compiled() -> None:
    model: Any = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), backend="eager")
    with wb.session() as session:
        model(torch.ones(2, 3))
    session.check(breaks=0, recompiles=0, fallbacks=0)
    assert session.advice == ()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no groups")
def test_what_is_distributed_is_compiled_first() -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def run(*, is_inner: bool) -> wb.Session:
        torch._dynamo.reset()
        model: Any = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        model = torch.compile(model, backend="eager") if is_inner else model
        distributed = DistributedDataParallel(model)
        if not is_inner:
            distributed.compile(backend="eager")
        with wb.session() as session:
            distributed(torch.ones(2, 3)).sum().backward()
        return session

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        before, after = run(is_inner=False), run(is_inner=True)
    finally:
        dist.destroy_process_group()
    (told,) = before.advice  # and no "avoid `_inside_ddp_forward`"
    assert "`DistributedDataParallel(torch.compile(model))`" in told
    assert "_inside_ddp_forward" not in told
    after.check(breaks=0, recompiles=0, fallbacks=0)


def test_what_was_compiled_before_is_something() -> None:
    compiled = torch.compile(scaled, backend="eager")
    compiled(torch.ones(3), Factor())
    with wb.session() as session:
        compiled(torch.ones(3), Factor())
    session.check(breaks=0, recompiles=0)
    assert session.header.ran_compiled is True
    assert repr(session).startswith("Session(compiled before it began, 0 compiles, ")
    assert session.advice == ()
    (said,) = (line for line in notes(session) if "Nothing was compiled" in line)
    assert "all graphs were compiled before the session. To record it" in said
    assert "torch.compiler.reset() at the session's start" in said
    with wb.session() as anew:
        torch.compiler.reset()
        compiled(torch.ones(3), Factor())
    assert repr(anew).startswith("Session(1 compile, ")
    assert not any("Nothing was compiled" in line for line in notes(anew))


def test_how_often_it_ran_is_told_where_calls_are_counted() -> None:
    region = Region("", "", False, 8, 1.0, 125.0, 300.0, "")
    tables = {**make_empty_tables(), "regions": Table.of(Region, [region])}
    session = Session(ProgramHeader(steps=1), tables, {})
    assert "before the session (8 calls of compiled graphs)." in " ".join(notes(session))
    shown = next(each for each in document(session)["tables"] if each["id"] == "compiles")
    assert shown["none"].startswith("Nothing was compiled: all graphs were compiled before")


def test_a_compile_that_failed_beside_one_that_did_not_fails_a_check() -> None:
    with wb.session() as session:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
        _caught()
    with pytest.raises(wb.ExpectationError, match="1 failed compile"):
        session.check(breaks=0)
    assert "Compilation of scaled failed in step 0" in session.advice[0]
    assert "not today" in session.advice[0]


def test_expectations_know_it_too() -> None:
    with wb.session() as session:
        _sequential()
    with pytest.raises(wb.ExpectationError, match="Nothing was compiled"):
        wb.expect(session, breaks=0)
    wb.expect(session, graphs=0)


def test_a_generator_that_was_compiled_and_called_is_named() -> None:
    """As said before: "no function returned by torch.compile was called"."""

    def halves(x: torch.Tensor) -> Iterator[torch.Tensor]:
        yield x[:1] * 2
        yield x[1:] * 2

    with wb.session() as session:
        list(torch.compile(halves, backend="eager")(torch.ones(2)))
    first, eager = session.advice
    assert "halves" in first
    assert "runs eagerly, because torch compiles no generator function: return its values" in first
    assert "no function returned by torch.compile" not in first
    assert "Return its values as a list" in eager
