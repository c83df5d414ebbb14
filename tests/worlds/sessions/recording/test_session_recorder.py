"""A session watches programs of every kind, and leaves torch as it was."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from tests.worlds.sessions.recording.programs import (
    Block,
    Factor,
    Printing,
    Saying,
    decorated,
    in_a_loop,
    scaled,
    solved,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import find_backward_hook
from workbench.worlds.sessions.handles.live_session import LiveSession
from workbench.worlds.sessions.views.session_facts import notes

LAZY_BACKWARD, _ = find_backward_hook(lambda inner: inner, lambda inner: inner)
HOOKED = (
    tp.COMPILE_FRAME,
    tp.ATTEMPT_FRAME,
    tp.RECOMPILE_REASONS,
    LAZY_BACKWARD,
    tp.GRAPH_CALL,
    tp.GRAPH_POST_COMPILE,
    tp.LOG_GRAPH_BREAK,
    *tp.CUDA_GRAPH_SKIPS,
)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = [name.get() for name in HOOKED]
    torch._dynamo.reset()
    yield
    assert [name.get() for name in HOOKED] == before
    torch._dynamo.reset()


def kinds(session: wb.Session) -> list[str]:
    return list(session.frame("compiles").kind)


@pytest.fixture(scope="module")
def trained() -> wb.Session:
    """Three steps of training with a message in the forward and a batch that varies."""
    torch._dynamo.reset()
    model = Printing()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with wb.session() as session:
        for batch in session.steps([4, 6, 8]):
            compiled(torch.randn(batch, 8)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)  # a gradient would be one more guard
    return session


def test_a_training_loop_says_what_was_compiled_why_and_in_which_step(trained: wb.Session) -> None:
    compiles = trained.frame("compiles")
    forward = compiles[compiles.kind != "backward"]
    assert list(forward.kind) == ["first", "resume", "recompile", "recompile"]
    assert list(forward.step) == [0, 0, 1, 1]
    assert set(compiles.function) == {"Printing.forward"}
    assert set(compiles.outcome) == {"graph"}
    assert (compiles.total_s > 0).all()
    again = trained.frame("recompiles")
    assert list(again.source) == ["x.size()[0]", "y.size()[0]"]
    assert list(zip(again.expected, again.actual, strict=True)) == [("4", "6"), ("4", "6")]
    assert set(again.kind) == {"size"}
    (row,) = trained.frame("breaks").itertuples()
    assert row.text == 'print(end="")'
    assert (row.function, row.compile_ids) == ("Printing.forward", ("0/0", "0/1"))
    resumed = forward[forward.line == row.line].id
    assert row.cost_s == pytest.approx(compiles[compiles.id.isin(resumed)].total_s.sum())


def test_calls_and_steps_add_up(trained: wb.Session) -> None:
    regions, steps = trained.frame("regions"), trained.frame("steps")
    assert regions.calls.sum() == steps.graph_calls.sum() == 12
    forward = regions[~regions.is_backward].set_index("compile_id").inputs
    assert sorted(forward.index) == ["0/0", "0/1", "1/0", "1/1"]
    assert (forward["0/0"], forward["1/0"]) == ("x [4, 8]", "y [4, 16]")  # no parameters
    assert forward["0/1"].endswith(", 8]")  # any batch
    assert steps.in_graphs_ms.sum() == pytest.approx(regions.total_ms.sum())
    assert list(steps.compile_s > 0) == [True, True, False]
    whole = steps.compile_s * 1e3 + steps.in_graphs_ms + steps.outside_ms
    assert list(whole) == pytest.approx(list(steps.wall_ms), rel=0.05)


def test_every_compile_has_a_report_of_its_own(trained: wb.Session) -> None:
    report = trained.report("1/0")
    assert report.request.name == "Printing.forward"
    assert {row.compile_id for row in report.graphs if row.compile_id} == {"1/0"}
    assert len(report.guards)
    assert trained.report(0).breaks[0].text == 'print(end="")'
    (bytecode,) = trained.report(0).bytecode
    assert any(name.startswith("__resume_at_") for name in bytecode.calls)
    with pytest.raises(wb.UsageError, match="It has: 0/0, 1/0"):
        trained.report("7/7")
    with pytest.raises(wb.UsageError, match="No compile 99"):
        trained.report(99)


def test_a_frame_whose_limit_is_hit_runs_eagerly_and_its_calls_are_counted() -> None:
    factor = Factor()
    compiled = torch.compile(scaled, backend="eager")
    with wb.session() as session, torch._dynamo.config.patch(recompile_limit=3):
        for value in "abcdeea":
            factor.value = value
            compiled(torch.ones(3), factor)
            session.step()
    (row,) = session.frame("fallbacks").itertuples()
    assert (row.function, row.how, row.step, row.eager_calls) == ("scaled", "new variants", 3, 3)
    assert "recompile limit" in row.why
    compiles = session.frame("compiles")
    assert list(compiles.outcome) == ["graph"] * 3 + ["limit"]
    assert repr(session).startswith("Session(3 compiles, 2 recompiles, 0 breaks, 1 fallback")
    session.check(recompiles=2)
    assert list(session.frame("events").kind) == ["compile", "recompile", "recompile", "fallback"]
    again = session.frame("recompiles")
    assert set(again.kind) == {"value"}
    assert again.groupby("compile_id").nearest.sum().eq(1).all()


def test_a_break_in_a_loop_makes_the_frame_eager() -> None:
    with wb.session() as session:
        torch.compile(in_a_loop, backend="eager")(torch.ones(3))
    (row,) = session.frame("fallbacks").itertuples()
    assert (row.function, row.how) == ("in_a_loop", "always")
    assert len(session.frame("breaks")) == 1


def test_a_decorated_function_is_named_and_placed_as_what_is_decorated() -> None:
    with wb.session() as session, torch._dynamo.config.patch(recompile_limit=1):
        compiled, factor = torch.compile(decorated(scaled), backend="eager"), Factor()
        for factor.value in "ab":
            compiled(torch.ones(3), factor)
    (row,) = session.frame("fallbacks").itertuples()
    compiles = session.frame("compiles")
    assert {row.function, *compiles.function} == {"scaled"}
    assert {row.line, *compiles.line} == {scaled.__code__.co_firstlineno}


def test_layers_compiled_one_by_one_share_a_variant() -> None:
    model = nn.Sequential(*(Block() for _ in range(3)))
    for layer in model:
        layer.compile()
    with wb.session() as session, torch.no_grad():
        model(torch.randn(2, 8))
    assert kinds(session) == ["first"]
    (region,) = session.frame("regions").itertuples()
    assert region.calls == 3


def test_a_library_that_compiles_inside_is_seen() -> None:
    with wb.session() as session:
        solved(torch.ones(3))
    (row,) = session.frame("compiles").itertuples()
    assert (row.function, row.outcome, row.inputs) == ("_normed", "graph", "x [3]")
    assert row.file.endswith("programs.py")


def test_another_backend_has_a_report_with_its_backward() -> None:
    model = Block()
    with wb.session() as session:
        torch.compile(model, backend="aot_eager")(torch.ones(2, 8)).sum().backward()
    assert kinds(session) == ["first", "backward"]
    report = session.report("0/0")
    assert report.request.backend == "aot_eager"
    assert {row.stage for row in report.graphs} >= {"dynamo", "forward", "backward"}
    assert len(session.frame("regions")) == 0


def test_an_optimizer_that_is_compiled_ends_steps_too() -> None:
    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    update = torch.compile(optimizer.step, backend="eager", fullgraph=False)
    with wb.session(steps="optimizer") as session:
        for _ in range(3):
            model(torch.ones(2, 8)).sum().backward()
            update()
    assert len(session.frame("compiles")) >= 1
    assert session.header.steps == 3
    # that the session's own hook is not compiled is no matter of the program's
    assert len(session.frame("fallbacks")) == 0
    cut = session.frame("breaks")
    assert set(cut.text) == {"update()"}  # the user's line that led to torch's own
    assert cut.within.str.contains("site-packages/torch/optim/optimizer.py").all()
    assert session.advice == ()


def test_compiled_autograd_is_a_kind_of_its_own() -> None:
    model = Block()
    with wb.session() as session, torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(lambda x: model(x).sum().backward(), backend="eager")(torch.ones(2, 8))
    assert "autograd" in kinds(session)


def test_threads_are_told_apart() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    def run(function: object) -> None:
        torch.compile(function, backend="eager")(torch.ones(3))

    with wb.session() as session:
        threads = [
            threading.Thread(target=run, args=(f,), name=f.__name__) for f in (double, triple)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    compiles = session.frame("compiles")
    assert {(row.thread, row.function.rpartition(".")[2]) for row in compiles.itertuples()} == {
        ("double", "double"),
        ("triple", "triple"),
    }


def test_a_backend_that_fails_is_an_error_of_its_compile_and_of_the_program() -> None:
    def refusing(graph: object, inputs: object) -> object:
        raise ValueError("not today")

    with wb.session() as session, pytest.raises(Exception, match="not today"):
        torch.compile(scaled, backend=refusing)(torch.ones(3), Factor())
    (row,) = session.frame("compiles").itertuples()
    assert row.outcome == "error"
    assert "not today" in row.why
    assert len(session.frame("fallbacks")) == 0
    assert set(session.frame("events").kind) == {"compile"}


def test_a_backend_that_fails_quietly_leaves_its_frame_eager() -> None:
    def refusing(graph: object, inputs: object) -> object:
        raise ValueError("not today")

    with wb.session() as session, torch._dynamo.config.patch(suppress_errors=True):
        torch.compile(scaled, backend=refusing)(torch.ones(3), Factor())
    assert list(session.frame("compiles").outcome) == ["skipped"]
    (row,) = session.frame("fallbacks").itertuples()
    assert (row.function, row.how) == ("scaled", "always")
    assert "not today" in row.why


def test_a_whole_graph_that_cannot_be_is_an_error_and_no_fallback() -> None:
    with wb.session() as session, pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(in_a_loop, backend="eager", fullgraph=True)(torch.ones(3))
    assert list(session.frame("compiles").outcome) == ["error"]
    assert len(session.frame("fallbacks")) == 0


def test_a_report_says_what_torch_compile_was_asked_for() -> None:
    def mine(graph: Any, inputs: object) -> object:
        return graph.forward

    with wb.session() as session:
        torch.compile(scaled, backend=mine)(torch.ones(3), Factor())
        torch._dynamo.reset()
        torch.compile(scaled, mode="max-autotune-no-cudagraphs")(torch.ones(3), Factor())
    assert session.report(0).request.backend == "mine"
    asked = session.report(1).request
    assert (asked.backend, dict(asked.options)["max_autotune"]) == ("inductor", "True")


def test_a_full_session_compiles_past_the_caches() -> None:
    model = Block()
    with wb.session("full") as session:
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(model)(torch.ones(2, 8)).sum().backward()
    forward = session.frame("compiles").query("kind == 'first'")
    assert len(forward) == 2
    for at in forward.index:
        report = session.report(int(at))
        assert {"dynamo", "forward", "after_post_grad"} <= {row.stage for row in report.graphs}
        assert report.request.capture == "full"
        # the backward was compiled when it was first called, and is in the same report
        assert {kernel.is_backward for kernel in report.kernels} == {False, True}
        assert session.frame("compiles").kind[at + 1] == "backward"
        assert session.report(at + 1) is report
        assert len({kernel.id for kernel in report.kernels}) == len(report.kernels)
    wb.expect(session, graphs=2)


def test_what_was_compiled_before_is_counted_and_marked() -> None:
    compiled = torch.compile(Block())
    with torch.no_grad():
        compiled(torch.ones(2, 8))
        with wb.session() as session:
            compiled(torch.ones(2, 8))
    assert len(session.frame("compiles")) == 0
    (row,) = session.frame("regions").itertuples()
    assert (row.compile_id, row.calls, row.is_backward) == ("", 1, False)


def _stopped_by(kind: type[BaseException], session: LiveSession) -> None:
    with session:
        torch.compile(scaled, backend="eager")(torch.ones(3), Factor())
        raise kind


def test_functions_of_one_name_are_told_apart_after_a_break() -> None:
    with wb.session() as session:
        for kind in (Printing, Saying):
            torch.compile(kind(), backend="eager")(torch.ones(2, 8))
    names = session.frame("compiles").query("kind == 'resume'").function
    assert list(names) == ["Printing.forward", "Saying.forward"]


def test_a_module_of_torch_is_called_by_its_class() -> None:
    with wb.session() as session, torch.no_grad():
        torch.compile(nn.Linear(8, 2), backend="eager")(torch.ones(2, 8))
    assert list(session.frame("compiles").function) == ["Linear.forward"]


def test_a_session_may_be_stopped_within_its_loop() -> None:
    session = wb.session().start()
    for n in session.steps(range(3)):
        if n == 1:
            session.stop()
    assert session.header.steps == 1  # nothing happened in the second before it was stopped


def test_a_loop_that_raises_or_is_interrupted_keeps_what_was_recorded() -> None:
    for kind in (RuntimeError, KeyboardInterrupt):
        torch._dynamo.reset()
        session = wb.session()
        with pytest.raises(kind):
            _stopped_by(kind, session)
        assert len(session.frame("compiles")) == 1
        assert not session.is_running


def test_an_interrupt_of_a_compile_is_said() -> None:
    def interrupting(graph: object, inputs: object) -> object:
        raise KeyboardInterrupt

    with wb.session() as session, pytest.raises(KeyboardInterrupt):
        torch.compile(scaled, backend=interrupting)(torch.ones(3), Factor())
    assert list(session.frame("compiles").outcome) == ["interrupted"]


def test_a_session_inside_a_session_is_refused_and_the_first_goes_on() -> None:
    with wb.session() as session:
        with pytest.raises(wb.UsageError, match="Another session is recording"):
            wb.session().start()
        torch.compile(scaled, backend="eager")(torch.ones(3), Factor())
    assert len(session.frame("compiles")) == 1


def test_a_session_that_does_not_record_says_so() -> None:
    session = wb.session()
    for call in (session.stop, session.step):
        with pytest.raises(wb.UsageError, match=r"has not started|is not recording"):
            call()
    with session:
        pass
    session.stop()
    with pytest.raises(wb.UsageError, match="has already started"):
        session.start()
    with pytest.raises(wb.UsageError, match="pass 'light' or 'full'"):
        LiveSession("all")  # type: ignore[arg-type]


def test_a_thread_that_outlives_the_session_is_not_recorded_further() -> None:
    go, done = threading.Event(), threading.Event()

    def run() -> None:
        go.wait(30)
        torch.compile(scaled, backend="eager")(torch.ones(3), Factor())
        done.set()

    with wb.session() as session:
        threading.Thread(target=run).start()
    go.set()
    assert done.wait(60)
    assert len(session.frame("compiles")) == 0


def test_a_thread_that_compiles_when_the_session_ends_is_said_to() -> None:
    go, begun = threading.Event(), threading.Event()

    def waiting(graph: Any, inputs: object) -> object:
        begun.set()
        assert go.wait(60)
        return graph

    def run() -> None:
        torch.compile(scaled, backend=waiting)(torch.ones(3), Factor())

    with wb.session() as session:
        thread = threading.Thread(target=run, name="late")
        thread.start()
        assert begun.wait(60)
    kept = wb.Session.from_bytes(session.to_bytes(), "kept.wbs")
    go.set()
    thread.join()
    (row,) = kept.frame("compiles").itertuples()
    assert row.outcome == "unfinished"
    assert 0 < row.total_s <= kept.header.wall_s
    assert "Thread late was still compiling scaled (0/0)" in " ".join(notes(kept))
    assert list(session.frame("compiles").outcome) == ["graph"]


def test_steps_that_never_come_are_said() -> None:
    with wb.session() as session:
        for _ in session.steps([]):
            pass
        with pytest.raises(wb.UsageError, match="items is 5: expected several values"):
            next(session.steps(5))  # type: ignore[arg-type]
    assert notes(session) == ["Not recorded: steps (the loop over s.steps(…) was empty)."]
    with wb.session(steps="optimizer") as session:
        torch.compile(scaled, backend="eager")(torch.ones(3), Factor())
    assert notes(session)[0].startswith("Not recorded: steps (no torch.optim optimizer")
    with wb.session() as session:
        torch.compile(scaled, backend="eager")(torch.ones(4), Factor())
    told, counted = notes(session)
    assert told.startswith("Steps are not marked: call s.step()")
    assert counted.endswith("not by other backends.")
    with wb.session() as session:
        for _ in session.steps([1]):
            pass
    assert notes(session) == []


def test_ours_is_compiled_in_a_session_as_ever() -> None:
    with wb.session() as session:
        compiled = wb.aot_compile(scaled, (torch.ones(3), Factor()))
    assert torch.equal(compiled(torch.ones(3), Factor()), torch.full((3,), 97.0))
    assert session.header.wall_s > 0


@pytest.mark.slow
def test_generating_with_a_static_cache_is_a_prefill_and_a_decoding() -> None:
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=100,
        max_position_embeddings=64,
    )
    model: Any = transformers.LlamaForCausalLM(config).eval()
    model.forward = torch.compile(model.forward)
    with wb.session() as session, torch.no_grad():
        for length in session.steps([5, 5, 7]):
            ids = torch.randint(3, 100, (1, length))  # no padding
            settings = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
            model.generate(ids, cache_implementation="static", **settings)
    compiles = session.frame("compiles")
    assert "wrapper" not in set(compiles.function)
    assert any(name.endswith("LlamaForCausalLM.forward") for name in compiles.function)
    assert len(compiles[compiles.step == 0]) >= 2
    again = session.frame("recompiles")
    assert set(again.compile_id) == set(compiles[compiles.kind == "recompile"].id)
    assert again[again.nearest].guard.all()
    assert {function.rpartition(".")[0] for function in compiles.function} == {"LlamaForCausalLM"}
    assert all(file.endswith("modeling_llama.py") for file in compiles.file)  # not its decorator's
    regions = session.frame("regions").set_index("compile_id")
    prefill, decoding = regions.loc["0/0"], regions.loc["0/1"]
    assert prefill.inputs.startswith("input_ids [1, 5]")
    assert decoding.inputs.startswith("input_ids [1, 1]")
    assert (prefill.calls, decoding.calls) == (2, 6)


def test_what_goes_on_is_in_what_there_is_so_far() -> None:
    seen: list[wb.Session] = []

    def looking(graph: torch.fx.GraphModule, _: object) -> object:
        seen.append(session.so_far())  # while the frame is compiled
        return graph

    with wb.session() as session:
        doubled = torch.compile(lambda x: x * 2, backend=looking)
        doubled(torch.ones(3))
        session.step()
        doubled(torch.ones(3))
        seen.append(session.so_far())
    compiling, between = seen
    assert list(compiling.frame("compiles").outcome) == ["compiling"]
    going_on = compiling.frame("steps").iloc[0]
    assert going_on.step == 0
    assert 0 < going_on.compile_s * 1e3 <= going_on.wall_ms
    assert list(between.frame("steps").step) == [0, 1]
    assert list(session.frame("steps").step) == [0]  # the second has no event and no end
    assert list(session.frame("compiles").outcome) == ["graph"]
    assert session.so_far().header.steps == 1
    assert not session.is_running


def test_another_thread_may_look_while_a_program_runs() -> None:
    ended, looked, failed = threading.Event(), [], []

    def look() -> None:
        while not ended.is_set():
            try:
                looked.append(len(session.so_far().frame("steps")))
            except Exception as error:
                failed.append(error)

    with wb.session() as session:
        thread = threading.Thread(target=look)
        thread.start()
        for size in session.steps([2, 3, 4] * 8):
            torch.compile(lambda x: torch.cumsum(x, 0) + 1, backend="eager")(torch.ones(size))
        ended.set()
        thread.join()
    assert failed == []
    assert looked
    assert len(session.frame("steps")) == 24


def test_eager_calls_of_two_functions_at_their_limit_are_told_apart() -> None:
    @torch.compile(backend="eager")
    def first(x: torch.Tensor, by: str) -> torch.Tensor:
        return x * ord(by)

    @torch.compile(backend="eager")
    def second(x: torch.Tensor, by: str) -> torch.Tensor:
        return x + ord(by)

    def inner(x: torch.Tensor, by: str) -> torch.Tensor:
        return x - ord(by)

    @torch.compile(backend="eager")
    def looped(x: torch.Tensor, by: str) -> torch.Tensor:
        for _ in range(2):
            print(end="")  # the frame runs eagerly, and calls what is compiled on its own
            x = inner(x, by)
        return x

    with wb.session() as session, torch._dynamo.config.patch(recompile_limit=2):
        for by in "abcda":
            first(torch.ones(3), by)
        for by in "abcdea":
            second(torch.ones(3), by)
            first(torch.ones(3), by)
        for by in "abcda":
            looped(torch.ones(3), by)
    rows = session.frame("fallbacks").query("how == 'new variants'")
    eager = {
        name.rpartition(".")[2]: calls
        for name, calls in zip(rows.function, rows.eager_calls, strict=True)
    }
    assert eager == {"first": 2 + 3, "second": 3, "inner": 4}


@pytest.mark.parametrize("names", [("one", "other"), ("one/step", "other/step")], ids=str)
def test_functions_of_one_name_in_two_files_are_two(tmp_path: Path, names: tuple[str, str]) -> None:
    text = "def scaled(x, by):\n    return x * 2 if by == 'a' else x\n"
    with wb.session() as session:
        for name in names:
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            held: dict[str, Any] = {}
            exec(compile(text, str(path), "exec"), held)
            compiled = torch.compile(held["scaled"], backend="eager")
            for by in "ab":
                compiled(torch.ones(3), by)
    found = [one for one in session.advice if "recompiled" in one]
    assert len(found) == 2
    assert all("scaled recompiled 1 time" in one for one in found)
    shown = sorted(re.findall(r"\(([\w/]+)\.py:1\)", " ".join(found)))
    assert shown == list(names)  # as much of a path as tells them apart


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@pytest.mark.parametrize("decorated", [decorated, logged])
def test_what_a_wrapper_wraps_is_counted_and_not_the_wrapper(decorated: Any) -> None:
    def plus(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def minus(x: torch.Tensor) -> torch.Tensor:
        return x - 1

    with wb.session() as session:
        for function in (plus, minus):
            torch.compile(decorated(function), backend="eager")(torch.ones(3))
        for size in (4, 5, 6):  # one frame of torch's for all of them
            model = nn.Sequential(nn.Linear(3, size))
            torch.compile(model, backend="eager")(torch.ones(2, 3))
    assert kinds(session) == ["first"] * 5
    session.check(recompiles=0)
    with wb.session() as session:
        compiled = torch.compile(decorated(plus), backend="eager")
        compiled(torch.ones(3).double())
    assert kinds(session) == ["recompile"]
    assert set(session.frame("recompiles").source) == {"x.dtype"}


def test_places_are_lines_of_the_user() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3, momentum=None), nn.Linear(3, 3))
    with wb.session() as session:
        torch.compile(model, backend="eager")(torch.ones(2, 3))
    for table in ("compiles", "breaks"):
        rows = session.frame(table)
        assert len(rows)
        assert rows.file.str.endswith("test_session_recorder.py").all()
    assert session.frame("breaks").within.str.contains("batchnorm.py").all()
    assert not any(".py:" in one and "torch/nn" in one for one in session.advice)


class Numbered(torch.utils.data.Dataset[int]):
    """Items by number alone, until there are no more."""

    def __getitem__(self, index: int) -> int:
        if index > 2:
            raise IndexError
        return index


def test_a_data_set_without_an_iterator_of_its_own_has_steps() -> None:
    with wb.session() as session:
        assert list(session.steps(Numbered())) == [0, 1, 2]  # type: ignore[arg-type]
