"""%aot_sweep: the axes on its line, sizes in the call, an interrupt that keeps what is done."""

from __future__ import annotations

import gzip
import inspect
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.notebook.completion import list_completions
from workbench.report.trials import Trial
from workbench.worlds.sweeps import magics as sweep_magic
from workbench.worlds.sweeps.calls import sweep as run_sweep
from workbench.worlds.sweeps.magics import SWEEP, Following
from workbench.worlds.sweeps.sweep import Sweep

Run = Callable[[str], ExecutionResult]
SETTINGS = [trial.settings for trial in sweep().trials]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell) -> list[Any]:
    """The sweeps that reached the API, which measures nothing here."""
    found: list[Any] = []

    def sweep(fn: Any, args: Any, kwargs: Any, **rest: Any) -> Sweep:
        found.append(SimpleNamespace(fn=fn, args=args, kwargs=kwargs, **rest))
        rows = (Trial("k", (("mode", "default"),), call_us=3.0, speedup=2.0),)
        made = Sweep("f", {"mode": ("default",)}, (), rows)
        rest["progress"](rows[0], False)
        if fn is stops:
            interrupt = KeyboardInterrupt()
            interrupt.sweep = made  # type: ignore[attr-defined]
            raise interrupt
        return made

    monkeypatch.setattr("workbench.worlds.sweeps.calls.sweep", sweep)
    shell.user_ns.update(f=torch.relu, x=torch.ones(2), torch=torch, stops=stops)
    return found


def stops(x: torch.Tensor) -> torch.Tensor:
    return x


def test_axes_and_the_search_are_read(run: Run, calls: list[Any], shell: InteractiveShell) -> None:
    run(
        "%aot_sweep f(x) --over mode=default,max-autotune --over epilogue_fusion=True,False "
        "--strategy random --trials 5 --objective memory --measure-s 0.5 -o found"
    )
    (call,) = calls
    assert call.fn is torch.relu
    assert call.args[0] is shell.user_ns["x"]
    assert call.over == {"mode": ["default", "max-autotune"], "epilogue_fusion": [True, False]}
    assert (call.strategy, call.trials, call.objective) == ("random", 5, "memory")
    assert call.measure_s == 0.5
    assert shell.user_ns["found"].name == "f"


def test_a_size_in_the_call_makes_the_inputs(run: Run, calls: list[Any]) -> None:
    run("%aot_sweep f(torch.ones(batch, width)) --over batch=1,8 --over width=4")
    (call,) = calls
    assert call.over == {"batch": [1, 8], "width": [4]}
    (made,) = call.args(batch=8, width=4)
    assert made.shape == (8, 4)


def test_an_interrupt_keeps_what_is_done(
    run: Run, calls: list[Any], shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run("%aot_sweep stops(x) --over mode=default -o found")
    assert "Finished trials are kept" in capsys.readouterr().out
    assert len(shell.user_ns["found"]) == 1


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("f(x)", "Give at least one axis, such as --over mode=default,max-autotune."),
        ("--over mode=default", "Write the call to measure"),
        ("f --over mode=default", "'f' is not a call"),
        ("f(x) --over mode", "expected NAME=VALUE,VALUE"),
        ("f(x) --over mode=default,,", "expected NAME=VALUE,VALUE"),
        ("f(x, k=batch) --over batch=1", "in a keyword argument: pass that argument by position"),
        ("f(x) --over mode=default --trials many", "--trials many: expected a whole number"),
        ("f(x) --over mode=default --seconds soon", "expected a number of seconds"),
        ("f(x) --over mode=default --measure-s long", "--measure-s long: expected a number"),
        ("--wrong f(x) --over mode=default", "Unknown option --wrong."),
    ],
)
def test_a_wrong_line_is_a_one_line_error(
    run: Run, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    run(f"%aot_sweep {line}")
    assert message in capsys.readouterr().err


def test_tab_completes_options_axes_and_callables(shell: InteractiveShell) -> None:
    def complete(text: str) -> list[str] | None:
        magics = shell.magics_manager.magics["line"]
        return list_completions(text, magics, {"model": torch.nn.Linear(2, 2)})

    assert complete("%aot_sweep mo") == ["model"]
    assert complete("%aot_sweep model(x) --o") == ["--over", "--objective", "--output"]
    assert complete("%aot_sweep model(x) --over d") == ["dtype=", "dynamic="]
    assert complete("%aot_sweep model(x) --strategy h") == ["halving"]


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell) -> list[Any]:
    """A notebook that somebody looks at, and the views that it was given."""
    views: list[Any] = []
    monkeypatch.setattr(sweep_magic, "is_interactive", lambda shell: True)
    monkeypatch.setattr(sweep_magic, "publish_live", lambda shell, view: views.append(view))
    monkeypatch.setattr(sweep_magic, "take_back", lambda shell, view: views.remove(view))
    monkeypatch.setattr(shell, "kernel", SimpleNamespace(), raising=False)
    return views


def running() -> Any:
    cancelled = threading.Event()
    return SimpleNamespace(
        planned=SETTINGS,
        tried=(SETTINGS[1],),
        rows={SETTINGS[0]: sweep().trials[0]},
        from_store=set(),
        so_far=sweep,
        cancel=cancelled.set,
        cancelled=cancelled,
    )


def status(view: Any) -> str:
    return str(json.loads(gzip.decompress(view.sweep))["status"])


def test_one_view_follows_the_sweep_and_is_what_it_is_shown_with(
    published: list[Any], shell: InteractiveShell
) -> None:
    told = Following(shell, "found")
    told.started(running())
    (view,) = published
    assert status(view) == "running"
    found = told.end(sweep())
    assert status(view) == "done"
    assert found.view is view
    assert found == sweep()


def test_its_cancel_reaches_the_sweep(published: list[Any], shell: InteractiveShell) -> None:
    told, begun = Following(shell), running()
    told.started(begun)
    published[0]._answer("cancel", None)
    assert begun.cancelled.is_set()
    told.close()
    assert published == []


def test_without_a_view_there_is_a_line_for_each_row(
    published: list[Any], shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Following(shell, is_viewed=False)
    told.started(running())
    for row in sweep().trials[:4]:
        told(row, from_store=row is sweep().trials[1])
    assert told.end(sweep()).view is None
    assert published == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1: mode=default, threads=1, batch=1: 1.23 × (")
    assert lines[-1].endswith("crashed: its process was ended")


def test_its_options_are_arguments_of_the_call() -> None:
    names = {option.names[-1].lstrip("-").replace("-", "_") for option in SWEEP}
    assert names - {"output", "no_view"} <= set(inspect.signature(run_sweep).parameters)
