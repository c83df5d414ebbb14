from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from workbench import api
from workbench.errors import CaptureError
from workbench.notebook import magics
from workbench.report import Report

Run = Callable[[str], ExecutionResult]
NAMES = ("aot_compile", "aot_explain", "aot_load", "aot_inspect")


def test_the_call_is_taken_apart_and_not_made(run: Run, compile_calls: list[Any]) -> None:
    run("def f(*args, **kwargs): raise RuntimeError('called')\nxs = [1, 2]; kw = {'b': 4}")
    result = run("%aot_compile f(0, *xs, a=3, **kw)")
    (call,) = compile_calls
    assert call.args == (0, 1, 2)
    assert call.kwargs == {"a": 3, "b": 4}
    assert call.fn.__name__ == "f"
    assert repr(result.result) == "Compiled(stand-in)"


def test_text_is_shown_and_the_result_is_the_last_one(
    run: Run, shell: InteractiveShell, compile_calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run("%aot_compile abs(1)")
    assert "block (inductor, max-autotune, host)" in capsys.readouterr().out
    assert shell.user_ns["_"] is shell.user_ns["_1"]


def test_options_reach_the_api(
    run: Run, shell: InteractiveShell, compile_calls: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "with space.aot"
    run(
        "%aot_compile -m max-autotune -t cpu -g strict --no-grad -O epilogue_fusion=false "
        f"-O max_autotune_gemm_backends=CPP -s '{path}' -o fast --no-view abs(-1)"
    )
    (call,) = compile_calls
    assert (call.mode, call.target, call.guards, call.grad) == (
        "max-autotune",
        "cpu",
        "strict",
        False,
    )
    assert call.options == {"epilogue_fusion": False, "max_autotune_gemm_backends": "CPP"}
    assert call.args == (-1,)
    assert path.read_text() == "artifact"
    assert repr(shell.user_ns["fast"]) == "Compiled(stand-in)"


def test_options_may_follow_the_call(
    run: Run, shell: InteractiveShell, compile_calls: list[Any]
) -> None:
    run("%aot_compile abs(-1) -o last --no-view")
    assert compile_calls[0].args == (-1,)
    assert "last" in shell.user_ns


def test_defaults_are_those_of_the_api(run: Run, compile_calls: list[Any]) -> None:
    run("%aot_compile abs(-1)")
    (call,) = compile_calls
    assert (call.backend, call.mode, call.options, call.dynamic_shapes) == (
        None,
        None,
        None,
        None,
    )
    assert (call.grad, call.target, call.guards) == (None, "host", "portable")


def test_a_backend_may_be_a_function_of_the_user(run: Run, compile_calls: list[Any]) -> None:
    run("def mine(graph, inputs): return graph\neager = 3")
    run("%aot_compile -b mine abs(1)")
    run("%aot_compile -b eager abs(1)")
    assert compile_calls[0].backend.__name__ == "mine"
    assert compile_calls[1].backend == "eager"


def test_no_view_shows_only_the_value(
    run: Run, compile_calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run("%aot_compile --no-view abs(1)")
    assert capsys.readouterr().out.strip() == "Out[1]: Compiled(stand-in)"


def test_a_cell_runs_its_body_and_ends_in_the_call(
    run: Run, shell: InteractiveShell, compile_calls: list[Any]
) -> None:
    run('%%aot_compile\ntext = """a\n  b"""\ndef g(x):\n    return x\ng(text)\n')
    assert compile_calls[0].args == ("a\n  b",)
    assert compile_calls[0].fn.__code__.co_firstlineno == 4  # as in the cell that people see
    assert shell.user_ns["text"] == "a\n  b"


def test_a_cell_that_fails_shows_its_error_once(
    run: Run, compile_calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    result = run("%%aot_compile\n1 / 0\nabs(1)")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert capsys.readouterr().out.count("ZeroDivisionError: division by zero") == 1
    assert not compile_calls


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%aot_compile", "Write the call to compile"),
        ("%aot_compile abs", "'abs' is not a call"),
        ("%aot_compile abs(", "is not a Python expression"),
        ("%aot_compile --wrong abs(1)", "Unknown option --wrong"),
        ("%aot_compile --targt h100 abs(1)", "Unknown option --targt. Did you mean --target?"),
        ("%aot_compile -m", "-m needs a value: -m MODE"),
        ("%aot_compile -d x abs(1)", "expected ARG:DIM=NAME[MIN..MAX]"),
        ("%aot_compile -O x abs(1)", "expected KEY=VALUE"),
        ("%aot_compile -a abs(1)", "-a annotates a cell"),
        ("%aot_compile -o 3x --no-view abs(1)", "expected a name"),
        ("%%aot_compile\nx = 1", "must be the call to compile"),
        ("%%aot_compile abs(1)\nabs(1)", "at the end of the cell"),
        ("%aot_load", "Name the file"),
        ("%aot_inspect", "Name the file"),
    ],
)
def test_a_wrong_line_is_one_line(
    run: Run,
    compile_calls: list[Any],
    capsys: pytest.CaptureFixture[str],
    line: str,
    message: str,
) -> None:
    run(line)
    error = capsys.readouterr().err
    assert error.startswith("UsageError: %aot_")
    assert message in error
    assert error.count("\n") == 1


def fails(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_our_errors_come_without_a_traceback_and_with_the_record(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    sample_report: Report,
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = CaptureError("There is a graph break.\nMove it out.")
    error.report = sample_report
    monkeypatch.setattr(api, "aot_compile", fails(error))
    result = run("%aot_compile abs(1)")
    shown = capsys.readouterr().out
    assert result.error_in_exec is error
    assert "CaptureError: There is a graph break.\nMove it out." in shown
    assert "Traceback" not in shown
    assert "block (inductor" in shown
    run("%tb")
    assert "Traceback" in capsys.readouterr().out


def test_an_interrupt_says_what_was_stopped(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "aot_compile", fails(KeyboardInterrupt()))
    result = run("%aot_compile abs(1)")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert "Interrupted: %aot_compile was stopped" in capsys.readouterr().out


def test_other_magics_call_their_function(
    run: Run, monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell, sample_report: Report
) -> None:
    seen: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> Report:
        seen.append((args, kwargs))
        return sample_report

    for name in ("explain", "load", "inspect"):
        monkeypatch.setattr(api, name, note)
    run("net = 7")
    run("%aot_explain -o why abs(-1)")
    run("%aot_load --module net -o model 'a b.aot'")
    run("%aot_load --trust c.aot")
    run("%aot_inspect c.aot")
    assert seen == [
        ((abs, (-1,), {}), {}),
        (("a b.aot",), {"module": 7, "trust": False}),
        (("c.aot",), {"module": None, "trust": True}),
        (("c.aot",), {}),
    ]
    assert shell.user_ns["why"] is shell.user_ns["model"] is sample_report


def test_help_lists_every_option(run: Run, shell: InteractiveShell) -> None:
    for name in ("aot_compile", "aot_explain", "aot_load", "aot_inspect"):
        text = shell.find_line_magic(name).__doc__
        assert "::" in text
        assert "-o NAME" in text
    text = shell.find_line_magic("aot_compile").__doc__
    for option in (
        "-m MODE",
        "-b BACKEND",
        "-t TARGET",
        "-d ",
        "-O ",
        "--no-grad",
        "-s PATH",
        "-g",
    ):
        assert option in text


def state(shell: InteractiveShell) -> Any:
    return (
        {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        set(shell.magics_manager.registry),
        list(shell.Completer.custom_matchers),
        {name: list(shell.events.callbacks[name]) for name in shell.events.callbacks},
        set(shell.user_ns),
        shell.display_formatter,
    )


def test_unloading_leaves_ipython_as_it_was_found(bare_shell: InteractiveShell) -> None:
    shell = bare_shell
    shell.register_magic_function(lambda line: line, "line", "aot_load")  # somebody else's
    shell.find_line_magic("load_ext")  # IPython loads its own magics when they are first used
    before = state(shell)
    shell.run_line_magic("load_ext", "workbench")
    assert all(shell.find_line_magic(name) for name in NAMES)
    assert shell.find_cell_magic("aot_compile")
    shell.run_line_magic("unload_ext", "workbench")
    assert state(shell) == before


def test_reloading_registers_once(shell: InteractiveShell) -> None:
    shell.run_line_magic("reload_ext", "workbench")
    ours = [m for m in shell.Completer.custom_matchers if "workbench" in m.__module__]
    assert len(ours) == 1


def test_unloading_twice_is_harmless(shell: InteractiveShell) -> None:
    shell.run_line_magic("unload_ext", "workbench")
    shell.run_line_magic("unload_ext", "workbench")


def test_the_cache_is_warmed_for_a_person_only(
    bare_shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    class WarmUp:
        def stop(self) -> None:
            events.append("stop")

    monkeypatch.setattr(
        "workbench.notebook.magics.warm_up", lambda: events.append("start") or WarmUp()
    )
    for watched in (False, True):
        monkeypatch.setattr(magics, "is_interactive", lambda shell, watched=watched: watched)
        bare_shell.run_line_magic("load_ext", "workbench")
        bare_shell.run_line_magic("unload_ext", "workbench")
    assert events == ["start", "stop"]
